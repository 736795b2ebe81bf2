/*
 * wait_sites.h - waits of PyTorch's that are no operators: on which line of Python code.
 *
 * torch.cuda.synchronize(), empty_cache(), the methods of streams and events (torch.cuda's and the
 * C types torch.Stream and torch.Event), the timers of DistributedDataParallel: all of them come to
 * the CUDA runtime through the import slots of PyTorch's own libraries. These are pointed at
 * functions of ours, which note the line, pass the call on and give its result back. Operators have
 * noted theirs when they began: inside them a call costs some nanoseconds more, and nothing is
 * recorded.
 *
 * A PyTorch that has the CUDA runtime inside, linked statically, has no such slots: its waits that
 * are no operators have no line.
 *
 * Threads: one for the watching; the functions in the slots by any. Memory: static.
 */
#ifndef SL_TORCH_WAIT_SITES_H
#define SL_TORCH_WAIT_SITES_H

/* Once, when PyTorch's libraries are loaded, which they are all at a time. */
void sl_wait_sites_watch(void);

#endif
