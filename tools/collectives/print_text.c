/*
 * print_text.c - prints the table of collectives and what is wrong with them, for readers.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/print.h"
#include "event/message.h"
#include "print/format.h"

#define PROBLEMS_SHOWN 20
#define RANGES_SHOWN   8
#define NAME_SIZE      96

static const char *const problem_names[SL_PROBLEM_KINDS] = {
    [SL_PROBLEM_CALL] = "different_call",
    [SL_PROBLEM_SIZE] = "different_size",
    [SL_PROBLEM_MISSING] = "missing_call",
    [SL_PROBLEM_IMPOSSIBLE] = "impossible_times",
};

const char *sl_collectives_problem_name(enum sl_problem_kind kind)
{
    return problem_names[kind];
}

void sl_collectives_absent(const struct sl_ranks *all, void (*take)(void *user, uint64_t rank),
                           void *user)
{
    size_t at = 0;

    for (uint64_t rank = 0; rank < all->world_size; rank++) {
        while (at < all->ranks && all->rank[at].number >= 0 &&
               (uint64_t)all->rank[at].number < rank)
            at++;
        if (at == all->ranks || all->rank[at].number < 0 || (uint64_t)all->rank[at].number != rank)
            take(user, rank);
    }
}

/* ---- lists of ranks, such as "0-3,6" ---- */

struct ranges {
    char text[128];
    size_t size, shown;
    uint64_t first, last, count;
};

static void end_range(struct ranges *r)
{
    char part[48];
    int size;

    if (!r->count)
        return;
    if (r->first == r->last)
        size = snprintf(part, sizeof(part), "%s%" PRIu64, r->size ? "," : "", r->first);
    else
        size = snprintf(part, sizeof(part), "%s%" PRIu64 "%s%" PRIu64, r->size ? "," : "", r->first,
                        r->last == r->first + 1 ? "," : "-", r->last);
    if (r->shown++ >= RANGES_SHOWN)
        size = r->shown == RANGES_SHOWN + 1 ? snprintf(part, sizeof(part), ",...") : 0;
    if (size > 0 && r->size + (size_t)size < sizeof(r->text)) {
        memcpy(r->text + r->size, part, (size_t)size + 1);
        r->size += (size_t)size;
    }
}

/* Adds a rank. Ranks come in ascending order. */
static void put_rank(void *user, uint64_t rank)
{
    struct ranges *r = user;

    if (!r->count || rank != r->last + 1) {
        end_range(r);
        r->first = rank;
    }
    r->last = rank;
    r->count++;
}

static const char *range_text(struct ranges *r)
{
    end_range(r);
    r->count = 0;
    return r->text;
}

static struct ranges ranks_of(const struct sl_summary *s, const uint32_t *rank, size_t count)
{
    struct ranges r = {{0}, 0, 0, 0, 0, 0};

    for (size_t i = 0; i < count; i++)
        put_rank(&r, (uint64_t)s->all->rank[rank[i]].number);
    return r;
}

static struct ranges group_ranks(const struct sl_rank_group *group)
{
    struct ranges r = {{0}, 0, 0, 0, 0, 0};

    for (size_t i = 0; i < group->known; i++)
        put_rank(&r, group->rank[i]);
    return r;
}

