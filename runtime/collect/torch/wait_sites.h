/*
 * wait_sites.h - finds the Python line of PyTorch waits that are not inside operators.
 *
 * Such waits are torch.cuda.synchronize(), empty_cache(), the methods of streams and events
 * (torch.cuda's and the C types torch.Stream and torch.Event), and the timers of
 * DistributedDataParallel. All of them reach the CUDA runtime through the import slots of PyTorch's
 * own libraries. We point these slots to functions of ours, which record the line, pass the call on
 * and return its result. An operator has recorded its line when it began. So a wait inside an
 * operator costs only some nanoseconds more, and nothing is recorded.
 *
 * A PyTorch with a statically linked CUDA runtime has no such slots. Its waits outside of operators
 * have no line.
 *
 * Threads: one for the watching; any thread calls the functions in the slots. Memory: static.
 */
#ifndef SL_TORCH_WAIT_SITES_H
#define SL_TORCH_WAIT_SITES_H

/* Call once, when PyTorch's libraries are loaded (the loader loads all of them together). */
void sl_wait_sites_watch(void);

#endif
