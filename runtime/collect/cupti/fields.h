/*
 * fields.h - selects the fields of CUPTI's user-defined records, so that records have only the
 * fields that we read.
 *
 * A subscriber (v2.h) lists field ids when it enables a kind. CUPTI chooses the order of the fields
 * and passes their offsets with every buffer (13.3 and later). From 13.4 on, CUPTI also accepts a
 * list of calls to record. We select fields only together with such a list. Without the list, CUPTI
 * would record so many more calls that the smaller records would save nothing.
 *
 * Threads: sl_cupti_fields_select() runs on the thread that enables kinds, sl_cupti_fields_learn()
 * on CUPTI threads, several at once, and sl_cupti_fields_layout() on the recorder thread. Memory:
 * static, one subscriber per process.
 */
#ifndef SL_CUPTI_FIELDS_H
#define SL_CUPTI_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/cupti/tables.h"

#define SL_CUPTI_FIELDS_SINCE 130400u
/* maximum number of fields of one kind, including the kind field itself */
#define SL_CUPTI_FIELDS_MOST 32u

/* Copies of structs in NVIDIA's headers. New versions only append members. */
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
    struct sl_cupti_calls_option *option; /* the calls of RUNTIME or DRIVER to record; NULL: all
                                           * calls */
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
    struct sl_cupti_record_places **kinds; /* offsets of the fields of each kind, indexed by kind;
                                            * NULL: the buffer has no records of this kind */
    size_t count;
};

/* Returns the field ids to request, in static memory. Returns NULL if we do not record the kind. */
int *sl_cupti_fields_select(uint32_t kind, size_t *count);

/* Reads the offsets that CUPTI passes with a buffer. Returns 0, or -EINVAL if the offsets
 * contradict the offsets of an earlier buffer, because the records would be misread. Records of a
 * kind that lacks a field are skipped. */
int sl_cupti_fields_learn(const struct sl_cupti_complete_info *info);

/* Returns all offsets learned so far, valid until the next call. A record size of 0 means that no
 * record of the kind was seen. A family of NULL means that the kind's records cannot be read. */
const struct sl_cupti_layout *sl_cupti_fields_layout(void);

/* Returns the value that marks a buffer with user-defined records. The value is stored in the field
 * for the buffer's context, because a buffer of user-defined records has no context. */
void *sl_cupti_fields_mark(void);

/* Unit tests only: forgets everything. */
void sl_cupti_fields_reset(void);

#endif
