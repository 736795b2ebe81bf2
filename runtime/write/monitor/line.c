/*
 * line.c - makes the line of JSON that describes a call of torch.distributed.
 *
 * Threads, memory: see line.h.
 */
#include "write/monitor/line.h"

#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "event/collective.h"
#include "event/collective_args.h"

#define SECOND_NS    1000000000ull
#define TEXT_MOST    1024u /* longest text of other members, in bytes */
#define RANKS_MOST   (SL_MONITOR_LINE_MOST / 2)
#define RANK_MOST    (1ll << 20)
#define ELEMENTS_MAX (1ll << 48)

/* ---- lists of numbers, such as "[0, 1, 2]" ---- */

/* Reads the next number of a list. Returns 1, or 0 at the end of the list or at "...". */
static int next_number(struct sl_collective_text *list, int64_t *number)
{
    const char *at = list->data, *end = list->data + list->size;

    while (at < end && strchr("[, ", *at))
        at++;
    if (at == end || !isdigit((unsigned char)*at))
        return 0;
    for (*number = 0; at < end && isdigit((unsigned char)*at) && *number < ELEMENTS_MAX; at++)
        *number = *number * 10 + (*at - '0');
    list->size = (size_t)(end - at);
    list->data = at;
    return 1;
}

static int is_whole(struct sl_collective_text list)
{
    return list.data && list.size && list.data[list.size - 1] == ']' &&
           !memchr(list.data, '.', list.size);
}

/* ---- the group ---- */

/* The ranks of a group: a list, or from `start` on with a stride. */
struct group {
    struct sl_collective_text list; /* data is NULL if there is no whole list */
    int64_t first, start, stride, size;
};

/* Finds the group's ranks in the description of the job's groups, which Python's json has
 * written. PyTorch cuts the list in the details of a call after 30 ranks. */
static struct sl_collective_text find_ranks(const struct sl_monitor_who *who,
                                            struct sl_collective_text name)
{
    static const char key[] = "\"pg_name\": \"", ranks[] = "\"ranks\": [";
    struct sl_collective_text none = {NULL, 0};
    const char *at = who->groups, *end = at ? at + who->groups_length : NULL, *next, *list;

    while (at && name.data) {
        at = memmem(at, (size_t)(end - at), key, sizeof(key) - 1);
        if (!at)
            break;
        at += sizeof(key) - 1;
        if ((size_t)(end - at) <= name.size || memcmp(at, name.data, name.size) != 0 ||
            at[name.size] != '"')
            continue;
        next = memmem(at, (size_t)(end - at), key, sizeof(key) - 1);
        list = memmem(at, (size_t)((next ? next : end) - at), ranks, sizeof(ranks) - 1);
        if (!list)
            break;
        list += sizeof(ranks) - 2;
        at = memchr(list, ']', (size_t)(end - list));
        return at ? (struct sl_collective_text){list, (size_t)(at + 1 - list)} : none;
    }
    return none;
}

static struct group group_of(const struct sl_monitor_who *who,
                             const struct sl_collective_args *told)
{
    /* PyTorch reports no stride for one rank. */
    struct group g = {.first = -1,
                      .start = told->group_start,
                      .stride = told->group_size == 1 ? 1 : told->group_stride};
    struct sl_collective_text list = told->group_ranks;

    g.size = told->group_size;
    g.list = is_whole(told->group_ranks) ? told->group_ranks : find_ranks(who, told->group);
    if (g.list.data)
        list = g.list;
    if (!list.data || !next_number(&list, &g.first)) {
        g.first = g.start;
        g.list.data = NULL; /* PyTorch's list is empty if the group has one rank */
    }
    return g;
}

/* Gets rank number i of the group. Returns 1, or 0 behind the last known rank. A list is read from
 * its beginning to its end: `rest` is the list at first. */
static int next_rank(const struct group *g, struct sl_collective_text *rest, int64_t i,
                     int64_t *rank)
{
    if (g->list.data)
        return next_number(rest, rank);
    if (g->start < 0 || g->start > RANK_MOST || g->stride <= 0 || g->stride > RANK_MOST ||
        i >= g->size || i >= RANK_MOST)
        return 0;
    *rank = g->start + i * g->stride;
    return 1;
}

