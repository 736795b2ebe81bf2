/*
 * divide.c - orders, matches and divides the recordings of a report.
 *
 * Threads, memory: see divide.h.
 */
#include "report/divide.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args/args.h"
#include "report/peers.h"

int sl_report_take_steps(struct sl_report *report, const struct sl_command *command,
                         const char *text)
{
    char first[32];
    const char *dots;

    report->first_step = 0;
    report->last_step = UINT64_MAX;
    if (!text)
        return 0;
    dots = strstr(text, "..");
    snprintf(first, sizeof(first), "%.*s", dots ? (int)(dots - text) : (int)strlen(text), text);
    if (sl_args_number(first, UINT64_MAX, &report->first_step) != 0 ||
        sl_args_number(dots ? dots + 2 : first, UINT64_MAX, &report->last_step) != 0 ||
        report->first_step > report->last_step)
        return sl_args_complain(command, "--steps %s is not valid: give N or N..M, such as 10..20",
                                text);
    return 0;
}

static int by_rank_and_time(const void *a, const void *b)
{
    const struct sl_recording *x = a, *y = b;
    int64_t rank_x = sl_report_rank(x), rank_y = sl_report_rank(y);

    if (rank_x != rank_y)
        return rank_x < rank_y ? -1 : 1;
    if (x->header.base_ns != y->header.base_ns)
        return x->header.base_ns < y->header.base_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

void sl_report_sort(struct sl_recordings *all)
{
    if (all->count)
        qsort(all->of, all->count, sizeof(*all->of), by_rank_and_time);
}

int sl_report_is_of_rank(const struct sl_recording *r, uint64_t rank)
{
    return r->header.has_rank && (uint64_t)r->header.rank == rank;
}

/* Leaves out the recordings of other ranks. Their collectives are matched by now. */
static void choose_rank(struct sl_recordings *all, struct sl_peers *peers, uint64_t rank)
{
    size_t kept = 0;

    for (size_t i = 0; i < all->count; i++) {
        if (sl_report_is_of_rank(&all->of[i], rank)) {
            all->of[kept] = all->of[i];
            peers[kept++] = peers[i];
        } else {
            sl_recording_free(all, &all->of[i]);
            sl_peers_free(&peers[i]);
        }
    }
    all->count = kept;
}

/* Counts the ranks, and compares their hosts. */
static void look_at_ranks(struct sl_report *report)
{
    const struct sl_recordings *all = &report->recordings;
    size_t end;

    report->ranks = 0;
    report->is_host_known = report->is_one_host = 1;
    for (size_t first = 0; first < all->count; first = end) {
        const char *host = all->of[first].header.host;

        end = sl_report_rank_end(report, first);
        report->ranks++;
        report->is_host_known &= *host != '\0';
        report->is_one_host &= strcmp(host, all->of[0].header.host) == 0;
    }
}

int sl_report_divide(struct sl_report *report, const uint64_t *rank)
{
    struct sl_recordings *all = &report->recordings;
    struct sl_peers *peers = calloc(all->count + 1, sizeof(*peers));
    int rc = 0;

    report->peers = peers;
    report->parts = calloc(all->count + 1, sizeof(*report->parts));
    if (!peers || !report->parts)
        return -ENOMEM;
    report->matched = sl_peers_match(all, peers);
    look_at_ranks(report);
    if (report->matched < 0)
        rc = -ENOMEM;
    if (rank)
        choose_rank(all, peers, *rank);
    if (rc == 0)
        rc = sl_report_find_late(report);
    for (size_t i = 0; rc == 0 && i < all->count; i++)
        rc = sl_parts_make(&report->parts[i], &all->of[i], &peers[i]);
    return rc;
}

void sl_report_undivide(struct sl_report *report)
{
    for (size_t i = 0; report->parts && i < report->recordings.count; i++)
        sl_parts_free(&report->parts[i]);
    for (size_t i = 0; report->peers && i < report->recordings.count; i++)
        sl_peers_free(&report->peers[i]);
    free(report->parts);
    free(report->peers);
    report->parts = NULL;
    report->peers = NULL;
}
