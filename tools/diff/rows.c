/*
 * rows.c - compares kernels, operators, launches, waits and collectives.
 *
 * Everything is walked twice. The first walk finds the rows and the sides that have each of them.
 * Then those that are only in one side are joined to replacements. The second walk, rank by rank,
 * collects a time for each occurrence, sorts these by row and step, and compares the sums of the
 * steps.
 *
 * Threads, memory: see diff.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff.h"
#include "read/grow.h"

enum {
    KIND,
    PLACE,
    NAME,
    LINE,
    WORK
};

/* The findings of the walks under one key. */
struct item {
    uint64_t ns[2];
    uint64_t count[2];
    uint32_t line[2];
    uint32_t joined; /* index of the item that it was joined to; its own if it was not */
};

/* One occurrence in a step of the rank that is compared. */
struct occurrence {
    uint32_t item, step;
    uint64_t ns;
};

struct occurrences {
    struct occurrence *of;
    size_t count, slots;
};

struct walk {
    struct sl_diff *d;
    struct sl_sums keys; /* the number of a key is that of its item */
    struct item *item;
    size_t item_slots, items;
    uint8_t *has_range[2]; /* by name: 1 if the side has an operator or range of this name */
    int has_lines;         /* 0: a side has waits without lines of code */
    int side;
    struct occurrences *out; /* NULL in the first walk */
    int failed;
};

/* ---- the walk over a recording ---- */

static void put(struct walk *w, const uint32_t key[SL_SUM_KEYS], uint32_t line, uint64_t ns,
                uint32_t step)
{
    if (w->out) {
        const struct sl_sum *known = sl_sums_find(&w->keys, key);
        struct occurrence *o =
            known ? sl_grow((void **)&w->out->of, &w->out->count, &w->out->slots, sizeof(*o))
                  : NULL;

        if (o)
            *o = (struct occurrence){w->item[known->number].joined, step, ns};
        w->failed |= o == NULL;
        return;
    }
    const struct sl_sum *sum = sl_sums_add(&w->keys, key, ns);
    struct item *item;

    if (sum && sum->number == w->items) {
        item = sl_grow((void **)&w->item, &w->items, &w->item_slots, sizeof(*item));
        if (item)
            item->joined = sum->number;
    } else {
        item = sum ? &w->item[sum->number] : NULL;
    }
    w->failed |= item == NULL;
    if (!item)
        return;
    item->ns[w->side] += ns;
    item->count[w->side]++;
    if (line && !item->line[w->side])
        item->line[w->side] = line;
}

/* Sets common[i] to the name of the innermost operator or range around (and including) range i
 * that both sides have, or to 0. */
static void find_common(const struct walk *w, const struct sl_recording *r, uint32_t *common)
{
    for (size_t i = 0; i < r->ranges; i++) {
        const struct sl_report_range *range = &r->range[i];

        if (!range->is_step && w->has_range[0][range->name] && w->has_range[1][range->name])
            common[i] = range->name;
        else
            common[i] = range->around && range->around <= i ? common[range->around - 1] : 0;
    }
}

static void put_op(struct walk *w, const struct sl_recording *r, const struct sl_report_op *op,
                   const uint32_t *common, uint32_t step)
{
    const struct sl_report_launch *launch = op->launch ? &r->launch[op->launch - 1] : NULL;
    const int is_collective = op->work == SL_WORK_COMMUNICATION;
    const uint32_t line = launch ? launch->line : 0;
    const uint64_t ns = op->end_ns - op->start_ns;
    uint32_t key[SL_SUM_KEYS] = {is_collective ? SL_DIFF_COLLECTIVES : SL_DIFF_KERNELS,
                                 launch && launch->range ? common[launch->range - 1] : 0, op->name,
                                 0, op->work};

    put(w, key, line, ns, step);
    if (!launch || !launch->place || !w->d->has_places[0] || !w->d->has_places[1])
        return;
    memset(key, 0, sizeof(key));
    key[KIND] = SL_DIFF_OPERATORS;
    key[NAME] = launch->place;
    put(w, key, line, ns, step);
}

