/*
 * load.h - makes NCCL load our profiler plugin (collect/nccl/plugin.h).
 *
 * NCCL reads the environment variable NCCL_PROFILER_PLUGIN when a communicator is created and no
 * plugin is loaded. In the objects that contain NCCL, getenv() answers this name with the path of
 * this library (base/getenv_answer.h). The user's own plugin takes precedence: a value of the
 * variable (also `none`), also from NCCL's configuration file, a libnccl-profiler.so on the library
 * path, and a network plugin that is a profiler plugin, too. NCCL would take them in this order.
 *
 * Threads: one thread at a time calls these functions. NCCL's question is answered on any thread.
 * Memory: static.
 */
#ifndef SL_NCCL_LOAD_H
#define SL_NCCL_LOAD_H

/* Looks for NCCL among the loaded objects. Does nothing if no object was loaded since the last
 * call. Logs one line if NCCL will not load our plugin. */
void sl_nccl_load_offer(void);

#endif
