/*
 * hta_names.c - HTA's kernels by name, and ranges of the user by name.
 *
 * Threads, memory: see metric.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/hta/hta_table.h"

static const struct sl_setting kernel_settings[] = {
    {"num_kernels", "", "names of a kind of work from which on the others are added up", 0, 1e9, 10,
     NULL},
    {"duration_ratio", "",
     "quantile of the running sums past which names are added up, if there are more than "
     "num_kernels",
     0, 1, 0.8, NULL},
    [SL_HTA_INCLUDE_MEMORY] = {"include_memory_kernels", "", "0: leave out copies and memsets", 0,
                               1, 1, NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

enum {
    NUM_KERNELS,
    DURATION_RATIO
};

static const struct sl_column kernel_columns[] = {
    {"name", SL_COLUMN_TEXT, "full name, or others"},
    {"sum (us)", SL_COLUMN_INTEGER, "length of all together"},
    {"max (us)", SL_COLUMN_INTEGER, "longest; of others, the sum of a name"},
    {"min (us)", SL_COLUMN_INTEGER, "shortest; of others, the sum of a name"},
    {"stddev", SL_COLUMN_FLOAT, "standard deviation of the sample; 0 for one"},
    {"mean (us)", SL_COLUMN_FLOAT, "mean; of others, of the sums of the names"},
    {"kernel_type", SL_COLUMN_TEXT, "kind of work"},
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const struct sl_column annotation_columns[] = {
    {"name", SL_COLUMN_TEXT, "name, or others"},
    {"sum (us)", SL_COLUMN_INTEGER, "length of all together"},
    {"max (us)", SL_COLUMN_INTEGER, "longest; with others, the sum of a name"},
    {"min (us)", SL_COLUMN_INTEGER, "shortest; with others, the sum of a name"},
    {"stddev", SL_COLUMN_FLOAT, "standard deviation of the sample; 0 for one"},
    {"mean (us)", SL_COLUMN_FLOAT, "mean; with others, of the sums of the names"},
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const struct sl_setting annotation_settings[] = {
    {"use_gpu_annotation", "", "0: annotations of the CPU instead of the GPU", 0, 1, 1, NULL},
    {"num_kernels", "", "names from which on the others are added up", 0, 1e9, 1000, NULL},
    {"duration_ratio", "",
     "quantile of the running sums past which names are added up, if there are more than "
     "num_kernels",
     0, 1, 0.8, NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

enum {
    USE_GPU,
    ANNOTATION_NUM_KERNELS,
    ANNOTATION_DURATION_RATIO
};

/* The rows of one name. */
struct by_name {
    const char *text;
    int64_t count, sum, max, min;
    double mean, squares, deviation; /* by Welford's method */
};

struct names {
    struct by_name *of;
    size_t count;
    uint32_t *place; /* of an intern id, plus 1 */
};

static void add_time(struct by_name *n, int64_t us)
{
    double distance = (double)us - n->mean;

    n->max = n->count == 0 || us > n->max ? us : n->max;
    n->min = n->count == 0 || us < n->min ? us : n->min;
    n->count++;
    n->sum += us;
    n->mean += distance / (double)n->count;
    n->squares += distance * ((double)us - n->mean);
}

static double deviation_of(const struct by_name *n)
{
    return n->count < 2 ? 0 : sqrt(n->squares / (double)(n->count - 1));
}

static int order_of_names(const void *a, const void *b)
{
    return strcmp(((const struct by_name *)a)->text, ((const struct by_name *)b)->text);
}

static int order_of_sums(const void *a, const void *b)
{
    const struct by_name *x = a, *y = b;

    return x->sum != y->sum ? (x->sum < y->sum) - (x->sum > y->sum) : order_of_names(a, b);
}

/* Adds up the names past the limits as "others". Then each number is of sums. Returns 0 or
 * -ENOMEM. */
