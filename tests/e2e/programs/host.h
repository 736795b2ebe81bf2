/*
 * host.h - what the files of the program `host` share: tables of modes, work on the GPU, and the
 * process's view of itself. host.c describes the program.
 *
 * Threads: the main thread, and those that a mode starts.
 */
#ifndef SL_TEST_HOST_H
#define SL_TEST_HOST_H

#include <stdint.h>
#include <stdio.h>

struct host_mode {
    const char *name; /* NULL ends a table */
    void (*run)(int n);
    const char *help; /* the meaning of N, and what the mode does */
};

extern const struct host_mode host_load_modes[];    /* host_load.c */
extern const struct host_mode host_process_modes[]; /* host_process.c */
extern const struct host_mode host_change_modes[];  /* host_changes.c */
extern const struct host_mode host_stamps_modes[];  /* host_stamps.c */

/* host.c: `host_out` is where all output goes. Lines that begin with `measured` hold times and
 * counts, which differ from run to run. */
extern FILE *host_out;
void host_sleep_ms(int ms);
int64_t host_now_ms(void);

/* In host_gpu.c. host_gpu_open() only loads and initialises the driver. host_gpu_setup() also makes
 * a context, a kernel and a stream, which the other functions use. */
void host_gpu_open(void);
void host_gpu_setup(void);
void host_gpu_launch(uint64_t ns);
void host_gpu_wait(void);
void host_gpu_work(int waits);   /* a kernel of 50 us and a wait, repeated */
void host_gpu_work_ms(int ms);   /* repeats host_gpu_work() */
void host_gpu_thread(int count); /* on any thread: as many kernels on a stream of its own */
void host_gpu_after_fork(void);  /* a call in a forked child, which may fail but not crash */

/* In host_view.c: prints everything that the process sees of itself and that a profiler must leave
 * as it is, each line after the word `when`. Prints descriptors below 512 only. */
void host_view(const char *when);

#endif
