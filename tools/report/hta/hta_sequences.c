/*
 * hta_sequences.c - HTA's frequent sequences of kernels below an operator.
 *
 * HTA builds a tree of the rows of each thread from the order of starts and ends alone: an end
 * closes the row that was opened last, whichever row ends.
 *
 * Threads, memory: see metric.h. 80 bytes for each row while the table is made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/hta/hta_table.h"

static const struct sl_setting settings[] = {
    {"operator_name", "", "part of the names of the operators; needed", 0, 0, 0, ""},
    {"min_pattern_len", "", "fewest kernels of a sequence", 1, 1e9, 3, NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

enum {
    OPERATOR_NAME,
    MIN_PATTERN_LEN
};

static const struct sl_column columns[] = {
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"pattern", SL_COLUMN_TEXT, "the operator and its kernels, in the order of time"},
    {"count", SL_COLUMN_INTEGER, "number of times"},
    {"GPU kernel duration (us)", SL_COLUMN_INTEGER, "of all kernels together"},
    {"CPU op duration (us)", SL_COLUMN_INTEGER, "of all operators together"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

#define NO_NODE UINT32_MAX
#define LOST    (UINT32_MAX - 1)

/* The tree of the rows of a rank. */
struct tree {
    const struct sl_hta *hta;
    const struct sl_hta_rank *r;
    uint32_t *parent; /* of each row; NO_NODE: none */
    int32_t *depth;   /* -1: not in the tree */
    uint32_t *root;   /* the operator above each row; NO_NODE: none; LOST: HTA loses the row */
    uint32_t *order;  /* rows of the CPU in the order in which they were opened, lane by lane */
    size_t ordered;
    struct lane {
        size_t first, count; /* in `order` */
        int is_main, is_backward;
    } * lane;
};

enum kind {
    END,
    BEGIN,
    EMPTY_BEGIN,
    EMPTY_END
};

/* The start or the end of a row. */
struct edge {
    int64_t ts, dur;
    uint32_t lane, row;
    uint8_t kind;
};

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* At one time, first the ends of rows, the shortest first, then the starts, the longest first, then
 * rows without length. */
static int order_of_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    int sign = x->kind == BEGIN || x->kind == EMPTY_BEGIN ? 1 : -1;

    if (x->lane != y->lane)
        return compare(x->lane, y->lane);
    if (x->ts != y->ts)
        return compare(x->ts, y->ts);
    if (x->kind != y->kind)
        return compare(x->kind, y->kind);
    if (x->dur != y->dur)
        return -sign * compare(x->dur, y->dur);
    return sign * compare(x->row, y->row);
}

/* Rows without length belong into the rows that end at that time, unless others begin then. */
static void put_empty_first(struct edge *edge, size_t count, struct edge *room)
{
    size_t ends = 0;

    while (ends < count && edge[ends].kind == END)
        ends++;
    if (ends == 0 || ends == count || edge[ends].kind == BEGIN)
        return;
    memcpy(room, edge, ends * sizeof(*edge));
    memmove(edge, edge + ends, (count - ends) * sizeof(*edge));
    memcpy(edge + count - ends, room, ends * sizeof(*edge));
}

/* HTA takes a lane for one of the GPU if one of its ids is 0 or all of its rows have streams. */
static int is_cpu_lane(const struct sl_hta_rank *r, uint32_t lane, const uint8_t *has_cpu)
{
    return r->lane[lane].pid != 0 && r->lane[lane].tid != 0 && has_cpu[lane];
}

/* Lists the edges of all rows of the CPU. Returns their number. */
static size_t list_edges(const struct sl_hta_rank *r, const uint8_t *has_cpu, struct edge *edge)
{
    size_t count = 0;

    for (size_t i = 0; i < r->rows; i++) {
        const struct sl_hta_row *row = &r->row[i];
        int64_t dur = row->dur > 0 ? row->dur : 0;

        if (row->stream != -1 || !is_cpu_lane(r, row->lane, has_cpu))
            continue;
        edge[count++] =
            (struct edge){row->ts, dur, row->lane, (uint32_t)i, dur ? BEGIN : EMPTY_BEGIN};
        edge[count++] =
            (struct edge){row->ts + dur, dur, row->lane, (uint32_t)i, dur ? END : EMPTY_END};
    }
    return count;
}

/* Builds the tree of one lane. */
static void nest(struct tree *t, const struct edge *edge, size_t count, uint32_t *stack)
{
    struct lane *lane = &t->lane[edge[0].lane];
    size_t open = 0;

    lane->first = t->ordered;
    for (size_t i = 0; i < count; i++) {
        if (edge[i].kind == END || edge[i].kind == EMPTY_END) {
            open -= open > 0;
            continue;
        }
        t->parent[edge[i].row] = open ? stack[open - 1] : NO_NODE;
        t->order[t->ordered++] = edge[i].row;
        stack[open++] = edge[i].row;
    }
    lane->count = t->ordered - lane->first;
}

