/*
 * ranges.c - the calls of NCCL that are open on each thread, as NCCL's NVTX ranges describe them.
 *
 * NCCL's payloads differ between versions. The NVTX reader has written the payload as JSON,
 * according to the schema that NCCL has registered. So members are found by their names.
 *
 * Threads, memory: see ranges.h.
 */
#include "collect/nccl/ranges.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/text_table.h"

#define PREFIX "nccl"

/* Returns the value of a member, or NULL. *length is the number of bytes from there to the end. */
static const char *find(const char *json, size_t size, const char *name, size_t *length)
{
    const char *at = memmem(json, size, name, strlen(name));

    if (!at)
        return NULL;
    for (at += strlen(name); at < json + size && *at == ' '; at++)
        ;
    *length = size - (size_t)(at - json);
    return at;
}

static uint64_t number_of(const char *json, size_t size, const char *name, uint64_t otherwise)
{
    size_t length;
    const char *at = find(json, size, name, &length);
    uint64_t value = 0;

    if (!at || !length || !isdigit((unsigned char)*at))
        return otherwise;
    for (; length && isdigit((unsigned char)*at); at++, length--)
        value = value * 10 + (uint64_t)(*at - '0');
    return value;
}

/* Returns the number of the reduction's name. A number is an operation of
 * ncclRedOpCreatePreMulSum(), the only function that creates operations. */
static uint32_t reduction_of(const char *json, size_t size)
{
    size_t length;
    const char *at = find(json, size, "\"Reduction operation\":", &length), *end;

    if (!at || !length)
        return 0;
    if (isdigit((unsigned char)*at))
        return sl_text_table_put("PreMulSum", sizeof("PreMulSum") - 1);
    end = *at == '"' ? memchr(at + 1, '"', length - 1) : NULL;
    return end ? sl_text_table_put(at + 1, (size_t)(end - at) - 1) : 0;
}

/* Returns the text of members in the record, or NULL. */
static const char *json_of(const struct sl_lane_record *record, size_t *size)
{
    const uint64_t *at = (const uint64_t *)(record + 1);
    unsigned before = SL_LANE_HAS_TIMES | SL_LANE_HAS_TEXT;

    /* NCCL's ranges have a registered string and a payload, and none of the parts in between. */
    if (!(record->parts & SL_LANE_HAS_JSON) || record->parts & before)
        return NULL;
    at += (record->parts & (SL_LANE_HAS_CATEGORY | SL_LANE_HAS_COLOR)) != 0;
    at += record->parts & SL_LANE_HAS_VALUE ? 2 : 0;
    at += (record->parts & SL_LANE_HAS_ID) != 0;
    *size = at[0] <= SL_LANE_JSON_MAX ? at[0] : 0;
    return (const char *)(at + 1);
}

static struct sl_nccl_range range_of(const struct sl_lane_record *record)
{
    struct sl_nccl_range range = {.root = -1, .peer = -1};
    size_t size = 0;
    const char *text =
        record->parts & SL_LANE_HAS_STRING ? sl_text_table_get(record->aux, &size) : NULL;

    if (text && size > sizeof(PREFIX) - 1 && memcmp(text, PREFIX, sizeof(PREFIX) - 1) == 0)
        range.func = sl_text_table_put(text + sizeof(PREFIX) - 1, size - (sizeof(PREFIX) - 1));
    text = json_of(record, &size);
    if (!text)
        return range;
    range.hash = number_of(text, size, "\"NCCL communicator ID\":", 0);
    range.bytes = number_of(text, size, "\"Message size [bytes]\":", 0);
    range.root = (int32_t)number_of(text, size, "\"Root\":", (uint64_t)-1);
    range.peer = (int32_t)number_of(text, size, "\"Peer rank\":", (uint64_t)-1);
    range.reduction = reduction_of(text, size);
    return range;
}

/* Returns the thread's entry, a free entry for a new thread, or NULL. */
static const struct sl_nccl_range_thread *find_thread(const struct sl_nccl_ranges *r,
                                                      uint32_t thread)
{
    const struct sl_nccl_range_thread *unused = NULL;

    for (uint32_t i = 0, at = thread * 2654435761u >> 8; i < SL_NCCL_RANGE_THREADS; i++, at++) {
        const struct sl_nccl_range_thread *t = &r->thread[at % SL_NCCL_RANGE_THREADS];

        if (t->thread == thread && t->depth)
            return t;
        if (!t->depth)
            unused = t;
    }
    return unused;
}

static void keep(struct sl_nccl_ranges *r, uint32_t thread, const struct sl_nccl_range *range)
{
    unsigned i = r->pasts % SL_NCCL_RANGE_PAST;

    if (!range->hash)
        return;
    r->past[i].thread = thread;
    r->past[i].range = *range;
    r->pasts++;
}

int sl_nccl_ranges_take(struct sl_nccl_ranges *r, uint32_t thread, uint64_t ns,
                        const struct sl_nccl_range *like, struct sl_nccl_range *out)
{
    for (uint64_t i = 1; i <= SL_NCCL_RANGE_PAST; i++) {
        unsigned at = (unsigned)(r->pasts - i) % SL_NCCL_RANGE_PAST;
        const struct sl_nccl_range *range = &r->past[at].range;

        if (r->past[at].thread != thread || range->start_ns > ns || range->func != like->func ||
            range->hash != like->hash || range->bytes != like->bytes)
            continue;
        *out = *range;
        r->past[at].thread = 0;
        return 0;
    }
    return -ENOENT;
}

void sl_nccl_ranges_record(struct sl_nccl_ranges *r, uint32_t thread,
                           const struct sl_lane_record *record, uint64_t ns, int is_ours)
{
    struct sl_nccl_range_thread *t;

    if (record->what != SL_LANE_THREAD_END && !is_ours)
        return;
    t = (struct sl_nccl_range_thread *)(uintptr_t)find_thread(r, thread);
    if (!t)
        return;
    if (record->what == SL_LANE_PUSH) {
        t->thread = thread;
        if (t->depth < SL_NCCL_RANGE_DEPTH) {
            t->range[t->depth] = range_of(record);
            t->range[t->depth].id = ++r->count;
            t->range[t->depth].start_ns = ns;
            keep(r, thread, &t->range[t->depth]);
        }
        t->depth++;
    } else if (t->depth && record->what == SL_LANE_POP) {
        t->depth--;
    } else if (record->what == SL_LANE_THREAD_END) {
        t->depth = 0;
    }
}

const struct sl_nccl_range *sl_nccl_ranges_open(const struct sl_nccl_ranges *r, uint32_t thread)
{
    const struct sl_nccl_range_thread *t = find_thread(r, thread);

    return t && t->depth && t->depth <= SL_NCCL_RANGE_DEPTH ? &t->range[t->depth - 1] : NULL;
}