/* Writes the description and the ranks of a group. */
static void group_text(char *to, const struct sl_summary *s, const struct sl_rank_group *group)
{
    struct ranges ranks = group_ranks(group);
    const char *description = sl_ranks_name(s->all, group->description);
    char of[32] = "";

    if (group->known < group->ranks)
        snprintf(of, sizeof(of), " of %zu", group->ranks);
    snprintf(to, NAME_SIZE, "%.24s%s%.32s%s", description, *description ? " " : "",
             group->known ? range_text(&ranks) : "?", of);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- the head ---- */

/* Names the ranks of which a file ends before the process did. */
static void put_recovered(FILE *f, const struct sl_summary *s)
{
    const struct sl_ranks *all = s->all;
    struct ranges ranks = {{0}, 0, 0, 0, 0, 0};
    uint64_t count;

    for (uint32_t i = 0; i < all->ranks && all->rank[i].number >= 0; i++) {
        int is_recovered = 0;

        for (size_t k = 0; k < all->files; k++)
            is_recovered |= all->file[k].rank == i && all->file[k].is_recovered;
        if (is_recovered)
            put_rank(&ranks, (uint64_t)all->rank[i].number);
    }
    count = ranks.count;
    if (count)
        fprintf(f,
                "a file of rank%s %s ends before its process did, which was killed: calls of the "
                "last second may be missing\n",
                plural(count), range_text(&ranks));
}

static void put_head(FILE *f, const struct sl_summary *s)
{
    const struct sl_ranks *all = s->all;
    struct ranges there = {{0}, 0, 0, 0, 0, 0}, absent = {{0}, 0, 0, 0, 0, 0};
    uint64_t named = 0, absents;

    for (size_t i = 0; i < all->ranks && all->rank[i].number >= 0; i++, named++)
        put_rank(&there, (uint64_t)all->rank[i].number);
    fprintf(f, "%zu file%s", all->files, plural(all->files));
    if (named)
        fprintf(f, " of rank%s %s", plural(named), range_text(&there));
    if (all->world_size)
        fprintf(f, "; the job has %" PRIu64 " rank%s", all->world_size, plural(all->world_size));
    fputs("\n", f);
    if (named < all->ranks)
        fprintf(f, "%zu file%s: the rank is not known, so nothing is matched with other ranks\n",
                all->ranks - (size_t)named, plural(all->ranks - named));
    sl_collectives_absent(all, put_rank, &absent);
    absents = absent.count;
    if (absents && named)
        fprintf(f, "no file of rank%s %s\n", plural(absents), range_text(&absent));
    for (size_t i = 0; i < all->files; i++)
        if (all->file[i].is_cut && all->rank[all->file[i].rank].number >= 0)
            fprintf(f, "only a part of a file of rank %" PRId64 " was read: %s\n",
                    all->rank[all->file[i].rank].number, all->file[i].path);
    put_recovered(f, s);
}

/* Prints a signed length of time. */
static void put_signed(FILE *f, int64_t ns)
{
    char span[SL_FORMAT_SIZE];

    fprintf(f, "%s%s", ns < 0 ? "-" : "+",
            sl_format_span(span, ns < 0 ? (uint64_t)-ns : (uint64_t)ns));
}

/* Prints the clocks that differ from that of the first rank. */
static void put_clocks(FILE *f, const struct sl_summary *s)
{
    const struct sl_ranks *all = s->all;
    const struct sl_clocks_conflict *conflict;
    char span[SL_FORMAT_SIZE];
    size_t conflicts;

    for (uint32_t i = 1; i < all->ranks && all->rank[i].number >= 0; i++) {
        uint32_t to = sl_clocks_reference(s->clocks, i);
        struct sl_clocks_fit fit = sl_clocks_fit(s->clocks, i);
        int is_first = 1;

        for (uint32_t k = 0; k < i; k++)
            is_first &= !sl_clocks_is_shared(s->clocks, k, i);
        if (!is_first)
            continue;
        fprintf(f, "clock of rank %" PRId64, all->rank[i].number);
        if (all->rank[i].host != SL_CLOCKS_UNKNOWN)
            fprintf(f, " (%s)", sl_ranks_name(all, all->rank[i].host));
        if (sl_clocks_is_shared(s->clocks, to, i)) {
            fputs(": no collective aligns it to that of an earlier rank\n", f);
            continue;
        }
        fputs(": ", f);
        put_signed(f, fit.offset_ns);
        fprintf(f, " from rank %" PRId64 ", drift ", all->rank[to].number);
        put_signed(f, (int64_t)fit.drift_ns_per_s);
        fprintf(f, "/s, error at most %s\n", sl_format_span(span, fit.error_ns));
    }
    conflict = sl_clocks_conflicts(s->clocks, &conflicts);
    for (size_t i = 0; i < conflicts; i++)
        fprintf(f,
                conflict[i].is_one_host ? "the times of ranks %" PRId64 " and %" PRId64
                                          ", of one host, contradict each other by %s\n"
                                        : "no straight line fits the clocks of ranks %" PRId64
                                          " and %" PRId64
                                          ": their collectives contradict each other by %s\n",
                all->rank[conflict[i].a].number, all->rank[conflict[i].b].number,
                sl_format_span(span, conflict[i].ns));
}

/* ---- the table ---- */

/* Writes the least size of a bucket: "64 KiB". */
static void size_text(char *to, size_t room, int bucket)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

    if (bucket < 0)
        snprintf(to, room, "%s", bucket == -1 ? "0" : "?");
    else
        snprintf(to, room, "%u %s", 1u << bucket % 10, unit[bucket / 10]);
}