/* Returns 0 or -ENOMEM. */
static int nest_all(struct tree *t)
{
    const struct sl_hta_rank *r = t->r;
    struct edge *edge = malloc((2 * r->rows + 1) * sizeof(*edge));
    struct edge *room = malloc((r->rows + 1) * sizeof(*room));
    uint32_t *stack = malloc((r->rows + 1) * sizeof(*stack));
    uint8_t *has_cpu = calloc(r->lanes + 1, 1);
    int rc = edge && room && stack && has_cpu ? 0 : -ENOMEM;
    size_t count = 0, end;

    for (size_t i = 0; rc == 0 && i < r->rows; i++)
        has_cpu[r->row[i].lane] |= r->row[i].stream <= 0;
    if (rc == 0)
        count = list_edges(r, has_cpu, edge);
    if (count)
        qsort(edge, count, sizeof(*edge), order_of_edges);
    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1;
             end < count && edge[end].lane == edge[i].lane && edge[end].ts == edge[i].ts;)
            end++;
        put_empty_first(edge + i, end - i, room);
    }
    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && edge[end].lane == edge[i].lane;)
            end++;
        nest(t, edge + i, end - i, stack);
    }
    free(edge);
    free(room);
    free(stack);
    free(has_cpu);
    return rc;
}

/* ---- the thread of the backward pass ---- */

static const char *name_of(const struct tree *t, uint32_t row)
{
    return sl_intern_get(t->hta->names, t->r->row[row].name, NULL);
}

static int begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Moves the outermost rows of a lane below a row of another lane in whose time they are. Returns
 * the number of outermost rows that are left. */
static size_t move_below(struct tree *t, const struct lane *from, uint32_t to)
{
    const struct sl_hta_row *above = &t->r->row[to];
    size_t left = 0;

    for (size_t i = 0; i < from->count; i++) {
        uint32_t row = t->order[from->first + i];
        const struct sl_hta_row *below = &t->r->row[row];

        if (t->parent[row] == NO_NODE && below->ts >= above->ts &&
            below->ts + below->dur <= above->ts + above->dur)
            t->parent[row] = to;
        left += t->parent[row] == NO_NODE;
    }
    return left;
}

/* Moves the outermost rows of the backward pass below the rows of the other thread whose names
 * begin so. When no outermost row is left, HTA makes each further row its own parent, and loses
 * the rows below. Returns 1 if there are such rows. */
static int link_below(struct tree *t, const struct lane *forward, const struct lane *backward,
                      const char *name)
{
    size_t left = 1;
    int has_any = 0;

    for (size_t i = 0; i < forward->count; i++) {
        uint32_t row = t->order[forward->first + i];

        if (!begins(name_of(t, row), name))
            continue;
        has_any = 1;
        if (left)
            left = move_below(t, backward, row);
        else if (t->parent[row] == NO_NODE)
            t->parent[row] = row;
    }
    return has_any;
}

/* If one thread has steps and one other has functions of autograd, the second is taken for the
 * backward pass of the first. Returns the first, whose rows are above those of the second, or
 * NO_NODE. */
static uint32_t link_backward(struct tree *t)
{
    static const char *const above[] = {"## backward ##", "ProfilerStep#"};
    uint32_t forward = NO_NODE, backward = NO_NODE;
    int count = 0;

    for (size_t i = 0; i < t->r->rows; i++) {
        struct lane *lane = &t->lane[t->r->row[i].lane];

        if (lane->count == 0)
            continue;
        lane->is_main |= begins(name_of(t, (uint32_t)i), "ProfilerStep#");
        lane->is_backward |= strstr(name_of(t, (uint32_t)i), "autograd::") != NULL;
    }
    for (uint32_t i = 0; i < t->r->lanes; i++) {
        if (t->lane[i].is_main)
            forward = i;
        else if (t->lane[i].is_backward)
            backward = i;
        count += t->lane[i].is_main || t->lane[i].is_backward;
    }
    if (count != 2 || forward == NO_NODE || backward == NO_NODE)
        return NO_NODE;
    for (int kind = 0;
         kind < 2 && !link_below(t, &t->lane[forward], &t->lane[backward], above[kind]);)
        kind++;
    return forward;
}

/* ---- operators and their kernels ---- */

static int is_candidate(const struct tree *t, uint32_t row, const char *operator_name)
{
    return strstr(name_of(t, row), operator_name) != NULL;
}

static void set_depths(struct tree *t, const struct lane *lane)
{
    for (size_t i = 0; i < lane->count; i++) {
        uint32_t row = t->order[lane->first + i];

        t->depth[row] =
            t->parent[row] == NO_NODE || t->parent[row] == row ? 0 : t->depth[t->parent[row]] + 1;
    }
}