/* `step` has the step of each part of the recording's CPU time. */
static void walk_recording(struct walk *w, const struct sl_recording *r, const uint32_t *step)
{
    uint32_t *common = malloc((r->ranges + 1) * sizeof(*common));

    if (!common) {
        w->failed = 1;
        return;
    }
    find_common(w, r, common);
    for (size_t i = 0; i < r->ops; i++)
        if (step[r->op[i].part] != UINT32_MAX)
            put_op(w, r, &r->op[i], common, step[r->op[i].part]);
    for (size_t i = 0; i < r->launches; i++) {
        const struct sl_report_launch *l = &r->launch[i];
        const uint32_t key[SL_SUM_KEYS] = {SL_DIFF_LAUNCHES, l->range ? common[l->range - 1] : 0,
                                           l->name};
        uint32_t at = step[sl_recording_part(r, l->start_ns)];

        if (at != UINT32_MAX)
            put(w, key, l->line, l->end_ns - l->start_ns, at);
    }
    for (size_t i = 0; i < r->waits; i++) {
        const struct sl_report_wait *wait = &r->wait[i];
        const uint32_t key[SL_SUM_KEYS] = {SL_DIFF_WAITS, wait->place, wait->name,
                                           w->has_lines ? wait->line : 0};
        uint32_t at = wait->wait_ns ? step[sl_recording_part(r, wait->start_ns)] : UINT32_MAX;

        if (at != UINT32_MAX)
            put(w, key, wait->line, wait->wait_ns, at);
    }
    free(common);
}

/* Walks over one side of a rank. Sets *steps to the number of its chosen steps. */
static void walk_rank(struct walk *w, const struct sl_diff_rank *rank, int side, size_t *steps)
{
    const struct sl_report *report = &w->d->side[side];
    struct sl_diff_steps s;

    w->side = side;
    if (sl_diff_steps_make(&s, report, rank->first[side], rank->end[side]) != 0)
        w->failed = 1;
    for (size_t i = rank->first[side]; i < rank->end[side] && !w->failed; i++)
        walk_recording(w, &report->recordings.of[i], s.of_part + s.base[i - rank->first[side]]);
    *steps = s.count;
    sl_diff_steps_free(&s);
}

/* ---- replacements ---- */

/* Items that one side alone has, in the same place. */
struct group {
    uint32_t first[2]; /* index + 1 of the item with the most time on each side */
    size_t count[2];
};

/* Returns the name of the file of a line such as "train.py:12", or 0. */
static uint32_t file_of(const struct sl_report *report, uint32_t line)
{
    const char *text = sl_report_name(report, line), *colon = strchr(text, ':');

    return colon ? sl_intern_put(report->recordings.names, text, (size_t)(colon - text)) : 0;
}

/* Makes the key of the group of an item. Returns 0 if it cannot be replaced. */
static int group_key(const struct walk *w, const struct sl_sum *sum, uint32_t *key)
{
    const struct item *item = &w->item[sum->number];

    if ((item->count[0] != 0) == (item->count[1] != 0))
        return 0;
    memcpy(key, sum->key, sizeof(sum->key));
    switch ((enum sl_diff_kind)key[KIND]) {
    case SL_DIFF_KERNELS:
    case SL_DIFF_COLLECTIVES:
        key[NAME] = 0;
        return 1;
    case SL_DIFF_WAITS:
        key[LINE] = file_of(&w->d->side[0], key[LINE]);
        return key[LINE] != 0;
    default:
        return 0;
    }
}

/* Without a place, only one kernel can be replaced by one other: of more, nothing says which. */
static int is_replacement(const struct group *g, const uint32_t *key)
{
    if (!g->count[0] || !g->count[1])
        return 0;
    return key[PLACE] != 0 || key[KIND] == SL_DIFF_WAITS || (g->count[0] == 1 && g->count[1] == 1);
}