static int join_others(struct names *names, size_t most, double ratio)
{
    double *sums = malloc((names->count + 1) * sizeof(*sums)), total = 0, limit;
    struct by_name others = {.text = "others"};
    size_t kept = 0;

    if (names->count <= most || !sums) {
        int rc = sums ? 0 : -ENOMEM;

        free(sums);
        return rc;
    }
    for (size_t i = 0; i < names->count; i++)
        sums[i] = total += (double)names->of[i].sum;
    sl_hta_sort_values(sums, names->count); /* sums below 0 come last, and lower the total */
    limit = sl_hta_quantile(sums, names->count, ratio * 100 / 100);
    total = 0;
    for (size_t i = 0; i < names->count; i++) {
        struct by_name one = {.text = names->of[i].text};

        total += (double)names->of[i].sum;
        /* HTA keeps a name whose rows are shorter than nothing. */
        if ((names->of[i].sum >= 0 && (total > limit || i >= most)) ||
            strcmp(one.text, "others") == 0) {
            add_time(&others, names->of[i].sum);
            continue;
        }
        add_time(&one, names->of[i].sum);
        names->of[kept++] = one;
    }
    if (others.count)
        names->of[kept++] = others;
    names->count = kept;
    free(sums);
    return 0;
}

/* Adds up rows by name, and sorts the names. The caller frees `of` and `place`. Returns 0 or
 * -ENOMEM. */
static int sum_names(const struct sl_report *report, const struct sl_hta_rank *r,
                     const struct sl_hta_list *list, size_t most, double ratio, struct names *out)
{
    *out = (struct names){
        malloc((list->count + 1) * sizeof(*out->of)), 0,
        calloc((size_t)sl_intern_count(report->hta->names) + 1, sizeof(*out->place))};
    if (!out->of || !out->place)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++) {
        const struct sl_hta_row *row = &r->row[list->row[i]];
        uint32_t *place = &out->place[row->name];

        if (!*place) {
            out->of[out->count] = (struct by_name){.text = sl_report_name(report, row->name)};
            *place = (uint32_t)++out->count;
        }
        add_time(&out->of[*place - 1], row->dur);
    }
    if (out->count)
        qsort(out->of, out->count, sizeof(*out->of), order_of_sums);
    if (join_others(out, most, ratio) != 0)
        return -ENOMEM;
    if (out->count)
        qsort(out->of, out->count, sizeof(*out->of), order_of_names);
    return 0;
}

static struct sl_cell *add_name(struct sl_table *out, const struct by_name *n)
{
    struct sl_cell *row = sl_table_row(out);

    row[0] = sl_cell_text(n->text);
    row[1] = sl_cell_integer(n->sum);
    row[2] = sl_cell_integer(n->max);
    row[3] = sl_cell_integer(n->min);
    row[4] = sl_hta_float(deviation_of(n));
    row[5] = sl_hta_float((double)n->sum / (double)n->count);
    return row;
}

/* Adds up the rows of `list`, and adds a row for each name. Frees the list. */
static int add_names(const struct sl_report *report, const struct sl_hta_rank *r,
                     struct sl_hta_list list, size_t most, double ratio, struct sl_table *out,
                     const char *type)
{
    struct names names = {NULL, 0, NULL};
    int rc = list.row ? sum_names(report, r, &list, most, ratio, &names) : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < names.count; i++) {
        struct sl_cell *row = add_name(out, &names.of[i]);

        if (type)
            row[6] = sl_cell_text(type);
        row[type ? 7 : 6] = sl_cell_integer(r->rank);
    }
    free(names.of);
    free(names.place);
    free(list.row);
    return rc;
}

static int is_communication(const struct sl_hta *h, const struct sl_hta_row *row)
{
    return row->stream != -1 && sl_hta_work(h, row) == SL_HTA_COMMUNICATION;
}

