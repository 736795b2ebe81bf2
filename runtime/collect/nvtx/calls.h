/*
 * calls.h - the functions to which NVTX slots point, and declarations that these functions share.
 *
 * Threads: any thread of the application. The functions do not block, allocate or log, and preserve
 * errno. Memory: only the lanes (collect/lane/lane.h).
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

/* A slot of the payload extension, which has no modules. */
#define SL_NVTX_EXTENSION_SLOT(call, function)                                                     \
    {                                                                                              \
        0, NVTX3EXT_CBID_##call, (sl_nvtx_function)(function)                                      \
    }

/* calls.c: ranges, marks and locks. All tables end with a NULL function. */
extern const struct sl_nvtx_slot sl_nvtx_slots[];
/* name_calls.c: strings, domains and names, which programs register once before use. */
extern const struct sl_nvtx_slot sl_nvtx_name_slots[];
/* payload_calls.c: schemas and events of the payload extension. */
extern const struct sl_nvtx_slot sl_nvtx_payload_slots[];
/* deferred_calls.c: the extension's deferred events, and the clocks of their timestamps. */
extern const struct sl_nvtx_slot sl_nvtx_deferred_slots[];

/* Returns the domain of a handle that DomainCreate returned, or 0 for any other handle. */
unsigned sl_nvtx_domain_of(const void *handle);

/* Writes payloads of NVTX's payload extension (nvtxPayloadData_t) as a member of a JSON object.
 * `key` (at most 20 bytes) is the member's name. Returns the bytes written, at most `room`.
 * `domain` is the domain in which the schemas are registered. */
size_t sl_nvtx_payload_json(char *out, size_t room, const char *key, unsigned domain,
                            const void *payloads, size_t count);

struct sl_nvtx_message {
    uint32_t string;  /* number of a registered string; 0: see `text` */
    const char *text; /* a text of `length` bytes, used if `string` is 0; NULL: none */
    size_t length;
};

/* The content of an event that the application reports. */
struct sl_nvtx_event {
    struct sl_nvtx_message message;
    uint32_t category, color; /* `color` is an ARGB value */
    uint8_t has_category, has_color;
    uint8_t value_type; /* enum sl_note_value */
    uint64_t value;
    const void *payloads; /* payloads of the extension; NULL: none */
    size_t payload_count;
    const char *more; /* a complete JSON member that replaces the payloads; NULL: none */
    uint32_t step;    /* the step number + 1, if a registered string names a step */
};

/* Writes a record and returns the lane that contains it. Returns NULL and counts the loss if the
 * lane is full. `id` is the id of the range that starts or ends (0: no range). */
struct sl_lane *sl_nvtx_record_event(enum sl_lane_what what, unsigned domain,
                                     const struct sl_nvtx_event *ev, uint64_t id);

/* These functions return the range's nesting level, or -2 if the level is not known. The first
 * function is for ranges that have a registered string and nothing else. */
int sl_nvtx_push_string(unsigned domain, uint32_t string);
int sl_nvtx_push(unsigned domain, const struct sl_nvtx_event *ev);
int sl_nvtx_pop(unsigned domain, const struct sl_nvtx_event *ev); /* `ev` NULL: no attributes */

/* Begins a range that nests like a pushed range but is ended by its id. sl_nvtx_finish() closes
 * exactly this range, on any thread, even if other ranges were pushed since. The end may be written
 * to another thread's lane, so no room is reserved for the end, and a full lane drops the end.
 * sl_nvtx_begin() returns 0 if the range could not be recorded. */
uint64_t sl_nvtx_begin(unsigned domain, const struct sl_nvtx_event *ev);
void sl_nvtx_finish(unsigned domain, uint64_t id);

uint64_t sl_nvtx_start(unsigned domain, const struct sl_nvtx_event *ev); /* returns the range's
                                                                          * id */
void sl_nvtx_end(unsigned domain, uint64_t id, const struct sl_nvtx_event *ev);

/* Records a past event: SL_LANE_PAST, SL_LANE_STEP. Times are CLOCK_REALTIME ns. */
void sl_nvtx_record_past(enum sl_lane_what what, unsigned domain, const struct sl_nvtx_event *ev,
                         uint64_t start_ns, uint64_t end_ns);

/* Lets another source handle texts that are pushed in the default domain. If no observer is
 * installed, PyTorch reports its operators by pushing such texts. Each function returns 1 if it has
 * handled the push or pop. */
struct sl_nvtx_text_taker {
    int (*push)(struct sl_lane *lane, const char *text, size_t length);
    int (*pop)(struct sl_lane *lane); /* called only if lane->told is not 0, so that an operator
                                       * reported by NVTX is open */
};
/* Any thread. The two functions stay set for the rest of the process. */
void sl_nvtx_set_text_taker(const struct sl_nvtx_text_taker *taker);

const struct sl_nvtx_ids *sl_nvtx_get_ids(void);

#endif
