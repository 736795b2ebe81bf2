/*
 * torch_caller.hpp - finds the thread that called the backward pass in which an operator runs.
 *
 * PyTorch has a thread-local stack of "debug infos" (c10::ThreadLocalDebugInfo). If a thread calls
 * backward(), PyTorch copies the stack to autograd's threads. So each thread stores its id in a
 * debug info at its first operator, and autograd's threads read there which thread called the
 * backward pass.
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

/* Returns the kind (the key) of our debug info. Newer versions of PyTorch accept a kind of any
 * type. In older versions the kind is a number, and PyTorch itself uses the first few numbers. */
template <typename Kind> constexpr Kind own_kind()
{
    if constexpr (std::is_enum_v<Kind>)
        return static_cast<Kind>(0xc5);
    else
        return Kind(&name);
}

constexpr auto kind = own_kind<c10::DebugInfoKind>();

/* Stores this thread's id, if no other info is on the stack of debug infos. (Other code throws an
 * exception if its own info is not the topmost when it pops the stack. So our info must be below
 * all others.) Returns whether our info is on the stack now. */
__attribute__((noinline)) inline bool leave_id()
{
    if (c10::ThreadLocalDebugInfo::get(kind))
        return true;
    if (c10::ThreadLocalDebugInfo::current())
        return false;
    try {
        c10::ThreadLocalDebugInfo::_push(kind, std::make_shared<Info>());
    } catch (const std::bad_alloc &) {
        return false; /* without our info, the threads that work for this thread do not know its
                       * id */
    }
    return true;
}

/* Number of times that the reporting of operators was turned on. A result of look() is valid only
 * until reporting is turned on again. */
inline std::atomic<uint32_t> beginnings{1};

/* Result of the thread's last look(), and the value of `beginnings` at that time. If this value is
 * 0, the thread must call look() again. */
struct Thread {
    uint32_t caller = 0, beginning = 0;
    bool has_left = false;
};

inline thread_local Thread mine;

/* Call before operators are reported again. Reported operators see this store, because PyTorch
 * publishes its callbacks after this store. */
inline void forget()
{
    beginnings.fetch_add(1, std::memory_order_relaxed);
}

/* Reads the caller's id, or stores this thread's own id. Stores no id during a backward pass,
 * because PyTorch restores the debug info of autograd's threads after each node. */
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

/* Returns the system id of the thread that called the backward pass in which this operator, or the
 * thread's last operator, runs. Returns 0 if no backward pass is running, or if the calling thread
 * is not known. `has_schema` says that PyTorch's dispatcher called the operator.
 *
 * A look() takes as long as recording the inputs of a small operator, so not every operator calls
 * look(). Autograd's engine begins every node with an operator of its own, which has no schema.
 * Only such an operator calls look(). Operators after the last node of a pass belong to the same
 * caller, or run on the caller itself. */
inline uint32_t find(bool has_schema)
{
    if (has_schema && mine.beginning == beginnings.load(std::memory_order_relaxed))
        return mine.caller;
    return look();
}

} // namespace torch_caller

#endif
