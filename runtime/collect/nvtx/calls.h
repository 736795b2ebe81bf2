/*
 * calls.h - the functions that NVTX's slots are set to.
 *
 * Called by any thread of the application: they do not block, allocate or log, and keep errno.
 */
#ifndef SL_NVTX_CALLS_H
#define SL_NVTX_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/lane/lane.h"
#include "collect/nvtx/nvtx.h"

typedef void (*sl_nvtx_function)(void);

struct sl_nvtx_slot {
    unsigned module, id;
    sl_nvtx_function function;
};

#define SL_NVTX_SLOT(module, call, function)                                                       \
    {                                                                                              \
        NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##call, (sl_nvtx_function)(function)         \
    }

/* Of the payload extension, which has no modules. */
#define SL_NVTX_EXTENSION_SLOT(call, function)                                                     \
    {                                                                                              \
        0, NVTX3EXT_CBID_##call, (sl_nvtx_function)(function)                                      \
    }

/* calls.c: ranges, marks and locks; ended by a NULL function. */
extern const struct sl_nvtx_slot sl_nvtx_slots[];
/* name_calls.c: what is registered, once, before it is used. */
extern const struct sl_nvtx_slot sl_nvtx_name_slots[];
/* payload_calls.c: schemas and events of the payload extension. */
extern const struct sl_nvtx_slot sl_nvtx_payload_slots[];
/* deferred_calls.c: its events that are told later, and the clocks they are in. */
extern const struct sl_nvtx_slot sl_nvtx_deferred_slots[];

/* The domain of a handle that we gave, 0 for any other. */
unsigned sl_nvtx_domain_of(const void *handle);

/* Payloads of the extension (nvtxPayloadData_t) as a member of a JSON object, behind `key`, which
 * has at most 20 bytes: how many bytes, at most `room`. `domain`: whose schemas. */
size_t sl_nvtx_payload_json(char *out, size_t room, const char *key, unsigned domain,
                            const void *payloads, size_t count);

struct sl_nvtx_message {
    uint32_t string;  /* registered; or */
    const char *text; /* bytes; NULL: none */
    size_t length;
};

/* What an event of the application's says. */
struct sl_nvtx_event {
    struct sl_nvtx_message message;
    uint32_t category, color; /* color: ARGB */
    uint8_t has_category, has_color;
    uint8_t value_type; /* enum sl_lane_value */
    uint64_t value;
    const void *payloads; /* of the extension; NULL: none */
    size_t payload_count;
    const char *more; /* without those: a member of an object instead; NULL: none */
    uint32_t step;    /* a registered string that is a step's name: its number + 1 */
};

/* Writes a record, and gives the lane: NULL, counted, if there was no room. `id`: of a range that
 * is started or ended, 0: none. */
struct sl_lane *sl_nvtx_record_event(enum sl_lane_what what, unsigned domain,
                                     const struct sl_nvtx_event *ev, uint64_t id);

/* The level; -2: none. The first is for a range with a registered string and nothing else. */
int sl_nvtx_push_string(unsigned domain, uint32_t string);
int sl_nvtx_push(unsigned domain, const struct sl_nvtx_event *ev);
int sl_nvtx_pop(unsigned domain, const struct sl_nvtx_event *ev); /* `ev` NULL: nothing more */

/* A push, and an end of that very range, whatever was pushed since, on any thread. No room is kept
 * for the end, which may come on another thread's lane: it may find none. 0: there is no such
 * range. */
uint64_t sl_nvtx_begin(unsigned domain, const struct sl_nvtx_event *ev);
void sl_nvtx_finish(unsigned domain, uint64_t id);

uint64_t sl_nvtx_start(unsigned domain, const struct sl_nvtx_event *ev); /* the range's id */
void sl_nvtx_end(unsigned domain, uint64_t id, const struct sl_nvtx_event *ev);

/* An event that was over before it was told: SL_LANE_PAST, SL_LANE_STEP. Times are CLOCK_REALTIME
 * ns. */
void sl_nvtx_record_past(enum sl_lane_what what, unsigned domain, const struct sl_nvtx_event *ev,
                         uint64_t start_ns, uint64_t end_ns);

const struct sl_nvtx_ids *sl_nvtx_get_ids(void);

#endif
