/*
 * torch_caller.hpp - for which thread an operator runs: the thread that called its backward pass.
 *
 * PyTorch copies a thread's debug info to the threads that work for it. So all of autograd's
 * threads have the debug info of the caller of the backward pass. Each thread leaves its id there
 * with its first operator.
 *
 * Threads: any. Memory: a few bytes per thread, freed when the thread ends.
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

/* Newer versions of PyTorch accept any kind of debug info. In older versions the kind is a number,
 * and PyTorch itself uses the first few from 0 on. */
template <typename Kind> constexpr Kind own_kind()
{
    if constexpr (std::is_enum_v<Kind>)
        return static_cast<Kind>(0xc5);
    else
        return Kind(&name);
}

constexpr auto kind = own_kind<c10::DebugInfoKind>();

/* Pushes our info only below all others: whoever pushes an info later pops the topmost one, and
 * throws if that is another's. Returns whether our info is there now. */
__attribute__((noinline)) inline bool leave_id()
{
    if (c10::ThreadLocalDebugInfo::get(kind))
        return true;
    if (c10::ThreadLocalDebugInfo::current())
        return false;
    try {
        c10::ThreadLocalDebugInfo::_push(kind, std::make_shared<Info>());
    } catch (const std::bad_alloc &) {
        return false; /* then nobody knows who works for this thread */
    }
    return true;
}

/* How often reporting of operators began. What threads did before is unknown. */
inline std::atomic<uint32_t> beginnings{1};

/* Result of a thread's last look(), and the beginning after which that was; 0: look again. */
struct Thread {
    uint32_t caller = 0, beginning = 0;
    bool has_left = false;
};

inline thread_local Thread mine;

/* Call before operators are reported again. Operators that are reported come after this store,
 * because PyTorch publishes its callbacks after it. */
inline void forget()
{
    beginnings.fetch_add(1, std::memory_order_relaxed);
}

/* Leaves no id during a pass: PyTorch restores the info of autograd's threads after each node. */
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

/* Returns the system id of the thread that called the backward pass of this operator, or of the
 * thread's last operator; 0: no pass, or unknown. `has_schema`: the operator came by PyTorch's
 * dispatcher.
 *
 * A look() costs as much as recording the inputs of a small operator, so not every operator makes
 * one. Autograd's engine begins every node with an operator of its own, which has no schema. After
 * its last node, a pass goes on for the same caller, or its thread is the caller. */
inline uint32_t find(bool has_schema)
{
    if (has_schema && mine.beginning == beginnings.load(std::memory_order_relaxed))
        return mine.caller;
    return look();
}

} // namespace torch_caller

#endif
