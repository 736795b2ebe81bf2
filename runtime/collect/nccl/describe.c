/*
 * describe.c - the args of a kernel that runs collectives and messages.
 */
#include "collect/nccl/describe.h"

#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "base/text_table.h"

static char *put_string(char *at, const char *text) /* NULL: an empty string */
{
    *at++ = '"';
    if (text)
        at = sl_json_escape(at, text, strlen(text));
    *at++ = '"';
    return at;
}

static char *put_text(char *at, uint32_t number)
{
    return put_string(at, sl_text_table_get(number, NULL));
}

#define PUT_TEXT(at, name, number) put_text(SL_JSON_LITERAL(at, ",\"" name "\":"), number)
#define PUT_U64(at, name, value)   sl_json_u64(SL_JSON_LITERAL(at, ",\"" name "\":"), value)
#define PUT_I64(at, name, value)   sl_json_i64(SL_JSON_LITERAL(at, ",\"" name "\":"), value)

/* Returns the name of an element's type, or NULL. NCCL (seen with 2.28.9 to 2.32.3) has no name for
 * ncclUint8, which PyTorch uses for objects, and says "Unknown" only for it. */
static const char *type_of(uint32_t dtype)
{
    const char *text = sl_text_table_get(dtype, NULL);

    return text && strcmp(text, "Unknown") == 0 ? "ncclUint8" : text;
}

/* Returns the size of an element: the bits in a name such as "ncclFloat32", divided by 8. */
static uint64_t size_of(uint32_t dtype)
{
    const char *text = type_of(dtype);
    uint64_t bits = 0;

    while (text && *text && !isdigit((unsigned char)*text))
        text++;
    for (; text && isdigit((unsigned char)*text) && bits < 1024; text++)
        bits = bits * 10 + (uint64_t)(*text - '0');
    return bits / 8;
}

uint64_t sl_nccl_bytes(const struct sl_nccl_event *e)
{
    uint64_t size = size_of(e->dtype);

    return size && e->count <= UINT64_MAX / size ? e->count * size : 0;
}

int sl_nccl_is_one_of(uint32_t number, const char *const *names)
{
    const char *text = sl_text_table_get(number, NULL);

    for (; text && *names; names++)
        if (strcmp(text, *names) == 0)
            return 1;
    return 0;
}

static char *put_comm(char *at, uint32_t number, int is_rank_unknown)
{
    struct sl_nccl_comm comm;

    if (sl_nccl_plugin_comm(number, &comm))
        return at;
    at = sl_json_hex(SL_JSON_LITERAL(at, ",\"Comm\":\"0x"), comm.hash, 16);
    *at++ = '"';
    if (comm.name)
        at = PUT_TEXT(at, "Comm name", comm.name);
    if (comm.instance > 1)
        at = PUT_U64(at, "Comm instance", comm.instance);
    at = PUT_I64(at, "Comm ranks", comm.ranks);
    return is_rank_unknown ? at : PUT_I64(at, "Comm rank", comm.rank);
}

/* Returns whether the function has a root. NCCL says 0 for the root of the others. */
static int has_root(const struct sl_nccl_event *e)
{
    static const char *const rooted[] = {"Broadcast", "Reduce", "Gather", "Scatter", NULL};

    return sl_nccl_is_one_of(e->func, rooted) && e->root >= 0;
}

/* Writes the members about a kernel's only call, as the program made it. */
static char *put_call(char *at, const struct sl_nccl_event *e)
{
    static const char *const messages[] = {"Send", "Recv", NULL};

    if (e->count || e->dtype) { /* an NVTX range has neither */
        at = PUT_U64(at, "NCCL count", e->count);
        at = put_string(SL_JSON_LITERAL(at, ",\"NCCL dtype\":"), type_of(e->dtype));
    }
    if (has_root(e))
        at = PUT_I64(at, "NCCL root", e->root);
    if (sl_nccl_is_one_of(e->func, messages) && e->root >= 0)
        at = PUT_I64(at, "NCCL peer", e->root);
    return at;
}

size_t sl_nccl_describe_call(char *to, const struct sl_nccl_event *call)
{
    struct sl_nccl_comm comm = {0};
    char *at = to;

    sl_nccl_plugin_comm(call->record.aux, &comm);
    at = SL_JSON_LITERAL(at, "\"domain\":\"NCCL\",\"payload\":{\"NCCL communicator ID\":");
    at = sl_json_u64(at, comm.hash);
    at = PUT_U64(at, "Message size [bytes]", sl_nccl_bytes(call));
    if (has_root(call))
        at = PUT_I64(at, "Root", call->root);
    return (size_t)(SL_JSON_LITERAL(at, "}") - to);
}

size_t sl_nccl_describe(char *to, const struct sl_nccl_work *w, uint32_t *sizes)
{
    const struct sl_nccl_event *e = &w->first;
    int is_only = w->calls == 1;
    char *at = to;

    if (is_only)
        at = put_call(at, e);
    at = PUT_U64(at, "NCCL bytes", w->bytes);
    *sizes = (uint32_t)(at - to);
    at = w->is_mixed ? SL_JSON_LITERAL(at, ",\"NCCL call\":\"mixed\"")
                     : PUT_TEXT(at, "NCCL call", e->func);
    if (!is_only)
        at = PUT_U64(at, "NCCL calls in kernel", w->calls);
    if (is_only && w->reduction)
        at = PUT_TEXT(at, "Reduction", w->reduction);
    if (is_only && w->tag)
        at = PUT_U64(at, "NCCL user tag", w->tag);
    if (is_only && e->algorithm)
        at = PUT_TEXT(at, "Algorithm", e->algorithm);
    if (is_only && e->protocol)
        at = PUT_TEXT(at, "Protocol", e->protocol);
    if (is_only && e->channels)
        at = PUT_U64(at, "Channels", e->channels);
    at = put_comm(at, w->comm, w->is_rank_unknown);
    return (size_t)(at - to);
}
