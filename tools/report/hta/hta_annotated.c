/*
 * hta_annotated.c - HTA's list of GPU rows with the innermost range of the user around each.
 *
 * Threads, memory: see metric.h. 24 bytes for each row while the table is made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/hta/hta_table.h"

static const struct sl_column columns[] = {
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"index", SL_COLUMN_INTEGER, "number of the row in the file"},
    {"pid", SL_COLUMN_INTEGER, "the device"},
    {"tid", SL_COLUMN_INTEGER, "the lane of the stream"},
    {"ts", SL_COLUMN_INTEGER, "start, in us from the first event of all ranks"},
    {"dur", SL_COLUMN_INTEGER, "us"},
    {"end", SL_COLUMN_INTEGER, "ts + dur"},
    {"stream", SL_COLUMN_INTEGER, "CUDA's number of the stream; -1: none"},
    {"correlation", SL_COLUMN_INTEGER, "CUPTI's id of the launch"},
    {"index_correlation", SL_COLUMN_INTEGER, "number of the launch's row; 0: not in the file"},
    {"iteration", SL_COLUMN_INTEGER, "number of the step; -1: none"},
    {"s_name", SL_COLUMN_TEXT, "name without types and arguments"},
    {"s_cat", SL_COLUMN_TEXT, "category of the row"},
    {"s_user_annotation", SL_COLUMN_TEXT, "the shortest range around it, without arguments"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static int is_gpu(const struct sl_hta *h, const struct sl_hta_row *row)
{
    (void)h;
    return row->is_gpu;
}

static int is_annotation(const struct sl_hta *h, const struct sl_hta_row *row)
{
    (void)h;
    return row->category == SL_CAT_GPU_USER_ANNOTATION;
}

static const char *category_name(uint8_t category)
{
    switch (category) {
    case SL_CAT_KERNEL:
        return "kernel";
    case SL_CAT_MEMCPY:
        return "gpu_memcpy";
    case SL_CAT_MEMSET:
        return "gpu_memset";
    case SL_CAT_SYNC:
        return "cuda_sync";
    default:
        return "";
    }
}

/* ---- names ---- */

/* Takes letters from the end of a text up to the bracket that opens. */
static size_t drop_to(const char *text, size_t size, char bracket)
{
    while (size && text[size - 1] != bracket)
        size--;
    return size ? size - 1 : 0;
}

/* Shortens a name as HTA does: without what is in brackets, and only the last word. `to` has room
 * for the name. Returns the short name, in `to` or the name itself. */
static const char *shorten(const char *name, char *to)
{
    size_t size = 0;
    char *space;

    if (strncmp(name, "Memcpy", 6) == 0 || strncmp(name, "Memset", 6) == 0 ||
        strncmp(name, "dma", 3) == 0 || !strpbrk(name, "<("))
        return name;
    for (; *name; name++) {
        if (name[0] == '-' && name[1] == '>')
            name++;
        else if (*name == '>')
            size = drop_to(to, size, '<');
        else if (*name == ')')
            size = drop_to(to, size, '(');
        else
            to[size++] = *name;
    }
    to[size] = '\0';
    space = strrchr(to, ' ');
    return space ? space + 1 : to;
}

/* The short names of the names that were asked for. */
struct short_names {
    uint32_t *of; /* by intern id; 0: not yet */
};

static const char *short_name(const struct sl_report *report, struct short_names *names,
                              uint32_t id)
{
    const char *name = sl_report_name(report, id);
    char *room;

    if (!names->of[id] && (room = malloc(strlen(name) + 1)) != NULL) {
        const char *text = shorten(name, room);

        names->of[id] = sl_intern_put(report->recordings.names, text, strlen(text));
        free(room);
    }
    return sl_report_name(report, names->of[id]);
}

/* ---- the range around each row ---- */

/* A row of the GPU, in the order of lanes and times. */
struct placed {
    uint32_t row;
    uint32_t lane;
    int64_t ts, end;
    int64_t latest; /* the latest end so far in the lane */
};

static int order_of_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

struct range {
    int64_t dur;
    uint32_t row;
};

/* The shortest range comes first, and of equal ones the last in the data frame. */
static int order_of_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    if (x->dur != y->dur)
        return x->dur < y->dur ? -1 : 1;
    return (x->row < y->row) - (x->row > y->row);
}

static size_t free_from(uint32_t *next, size_t at)
{
    while (next[at] != at) {
        next[at] = next[next[at]];
        at = next[at];
    }
    return at;
}

/* Returns the first place in the lane of a range whose row may end after the range begins. */
static size_t first_place(const struct placed *placed, size_t count, const struct sl_hta_row *range)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (placed[middle].lane < range->lane ||
            (placed[middle].lane == range->lane && placed[middle].latest <= range->ts))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Gives a range to the rows in it that have none yet. A row that begins before the range and ends
 * in it belongs to it too. */
