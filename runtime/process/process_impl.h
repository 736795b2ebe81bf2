/*
 * process_impl.h - declarations that only the files of the life cycle share.
 *
 * process.c starts and ends syncline in a process. attach.c finds CUPTI and the program's own
 * sources of events. api.c serves the calls of the program.
 */
#ifndef SL_PROCESS_IMPL_H
#define SL_PROCESS_IMPL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "collect/cupti/api.h"
#include "control/config.h"
#include "control/identity.h"
#include "process/process.h"
#include "recorder/recorder.h"

enum sl_life {
    SL_LIFE_NOT_INJECTED,
    SL_LIFE_PREPARING, /* sl_process_inject() is running */
    SL_LIFE_ARMED,     /* armed, recording or draining; the recorder's state says which */
    SL_LIFE_PASSIVE
};

struct sl_process {
    _Atomic int life;
    _Atomic int exiting;
    _Atomic int used;           /* set when CUPTI first requests a buffer */
    _Atomic int is_requested;   /* set when start() is first called */
    const char *_Atomic reason; /* static text that says why the process is passive */
    int handed_over;            /* 1: another client used CUPTI before us */
    pid_t pid; /* the injected process; a child made by a bare clone() has another pid */
    struct sl_config config;
    struct sl_identity identity;
    struct sl_cupti_api cupti;
    struct sl_recorder *recorder;
    char why[512]; /* text of the problem with libcupti, or with the host's memory */
};

extern struct sl_process sl_process;

static inline enum sl_life sl_process_life(void)
{
    /* Acquire pairs with the release in sl_process_inject_with(), so that `recorder` is visible. */
    return (enum sl_life)atomic_load_explicit(&sl_process.life, memory_order_acquire);
}

/* Logs why nothing is recorded and makes the process passive. `reason` is a static text. */
void sl_process_fail(const char *reason);

void sl_process_start_threads(void);
void sl_process_wake(void); /* wakes the recorder, if there is one; any thread */

void sl_process_on_first_use(void);

uint64_t sl_process_dropped(void); /* returns the number of events dropped for any reason */

/* attach.c. Attaches to the given CUPTI functions, or to the process's CUPTI if `cupti` is NULL.
 * Returns NULL, or the reason why nothing is recorded. */
const char *sl_process_attach(const struct sl_cupti_functions *cupti);
/* Attaches to the program's own sources of events: ranges, operators, source lines. */
void sl_process_attach_program(void);

#endif
