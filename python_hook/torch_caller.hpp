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

#include <atomic>
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

/* How often operators began to be told: what a thread did before is not known. */
inline std::atomic<uint32_t> beginnings{1};

/* What a thread found at its last look, and after which of those that was; 0: it is to look. */
struct Thread {
    uint32_t caller = 0, beginning = 0;
    bool has_left = false;
};

inline thread_local Thread mine;

/* Before operators are told again. Those that are come after it: PyTorch publishes what is told
 * behind it. */
inline void forget()
{
    beginnings.fetch_add(1, std::memory_order_relaxed);
}

/* In a pass nothing is left: what autograd's thread has is put back behind each node. */
__attribute__((noinline)) inline uint32_t look()
{
    bool is_in_pass = torch::autograd::get_current_graph_task_id() != -1;
    const c10::DebugInfoBase *info = nullptr;

    if (is_in_pass)
        info = c10::ThreadLocalDebugInfo::get(kind);
    else if (!mine.has_left)
        mine.has_left = leave_id();
    mine.caller = info ? static_cast<const Info *>(info)->thread : 0;
    mine.beginning = is_in_pass || mine.has_left ? beginnings.load(std::memory_order_relaxed) : 0;
    return mine.caller;
}

/* The system's id of the thread that called the backward pass which this operator is part of, or
 * that the thread's last one was; 0: there was none, or that is not known. `has_schema`: it came
 * by PyTorch's dispatcher.
 *
 * A look costs as much as to write down a small operator's inputs, so not each has one: autograd's
 * engine begins every node with an operator of its own, which has no schema. Behind its last node
 * a pass goes on for the same caller, or its thread is the caller. */
inline uint32_t find(bool has_schema)
{
    if (has_schema && mine.beginning == beginnings.load(std::memory_order_relaxed))
        return mine.caller;
    return look();
}

} // namespace torch_caller

#endif