static int is_computation(const struct sl_hta *h, const struct sl_hta_row *row)
{
    return row->stream != -1 && sl_hta_work(h, row) == SL_HTA_COMPUTATION;
}

static int is_memory(const struct sl_hta *h, const struct sl_hta_row *row)
{
    return row->stream != -1 && sl_hta_work(h, row) == SL_HTA_MEMORY;
}

/* HTA sorts by name and then by rank, within a kind of work. */
static int order_of_rows(const void *a, const void *b)
{
    const struct sl_cell *x = a, *y = b;
    int names = strcmp(x[0].text ? x[0].text : "", y[0].text ? y[0].text : "");

    return names ? names : (x[7].integer > y[7].integer) - (x[7].integer < y[7].integer);
}

static void make_kernels(const struct sl_report *report, struct sl_table *out)
{
    int (*const kinds[])(const struct sl_hta *h, const struct sl_hta_row *row) = {
        is_communication, is_computation, is_memory};
    static const char *const types[] = {"COMMUNICATION", "COMPUTATION", "MEMORY"};
    const struct sl_settings *s = &report->settings;
    int count = sl_setting(s, out->metric, SL_HTA_INCLUDE_MEMORY).number ? 3 : 2;

    for (int kind = 0; kind < count; kind++) {
        size_t first = out->rows;

        for (size_t i = 0; i < report->hta->count && !out->failed; i++) {
            const struct sl_hta_rank *r = &report->hta->of[i];

            out->failed |=
                add_names(report, r, sl_hta_select(report->hta, r, kinds[kind]),
                          (size_t)sl_setting(s, out->metric, NUM_KERNELS).number,
                          sl_setting(s, out->metric, DURATION_RATIO).number, out, types[kind]) != 0;
        }
        if (out->rows > first)
            qsort(out->cell + first * out->columns, out->rows - first,
                  out->columns * sizeof(*out->cell), order_of_rows);
    }
}

const struct sl_metric sl_hta_kernels = {
    .name = "gpu_kernel_breakdown_kernels",
    .title = "GPU work by name",
    .columns = kernel_columns,
    .settings = kernel_settings,
    .formula = "The second table of HTA's method. If a kind of work has more than num_kernels "
               "names, the names past the limits are added up as `others`, and then every number "
               "is of the sums of names.",
    .source = "HTA get_gpu_kernel_breakdown",
    .make = make_kernels,
};

static int is_gpu_annotation(const struct sl_hta *h, const struct sl_hta_row *row)
{
    (void)h;
    return row->category == SL_CAT_GPU_USER_ANNOTATION;
}

static int is_annotation(const struct sl_hta *h, const struct sl_hta_row *row)
{
    (void)h;
    return row->category == SL_CAT_USER_ANNOTATION;
}

static int add_annotations(const struct sl_report *report, const struct sl_hta_rank *r,
                           struct sl_table *out)
{
    const struct sl_settings *s = &report->settings;
    int is_gpu = sl_setting(s, out->metric, USE_GPU).number != 0;

    return add_names(report, r,
                     sl_hta_select(report->hta, r, is_gpu ? is_gpu_annotation : is_annotation),
                     (size_t)sl_setting(s, out->metric, ANNOTATION_NUM_KERNELS).number,
                     sl_setting(s, out->metric, ANNOTATION_DURATION_RATIO).number, out, NULL);
}

static void make_annotations(const struct sl_report *report, struct sl_table *out)
{
    sl_hta_each_rank(report, add_annotations, out);
}

const struct sl_metric sl_hta_annotations = {
    .name = "gpu_user_annotation_breakdown",
    .title = "ranges of the user on the GPU by name",
    .columns = annotation_columns,
    .settings = annotation_settings,
    .formula = "Like gpu_kernel_breakdown_kernels, for the rows of user annotations. HTA's "
               "allowlist_patterns is not offered.",
    .source = "HTA get_gpu_user_annotation_breakdown",
    .make = make_annotations,
};
