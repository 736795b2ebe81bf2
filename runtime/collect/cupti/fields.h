/*
 * fields.h - CUPTI's user-defined records: those of the fields that we make use of, and no
 * others.
 *
 * A subscriber (v2.h) names fields by their ids when it enables a kind; CUPTI packs them as
 * it likes, and tells with every buffer where in a record each stands. It does so from 13.3 on, and
 * from 13.4 also takes a list of the calls to record with them: before that they would bring more
 * records than they make smaller.
 *
 * Threads: select by whoever enables kinds; learn on CUPTI's threads, several at once; layout on
 * the collector. State is static: one subscriber per process.
 */
#ifndef SL_CUPTI_FIELDS_H
#define SL_CUPTI_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/cupti/tables.h"

#define SL_CUPTI_FIELDS_SINCE 130400u
#define SL_CUPTI_FIELDS_MOST  32u /* of one kind, the kind itself among them */

/* As in NVIDIA's headers; members are only ever added behind. */
struct sl_cupti_calls { /* CUpti_ActivityApiCbidOptions */
    size_t struct_size;
    uint32_t *callbacks;
    size_t count;
    uint8_t are_wanted; /* 1: these and no others */
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
    struct sl_cupti_record_places **kinds; /* by kind; NULL: not in the buffer */
    size_t count;
};

/* The ids to ask for, which stay where they are; NULL for a kind that is not recorded. */
int *sl_cupti_fields_select(uint32_t kind, size_t *count);

/* What CUPTI says of a buffer. 0; -EINVAL: it contradicts an earlier one, so that records would be
 * taken for others. A kind that lacks a field is one whose records are stepped over. */
int sl_cupti_fields_learn(const struct sl_cupti_complete_info *info);

/* All that was learned: a record size of 0 is a kind that was not seen, a family of NULL one whose
 * records cannot be read. Good until the next call. */
const struct sl_cupti_layout *sl_cupti_fields_layout(void);

/* In place of a buffer's context, which such buffers do not have: its records are of this sort. */
void *sl_cupti_fields_mark(void);

/* Unit tests only: nothing is known. */
void sl_cupti_fields_reset(void);

#endif
