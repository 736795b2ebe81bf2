/*
 * print_json.c - prints the summary as one JSON object, in the schema of docs/collectives.md.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "collectives/print.h"
#include "event/message.h"

#define SCHEMA 1

static const char *const unmatched_names[SL_UNMATCHED_KINDS] = {
    [SL_UNMATCHED_ABSENT] = "absent",   [SL_UNMATCHED_RANK] = "no_rank",
    [SL_UNMATCHED_STEP] = "no_step",    [SL_UNMATCHED_PEERS] = "several_peers",
    [SL_UNMATCHED_MESSAGE] = "message",
};

static void put_string(FILE *f, const char *text)
{
    size_t length = strlen(text);
    char *out = malloc(length * SL_JSON_ESCAPE_MAX + 1);

    if (!out) {
        fputs("null", f);
        return;
    }
    *sl_json_escape(out, text, length) = '\0';
    fprintf(f, "\"%s\"", out);
    free(out);
}

/* Prints the text, or null if it is empty. */
static void put_name(FILE *f, const char *before, const char *text)
{
    fputs(before, f);
    if (*text)
        put_string(f, text);
    else
        fputs("null", f);
}

static void put_number(FILE *f, const char *before, int has, uint64_t value)
{
    if (has)
        fprintf(f, "%s%" PRIu64, before, value);
    else
        fprintf(f, "%snull", before);
}

static void put_real(FILE *f, const char *before, int has, double value)
{
    char digits[40];

    *sl_json_double(digits, value, 9) = '\0';
    fprintf(f, "%s%s", before, has ? digits : "null");
}

static void put_rank(FILE *f, const char *before, int64_t rank)
{
    put_number(f, before, rank >= 0, (uint64_t)rank);
}

static void put_files(FILE *f, const struct sl_ranks *all)
{
    for (size_t i = 0; i < all->files; i++) {
        const struct sl_rank_file *file = &all->file[i];

        fputs(i ? ",\n  {\"path\": " : "\n  {\"path\": ", f);
        put_string(f, file->path);
        put_rank(f, ", \"rank\": ", all->rank[file->rank].number);
        put_name(f, ", \"host\": ", file->header.host);
        fprintf(f,
                ", \"is_cut\": %s, \"is_recovered\": %s, \"undescribed\": %" PRIu64
                ", \"undescribed_ns\": %" PRIu64 "}",
                file->is_cut ? "true" : "false", file->is_recovered ? "true" : "false",
                file->undescribed, file->undescribed_ns);
    }
}

struct list {
    FILE *f;
    const char *separator;
};

static void put_absent(void *user, uint64_t rank)
{
    struct list *list = user;

    fprintf(list->f, "%s%" PRIu64, list->separator, rank);
    list->separator = ", ";
}

static void put_clocks(FILE *f, const struct sl_summary *s)
{
    const struct sl_ranks *all = s->all;
    const struct sl_clocks_conflict *conflict;
    size_t conflicts;

    fputs("],\n\"clocks\": [", f);
    for (uint32_t i = 0; i < all->ranks && all->rank[i].number >= 0; i++) {
        struct sl_clocks_fit fit = sl_clocks_fit(s->clocks, i);

        fprintf(f,
                "%s\n  {\"rank\": %" PRId64 ", \"reference\": %" PRId64 ", \"offset_ns\": %" PRId64,
                i ? "," : "", all->rank[i].number,
                all->rank[sl_clocks_reference(s->clocks, i)].number, fit.offset_ns);
        put_real(f, ", \"drift_ns_per_s\": ", 1, fit.drift_ns_per_s);
        fprintf(f, ", \"error_ns\": %" PRIu64 "}", fit.error_ns);
    }
    fputs("],\n\"conflicts\": [", f);
    conflict = sl_clocks_conflicts(s->clocks, &conflicts);
    for (size_t i = 0; i < conflicts; i++)
        fprintf(f,
                "%s{\"ranks\": [%" PRId64 ", %" PRId64 "], \"is_one_host\": %s, \"ns\": %" PRIu64
                "}",
                i ? ", " : "", all->rank[conflict[i].a].number, all->rank[conflict[i].b].number,
                conflict[i].is_one_host ? "true" : "false", conflict[i].ns);
}

static void put_groups(FILE *f, const struct sl_ranks *all, const uint8_t *is_bad)
{
    fputs("],\n\"groups\": [", f);
    for (size_t i = 0; i < all->groups; i++) {
        const struct sl_rank_group *group = &all->group[i];

        put_name(f, i ? ",\n  {\"description\": " : "\n  {\"description\": ",
                 sl_ranks_name(all, group->description));
        fputs(", \"ranks\": ", f);
        for (size_t k = 0; k < group->known; k++)
            fprintf(f, "%s%" PRIu32, k ? ", " : "[", group->rank[k]);
        put_number(f, group->known ? "], \"size\": " : "null, \"size\": ", group->ranks != 0,
                   group->ranks);
        fprintf(f, ", \"is_timed\": %s}", is_bad[i] ? "false" : "true");
    }
}

