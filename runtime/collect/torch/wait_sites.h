/*
 * wait_sites.h - finds the Python line of PyTorch waits that are not inside operators.
 *
 * Such waits are torch.cuda.synchronize(), empty_cache(), the methods of streams and events
 * (torch.cuda's and the C types torch.Stream and torch.Event), and the timers of
 * DistributedDataParallel. All these waits call the CUDA runtime through the import slots of
 * PyTorch's own libraries. We redirect these slots to our own functions, which record the line,
 * call the CUDA runtime and return the runtime's result. An operator has recorded its line at its
 * beginning. So our functions record nothing for a wait inside an operator, and the call takes only
 * some nanoseconds longer.
 *
 * A PyTorch with a statically linked CUDA runtime has no such slots, so waits of such a PyTorch
 * outside of operators have no line.
 *
 * Threads: one thread calls sl_wait_sites_watch(); any thread may call the functions in the slots.
 * Memory: static.
 */
#ifndef SL_TORCH_WAIT_SITES_H
#define SL_TORCH_WAIT_SITES_H

/* Call once, when PyTorch's libraries are loaded (the loader loads all of them together). */
void sl_wait_sites_watch(void);

#endif
