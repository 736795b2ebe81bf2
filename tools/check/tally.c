/*
 * tally.c - counts rows by category, process and lane (a thread or a stream).
 *
 * Threads, memory: see tally.h.
 */
#include "check/tally.h"

#include <stdio.h>
#include <string.h>

#define HASH_FACTOR 0x9e3779b97f4a7c15ull

void sl_tally_init(struct sl_tally *t)
{
    t->first_ns = t->earliest_end_ns = INT64_MAX;
    t->last_ns = t->latest_start_ns = INT64_MIN;
}

static struct sl_tally_category *find_category(struct sl_tally *t, const struct sl_trace_row *row)
{
    struct sl_text name = row->category_text;

    if (!name.data)
        name =
            row->phase == 'M' ? (struct sl_text){"(metadata)", 10} : (struct sl_text){"(none)", 6};
    if (name.size >= sizeof(t->category[0].name))
        name.size = sizeof(t->category[0].name) - 1;
    for (unsigned k = 0; k < t->categories; k++) {
        unsigned i = (t->last_category + k) % t->categories;

        if (sl_text_is(name, t->category[i].name)) {
            t->last_category = i;
            return &t->category[i];
        }
    }
    if (t->categories == SL_TALLY_CATEGORIES - 1)
        name = (struct sl_text){"(other)", 7};
    if (t->categories == SL_TALLY_CATEGORIES)
        return &t->category[SL_TALLY_CATEGORIES - 1];
    sl_text_copy(t->category[t->categories].name, sizeof(t->category[0].name), name);
    t->category[t->categories].is_other = row->category == SL_CAT_OTHER;
    return &t->category[t->categories++];
}

static uint64_t lane_key(const struct sl_row_lane *lane)
{
    uint64_t h = 1469598103934665603ull; /* FNV-1a */

    if (lane->is_number)
        return (uint64_t)lane->number * HASH_FACTOR | 1;
    for (size_t i = 0; i < lane->text.size; i++)
        h = (h ^ (unsigned char)lane->text.data[i]) * 1099511628211ull;
    return h | 1;
}

static struct sl_tally_process *find_process(struct sl_tally *t, const struct sl_row_lane *pid)
{
    uint64_t key = lane_key(pid);
    struct sl_tally_process *p;

    for (unsigned k = 0; k < t->processes; k++) {
        unsigned i = (t->last_process + k) % t->processes;

        if (t->process[i].key == key) {
            t->last_process = i;
            return &t->process[i];
        }
    }
    if (t->processes == SL_TALLY_PROCESSES) {
        t->lanes_full = 1;
        return NULL;
    }
    t->last_process = t->processes;
    p = &t->process[t->processes++];
    p->key = key;
    sl_text_copy(p->pid, sizeof(p->pid), pid->text);
    return p;
}

/* Returns the lane with this key. If the lane is missing, creates it and sets *is_new. Returns NULL
 * if the table is full. */
static struct sl_tally_lane *find_lane(struct sl_tally *t, uint64_t key, int *is_new)
{
    size_t i = (size_t)(key >> 40) % SL_TALLY_LANES;

    *is_new = 0;
    while (t->lane[i].key && t->lane[i].key != key)
        i = (i + 1) % SL_TALLY_LANES;
    if (t->lane[i].key == 0) {
        /* The table is filled at most by half, so that hash probing stays short. */
        if (t->lanes == SL_TALLY_LANES / 2) {
            t->lanes_full = 1;
            return NULL;
        }
        t->lanes++;
        t->lane[i].key = key;
        *is_new = 1;
    }
    return &t->lane[i];
}

static void count_lane(struct sl_tally *t, const struct sl_trace_row *row,
                       struct sl_tally_process *process)
{
    int gpu = sl_row_is_gpu(row), is_new;
    struct sl_row_lane tid = row->tid;
    struct sl_tally_lane *lane;
    uint64_t key;

    if (gpu)
        key = (uint64_t)row->device << 32 ^ (uint32_t)row->stream;
    else
        key = process->key * 31 + lane_key(&tid);
    lane = find_lane(t, (key * HASH_FACTOR) | 1, &is_new);
    if (!lane)
        return;
    if (is_new) {
        lane->is_stream = gpu;
        lane->device = row->device;
        lane->stream = row->stream;
        process->threads += !gpu;
    }
    lane->events++;
    lane->busy_ns += row->dur_ns > 0 ? (uint64_t)row->dur_ns : 0;
}

static void see_metadata(const struct sl_trace_row *row, struct sl_tally_process *p)
{
    if (sl_text_is(row->name, "process_name"))
        sl_text_copy(p->name, sizeof(p->name),
                     row->args_name.data ? row->args_name : (struct sl_text){"?", 1});
}

static void check_metadata(const struct sl_tally *t, const struct sl_tally_process *p, uint64_t at,
                           struct sl_findings *findings)
{
    if (t->events == 1)
        sl_finding_add(findings, SL_FIND_METADATA_LATE, 1, at,
                       "the first event is not the metadata event process_name");
    else if (p->name[0] == '\0')
        sl_finding_add(findings, SL_FIND_METADATA_LATE, 1, at, "pid %s has no name yet", p->pid);
}

static void count_time(struct sl_tally *t, int64_t start_ns, int64_t end_ns, uint64_t at)
{
    if (start_ns < t->first_ns)
        t->first_ns = start_ns;
    if (end_ns > t->last_ns)
        t->last_ns = end_ns;
    if (end_ns < t->earliest_end_ns) {
        t->earliest_end_ns = end_ns;
        t->earliest_end_at = at;
    }
    if (start_ns > t->latest_start_ns) {
        t->latest_start_ns = start_ns;
        t->latest_start_at = at;
    }
}

void sl_tally_row(struct sl_tally *t, const struct sl_trace_row *row, uint64_t at,
                  struct sl_findings *findings)
{
    struct sl_tally_category *category = find_category(t, row);
    struct sl_tally_process *process = find_process(t, &row->pid);

    t->events++;
    category->events++;
    category->total_ns += row->dur_ns > 0 ? (uint64_t)row->dur_ns : 0;
    if (!process)
        return;
    if (row->phase == 'M') {
        see_metadata(row, process);
        return;
    }
    process->rows++;
    if (row->phase != 'X')
        return;
    check_metadata(t, process, at, findings);
    t->gpu_operations += (uint64_t)sl_row_is_gpu(row);
    count_lane(t, row, process);
    if (row->has & SL_HAS_TS)
        count_time(t, row->ts_ns, row->ts_ns + row->dur_ns, at);
}