/* Returns the place of the row of the CPU that launched a row of the GPU, if it is in the tree. */
static uint32_t launch_of(const struct tree *t, uint32_t row)
{
    const struct sl_hta_row *gpu = &t->r->row[row], *launch;

    if (gpu->stream <= 0 || (launch = sl_hta_launch(t->r, gpu)) == NULL)
        return NO_NODE;
    return t->depth[launch - t->r->row] < 0 ? NO_NODE : (uint32_t)(launch - t->r->row);
}

/* Each row has the root of the row above it, or is a root. */
static void set_lane_roots(struct tree *t, const struct lane *lane, int32_t depth,
                           const char *operator_name)
{
    for (size_t i = 0; i < lane->count; i++) {
        uint32_t row = t->order[lane->first + i], parent = t->parent[row];

        t->root[row] = parent == row ? LOST : parent == NO_NODE ? NO_NODE : t->root[parent];
        if (t->root[row] != LOST && t->depth[row] == depth && is_candidate(t, row, operator_name))
            t->root[row] = row;
    }
}

/* Finds the outermost operators with the name, and which of them is above each row. The lane
 * `forward` has rows above those of another lane, so it comes first. */
static void set_roots(struct tree *t, uint32_t forward, const char *operator_name)
{
    int32_t least = INT32_MAX;

    for (size_t i = 0; i < t->r->rows; i++) {
        if (t->r->row[i].stream != -1) {
            t->parent[i] = launch_of(t, (uint32_t)i);
            t->depth[i] = t->parent[i] == NO_NODE ? -1 : t->depth[t->parent[i]] + 1;
        }
        if (is_candidate(t, (uint32_t)i, operator_name) && t->depth[i] < least)
            least = t->depth[i];
    }
    if (forward != NO_NODE)
        set_lane_roots(t, &t->lane[forward], least, operator_name);
    for (size_t i = 0; i < t->r->lanes; i++)
        set_lane_roots(t, &t->lane[i], least, operator_name);
    for (size_t i = 0; i < t->r->rows; i++)
        if (t->r->row[i].stream != -1 && t->parent[i] != NO_NODE)
            t->root[i] = t->root[t->parent[i]];
}

/* A kernel below an operator. */
struct below {
    uint32_t root, row;
    int64_t ts;
};

static int order_of_below(const void *a, const void *b)
{
    const struct below *x = a, *y = b;

    if (x->root != y->root)
        return compare(x->root, y->root);
    return x->ts != y->ts ? compare(x->ts, y->ts) : compare(x->row, y->row);
}

/* The operators with the same name and kernels. */
struct pattern {
    uint32_t name; /* intern id */
    int64_t count, gpu_us, cpu_us;
};

static int order_of_patterns(const void *a, const void *b)
{
    return compare(((const struct pattern *)a)->name, ((const struct pattern *)b)->name);
}

/* Returns the text of a pattern as a name of the report, or 0 if there is no memory. */
static uint32_t pattern_name(const struct sl_report *report, const struct tree *t,
                             const struct below *below, size_t count)
{
    char *text = NULL;
    uint32_t id = 0;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return 0;
    fputs(name_of(t, below->root), f);
    for (size_t i = 0; i < count; i++)
        fprintf(f, "|%s", name_of(t, below[i].row));
    if (fclose(f) == 0)
        id = sl_intern_put(report->recordings.names, text, size);
    free(text);
    return id;
}

/* Makes a pattern of each operator. Returns the number, or -ENOMEM. */
static int64_t find_patterns(const struct sl_report *report, const struct tree *t,
                             const struct below *below, size_t count, struct pattern *out)
{
    size_t least = (size_t)sl_setting(&report->settings, &sl_hta_sequences, MIN_PATTERN_LEN).number;
    size_t found = 0, end;

    for (size_t i = 0; i < count; i = end) {
        struct pattern *p = &out[found];

        for (end = i + 1; end < count && below[end].root == below[i].root;)
            end++;
        if (end - i < least)
            continue;
        *p = (struct pattern){.name = pattern_name(report, t, below + i, end - i),
                              .count = 1,
                              .cpu_us = t->r->row[below[i].root].dur};
        if (!p->name)
            return -ENOMEM;
        for (size_t k = i; k < end; k++)
            p->gpu_us += t->r->row[below[k].row].dur;
        found++;
    }
    return (int64_t)found;
}

static int order_of_rows(const void *a, const void *b)
{
    const struct sl_cell *x = a, *y = b;

    return x[2].integer != y[2].integer ? compare(y[2].integer, x[2].integer)
                                        : strcmp(x[1].text, y[1].text);
}

