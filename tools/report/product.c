/*
 * product.c - parses the sizes of an operator's inputs.
 *
 * Threads, memory: see product.h.
 */
#include "report/product.h"

#include <stdlib.h>
#include <string.h>

#define SIZES_MAX 8 /* dimensions of a tensor */

/* The sizes of a tensor, or the numbers of a list. */
struct sizes {
    uint64_t of[SIZES_MAX];
    size_t count;
};

/* How the operations of an operator follow from its inputs. */
enum form {
    MATRICES, /* [..., m, k] times [..., k, n] */
    LINEAR,   /* [..., k] times [n, k] */
    CONVOLUTION,
    CONVOLUTION_BACKWARD
};

static const struct form_of {
    const char *name;
    enum form form;
    int first; /* number of the input that is the first factor */
} forms[] = {
    {"aten::mm", MATRICES, 0},
    {"aten::addmm", MATRICES, 1},
    {"aten::_addmm_activation", MATRICES, 1},
    {"aten::bmm", MATRICES, 0},
    {"aten::baddbmm", MATRICES, 1},
    {"aten::linear", LINEAR, 0},
    {"aten::convolution", CONVOLUTION, 0},
    {"aten::convolution_backward", CONVOLUTION_BACKWARD, 0},
};

static const struct form_of *find(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (strlen(forms[i].name) == size && memcmp(forms[i].name, name, size) == 0)
            return &forms[i];
    return NULL;
}

int sl_product_is(struct sl_text name)
{
    return sl_text_begins(name, "aten::") && find(name.data, name.size) != NULL;
}

int sl_product_has_values(struct sl_text name)
{
    const struct form_of *form = find(name.data, name.size);

    return form && (form->form == CONVOLUTION || form->form == CONVOLUTION_BACKWARD);
}

/* ---- the texts ---- */

/* Returns the element with this number of a JSON array, or NULL. */
static const char *element(const char *text, int number)
{
    int depth = 0, is_text = 0;

    for (; *text; text++) {
        if (*text == '"')
            is_text = !is_text;
        else if (is_text)
            continue;
        else if (*text == '[' && ++depth == 1 && number == 0)
            return text + 1;
        else if (*text == ']')
            depth--;
        else if (*text == ',' && depth == 1 && --number == 0)
            return text + 1;
    }
    return NULL;
}

/* Reads "[32, 64]", also in quotes. Returns 0, or -1 if it is another value. */
static int read_sizes(const char *text, int number, struct sizes *out)
{
    const char *at = element(text, number);

    *out = (struct sizes){.count = 0};
    if (!at)
        return -1;
    at += strspn(at, " \"");
    if (*at++ != '[')
        return -1;
    for (; *at && *at != ']'; at += strspn(at, " ,")) {
        char *end;
        unsigned long long value = strtoull(at, &end, 10);

        if (end == at || *at == '-' || out->count == SIZES_MAX)
            return -1;
        out->of[out->count++] = value;
        at = end;
    }
    return *at == ']' ? 0 : -1;
}

static int is_true(const char *values, int number, int which)
{
    const char *at = element(values, number);

    if (!at)
        return 0;
    at += strspn(at, " \"[");
    while (which-- > 0 && (at = strchr(at, ',')) != NULL)
        at += 1 + strspn(at + 1, " ");
    return at && strncmp(at, "True", 4) == 0;
}

/* ---- the counts ---- */

/* Multiplies *count. Sets it to 0 if the product is too large. */
static void multiply(uint64_t *count, uint64_t by)
{
    if (__builtin_mul_overflow(*count, by, count))
        *count = 0;
}

static uint64_t product_of(const struct sizes *s, size_t first, size_t end)
{
    uint64_t count = 1;

    for (size_t i = first; i < end; i++)
        multiply(&count, s->of[i]);
    return count;
}

static uint64_t count_matrices(const struct sizes *a, const struct sizes *b)
{
    uint64_t count = 2;

    if (a->count < 2 || b->count != a->count || a->of[a->count - 1] != b->of[b->count - 2])
        return 0;
    multiply(&count, product_of(a, 0, a->count));
    multiply(&count, b->of[b->count - 1]);
    return count;
}

