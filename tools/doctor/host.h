/*
 * host.h - what would be recorded on this machine, and why not: the findings of `syncline doctor`.
 *
 * Each probe looks at one thing and adds lines. Nothing is changed; CUDA is initialised in a child
 * process, so that a driver that hangs or crashes does not take the doctor with it.
 *
 * Threads: main only. Memory: plain data of the caller.
 */
#ifndef SL_DOCTOR_HOST_H
#define SL_DOCTOR_HOST_H

#include "control/config.h"

enum sl_host_verdict {
    SL_HOST_OK,
    SL_HOST_NOTE,   /* good to know */
    SL_HOST_PROBLEM /* nothing, or less, would be recorded */
};

struct sl_host_line {
    enum sl_host_verdict verdict;
    const char *topic; /* "driver" */
    char text[640];
    char remedy[400]; /* "" if none */
};

#define SL_HOST_LINES 64

struct sl_host {
    struct sl_host_line line[SL_HOST_LINES];
    int lines;
    int problems;
};

void sl_host_add(struct sl_host *h, enum sl_host_verdict verdict, const char *topic,
                 const char *remedy, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* gpu.c */
void sl_host_driver(struct sl_host *h);      /* libcuda.so.1, its version, cuInit, devices */
void sl_host_cupti(struct sl_host *h);       /* as the library would find it */
void sl_host_permissions(struct sl_host *h); /* device nodes, driver parameters, container */

/* environment.c */
/* The library beside this command, as installed or in the build folder, without symbolic links. 0
 * or -ENOENT. */
int sl_host_beside(char *path, size_t size);

void sl_host_library(struct sl_host *h, char *const *environment); /* libsyncline.so */
void sl_host_options(struct sl_host *h, struct sl_config *config, char *const *environment);
void sl_host_output(struct sl_host *h, const struct sl_config *config, char *const *environment);
void sl_host_profilers(struct sl_host *h, char *const *environment); /* others in the job */

#endif
