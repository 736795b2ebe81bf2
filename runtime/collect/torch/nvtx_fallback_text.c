/*
 * nvtx_fallback_text.c - parses the text of the NVTX range that PyTorch pushes for an operator.
 *
 * Threads: see nvtx_fallback_text.h. Memory: none.
 */
#include "collect/torch/nvtx_fallback_text.h"

#include <errno.h>
#include <string.h>

#include "base/decimal.h"

#define EVALUATION "autograd::engine::evaluate_function: "
#define OP_ID      ", op_id = "
#define SEQUENCE   ", seq = "
#define SIZES      ", sizes = "
#define INPUT_IDS  ", input_op_ids = "

/* ---- numbers and literals ---- */

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The unread part of a text. */
struct rest {
    const char *at, *end;
};

static int take(struct rest *r, const char *literal)
{
    size_t length = strlen(literal);

    if ((size_t)(r->end - r->at) < length || memcmp(r->at, literal, length) != 0)
        return 0;
    r->at += length;
    return 1;
}

/* Reads a number up to `most`. Returns 0 or -EINVAL. */
static int take_number(struct rest *r, uint64_t most, uint64_t *out)
{
    const char *behind = sl_decimal_read(r->at, r->end, most, out);

    if (behind)
        r->at = behind;
    return behind ? 0 : -EINVAL;
}

/* ---- sizes ---- */

static int take_list(struct rest *r)
{
    uint64_t size;

    if (!take(r, "["))
        return -EINVAL;
    if (take(r, "]"))
        return 0;
    do {
        if (take_number(r, INT64_MAX, &size))
            return -EINVAL;
    } while (take(r, ", "));
    return take(r, "]") ? 0 : -EINVAL;
}

static int take_lists(struct rest *r)
{
    if (!take(r, "["))
        return -EINVAL;
    do {
        if (take_list(r))
            return -EINVAL;
    } while (take(r, ", "));
    return take(r, "]") ? 0 : -EINVAL;
}

static void take_sizes(struct rest *r, struct sl_nvtx_fallback_text *out)
{
    const char *from;

    if (!take(r, SIZES))
        return;
    from = r->at;
    if (take_lists(r)) {
        out->was_cut = 1;
        return;
    }
    out->sizes = from;
    out->sizes_length = (size_t)(r->at - from);
}

/* ---- the name ---- */

static int begins_with(const char *name, size_t length, const char *with)
{
    size_t most = strlen(with);

    return length >= most && memcmp(name, with, most) == 0;
}

static int has_colons(const char *name, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++)
        if (name[i] == ':' && name[i + 1] == ':')
            return 1;
    return 0;
}

/* Returns whether a scope without a sequence number is a user scope. The names of operators contain
 * a namespace, except the names listed here. */
static int is_user(const char *name, size_t length)
{
    static const char *const ops[] = {"record_param_comms", "detach", "detach_"};
    static const char *const families[] = {"Torch-Compiled Region", "TorchDynamo ",
                                           "AOTDispatcher ",        "Pregraph bytecode",
                                           "CompiledFunction",      "triton_"};

    if (has_colons(name, length))
        return 0;
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
        if (length == strlen(ops[i]) && memcmp(name, ops[i], length) == 0)
            return 0;
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
        if (begins_with(name, length, families[i]))
            return 0;
    return 1;
}

/* ---- the whole text ---- */

/* Returns the beginning of the last occurrence, or NULL if there is no occurrence. */
static const char *find_last(const char *text, size_t length, const char *what)
{
    size_t size = strlen(what);

    for (size_t at = length; at >= size; at--)
        if (memcmp(text + at - size, what, size) == 0)
            return text + at - size;
    return NULL;
}

/* Reads the sequence number after the name; returns the name's length. */
static size_t read_sequence(struct sl_nvtx_fallback_text *out, const char *text, size_t length)
{
    size_t digits = 0;
    struct rest r = {NULL, text + length};
    uint64_t value;

    while (digits < length && is_digit(text[length - digits - 1]))
        digits++;
    if (length - digits < sizeof(SEQUENCE) - 1)
        return length;
    r.at = text + length - digits - (sizeof(SEQUENCE) - 1);
    if (!take(&r, SEQUENCE) || take_number(&r, INT64_MAX, &value))
        return length;
    out->sequence = (int64_t)value;
    return length - digits - (sizeof(SEQUENCE) - 1);
}

int sl_nvtx_fallback_text_read(struct sl_nvtx_fallback_text *out, const char *text, size_t length)
{
    const char *id = find_last(text, length, OP_ID);
    struct sl_nvtx_fallback_text found = {.sequence = -1};
    struct rest r;

    if (!id)
        return -EINVAL;
    r = (struct rest){id + sizeof(OP_ID) - 1, text + length};
    if (take_number(&r, UINT64_MAX, &found.handle) || !(uint32_t)found.handle)
        return -EINVAL;
    take_sizes(&r, &found);
    if (!found.was_cut && r.at != r.end && !take(&r, INPUT_IDS))
        return -EINVAL;
    found.name_length = read_sequence(&found, text, (size_t)(id - text));
    if (!found.name_length)
        return -EINVAL;
    found.is_user = found.sequence < 0 && is_user(text, found.name_length);
    found.is_evaluation = (uint8_t)begins_with(text, found.name_length, EVALUATION);
    *out = found;
    return 0;
}
