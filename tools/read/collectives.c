/*
 * collectives.c - turns the args of record_param_comms and NCCL kernels into the fields of
 * event/collective.h.
 *
 * Threads, memory: see collectives.h.
 */
#include "read/collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/collective.h"
#include "read/number.h"
#include "sync/store.h"

#define COMMS_BYTES (8u << 20)
#define JOIN_BYTES  (32u << 20)

struct sl_collectives {
    struct sl_comms *comms;
    struct sl_store store;
    struct sl_map by_correlation;
};

static struct sl_comm_text text_of(struct sl_text text)
{
    return (struct sl_comm_text){text.data, text.size};
}

/* ---- the header ---- */

void sl_collectives_field(void *collectives, const char *path, enum sl_json_type type,
                          struct sl_text value)
{
    static const char config[] = "distributedInfo.pg_config.";
    struct sl_collectives *c = collectives;
    int64_t number = -1;
    int exact;

    if (type == SL_JSON_NUMBER && sl_number_scaled(value.data, value.size, 0, &number, &exact) != 0)
        number = -1;
    if (strcmp(path, "distributedInfo.world_size") == 0 && number > 0)
        sl_comms_world(c->comms, (uint64_t)number);
    if (strncmp(path, config, sizeof(config) - 1) != 0) {
        sl_comms_name_end(c->comms);
        return;
    }
    path += sizeof(config) - 1;
    if (strcmp(path, "pg_name") == 0)
        sl_comms_name(c->comms, text_of(value));
    else if (strcmp(path, "ranks") == 0 && type == SL_JSON_NUMBER)
        sl_comms_name_rank(c->comms, number);
    else if (strcmp(path, "ranks") == 0 && type == SL_JSON_STRING)
        sl_comms_name_ranks(c->comms, text_of(value));
}

/* ---- rows ---- */

static int64_t told(const struct sl_trace_row *row, uint32_t bit, int64_t value)
{
    return row->has & bit ? value : -1;
}

uint32_t sl_collectives_row(struct sl_collectives *c, const struct sl_trace_row *row)
{
    const struct sl_comm_told all = {
        .collective = text_of(row->collective),
        .dtype = text_of(row->dtype),
        .group = text_of(row->group),
        .group_ranks = text_of(row->group_ranks),
        .elements = told(row, SL_HAS_IN_ELEMENTS, row->in_elements),
        .group_size = told(row, SL_HAS_GROUP_SIZE, row->group_size),
        .group_start = told(row, SL_HAS_GROUP_START, row->group_start),
        .group_stride = told(row, SL_HAS_GROUP_STRIDE, row->group_stride),
        .src_rank = told(row, SL_HAS_SRC_RANK, row->src_rank),
        .dst_rank = told(row, SL_HAS_DST_RANK, row->dst_rank),
    };

    return sl_comms_put(c->comms, &all);
}

void sl_collectives_join(struct sl_collectives *c, uint64_t correlation, uint32_t number)
{
    uint64_t *value = number && correlation ? sl_map_put(&c->by_correlation, correlation) : NULL;

    if (value && !*value)
        *value = number;
}

int sl_collectives_find(void *collectives, const struct sl_event *op,
                        struct sl_chakra_collective *out)
{
    struct sl_collectives *c = collectives;
    const uint64_t *number =
        op->correlation ? sl_map_find(&c->by_correlation, op->correlation) : NULL;

    return number && sl_comms_get(c->comms, (uint32_t)*number, out);
}

/* ---- the rest ---- */

int sl_collectives_create(struct sl_collectives **out)
{
    struct sl_collectives *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->store.cap_bytes = JOIN_BYTES;
    sl_map_init(&c->by_correlation, &c->store);
    if (sl_comms_create(&c->comms, COMMS_BYTES) != 0) {
        sl_collectives_destroy(c);
        return -ENOMEM;
    }
    *out = c;
    return 0;
}

void sl_collectives_destroy(struct sl_collectives *c)
{
    if (!c)
        return;
    sl_comms_destroy(c->comms);
    sl_map_free(&c->by_correlation);
    free(c);
}

void sl_collectives_groups(const struct sl_collectives *c,
                           void (*take)(void *user, uint32_t number, const uint32_t *rank,
                                        size_t ranks),
                           void *user)
{
    sl_comms_groups(c->comms, take, user);
}
