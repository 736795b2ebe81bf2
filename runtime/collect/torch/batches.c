/*
 * batches.c - finds the calls of torch.distributed that share a kernel, and describes the kernel.
 *
 * Threads, memory: see batches.h.
 */
#include "collect/torch/batches.h"

#include <string.h>

#include "base/json.h"
#include "event/op_detail.h"

#define SEVERAL      (-2)
#define ELEMENTS_MAX (1ll << 48)

static struct sl_torch_batch *batch_of(struct sl_torch_batches *b, uint32_t thread)
{
    struct sl_torch_batch *batch = &b->of[(thread * 2654435761u >> 16) % SL_TORCH_BATCHES];

    if (batch->thread != thread) {
        b->open -= batch->scope != 0;
        *batch = (struct sl_torch_batch){.thread = thread};
    }
    return batch;
}

/* ---- members ---- */

static int is(struct sl_collective_text text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static int ends_with(struct sl_collective_text text, const char *word)
{
    size_t size = strlen(word);

    return text.data && text.size >= size && memcmp(text.data + text.size - size, word, size) == 0;
}

static void add_peer(int64_t *only, uint64_t calls, int64_t peer)
{
    *only = calls == 0 || *only == peer || *only == -1 ? peer : SEVERAL;
}

static void add(struct sl_torch_batch_sum *sum, enum sl_collective_type type,
                const struct sl_collective_args *told)
{
    uint8_t dtype = sl_collective_dtype_number(told->dtype);
    int64_t elements = told->elements >= 0 && told->elements <= ELEMENTS_MAX ? told->elements : 0;
    int64_t bytes = elements * sl_collective_dtype_bytes(dtype);

    if (sum->calls == 0)
        *sum = (struct sl_torch_batch_sum){.dst = -1, .src = -1};
    if (type == SL_COLLECTIVE_SEND) {
        sum->sent += elements;
        sum->bytes_sent += bytes;
        add_peer(&sum->dst, sum->calls, told->dst_rank);
    } else {
        sum->received += elements;
        sum->bytes_received += bytes;
        add_peer(&sum->src, sum->calls, told->src_rank);
    }
    sum->dtypes |= 1u << dtype;
    sum->calls++;
}

void sl_torch_batches_call(struct sl_torch_batches *b, uint32_t thread,
                           const struct sl_collective_args *told, struct sl_op *op)
{
    struct sl_torch_batch *batch;
    enum sl_collective_type type;

    if (!told->collective.data || sl_collective_type(told->collective, &type) != 0)
        return;
    batch = batch_of(b, thread);
    if (type != SL_COLLECTIVE_SEND && type != SL_COLLECTIVE_RECV) {
        batch->id = 0;
        batch->detail = ends_with(told->collective, "coalesced") ? op->detail : 0;
    } else if (told->dtype.data) {
        if (!batch->id) {
            batch->id = (uint32_t)op->handle;
            batch->detail = op->detail;
            batch->sum.calls = 0;
        }
        batch->sum_before = batch->sum;
        add(&batch->sum, type, told);
        op->batch = batch->id;
    }
    batch->handle = op->handle;
    batch->line = op->line;
}

/* The last member has a kernel of its own. */
static void drop_last(struct sl_torch_batch *batch, struct sl_ops *ops)
{
    if (!batch->id)
        return;
    sl_ops_set_batch(ops, batch->thread, (uint32_t)batch->handle, 0);
    batch->sum = batch->sum_before;
    if (batch->sum.calls == 0)
        batch->id = batch->detail = 0;
}

/* ---- the kernel ---- */

#define PUT_NUMBER(at, name, v) sl_json_u64(SL_JSON_LITERAL(at, ",\"" name "\":"), (uint64_t)(v))

static char *put_text(char *at, const char *text)
{
    return sl_json_raw(at, text, strlen(text));
}

static char *put_dtypes(char *at, uint32_t dtypes)
{
    int are_several = (dtypes & (dtypes - 1)) != 0;
    const char *before = are_several ? ",\"Mixed dtypes\":\"" : ",\"dtype\":\"";

    for (uint8_t i = 0; i < 32; i++) {
        if (!(dtypes >> i & 1))
            continue;
        at = put_text(put_text(at, before), sl_collective_dtype(i));
        before = ", ";
    }
    return SL_JSON_LITERAL(at, "\"");
}

/* Returns PyTorch's name of a call that does the same as the batch, or that of a batch. */
static const char *name_of(const struct sl_torch_batch_sum *sum)
{
    if (sum->src == -1 && sum->dst >= 0)
        return "send";
    return sum->dst == -1 && sum->src >= 0 ? "recv" : "batch_isend_irecv";
}

static char *put_sums(char *at, const struct sl_torch_batch_sum *sum)
{
    int is_one_way = strcmp(name_of(sum), "batch_isend_irecv") != 0;

    at = put_text(SL_JSON_LITERAL(at, "\"Collective name\":\""), name_of(sum));
    at = SL_JSON_LITERAL(at, "\",\"Call\":\"batch_isend_irecv\"");
    at = PUT_NUMBER(at, "Message size", sum->bytes_sent + sum->bytes_received);
    at = PUT_NUMBER(at, "Bytes sent", sum->bytes_sent);
    at = PUT_NUMBER(at, "Bytes received", sum->bytes_received);
    at = PUT_NUMBER(at, "Calls", sum->calls);
    at = put_dtypes(at, sum->dtypes);
    at = PUT_NUMBER(at, "In msg nelems", sum->sent + (is_one_way ? sum->received : 0));
    at = PUT_NUMBER(at, "Out msg nelems", sum->received + (is_one_way ? sum->sent : 0));
    if (sum->dst >= 0)
        at = PUT_NUMBER(at, "Dst Rank", sum->dst);
    if (sum->src >= 0)
        at = PUT_NUMBER(at, "Src Rank", sum->src);
    return at;
}

/* Copies members that are equal in all calls of a batch. */
static char *put_common(char *at, const char *end, const struct sl_op_detail *first)
{
    static const char *const common[] = {"Process Group Name",
                                         "Process Group Description",
                                         "Process Group Ranks",
                                         "Group size",
                                         "Global rank start",
                                         "Global rank stride",
                                         "source"};

    for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++) {
        size_t length = 0;
        const char *value = sl_op_detail_member(first, common[i], &length);

        if (!value || (size_t)(end - at) < strlen(common[i]) + length + 4)
            continue;
        at = put_text(SL_JSON_LITERAL(at, ",\""), common[i]);
        at = sl_json_raw(SL_JSON_LITERAL(at, "\":"), value, length);
    }
    return at;
}