static void put_bandwidth(FILE *f, const struct sl_summary *s, const struct sl_summary_row *row)
{
    double algorithm, bus;
    int kind = sl_summary_bandwidth(s, row, &algorithm, &bus);

    if (kind)
        fprintf(f, " %6.2f %8.2f%c", algorithm, bus, kind == 2 ? 'L' : ' ');
    else
        fprintf(f, " %6s %8s ", "-", "-");
}

/* Prints a length of time with three digits. */
static void put_span(FILE *f, int has, uint64_t ns)
{
    double value = (double)ns / 1e3;
    const char *unit = "us";
    char span[SL_FORMAT_SIZE] = "-";

    if (ns >= 999500000) {
        value = (double)ns / 1e9;
        unit = "s";
    } else if (ns >= 999500) {
        value = (double)ns / 1e6;
        unit = "ms";
    }
    if (has)
        snprintf(span, sizeof(span), "%.*f %s",
                 value < 9.995   ? 2
                 : value < 99.95 ? 1
                                 : 0,
                 value, unit);
    fprintf(f, " %8s", span);
}

/* Prints the two ranks that began last most often. */
static void put_last(FILE *f, const struct sl_summary *s, const struct sl_summary_row *row)
{
    uint64_t others = row->timed - row->together;
    const char *separator = "  ";
    size_t shown = SIZE_MAX;

    for (int i = 0; i < 2 && others; i++) {
        size_t most = shown == 0 && s->all->ranks > 1 ? 1 : 0;

        for (size_t k = 0; k < s->all->ranks; k++)
            if (k != shown && row->last[k] > row->last[most])
                most = k;
        fprintf(f, "%srank %" PRId64 ": %" PRIu64, separator, s->all->rank[most].number,
                row->last[most]);
        separator = ", ";
        others -= row->last[most];
        shown = most;
    }
    if (others)
        fprintf(f, ", others: %" PRIu64, others);
    if (row->together)
        fprintf(f, "%stogether: %" PRIu64, separator, row->together);
}

static void put_row(FILE *f, const struct sl_summary *s, const struct sl_summary_row *row,
                    const int *width)
{
    char name[NAME_SIZE], size[16];

    group_text(name, s, &s->all->group[row->group]);
    size_text(size, sizeof(size), row->bucket);
    fprintf(f, "%-*s %-*.32s %7s %6" PRIu64 "%c%5" PRIu64, width[0], name, width[1],
            sl_ranks_name(s->all, row->call), size, row->count, row->sample > 1 ? 'S' : ' ',
            row->timed);
    put_bandwidth(f, s, row);
    put_span(f, sl_summary_has_kernels(row), row->kernel_ns);
    put_span(f, row->timed != 0, row->waiting_ns);
    put_span(f, row->timed != 0, row->transfer_ns);
    put_span(f, sl_summary_has_kernels(row), row->exposed_ns);
    put_last(f, s, row);
    fputs("\n", f);
}