static uint64_t count_linear(const struct sizes *x, const struct sizes *weight)
{
    uint64_t count = 2;

    if (x->count < 1 || weight->count != 2 || x->of[x->count - 1] != weight->of[1])
        return 0;
    multiply(&count, product_of(x, 0, x->count));
    multiply(&count, weight->of[0]);
    return count;
}

/* Each weight is used once for each point: of the output or, if the convolution is transposed, of
 * the input. `points` has batch, channels and points. */
static uint64_t count_points(const struct sizes *points, const struct sizes *weight)
{
    uint64_t count = 2;

    multiply(&count, points->of[0]);
    multiply(&count, product_of(points, 2, points->count));
    multiply(&count, product_of(weight, 0, weight->count));
    return count;
}

/* One number may stand for all dimensions. */
static uint64_t of_dimension(const struct sizes *s, size_t i)
{
    return s->of[i < s->count ? i : 0];
}

/* The number of the input that has the stride; then come padding, dilation and "transposed". */
#define STRIDE 3

static uint64_t count_convolution(const char *sizes, const char *values)
{
    struct sizes x, weight, stride, padding, dilation;

    if (read_sizes(sizes, 0, &x) != 0 || read_sizes(sizes, 1, &weight) != 0 ||
        read_sizes(values, STRIDE, &stride) != 0 || read_sizes(values, STRIDE + 1, &padding) != 0 ||
        read_sizes(values, STRIDE + 2, &dilation) != 0 || x.count < 3 || weight.count != x.count)
        return 0;
    if (is_true(values, STRIDE + 3, 0))
        return count_points(&x, &weight);
    for (size_t i = 2; i < x.count; i++) {
        uint64_t step = of_dimension(&stride, i - 2),
                 width = x.of[i] + 2 * of_dimension(&padding, i - 2),
                 reach = of_dimension(&dilation, i - 2) * (weight.of[i] - 1) + 1;

        if (step == 0 || weight.of[i] == 0 || width < reach)
            return 0;
        x.of[i] = (width - reach) / step + 1;
    }
    return count_points(&x, &weight);
}

/* The gradients of the input and of the weight cost as much as the convolution, each. */
static uint64_t count_convolution_backward(const char *sizes, const char *values)
{
    struct sizes gradient, x, weight;
    const int transposed = 7, wanted = 10;
    uint64_t count;

    if (read_sizes(sizes, 0, &gradient) != 0 || read_sizes(sizes, 1, &x) != 0 ||
        read_sizes(sizes, 2, &weight) != 0 || x.count < 3 || weight.count != x.count ||
        gradient.count != x.count)
        return 0;
    count = count_points(is_true(values, transposed, 0) ? &x : &gradient, &weight);
    multiply(&count, (uint64_t)is_true(values, wanted, 0) + (uint64_t)is_true(values, wanted, 1));
    return count;
}

uint64_t sl_product_count(const char *name, const char *sizes, const char *values)
{
    const struct form_of *form = find(name, strlen(name));
    struct sizes a, b;

    if (!form)
        return 0;
    if (form->form == CONVOLUTION)
        return count_convolution(sizes, values);
    if (form->form == CONVOLUTION_BACKWARD)
        return count_convolution_backward(sizes, values);
    if (read_sizes(sizes, form->first, &a) != 0 || read_sizes(sizes, form->first + 1, &b) != 0)
        return 0;
    return form->form == LINEAR ? count_linear(&a, &b) : count_matrices(&a, &b);
}

const struct sl_report_product *sl_product_at(const struct sl_recording *r, uint32_t thread,
                                              uint64_t ns)
{
    size_t low = 0, high = r->products;
    const struct sl_report_product *p;

    while (low < high) {
        size_t middle = (low + high) / 2;

        p = &r->product[middle];
        if (p->thread < thread || (p->thread == thread && p->start_ns <= ns))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || r->product[low - 1].thread != thread)
        return NULL;
    p = &r->product[low - 1];
    while (p->end_ns <= ns) {
        if (!p->around)
            return NULL;
        p = &r->product[p->around - 1];
    }
    return p;
}
