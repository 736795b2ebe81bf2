/*
 * fields.h - selects the fields of CUPTI's user-defined records: only those that we read.
 *
 * A subscriber (v2.h) lists field ids when it enables a kind. CUPTI packs the fields as it likes
 * and gives their offsets with every buffer (13.3 and later). From 13.4 on it also takes a list of
 * calls to record. Without that list, the added records would outweigh the saved bytes.
 *
 * Threads: select on the thread that enables kinds; learn on CUPTI threads, several at once; layout
 * on the recorder thread. Memory: static, one subscriber per process.
 */
#ifndef SL_CUPTI_FIELDS_H
#define SL_CUPTI_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/cupti/tables.h"

#define SL_CUPTI_FIELDS_SINCE 130400u
#define SL_CUPTI_FIELDS_MOST  32u /* of one kind, including the kind field itself */

/* As in NVIDIA's headers, which only ever append members. */
struct sl_cupti_calls { /* CUpti_ActivityApiCbidOptions */
    size_t struct_size;
    uint32_t *callbacks;
    size_t count;
    uint8_t are_wanted; /* 1: record only these calls */
};
struct sl_cupti_calls_option { /* CUpti_ActivityApiOptions */
    size_t struct_size;
    struct sl_cupti_calls *calls;
};
struct sl_cupti_config { /* CUpti_ActivityConfig */
    size_t struct_size;
    struct {
        size_t struct_size;
        size_t count;
        int *ids;
    } fields;
    struct sl_cupti_calls_option *option; /* of RUNTIME and DRIVER; NULL: all calls */
};

struct sl_cupti_field_place { /* CUpti_ActivityFieldLayoutEntry */
    size_t struct_size;
    int id;
    size_t offset, size, alignment;
};
struct sl_cupti_record_places { /* CUpti_ActivityRecordLayout */
    size_t struct_size;
    struct sl_cupti_field_place *fields;
    size_t count;
    size_t record_size;
};
struct sl_cupti_complete_info { /* CUpti_BufferCallbackCompleteInfo */
    size_t struct_size;
    uint64_t thread;
    struct sl_cupti_record_places **kinds; /* indexed by kind; NULL: not in the buffer */
    size_t count;
};

/* The field ids to request, in static memory; NULL: the kind is not recorded. */
int *sl_cupti_fields_select(uint32_t kind, size_t *count);

/* Takes the offsets that CUPTI gives with a buffer. 0; -EINVAL: they contradict an earlier buffer,
 * so records would be misread. Records of a kind that lacks a field are skipped. */
int sl_cupti_fields_learn(const struct sl_cupti_complete_info *info);

/* All offsets learned so far. Record size 0: the kind was not seen. Family NULL: the kind's records
 * cannot be read. Valid until the next call. */
const struct sl_cupti_layout *sl_cupti_fields_layout(void);

/* Stands for the context of a buffer with such records, because those buffers have no context. */
void *sl_cupti_fields_mark(void);

/* Unit tests only: forgets everything. */
void sl_cupti_fields_reset(void);

#endif
