/*
 * row_collectives.c - converts the args of record_param_comms and of NCCL kernels to a struct
 * sl_collective.
 *
 * Threads, memory: see row_collectives.h.
 */
#include "read/row_collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/store.h"
#include "event/collective.h"
#include "read/number.h"

#define COMMS_BYTES (8u << 20)
#define JOIN_BYTES  (32u << 20)

struct sl_row_collectives {
    struct sl_collectives *comms;
    struct sl_store store;
    struct sl_map by_correlation;
};

static struct sl_collective_text text_of(struct sl_text text)
{
    return (struct sl_collective_text){text.data, text.size};
}

/* ---- groups in the header of the trace ---- */

void sl_row_collectives_field(void *collectives, const char *path, enum sl_json_type type,
                              struct sl_text value)
{
    static const char config[] = "distributedInfo.pg_config.";
    struct sl_row_collectives *c = collectives;
    int64_t number = -1;
    int exact;

    if (type == SL_JSON_NUMBER && sl_number_scaled(value.data, value.size, 0, &number, &exact) != 0)
        number = -1;
    if (strcmp(path, "distributedInfo.world_size") == 0 && number > 0)
        sl_collectives_world(c->comms, (uint64_t)number);
    if (strncmp(path, config, sizeof(config) - 1) != 0) {
        sl_collectives_name_end(c->comms);
        return;
    }
    path += sizeof(config) - 1;
    if (strcmp(path, "pg_name") == 0)
        sl_collectives_name(c->comms, text_of(value));
    else if (strcmp(path, "ranks") == 0 && type == SL_JSON_NUMBER)
        sl_collectives_name_rank(c->comms, number);
    else if (strcmp(path, "ranks") == 0 && type == SL_JSON_STRING)
        sl_collectives_name_ranks(c->comms, text_of(value));
}

/* ---- collectives in rows ---- */

static int64_t told(const struct sl_trace_row *row, uint32_t bit, int64_t value)
{
    return row->has & bit ? value : -1;
}

uint32_t sl_row_collectives_row(struct sl_row_collectives *c, const struct sl_trace_row *row)
{
    const struct sl_collective_args all = {
        .collective = text_of(row->collective),
        .dtype = text_of(row->dtype),
        .group = text_of(row->group),
        .group_ranks = text_of(row->group_ranks),
        .elements = told(row, SL_HAS_IN_ELEMENTS, row->in_elements),
        .out_elements = row->out_elements,
        .rank = row->group_rank,
        .message_bytes = row->message_size,
        .group_size = told(row, SL_HAS_GROUP_SIZE, row->group_size),
        .group_start = told(row, SL_HAS_GROUP_START, row->group_start),
        .group_stride = told(row, SL_HAS_GROUP_STRIDE, row->group_stride),
        .src_rank = told(row, SL_HAS_SRC_RANK, row->src_rank),
        .dst_rank = told(row, SL_HAS_DST_RANK, row->dst_rank),
        .is_shared = row->batch.size != 0 && row->calls != 1,
    };

    return sl_collectives_put(c->comms, &all);
}

int sl_row_collectives_get(const struct sl_row_collectives *c, uint32_t number,
                           struct sl_collective *out)
{
    return sl_collectives_get(c->comms, number, out);
}

void sl_row_collectives_join(struct sl_row_collectives *c, uint64_t correlation, uint32_t number)
{
    uint64_t *value = number && correlation ? sl_map_put(&c->by_correlation, correlation) : NULL;

    if (value && !*value)
        *value = number;
}

int sl_row_collectives_find(void *collectives, const struct sl_event *op, struct sl_collective *out)
{
    struct sl_row_collectives *c = collectives;
    const uint64_t *number =
        op->correlation ? sl_map_find(&c->by_correlation, op->correlation) : NULL;

    return number && sl_collectives_get(c->comms, (uint32_t)*number, out);
}

/* ---- creation, lookup and iteration ---- */

int sl_row_collectives_create(struct sl_row_collectives **out)
{
    struct sl_row_collectives *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->store.cap_bytes = JOIN_BYTES;
    sl_map_init(&c->by_correlation, &c->store);
    if (sl_collectives_create(&c->comms, COMMS_BYTES) != 0) {
        sl_row_collectives_destroy(c);
        return -ENOMEM;
    }
    *out = c;
    return 0;
}

void sl_row_collectives_destroy(struct sl_row_collectives *c)
{
    if (!c)
        return;
    sl_collectives_destroy(c->comms);
    sl_map_free(&c->by_correlation);
    free(c);
}

void sl_row_collectives_groups(const struct sl_row_collectives *c,
                               void (*take)(void *user, uint32_t number, const uint32_t *rank,
                                            size_t ranks),
                               void *user)
{
    sl_collectives_groups(c->comms, take, user);
}