static void print_patterns(const struct sl_report *report, int64_t rank, struct pattern *p,
                           size_t count, struct sl_table *out)
{
    size_t first = out->rows, end;

    if (count)
        qsort(p, count, sizeof(*p), order_of_patterns);
    for (size_t i = 0; i < count; i = end) {
        struct sl_cell *row = sl_table_row(out);

        for (end = i + 1; end < count && p[end].name == p[i].name; end++) {
            p[i].count++;
            p[i].gpu_us += p[end].gpu_us;
            p[i].cpu_us += p[end].cpu_us;
        }
        row[0] = sl_cell_integer(rank);
        row[1] = (struct sl_cell){.has = 1, .text = sl_report_name(report, p[i].name)};
        row[2] = sl_cell_integer(p[i].count);
        row[3] = sl_cell_integer(p[i].gpu_us);
        row[4] = sl_cell_integer(p[i].cpu_us);
    }
    if (!out->failed && out->rows > first)
        qsort(out->cell + first * out->columns, out->rows - first,
              out->columns * sizeof(*out->cell), order_of_rows);
}

static int add_patterns(const struct sl_report *report, const struct tree *t, struct sl_table *out)
{
    struct below *below = malloc((t->r->rows + 1) * sizeof(*below));
    struct pattern *patterns = malloc((t->r->rows + 1) * sizeof(*patterns));
    int64_t count = -ENOMEM;
    size_t kernels = 0;

    for (size_t i = 0; below && i < t->r->rows; i++)
        if (t->r->row[i].stream != -1 && t->root[i] < LOST)
            below[kernels++] = (struct below){t->root[i], (uint32_t)i, t->r->row[i].ts};
    if (below && patterns) {
        if (kernels)
            qsort(below, kernels, sizeof(*below), order_of_below);
        count = find_patterns(report, t, below, kernels, patterns);
    }
    if (count > 0)
        print_patterns(report, t->r->rank, patterns, (size_t)count, out);
    free(below);
    free(patterns);
    return count < 0 ? -ENOMEM : 0;
}

static int fill_tree(struct tree *t, const char *operator_name)
{
    size_t rows = t->r->rows;
    uint32_t forward;

    if (!t->parent || !t->depth || !t->root || !t->order || !t->lane)
        return -ENOMEM;
    for (size_t i = 0; i < rows; i++) {
        t->parent[i] = t->root[i] = NO_NODE;
        t->depth[i] = -1;
    }
    if (nest_all(t) != 0)
        return -ENOMEM;
    forward = link_backward(t);
    if (forward != NO_NODE)
        set_depths(t, &t->lane[forward]);
    for (size_t i = 0; i < t->r->lanes; i++)
        set_depths(t, &t->lane[i]);
    set_roots(t, forward, operator_name);
    return 0;
}

static int add_rank(const struct sl_report *report, const struct sl_hta_rank *r,
                    struct sl_table *out)
{
    struct lane *lane = calloc(r->lanes + 1, sizeof(*lane));
    struct tree t = {.hta = report->hta,
                     .r = r,
                     .parent = malloc((r->rows + 1) * sizeof(*t.parent)),
                     .depth = malloc((r->rows + 1) * sizeof(*t.depth)),
                     .root = malloc((r->rows + 1) * sizeof(*t.root)),
                     .order = malloc((r->rows + 1) * sizeof(*t.order)),
                     .lane = lane};
    int rc = fill_tree(&t, sl_setting(&report->settings, &sl_hta_sequences, OPERATOR_NAME).text);

    if (rc == 0)
        rc = add_patterns(report, &t, out);
    free(t.parent);
    free(t.depth);
    free(t.root);
    free(t.order);
    free(lane);
    return rc;
}

int sl_hta_has_operator(const struct sl_report *report)
{
    return *sl_setting(&report->settings, &sl_hta_sequences, OPERATOR_NAME).text != 0;
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    if (sl_hta_has_operator(report))
        sl_hta_each_rank(report, add_rank, out);
    else
        out->note[0] = "The operator is missing: --set "
                       "frequent_cuda_kernel_sequences.operator_name=NAME.";
}

const struct sl_metric sl_hta_sequences = {
    .name = "frequent_cuda_kernel_sequences",
    .title = "sequences of kernels below the operators of a name",
    .columns = columns,
    .settings = settings,
    .needs = SL_HTA_NEED_ALL,
    .formula =
        "The outermost operators whose name contains operator_name, with at least "
        "min_pattern_len kernels below them. Kernels that begin at one time are in the order "
        "of the file; in HTA their order is that of a Python set. Rows that rounding made "
        "shorter than nothing count as empty; HTA fails or nests them wrongly. If one row "
        "ends, an empty row is there and another row begins at one time, HTA's comparison is "
        "circular; here the empty row is below the one that begins. HTA's second trace file "
        "with the patterns (top_k, output_dir) is not written.",
    .source = "HTA get_frequent_cuda_kernel_sequences",
    .make = make,
};