static int64_t place_of(const struct group *g, int64_t wanted)
{
    struct sl_collective_text rest = g->list;
    int64_t rank;

    for (int64_t i = 0; next_rank(g, &rest, i, &rank); i++)
        if (rank == wanted)
            return i;
    return -1;
}

static int is_between_nodes(const struct sl_monitor_who *who, const struct group *g, int64_t peer)
{
    struct sl_collective_text rest = g->list;
    int64_t rank;

    if (who->local_ranks <= 0)
        return 0;
    if (peer >= 0)
        return peer / who->local_ranks != who->rank / who->local_ranks;
    for (int64_t i = 0; next_rank(g, &rest, i, &rank); i++)
        if (rank / who->local_ranks != g->first / who->local_ranks)
            return 1;
    return 0;
}

/* ---- names and sizes ---- */

static int is(struct sl_collective_text text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static struct sl_collective_text member(const struct sl_op_detail *detail, const char *name)
{
    struct sl_collective_text text = {NULL, 0};

    text.data = sl_op_detail_member(detail, name, &text.size);
    if (text.data && text.size >= 2 && text.data[0] == '"') {
        text.data++;
        text.size -= 2;
    }
    return text;
}

static struct sl_collective_text name_of(struct sl_collective_text call)
{
    static const struct {
        const char *call, *name;
    } other[] = {{"isend", "send"},
                 {"irecv", "recv"},
                 {"all_gather_into_tensor", "all_gather"},
                 {"reduce_scatter_tensor", "reduce_scatter"}};

    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
        if (is(call, other[i].call))
            return (struct sl_collective_text){other[i].name, strlen(other[i].name)};
    return call;
}

/* Returns the elements that an all_to_all sends to its own rank. Without split sizes, or if PyTorch
 * has cut their list before this rank, all parts are taken to be equal. */
static int64_t own_part(const struct sl_op_detail *detail, const struct group *g, int64_t rank,
                        int64_t elements)
{
    struct sl_collective_text splits = member(detail, "In split size");
    int64_t place = place_of(g, rank), own = -1, sum = 0, size;

    for (int64_t i = 0; splits.data && next_number(&splits, &size); i++) {
        own = i == place ? size : own;
        sum += size;
    }
    if (own >= 0 && sum > 0)
        return own * (elements / sum);
    return g->size > 0 ? elements / g->size : 0;
}

/* Returns the elements of the ranks other than the root, or -1. */
static int64_t other_parts(int64_t part, const struct group *g)
{
    return part >= 0 && part <= ELEMENTS_MAX && g->size > 0 && g->size <= RANK_MOST
               ? part * (g->size - 1)
               : -1;
}

/* Returns the bytes that monitor_collectives.py reports, or -1. */
static int64_t bytes_of(const struct sl_collective_args *told, enum sl_collective_type type,
                        const struct sl_op_detail *detail, const struct group *g, int64_t rank)
{
    unsigned bytes = sl_collective_dtype_bytes(sl_collective_dtype_number(told->dtype));
    int64_t elements = told->elements;

    if (type == SL_COLLECTIVE_BARRIER)
        return 1;
    if (type == SL_COLLECTIVE_ALL_GATHER || type == SL_COLLECTIVE_REDUCE_SCATTER)
        elements = told->out_elements;
    else if (type == SL_COLLECTIVE_GATHER)
        elements = other_parts(told->elements, g);
    else if (type == SL_COLLECTIVE_SCATTER)
        elements = other_parts(told->out_elements, g);
    else if (type == SL_COLLECTIVE_ALL_TO_ALL && elements > 0)
        elements -= own_part(detail, g, rank, elements);
    return bytes && elements >= 0 && elements <= ELEMENTS_MAX ? elements * bytes : -1;
}

/* ---- the line ---- */

#define PUT_NUMBER(at, name, v) sl_json_i64(SL_JSON_LITERAL(at, ", \"" name "\": "), (int64_t)(v))

static char *put_text(char *at, const char *name, struct sl_collective_text json)
{
    at = SL_JSON_LITERAL(at, ", \"");
    at = sl_json_raw(at, name, strlen(name));
    at = SL_JSON_LITERAL(at, "\": \"");
    at = sl_json_raw(at, json.data, json.size < TEXT_MOST ? json.size : 0);
    return SL_JSON_LITERAL(at, "\"");
}

static char *put_variable(char *at, const char *name, const char *value)
{
    char json[TEXT_MOST];
    size_t length = value ? strnlen(value, sizeof(json) / SL_JSON_ESCAPE_MAX) : 0;

    if (!length)
        return at;
    length = (size_t)(sl_json_escape(json, value, length) - json);
    return put_text(at, name, (struct sl_collective_text){json, length});
}

/* Writes FILE:LINE of "FILE:LINE FUNCTION < FILE:LINE FUNCTION". */
static char *put_line(char *at, struct sl_collective_text source)
{
    const char *end = memmem(source.data, source.size, " < ", 3);

    end = memrchr(source.data, ' ', end ? (size_t)(end - source.data) : source.size);
    if (end)
        source.size = (size_t)(end - source.data);
    return put_text(at, "source_line", source);
}

static char *put_ranks(char *at, const struct group *g)
{
    struct sl_collective_text rest = g->list;
    char *from = at;
    int64_t rank, i;

    at = SL_JSON_LITERAL(at, ", \"group_ranks\": [");
    for (i = 0; next_rank(g, &rest, i, &rank); i++) {
        if (at - from > RANKS_MOST)
            return from;
        at = i ? SL_JSON_LITERAL(at, ", ") : at;
        at = sl_json_i64(at, rank);
    }
    return i ? SL_JSON_LITERAL(at, "]") : from;
}

/* The program records gather and scatter on the root alone, and prints other calls of a group on
 * the root or the group's first rank. */
static int prints(const struct sl_monitor_who *who, const struct group *g, int64_t root,
                  int64_t peer)
{
    return peer >= 0 || who->rank == (root >= 0 ? root : g->first);
}

size_t sl_monitor_line(char *out, const struct sl_monitor_who *who, const struct sl_event *call,
                       const struct sl_op_detail *detail)
{
    struct sl_collective_args told = sl_collective_args_of(detail);
    struct sl_collective_text name = member(detail, "Call"), source = member(detail, "source");
    struct group group = group_of(who, &told);
    enum sl_collective_type type;
    int64_t root = sl_collective_root(&told), peer = -1, bytes;
    char *at = out;

    if (!told.collective.data || sl_collective_type(told.collective, &type) != 0 || !name.data)
        return 0;
    if (type == SL_COLLECTIVE_SEND || type == SL_COLLECTIVE_RECV)
        peer = type == SL_COLLECTIVE_SEND ? told.dst_rank : told.src_rank;
    if (!prints(who, &group, root, peer) ||
        (who->is_crossnode && !is_between_nodes(who, &group, peer)))
        return 0;
    /* An object list is two broadcasts: the sizes, which are integers, and the bytes. */
    if (is(name, "broadcast_object_list") && !is(told.dtype, "Byte"))
        return 0;
    name = name_of(name);
    bytes = bytes_of(&told, type, detail, &group, who->rank);
    at = sl_json_raw(SL_JSON_LITERAL(at, "{\"name\": \""), name.data,
                     name.size < TEXT_MOST ? name.size : 0);
    at = PUT_NUMBER(SL_JSON_LITERAL(at, "\""), "rank", who->rank);
    if (source.data)
        at = put_line(at, source);
    if (bytes >= 0)
        at = PUT_NUMBER(at, "message_size", bytes);
    if (call->device != SL_DEVICE_NONE)
        at = PUT_NUMBER(at, "device", call->device);
    at = PUT_NUMBER(at, "timestamp", call->start_ns / SECOND_NS);
    /* The program has the ranks if a group was passed. PyTorch does not report that, except that
     * the calls of a batch always have a group. */
    if (call->comm.batch || !is(member(detail, "Process Group Description"), "default_pg"))
        at = put_ranks(at, &group);
    if (peer >= 0)
        at = PUT_NUMBER(at, "peer_rank", peer);
    if (root >= 0)
        at = PUT_NUMBER(at, "root_rank", root);
    if (call->comm.batch)
        at = PUT_NUMBER(at, "correlation_id", call->comm.batch);
    at = put_variable(at, "gpu_serial", who->gpu_serial);
    at = put_variable(at, "vm_id", who->vm_id);
    at = SL_JSON_LITERAL(at, "}\n");
    return (size_t)(at - out);
}