static void put_table(FILE *f, const struct sl_summary *s)
{
    int has_local = 0, has_shared = 0, has_sample = 0, has_launches = 0, width[2] = {5, 4};

    if (!s->rows)
        return;
    for (size_t i = 0; i < s->rows; i++) {
        char name[NAME_SIZE];
        int size;

        group_text(name, s, &s->all->group[s->row[i].group]);
        size = (int)strlen(name);
        width[0] = size > width[0] ? size : width[0];
        size = (int)strnlen(sl_ranks_name(s->all, s->row[i].call), 32);
        width[1] = size > width[1] ? size : width[1];
    }
    fprintf(f, "\n%-*s %-*s %7s %6s %5s %6s %8s  %8s %8s %8s %8s  %s\n", width[0], "group",
            width[1], "call", "size", "count", "timed", "GB/s", "bus GB/s", "kernels", "waiting",
            "transfer", "exposed", "last");
    for (size_t i = 0; i < s->rows; i++) {
        double algorithm, bus;

        put_row(f, s, &s->row[i], width);
        has_local |= sl_summary_bandwidth(s, &s->row[i], &algorithm, &bus) == 2;
        has_shared |= s->row[i].shared != 0;
        has_sample |= s->row[i].sample > 1;
        has_launches |= s->row[i].launches != 0;
    }
    fputs("\nA size is the least of its row: the next power of two is in another row. Kernels, "
          "waiting and\nexposed are sums over all ranks.\n",
          f);
    if (has_local)
        fputs("L: local, from the kernels of each rank alone, which include waiting: the bandwidth "
              "is "
              "at least this.\n",
              f);
    if (has_sample)
        fputs("S: a sample of these collectives was recorded (SYNCLINE_NCCL_SAMPLE). Counts and "
              "lengths of time\nare scaled up to all.\n",
              f);
    if (has_launches)
        fputs("Files without kernels (SYNCLINE_KINDS=collectives) give counts and sizes, and no "
              "times.\n",
              f);
    if (has_shared)
        fputs("Kernels that several collectives share give no bandwidth.\n", f);
}

/* ---- what is wrong ---- */

static void put_side(FILE *f, const struct sl_summary *s, const struct sl_rank_part *part,
                     enum sl_problem_kind kind)
{
    const char *line = sl_ranks_name(s->all, part->line);
    char size[SL_FORMAT_SIZE];

    fprintf(f, " %s", sl_ranks_name(s->all, part->call));
    if (kind == SL_PROBLEM_SIZE && part->size != SL_MESSAGE_UNKNOWN)
        fprintf(f, " of %s", sl_format_bytes(size, part->size));
    if (kind == SL_PROBLEM_SIZE)
        fprintf(f, " %s", sl_collective_dtype(part->dtype));
    if (*line)
        fprintf(f, " (%s)", line);
}

static void put_place(FILE *f, const struct sl_summary *s, const struct sl_summary_problem *p)
{
    char name[NAME_SIZE];

    group_text(name, s, &s->all->group[p->rest->group]);
    fprintf(f, "group %s", name);
    if (p->rest->numbered == SL_NUMBERED_BY_SEQ)
        fprintf(f, ", number %" PRIu64, p->rest->number);
    else if (p->rest->numbered == SL_NUMBERED_BY_NCCL)
        fprintf(f, ", NCCL's number %" PRIu64, p->rest->number);
    else if (p->rest->numbered == SL_NUMBERED_BY_ORDER)
        fputs(", after the last collective of all ranks", f);
    else if (p->rest->number % 2)
        fprintf(f, ", step %" PRIu64 ", collective %" PRIu32, p->rest->number / 2, p->order + 1);
    else
        fprintf(f, ", collective %" PRIu32, p->order + 1);
}

static void put_problem(FILE *f, const struct sl_summary *s, const struct sl_summary_problem *p)
{
    struct ranges odd = ranks_of(s, p->rank, p->odds);
    struct ranges rest = ranks_of(s, p->rank + p->odds, p->rests);

    fprintf(f, "  ");
    put_place(f, s, p);
    fprintf(f, ": rank%s %s", plural(p->odds), range_text(&odd));
    if (p->kind == SL_PROBLEM_MISSING)
        fputs(" did not call", f);
    else if (p->kind == SL_PROBLEM_IMPOSSIBLE)
        fputs(" began", f);
    else
        fputs(" called", f);
    put_side(f, s, p->odd ? p->odd : p->rest, p->kind);
    if (p->kind == SL_PROBLEM_IMPOSSIBLE) {
        fputs(
            " after another rank had ended it: calls do not match, or clocks differ; the group is "
            "not timed\n",
            f);
        return;
    }
    fprintf(f, p->kind == SL_PROBLEM_MISSING ? ", rank%s %s did" : ", rank%s %s", plural(p->rests),
            range_text(&rest));
    if (p->kind != SL_PROBLEM_MISSING)
        put_side(f, s, p->rest, p->kind);
    if (p->last) {
        fputs("; last call of", f);
        fprintf(f, " rank %" PRId64 ":", s->all->rank[p->rank[0]].number);
        put_side(f, s, p->last, p->kind);
    }
    fputs("\n", f);
}