/* Returns the details of the batch's kernel, or 0. */
static uint32_t describe(const struct sl_torch_batch *batch, struct sl_intern *details)
{
    char more[SL_OP_DETAIL_MOST - SL_OP_DETAIL_HEAD], text[SL_OP_DETAIL_MOST];
    struct sl_op_detail detail = {.more = more}, first;
    size_t length = 0;
    const char *packed = sl_intern_get(details, batch->detail, &length);
    char *at = put_sums(more, &batch->sum);

    if (sl_op_detail_unpack(&first, packed, length) == 0)
        at = put_common(at, more + sizeof(more), &first);
    detail.more_length = (size_t)(at - more);
    return sl_intern_put(details, text, sl_op_detail_pack(text, &detail));
}

void sl_torch_batches_scope(struct sl_torch_batches *b, struct sl_ops *ops,
                            struct sl_intern *details, uint32_t thread, uint64_t ns,
                            uint64_t handle, struct sl_collective_text name)
{
    struct sl_torch_batch *batch = batch_of(b, thread);
    struct sl_op op = {.sequence = -1, .is_site = 1, .is_collective = 1};

    if (!is(name, "nccl:coalesced")) {
        drop_last(batch, ops);
        return;
    }
    if (!batch->detail)
        return;
    op.handle = batch->handle;
    op.line = batch->line;
    op.detail = batch->id ? describe(batch, details) : batch->detail;
    sl_ops_begin(ops, thread, ns, &op);
    batch->id = batch->detail = 0;
    batch->scope = handle;
    b->open++;
}

void sl_torch_batches_leave(struct sl_torch_batches *b, struct sl_ops *ops, uint32_t thread,
                            uint64_t ns, uint64_t handle)
{
    struct sl_torch_batch *batch = b->open ? batch_of(b, thread) : NULL;

    if (!batch || !batch->scope || (handle && handle != batch->scope))
        return;
    sl_ops_end(ops, thread, (uint32_t)batch->handle, ns);
    batch->scope = 0;
    b->open--;
}