static void give_range(const struct placed *placed, size_t count, uint32_t *next,
                       const struct sl_hta_row *range, uint32_t number, uint32_t *range_of)
{
    size_t at = free_from(next, first_place(placed, count, range));

    while (at < count && placed[at].lane == range->lane && placed[at].ts < range->ts + range->dur) {
        if (placed[at].end > range->ts) {
            range_of[placed[at].row] = number;
            next[at] = (uint32_t)(at + 1);
        }
        at = free_from(next, at + 1);
    }
}

/* Finds the range of each row of `gpu`: range_of[] is the number of the range's row plus 1. Returns
 * 0 or -ENOMEM. */
static int find_ranges(const struct sl_hta *h, const struct sl_hta_rank *r,
                       const struct sl_hta_list *gpu, uint32_t *range_of)
{
    struct sl_hta_list annotations = sl_hta_select(h, r, is_annotation);
    struct range *range = malloc((annotations.count + 1) * sizeof(*range));
    struct placed *placed = malloc((gpu->count + 1) * sizeof(*placed));
    uint32_t *next = malloc((gpu->count + 2) * sizeof(*next));
    int rc = annotations.row && range && placed && next ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < gpu->count; i++) {
        const struct sl_hta_row *row = &r->row[gpu->row[i]];

        placed[i] = (struct placed){(uint32_t)i, row->lane, row->ts, row->ts + row->dur, 0};
    }
    if (rc == 0 && gpu->count)
        qsort(placed, gpu->count, sizeof(*placed), order_of_placed);
    for (size_t i = 0; rc == 0 && i <= gpu->count; i++) {
        next[i] = (uint32_t)i;
        if (i == gpu->count)
            break;
        placed[i].latest = placed[i].end;
        if (i && placed[i - 1].lane == placed[i].lane && placed[i - 1].latest > placed[i].latest)
            placed[i].latest = placed[i - 1].latest;
    }
    for (size_t i = 0; rc == 0 && i < annotations.count; i++)
        range[i] = (struct range){r->row[annotations.row[i]].dur, annotations.row[i]};
    if (rc == 0 && annotations.count)
        qsort(range, annotations.count, sizeof(*range), order_of_ranges);
    for (size_t i = 0; rc == 0 && i < annotations.count; i++)
        give_range(placed, gpu->count, next, &r->row[range[i].row], range[i].row + 1, range_of);
    free(annotations.row);
    free(range);
    free(placed);
    free(next);
    return rc;
}

/* ---- the table ---- */

static void add_row(const struct sl_report *report, const struct sl_hta_rank *r,
                    const struct sl_hta_row *of, uint32_t range, struct short_names *names,
                    struct sl_table *out)
{
    const int64_t values[] = {r->rank,
                              of->index,
                              r->lane[of->lane].pid,
                              r->lane[of->lane].tid,
                              of->ts,
                              of->dur,
                              of->ts + of->dur,
                              of->stream,
                              of->correlation,
                              of->link,
                              of->step};
    struct sl_cell *row = sl_table_row(out);

    for (int i = 0; i < 11; i++)
        row[i] = sl_cell_integer(values[i]);
    row[11] = sl_cell_text(short_name(report, names, of->name));
    row[12] = sl_cell_text(category_name(of->category));
    if (range)
        row[13] = sl_cell_text(short_name(report, names, r->row[range - 1].name));
}

static int add_rank(const struct sl_report *report, const struct sl_hta_rank *r,
                    struct sl_table *out)
{
    struct sl_hta_list gpu = sl_hta_select(report->hta, r, is_gpu);
    uint32_t *range_of = calloc(gpu.count + 1, sizeof(*range_of));
    struct short_names names = {
        calloc((size_t)sl_intern_count(report->recordings.names) + 1, sizeof(*names.of))};
    int rc =
        gpu.row && range_of && names.of ? find_ranges(report->hta, r, &gpu, range_of) : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < gpu.count; i++)
        add_row(report, r, &r->row[gpu.row[i]], range_of[i], &names, out);
    free(names.of);
    free(range_of);
    free(gpu.row);
    return rc;
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    int has_any = 0;

    for (size_t i = 0; i < report->hta->count; i++)
        for (size_t k = 0; k < report->hta->of[i].rows && !has_any; k++)
            has_any = report->hta->of[i].row[k].category == SL_CAT_GPU_USER_ANNOTATION;
    if (has_any)
        sl_hta_each_rank(report, add_rank, out);
    else
        out->note[0] = "No trace has ranges of the user on the GPU.";
}

const struct sl_metric sl_hta_annotated = {
    .name = "gpu_kernels_with_user_annotations",
    .title = "each GPU row with the innermost range of the user",
    .columns = columns,
    .formula = "A row belongs to the shortest range of its lane that it overlaps. HTA fails if "
               "rounding made an operation shorter than nothing. Its columns with numbers of names "
               "and with further arguments of rows are left out.",
    .source = "HTA get_gpu_kernels_with_user_annotations",
    .make = make,
};
