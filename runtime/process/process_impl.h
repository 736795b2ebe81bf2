/*
 * process_impl.h - what the files of the life cycle share. Included by them alone.
 *
 * process.c has the life of syncline in a process; attach.c what it begins with;
 * api.c what the program may ask for.
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
    SL_LIFE_PREPARING, /* inside inject() */
    SL_LIFE_ARMED,     /* or further: the collector knows */
    SL_LIFE_PASSIVE
};

struct sl_process {
    _Atomic int life;
    _Atomic int exiting;
    _Atomic int used;           /* CUPTI has asked for a buffer */
    const char *_Atomic reason; /* why passive */
    int handed_over;            /* from the start: another client has CUPTI */
    pid_t pid; /* of the process that was injected: a child made by a bare clone() is another */
    struct sl_config config;
    struct sl_identity identity;
    struct sl_cupti_api cupti;
    struct sl_collector *collector;
    char why[512]; /* what was wrong with libcupti */
};

extern struct sl_process sl_process;

static inline enum sl_life sl_process_life(void)
{
    /* Acquire pairs with the release in inject: the collector is there. */
    return (enum sl_life)atomic_load_explicit(&sl_process.life, memory_order_acquire);
}

/* Says why nothing is recorded, for good. `reason` is a static text. */
void sl_process_fail(const char *reason);

void sl_process_start_threads(void);
void sl_process_wake(void); /* the collector, if it is there; any thread */

void sl_process_on_first_use(void);

uint64_t sl_process_dropped(void); /* events, for whatever reason */

/* attach.c: CUPTI, those given or NULL: the process's. NULL, or why nothing is recorded. */
const char *sl_process_attach(const struct sl_cupti_functions *cupti);
/* What the program tells itself: ranges, operators, lines of its source. */
void sl_process_attach_program(void);

#endif
