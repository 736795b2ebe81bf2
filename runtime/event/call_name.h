/*
 * call_name.h - what a CUDA call's callback id says: its name, whether it is recorded by default,
 * and whether it enqueues a GPU operation.
 *
 * Threads: any; constant tables (event/call_names.c, which collect/cupti/generate_tables.py makes).
 */
#ifndef SL_CALL_NAME_H
#define SL_CALL_NAME_H

#include <stdint.h>

#include "event/event.h"

/* `domain` is SL_EV_RUNTIME or SL_EV_DRIVER. The name is without version suffix:
 * "cudaLaunchKernel"; NULL: not known. */
const char *sl_call_name(enum sl_event_kind domain, uint32_t cbid);
int sl_call_name_is_wanted(enum sl_event_kind domain, uint32_t cbid); /* by default */
int sl_call_name_launches(enum sl_event_kind domain, uint32_t cbid);

/* ---- the tables ---- */

enum {
    SL_CALL_NAME_WANTED = 1 << 0,
    SL_CALL_NAME_LAUNCHES = 1 << 1,
};

/* By callback id; name NULL = an id without a public name. */
struct sl_call_name_row {
    const char *name;
    uint8_t bits;
};
extern const struct sl_call_name_row sl_call_names_runtime[];
extern const unsigned sl_call_names_runtime_count;
extern const struct sl_call_name_row sl_call_names_driver[];
extern const unsigned sl_call_names_driver_count;

#endif
