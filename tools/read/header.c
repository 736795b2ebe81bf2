/*
 * header.c - reads the top-level fields of a trace.
 *
 * Threads, memory: see header.h.
 */
#include "read/header.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "read/number.h"

static int integer(struct sl_text value, int64_t *out)
{
    return sl_number_scaled(value.data, value.size, 0, out, &(int){0}) == 0;
}

/* Reads a member of the top-level object `syncline`, which only syncline files have. */
static void own_value(struct sl_header *h, const char *key, struct sl_text value)
{
    static const char counters[] = "counters.";
    int64_t number;

    h->own_file = 1;
    if (strcmp(key, "version") == 0)
        sl_text_copy(h->version, sizeof(h->version), value);
    else if (strcmp(key, "job") == 0)
        sl_text_copy(h->job, sizeof(h->job), value);
    else if (!integer(value, &number) || number < 0)
        return;
    else if (strcmp(key, "opened_ns") == 0)
        h->opened_ns = number;
    else if (strcmp(key, "closed_ns") == 0)
        h->closed_ns = number;
    else if (strcmp(key, "nccl_sample") == 0)
        h->nccl_sample = (uint64_t)number;
    else if (strncmp(key, counters, sizeof(counters) - 1) == 0 &&
             h->counters < SL_HEADER_COUNTERS) {
        struct sl_header_counter *c = &h->counter[h->counters++];

        snprintf(c->name, sizeof(c->name), "%.47s", key + sizeof(counters) - 1);
        c->value = (uint64_t)number;
    }
    h->has_window = h->opened_ns > 0 && h->closed_ns >= h->opened_ns;
}

/* Returns 1 if the path is this member of the object distributedInfo, or any member if `member` is
 * NULL. The object is in the header or after the events. An event of the same name has the object
 * in its args (sl_trace_take_rank()). The object `syncline` may have a newer state of the object.
 */
static int is_of_distributed(const char *path, const char *member)
{
    static const char *const objects[] = {"distributedInfo.args.", "distributedInfo.",
                                          "syncline.distributedInfo."};

    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        size_t size = strlen(objects[i]);

        if (strncmp(path, objects[i], size) == 0 && (!member || strcmp(path + size, member) == 0))
            return 1;
    }
    return 0;
}

/* Reads an element of the array [FIRST, LAST]. */
static void cut_value(struct sl_header *h, struct sl_text value)
{
    if (integer(value, h->is_cut ? &h->last_step : &h->first_step))
        h->is_cut = 1;
}

void sl_header_value(void *header, const char *path, enum sl_json_type type, struct sl_text value)
{
    struct sl_header *h = header;

    if (strncmp(path, "syncline.", 9) == 0 && !is_of_distributed(path, NULL))
        own_value(h, path + 9, value);
    else if (strcmp(path, "generator") == 0) /* the generator also identifies a truncated file,
                                                which lacks the `syncline` object */
        h->own_file |= sl_text_begins(value, "syncline ");
    else if (strcmp(path, "job") == 0 && h->own_file) /* in syncline files `job` follows
                                                         `generator`, so own_file is known here */
        sl_text_copy(h->job, sizeof(h->job), value);
    else if (strcmp(path, "run_id") == 0 && h->own_file)
        sl_text_copy(h->run, sizeof(h->run), value);
    else if (strcmp(path, "run_start_ns") == 0 && h->own_file)
        integer(value, &h->run_start_ns);
    else if (strcmp(path, "cutSteps") == 0 && type == SL_JSON_NUMBER)
        cut_value(h, value);
    else if (strcmp(path, "local_world_size") == 0 && h->own_file)
        integer(value, &h->local_world_size);
    else if (strcmp(path, "syncEdges") == 0)
        h->has_edges = h->own_file;
    else if (is_of_distributed(path, "rank"))
        h->has_rank = type == SL_JSON_NUMBER && integer(value, &h->rank);
    else if (is_of_distributed(path, "world_size"))
        h->has_world_size =
            type == SL_JSON_NUMBER && integer(value, &h->world_size) && h->world_size > 0;
    else if (strcmp(path, "baseTimeNanoseconds") == 0)
        h->has_base = type == SL_JSON_NUMBER && integer(value, &h->base_ns);
    else if (strcmp(path, "host_name") == 0)
        sl_text_copy(h->host, sizeof(h->host), value);
    else if (strcmp(path, "deviceProperties.id") == 0 && h->devices < SL_HEADER_DEVICES)
        integer(value, &h->device[h->devices++].id);
    else if (strcmp(path, "deviceProperties.name") == 0 && h->devices > 0)
        sl_text_copy(h->device[h->devices - 1].name, sizeof(h->device[0].name), value);
}

void sl_header_text(struct sl_header *h, struct sl_text key, struct sl_text value)
{
    static const char wanted[] = "\"rank\":";
    const char *end = value.data + value.size;
    const char *p = sl_text_is(key, "distributedInfo")
                        ? memmem(value.data, value.size, wanted, sizeof(wanted) - 1)
                        : NULL;
    const char *space;

    if (!p)
        return;
    /* HTA finds the rank by the regular expression "rank":\s+(\d+) */
    space = p += sizeof(wanted) - 1;
    while (p < end && isspace((unsigned char)*p))
        p++;
    if (p > space)
        h->rank_findable = p < end && isdigit((unsigned char)*p);
}

uint64_t sl_header_counter(const struct sl_header *h, const char *name)
{
    for (unsigned i = 0; i < h->counters; i++)
        if (strcmp(h->counter[i].name, name) == 0)
            return h->counter[i].value;
    return 0;
}

int sl_header_is_loss(const char *name)
{
    static const enum sl_stat others[] = {SL_STAT_UNDELIVERED_AT_EXIT, SL_STAT_UNDELIVERED_BUFFERS,
                                          SL_STAT_RECORDS_NO_TIME, SL_STAT_RECORDS_OTHER_CLOCK,
                                          SL_STAT_RECORDS_INVALID};

    if (strncmp(name, "dropped_", 8) == 0)
        return 1;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(name, sl_stats_name(others[i])) == 0)
            return 1;
    return 0;
}