/* Joins what is gone from A and what is new in B, if it is in the same place. */
static void join(struct walk *w)
{
    struct sl_sums groups = {0};
    struct group *group = calloc(w->items + 1, sizeof(*group));
    uint32_t key[SL_SUM_KEYS];

    for (size_t i = 0; group && i < w->items; i++) {
        const struct item *item = &w->item[i];
        const int side = item->count[0] == 0;
        const struct sl_sum *sum;
        uint32_t *first;

        if (!group_key(w, &w->keys.sum[i], key) || !(sum = sl_sums_add(&groups, key, 0)))
            continue;
        first = &group[sum->number].first[side];
        group[sum->number].count[side]++;
        if (!*first || item->ns[side] > w->item[*first - 1].ns[side])
            *first = (uint32_t)i + 1;
    }
    for (size_t i = 0; group && i < w->items; i++) {
        const struct sl_sum *sum;

        if (!group_key(w, &w->keys.sum[i], key) || !(sum = sl_sums_find(&groups, key)) ||
            !is_replacement(&group[sum->number], key))
            continue;
        w->item[i].joined = group[sum->number].first[0] - 1;
    }
    w->failed |= !group || groups.failed;
    free(group);
    sl_sums_free(&groups);
}

/* ---- rows ---- */

/* Makes a row of each item that is not joined to another. Sets row_of[item] to the row. */
static void make_rows(struct walk *w, uint32_t *row_of)
{
    struct sl_diff *d = w->d;
    size_t slots = 0;

    for (size_t i = 0; i < w->items; i++) {
        struct sl_diff_row *row;
        const uint32_t *key = w->keys.sum[i].key;

        if (w->item[i].joined != i)
            continue;
        row = sl_grow((void **)&d->row, &d->rows, &slots, sizeof(*row));
        if (!row) {
            w->failed = 1;
            return;
        }
        row->kind = (enum sl_diff_kind)key[KIND];
        row->work = (enum sl_work)key[WORK];
        row->place = key[PLACE];
        row->most_rank = -1;
        row_of[i] = (uint32_t)d->rows - 1;
    }
    for (size_t i = 0; i < w->items; i++) {
        const struct item *item = &w->item[i];
        struct sl_diff_row *row = &d->row[row_of[item->joined]];

        for (int side = 0; side < 2; side++) {
            if (!item->count[side])
                continue;
            if (!row->names[side]++ || item->ns[side] > row->most_ns[side]) {
                row->name[side] = w->keys.sum[i].key[NAME];
                row->line[side] = item->line[side];
                row->most_ns[side] = item->ns[side];
            }
        }
    }
}

