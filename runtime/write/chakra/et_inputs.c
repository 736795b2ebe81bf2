/*
 * et_inputs.c - writes an operator's inputs as a field of Chakra's Node.
 *
 * Most operators have the same inputs as an earlier operator, so the encoded bytes of recent inputs
 * are cached.
 *
 * Threads, memory: see et_inputs.h.
 */
#include "write/chakra/et_inputs.h"

#include <errno.h>
#include <string.h>

#include "base/pages.h"
#include "event/op_detail.h"
#include "write/chakra/wire.h"
#include "write/op_inputs.h"

enum {
    /* Field numbers in chakra.proto. */
    NODE_INPUTS = 8,
    IO_VALUES = 1,
    IO_SHAPES = 2,
    IO_TYPES = 3,
    KEPT = 256, /* number of cached inputs; a power of two */
    KEPT_BYTES = 1000,
};

struct kept {
    uint32_t detail; /* 0: free */
    uint32_t size;
    char bytes[KEPT_BYTES];
};

struct sl_et_inputs {
    const struct sl_intern *details;
    struct kept kept[KEPT];
    char list[3]
             [SL_OP_DETAIL_MOST * SL_OP_INPUTS_PER_BYTE + SL_OP_INPUTS_MORE]; /* mostly untouched */
};

static char *put_list(char *at, uint32_t field, struct sl_et_inputs_list list)
{
    return list.data && list.size <= SL_ET_INPUTS_LIST_MOST
               ? sl_wire_bytes(at, field, list.data, list.size)
               : at;
}

size_t sl_et_inputs_put(char *out, struct sl_et_inputs_list values, struct sl_et_inputs_list shapes,
                        struct sl_et_inputs_list types)
{
    char info[SL_ET_INPUTS_MOST];
    char *end = put_list(info, IO_VALUES, values);

    end = put_list(end, IO_SHAPES, shapes);
    end = put_list(end, IO_TYPES, types);
    if (end == info)
        return 0;
    return (size_t)(sl_wire_bytes(out, NODE_INPUTS, info, (size_t)(end - info)) - out);
}

int sl_et_inputs_create(struct sl_et_inputs **out, const struct sl_intern *details)
{
    struct sl_et_inputs *x = sl_pages_map(sizeof(*x));

    if (!x)
        return -ENOMEM;
    x->details = details;
    *out = x;
    return 0;
}

void sl_et_inputs_destroy(struct sl_et_inputs *x)
{
    if (x)
        sl_pages_unmap(x, sizeof(*x));
}

static struct sl_et_inputs_list list_of(struct sl_et_inputs *x, unsigned nth,
                                        const struct sl_op_detail *d, enum sl_op_inputs_list which)
{
    char *from = x->list[nth];
    char *end = sl_op_inputs_put_list(from, d->inputs, d->inputs_length, which);

    return (struct sl_et_inputs_list){from, (size_t)(end - from)};
}

size_t sl_et_inputs_find(void *et_inputs, const struct sl_event *op, char *out, size_t room)
{
    struct sl_et_inputs *x = et_inputs;
    struct kept *kept = &x->kept[op->inputs % KEPT];
    struct sl_op_detail detail;
    size_t length = 0, size;
    const char *text = sl_intern_get(x->details, op->inputs, &length);

    if (op->kind != SL_EV_CPU_OP || !text || room < SL_ET_INPUTS_MOST)
        return 0;
    if (kept->detail == op->inputs) {
        memcpy(out, kept->bytes, kept->size);
        return kept->size;
    }
    if (length > SL_OP_DETAIL_MOST || sl_op_detail_unpack(&detail, text, length) != 0 ||
        detail.inputs_length == 0)
        return 0;
    size = sl_et_inputs_put(out, list_of(x, 0, &detail, SL_OP_INPUTS_VALUES),
                            list_of(x, 1, &detail, SL_OP_INPUTS_DIMS),
                            list_of(x, 2, &detail, SL_OP_INPUTS_TYPES));
    if (size <= KEPT_BYTES) {
        kept->detail = op->inputs;
        kept->size = (uint32_t)size;
        memcpy(kept->bytes, out, size);
    }
    return size;
}