static void put_row(FILE *f, const struct sl_summary *s, const struct sl_summary_row *row)
{
    double algorithm = 0, bus = 0;
    int kind = sl_summary_bandwidth(s, row, &algorithm, &bus);
    const char *separator = "";

    fprintf(f, "{\"group\": %" PRIu32 ", \"call\": ", row->group);
    put_string(f, sl_ranks_name(s->all, row->call));
    put_number(f, ", \"bytes_from\": ", row->bucket > -2,
               row->bucket < 0 ? 0 : 1ull << row->bucket);
    fprintf(f,
            ", \"count\": %" PRIu64 ", \"timed\": %" PRIu64 ", \"shared\": %" PRIu64
            ", \"sample\": %" PRIu64,
            row->count, row->timed, row->shared, row->sample);
    put_number(f, ", \"kernel_ns\": ", sl_summary_has_kernels(row), row->kernel_ns);
    put_number(f, ", \"exposed_ns\": ", sl_summary_has_kernels(row), row->exposed_ns);
    put_number(f, ", \"waiting_ns\": ", row->timed != 0, row->waiting_ns);
    put_number(f, ", \"transfer_ns\": ", row->timed != 0, row->transfer_ns);
    put_real(f, ", \"algorithm_gb_per_s\": ", kind != 0, algorithm);
    put_real(f, ", \"bus_gb_per_s\": ", kind != 0, bus);
    fprintf(f, ", \"is_local\": %s, \"together\": %" PRIu64 ", \"last\": [",
            kind == 2 ? "true" : "false", row->together);
    for (size_t i = 0; i < s->all->ranks; i++) {
        if (!row->last[i])
            continue;
        fprintf(f, "%s{\"rank\": %" PRId64 ", \"count\": %" PRIu64 "}", separator,
                s->all->rank[i].number, row->last[i]);
        separator = ", ";
    }
    fputs("]}", f);
}

/* Prints one side of a problem: the ranks and what they called. */
static void put_side(FILE *f, const struct sl_summary *s, const char *before, const uint32_t *rank,
                     size_t ranks, const struct sl_rank_part *part)
{
    fprintf(f, "%s{\"ranks\": [", before);
    for (size_t i = 0; i < ranks; i++)
        fprintf(f, "%s%" PRId64, i ? ", " : "", s->all->rank[rank[i]].number);
    fputs("], \"call\": ", f);
    if (!part) {
        fputs("null, \"line\": null, \"bytes\": null, \"dtype\": null}", f);
        return;
    }
    put_string(f, sl_ranks_name(s->all, part->call));
    put_name(f, ", \"line\": ", sl_ranks_name(s->all, part->line));
    put_number(f, ", \"bytes\": ", part->size != SL_MESSAGE_UNKNOWN, part->size);
    put_name(f, ", \"dtype\": ", sl_collective_dtype(part->dtype));
    fputs("}", f);
}

static void put_problem(FILE *f, const struct sl_summary *s, const struct sl_summary_problem *p)
{
    static const char *const numbered_by[] = {[SL_NUMBERED_BY_STEP] = "",
                                              [SL_NUMBERED_BY_SEQ] = "Seq",
                                              [SL_NUMBERED_BY_NCCL] = "NCCL",
                                              [SL_NUMBERED_BY_ORDER] = ""};
    const struct sl_rank_part *part = p->rest;

    fprintf(f, "{\"kind\": \"%s\", \"group\": %" PRIu32, sl_collectives_problem_name(p->kind),
            part->group);
    put_number(f, ", \"number\": ", *numbered_by[part->numbered] != '\0', part->number);
    put_name(f, ", \"numbered_by\": ", numbered_by[part->numbered]);
    put_number(f, ", \"step\": ", part->numbered == SL_NUMBERED_BY_STEP && part->number % 2,
               part->number / 2);
    fprintf(f, ", \"order\": %" PRIu32, p->order);
    put_side(f, s, ", \"odd\": ", p->rank, p->odds, p->odd);
    put_side(f, s, ", \"others\": ", p->rank + p->odds, p->rests, part);
    put_name(f, ", \"last_call\": ", p->last ? sl_ranks_name(s->all, p->last->call) : "");
    put_name(f, ", \"last_line\": ", p->last ? sl_ranks_name(s->all, p->last->line) : "");
    fputs("}", f);
}

void sl_collectives_print_json(FILE *f, const struct sl_summary *s)
{
    struct list absent = {f, ""};
    uint64_t unmatched = 0;

    fprintf(f, "{\"schema\": %d,\n\"files\": [", SCHEMA);
    put_files(f, s->all);
    fputs("],\n\"absent_ranks\": [", f);
    sl_collectives_absent(s->all, put_absent, &absent);
    put_clocks(f, s);
    put_groups(f, s->all, s->is_bad);
    fputs("],\n\"collectives\": [", f);
    for (size_t i = 0; i < s->rows; i++) {
        fputs(i ? ",\n  " : "\n  ", f);
        put_row(f, s, &s->row[i]);
    }
    for (int i = 0; i < SL_UNMATCHED_KINDS; i++)
        unmatched += s->unmatched[i];
    fprintf(f, "],\n\"matched\": %" PRIu64 ", \"not_recorded\": %" PRIu64 ", \"unmatched\": {",
            s->matched, unmatched);
    for (int i = 0; i < SL_UNMATCHED_KINDS; i++)
        fprintf(f, "%s\"%s\": %" PRIu64, i ? ", " : "", unmatched_names[i], s->unmatched[i]);
    fprintf(f, "}, \"more_problems\": %" PRIu64 ",\n\"problems\": [", s->more_problems);
    for (size_t i = 0; i < s->problems; i++) {
        fputs(i ? ",\n  " : "\n  ", f);
        put_problem(f, s, &s->problem[i]);
    }
    fputs("]}\n", f);
}