static int by_item_and_step(const void *a, const void *b)
{
    const struct occurrence *x = a, *y = b;

    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

/* Sets value[i] to the time of an item in step i. *at is the index of its first occurrence, and
 * becomes that of the next item. Returns the number of occurrences. */
static size_t sum_steps(const struct occurrences *o, size_t *at, uint32_t item, double *value,
                        size_t steps)
{
    size_t first;

    memset(value, 0, steps * sizeof(*value));
    while (*at < o->count && o->of[*at].item < item)
        ++*at;
    for (first = *at; *at < o->count && o->of[*at].item == item; ++*at)
        value[o->of[*at].step] += (double)o->of[*at].ns;
    return *at - first;
}

static void compare_rows(struct walk *w, const struct sl_diff_rank *rank,
                         const struct occurrences o[2], const size_t steps[2],
                         const uint32_t *row_of)
{
    double *value[2] = {malloc((steps[0] + 1) * sizeof(double)),
                        malloc((steps[1] + 1) * sizeof(double))};
    size_t at[2] = {0, 0};

    w->failed |= !value[0] || !value[1];
    for (uint32_t i = 0; i < w->items && !w->failed; i++) {
        struct sl_diff_change change;
        struct sl_diff_row *row;
        size_t count[2];

        if (w->item[i].joined != i)
            continue;
        row = &w->d->row[row_of[i]];
        for (int side = 0; side < 2; side++)
            count[side] = sum_steps(&o[side], &at[side], i, value[side], steps[side]);
        change = sl_diff_compare(value[0], steps[0], value[1], steps[1]);
        for (int side = 0; side < 2; side++)
            change.of[side].count = steps[side] ? (double)count[side] / (double)steps[side] : 0;
        sl_diff_add(&row->change, &change);
        if (fabs(change.change_ns) > fabs(row->most_ns_of_rank)) {
            row->most_ns_of_rank = change.change_ns;
            row->most_rank = rank->rank;
        }
    }
    free(value[0]);
    free(value[1]);
}

static void compare_rank(struct walk *w, const struct sl_diff_rank *rank, const uint32_t *row_of)
{
    struct occurrences o[2] = {{0}};
    size_t steps[2] = {0, 0};

    for (int side = 0; side < 2 && !w->failed; side++) {
        w->out = &o[side];
        walk_rank(w, rank, side, &steps[side]);
        if (o[side].count)
            qsort(o[side].of, o[side].count, sizeof(*o[side].of), by_item_and_step);
    }
    if (!w->failed)
        compare_rows(w, rank, o, steps, row_of);
    free(o[0].of);
    free(o[1].of);
}

static int by_kind_and_change(const void *a, const void *b)
{
    const struct sl_diff_row *x = a, *y = b;
    const double size_x = fabs(x->change.change_ns), size_y = fabs(y->change.change_ns);

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (size_x != size_y)
        return size_x < size_y ? 1 : -1;
    if (x->most_ns[0] + x->most_ns[1] != y->most_ns[0] + y->most_ns[1])
        return x->most_ns[0] + x->most_ns[1] < y->most_ns[0] + y->most_ns[1] ? 1 : -1;
    if (x->name[0] != y->name[0])
        return x->name[0] < y->name[0] ? -1 : 1;
    if (x->name[1] != y->name[1])
        return x->name[1] < y->name[1] ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (x->line[1] > y->line[1]) - (x->line[1] < y->line[1]);
}

/* ---- all of it ---- */

static void find_ranges(struct walk *w)
{
    size_t names = (size_t)sl_intern_count(w->d->side[0].recordings.names) + 1;
    int lines[2] = {0, 0}, waits[2] = {0, 0};

    for (int side = 0; side < 2; side++) {
        const struct sl_recordings *all = &w->d->side[side].recordings;

        w->has_range[side] = calloc(names, 1);
        if (!w->has_range[side]) {
            w->failed = 1;
            return;
        }
        for (size_t i = 0; i < all->count; i++) {
            const struct sl_recording *r = &all->of[i];

            for (size_t k = 0; k < r->ranges; k++)
                w->has_range[side][r->range[k].name] = 1;
            for (size_t k = 0; k < r->waits; k++)
                lines[side] |= r->wait[k].line != 0;
            waits[side] |= r->waits != 0;
        }
    }
    /* A side with waits and without lines was recorded without lines. */
    w->has_lines = (lines[0] || !waits[0]) && (lines[1] || !waits[1]);
}

int sl_diff_rows_make(struct sl_diff *d)
{
    struct walk w = {.d = d};
    uint32_t *row_of = NULL;
    size_t steps;

    find_ranges(&w);
    for (size_t i = 0; i < d->ranks; i++)
        for (int side = 0; side < 2 && !w.failed; side++)
            walk_rank(&w, &d->rank[i], side, &steps);
    if (!w.failed)
        join(&w);
    row_of = calloc(w.items + 1, sizeof(*row_of));
    w.failed |= !row_of;
    if (!w.failed)
        make_rows(&w, row_of);
    for (size_t i = 0; i < d->ranks && !w.failed; i++)
        compare_rank(&w, &d->rank[i], row_of);
    for (size_t i = 0; i < d->rows; i++)
        sl_diff_divide(&d->row[i].change, d->ranks);
    if (d->rows)
        qsort(d->row, d->rows, sizeof(*d->row), by_kind_and_change);
    free(row_of);
    free(w.item);
    free(w.has_range[0]);
    free(w.has_range[1]);
    sl_sums_free(&w.keys);
    return w.failed ? -ENOMEM : 0;
}