static void put_problems(FILE *f, const struct sl_summary *s)
{
    size_t shown = s->problems < PROBLEMS_SHOWN ? s->problems : PROBLEMS_SHOWN;

    if (!shown)
        return;
    fputs("\nRanks do not agree:\n", f);
    for (size_t i = 0; i < shown; i++)
        put_problem(f, s, &s->problem[i]);
    if (s->problems + s->more_problems > shown)
        fprintf(f, "  and %" PRIu64 " more\n", s->problems + s->more_problems - shown);
}

/* ---- kernels that nothing describes ---- */

static void put_undescribed(FILE *f, uint64_t count, uint64_t ns, const char *why)
{
    char span[SL_FORMAT_SIZE];

    if (count)
        fprintf(f, "\n%" PRIu64 " kernel%s of communication (%s) %s.\n", count, plural(count),
                sl_format_span(span, ns), why);
}

/* Says how many kernels are not in the table, and what to do. */
static void put_all_undescribed(FILE *f, const struct sl_ranks *all)
{
    uint64_t replays = 0, sampled = 0, others = 0, replays_ns = 0, sampled_ns = 0, others_ns = 0;

    for (size_t i = 0; i < all->files; i++) {
        const struct sl_rank_file *file = &all->file[i];
        uint64_t count = file->undescribed, ns = file->undescribed_ns;

        /* If some replays are described, the job recorded what its graphs contain. */
        if (!file->has_replays) {
            replays += file->replays;
            replays_ns += file->replays_ns;
            count -= file->replays;
            ns -= file->replays_ns;
        }
        if (file->header.nccl_sample > 1 && file->has_nccl) {
            sampled += count;
            sampled_ns += ns;
        } else {
            others += count;
            others_ns += ns;
        }
    }
    put_undescribed(f, replays, replays_ns,
                    "in replays of CUDA graphs are not in the table: NCCL\n2.28 and later describe "
                    "them to syncline with SYNCLINE_GRAPH_EDGES=1");
    put_undescribed(f, sampled, sampled_ns,
                    "have no description of their own: NCCL described\na sample of the collectives "
                    "(SYNCLINE_NCCL_SAMPLE), whose rows are marked S and scaled up to all");
    put_undescribed(f, others, others_ns,
                    "without a usable description are not in the table:\nrecord with "
                    "torch.profiler of PyTorch 2.2 or later, with syncline's operator recorder, "
                    "or with\nsyncline and NCCL 2.27 or later, but not with SYNCLINE_NCCL=off or "
                    "without driver in\nSYNCLINE_KINDS (docs/nccl.md)");
}

static void put_unmatched(FILE *f, const struct sl_summary *s)
{
    static const char *const why[SL_UNMATCHED_KINDS] = {
        [SL_UNMATCHED_ABSENT] = "not all ranks recorded them",
        [SL_UNMATCHED_RANK] = "the file does not name its rank",
        [SL_UNMATCHED_STEP] = "the trace has no sequence numbers and they lie outside of steps",
        [SL_UNMATCHED_PEERS] = "kernels of messages with several ranks, or with a rank that is not "
                               "known",
        [SL_UNMATCHED_MESSAGE] = "messages that the other rank did not record, or shared out to "
                                 "other kernels",
    };
    uint64_t count = 0;

    for (int i = 0; i < SL_UNMATCHED_KINDS; i++)
        count += s->unmatched[i];
    if (!count)
        return;
    fprintf(f, "\n%" PRIu64 " collective%s not timed:\n", count, count == 1 ? " was" : "s were");
    for (int i = 0; i < SL_UNMATCHED_KINDS; i++)
        if (s->unmatched[i])
            fprintf(f, "  %" PRIu64 ": %s\n", s->unmatched[i], why[i]);
}

void sl_collectives_print_text(FILE *f, const struct sl_summary *s)
{
    int is_undescribed = 0;

    put_head(f, s);
    put_clocks(f, s);
    put_table(f, s);
    for (size_t i = 0; i < s->all->files; i++)
        is_undescribed |= s->all->file[i].undescribed != 0;
    if (is_undescribed)
        put_all_undescribed(f, s->all);
    else if (!s->rows)
        fputs("no collectives\n", f);
    put_unmatched(f, s);
    put_problems(f, s);
}
