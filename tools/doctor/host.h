/*
 * host.h - the checks of `syncline doctor`: what syncline would record on this machine, and what
 * prevents recording.
 *
 * Each check adds lines to the report and changes nothing on the machine. CUDA is initialised in a
 * child process, so that a driver that hangs or crashes does not affect the doctor.
 *
 * Threads: main only. Memory: plain data of the caller.
 */
#ifndef SL_DOCTOR_HOST_H
#define SL_DOCTOR_HOST_H

#include <limits.h>

#include "control/config.h"

enum sl_doctor_verdict {
    SL_DOCTOR_OK,
    SL_DOCTOR_NOTE,   /* information, such as a setting that limits the recording */
    SL_DOCTOR_PROBLEM /* a cause why recording would be incomplete or impossible */
};

struct sl_doctor_line {
    enum sl_doctor_verdict verdict;
    const char *topic; /* "driver" */
    char text[640];
    char remedy[400]; /* "" if none */
};

#define SL_DOCTOR_LINES 64

struct sl_doctor {
    struct sl_doctor_line line[SL_DOCTOR_LINES];
    int lines;
    int problems;
    char library[PATH_MAX]; /* libsyncline.so, or what would be loaded in its place; "" if there is
                               none. Set by sl_doctor_library() */
    int local_ranks;        /* ranks of the job on this machine. Set by sl_doctor_output() */
};

void sl_doctor_add(struct sl_doctor *h, enum sl_doctor_verdict verdict, const char *topic,
                   const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* gpu.c */
void sl_doctor_driver(struct sl_doctor *h); /* libcuda.so.1, its version, cuInit, devices */
void sl_doctor_cupti(struct sl_doctor *h);  /* CUPTI as libsyncline.so would find it; call after
                                             * sl_doctor_driver(), which loads the driver */
void sl_doctor_permissions(struct sl_doctor *h); /* device nodes, driver parameters, container */

/* environment.c */
/* Finds the library of this command, installed or in the build folder, with symbolic links
 * resolved. Returns 0 or -ENOENT. */
int sl_doctor_beside(char *path, size_t size);

void sl_doctor_library(struct sl_doctor *h, char *const *environment); /* libsyncline.so */
void sl_doctor_options(struct sl_doctor *h, struct sl_config *config, char *const *environment);
void sl_doctor_output(struct sl_doctor *h, const struct sl_config *config,
                      char *const *environment);
void sl_doctor_memory(struct sl_doctor *h, const struct sl_config *config); /* cgroups, ulimit */
void sl_doctor_profilers(struct sl_doctor *h, char *const *environment);    /* other profilers */
void sl_doctor_nvtx(struct sl_doctor *h, const struct sl_config *config, char *const *environment);

/* python.c */
/* Checks the Python package, and the observer for the PyTorch of `python3`, and NCCL. */
void sl_doctor_python(struct sl_doctor *h, const struct sl_config *config);

#endif
