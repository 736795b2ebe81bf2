/*
 * torch_caller.hpp - whom the operators of a thread are run for: the thread that called the
 * backward pass that they are part of.
 *
 * PyTorch carries a thread's debug info to those that work for it, so that what runs a backward
 * pass has that of its caller, on all of autograd's threads. Each thread leaves its id there with
 * its first operator.
 *
 * Threads: any. Memory: a few bytes of each thread, freed when it ends.
 */
#ifndef TORCH_CALLER_HPP
#define TORCH_CALLER_HPP

#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/graph_task.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>

namespace torch_caller
{

class Info final : public c10::DebugInfoBase
{
  public:
    const uint32_t thread = static_cast<uint32_t>(syscall(SYS_gettid));
};

constexpr std::string_view name = "syncline's caller";

/* Newer versions let anyone have a kind of his own; in older ones it is a number, of which PyTorch
 * itself has a few from 0 on. */
template <typename Kind> constexpr Kind own_kind()
{
    if constexpr (std::is_enum_v<Kind>)
        return static_cast<Kind>(0xc5);
    else
        return Kind(&name);
}

constexpr auto kind = own_kind<c10::DebugInfoKind>();

/* Only below all else: who pushes a debug info pops the topmost one, and throws if that is not his.
 * Returns whether it is there now. */
__attribute__((noinline)) inline bool leave_id()
{
    if (c10::ThreadLocalDebugInfo::get(kind))
        return true;
    if (c10::ThreadLocalDebugInfo::current())
        return false;
    try {
        c10::ThreadLocalDebugInfo::_push(kind, std::make_shared<Info>());
    } catch (const std::bad_alloc &) {
        return false; /* who works for this thread is not known then */
    }
    return true;
}

/* The system's id of the thread that called the backward pass which this is part of; 0: it is part
 * of none, or that is not known. In a pass nothing is left: what autograd's thread has is put back
 * behind each node. */
inline uint32_t find()
{
    thread_local bool has_left;
    const c10::DebugInfoBase *info;

    if (torch::autograd::get_current_graph_task_id() == -1) {
        if (__builtin_expect(!has_left, 0))
            has_left = leave_id();
        return 0;
    }
    info = c10::ThreadLocalDebugInfo::get(kind);
    return info ? static_cast<const Info *>(info)->thread : 0;
}

} // namespace torch_caller

#endif
