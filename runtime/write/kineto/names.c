/*
 * names.c - writes metadata rows, which name the tracks.
 *
 * Names are stored for the life of the process. A name is written to a file when the first row
 * needs the name, so a file names only tracks that it contains.
 *
 * Threads: one owner. Memory: a fixed table. If the job creates thousands of threads or streams,
 * the table becomes nearly full, and is then emptied. Tracks that are still in use are named again,
 * by their number.
 */
#include "base/stats.h"
#include "write/distributed.h"
#include "write/kineto/kineto_internal.h"

#define DEVICE_SORT_INDEX   5000000
#define OVERHEAD_SORT_INDEX 0x100000

/* Returns the entry of a thread, device or stream, or the free entry where it belongs. */
static struct sl_place *probe(struct sl_kineto *k, uint32_t kind, uint32_t device, uint32_t id)
{
    uint64_t h = ((uint64_t)device << 32 | id) * 0x9e3779b97f4a7c15u + kind;
    size_t at = (h ^ h >> 29) % SL_KINETO_NAMES;
    struct sl_place *p = &k->place[at];

    while (p->kind && (p->kind != kind || p->device != device || p->id != id))
        p = &k->place[at = (at + 1) % SL_KINETO_NAMES];
    return p;
}

static struct sl_place *find_place(struct sl_kineto *k, uint32_t kind, uint32_t device, uint32_t id)
{
    struct sl_place *p = probe(k, kind, device, id);

    if (p->kind)
        return p;
    if (k->places > SL_KINETO_NAMES / 4 * 3) {
        sl_stats_add(SL_STAT_NAMES_LOST, k->places);
        memset(k->place, 0, SL_KINETO_NAMES * sizeof(*k->place));
        k->places = k->events = 0;
        p = probe(k, kind, device, id);
    }
    p->kind = kind;
    p->device = device;
    p->id = id;
    k->places++;
    return p;
}

static char *open_row_of(struct sl_kineto *k, char *at, const char *what, const char *phase,
                         int64_t pid, int64_t tid, const char *key)
{
    at = sl_json_raw(SL_JSON_LITERAL(at, "{\"name\":\""), what, strlen(what));
    at = sl_json_raw(SL_JSON_LITERAL(at, "\",\"ph\":"), phase, strlen(phase));
    at = sl_kineto_time(k, SL_JSON_LITERAL(at, ",\"ts\":"), k->meta.opened_ns);
    at = sl_json_i64(SL_JSON_LITERAL(at, ",\"pid\":"), pid);
    at = sl_json_i64(SL_JSON_LITERAL(at, ",\"tid\":"), tid);
    at = sl_json_raw(SL_JSON_LITERAL(at, ",\"args\":{\""), key, strlen(key));
    return SL_JSON_LITERAL(at, "\":");
}

/* Begins a row {"name":"WHAT","ph":"M","ts":T,"pid":PID,"tid":TID,"args":{"KEY":...}}, to which the
 * caller adds the value. */
static char *open_row(struct sl_kineto *k, char *at, const char *what, int64_t pid, int64_t tid,
                      const char *key)
{
    return open_row_of(k, at, what, "\"M\"", pid, tid, key);
}

/* The same for a fact that Chrome has no metadata for. Such facts are instant events, because
 * TraceLens refuses metadata with other names. */
static char *open_fact(struct sl_kineto *k, char *at, const char *what, const char *key)
{
    return open_row_of(k, at, what, "\"i\",\"s\":\"p\"", k->meta.pid, 0, key);
}

static void close_row(struct sl_kineto *k, char *at)
{
    at = SL_JSON_LITERAL(at, "}},\n");
    sl_kineto_put(k, k->scratch, (size_t)(at - k->scratch));
}

static void put_sort_row(struct sl_kineto *k, const char *what, int64_t pid, int64_t tid,
                         int64_t index)
{
    close_row(k, sl_json_i64(open_row(k, k->scratch, what, pid, tid, "sort_index"), index));
}

static char *put_interned(struct sl_kineto *k, char *at, uint32_t id)
{
    size_t length;
    const char *name = id && k->opt.intern ? sl_intern_get(k->opt.intern, id, &length) : NULL;

    if (!name)
        return at;
    return sl_json_escape(at, name, length < SL_KINETO_NAME_MAX ? length : SL_KINETO_NAME_MAX);
}

static char *put_process_name(struct sl_kineto *k, char *at)
{
    const char *name = k->meta.process_name ? k->meta.process_name : "";
    size_t length = strnlen(name, SL_KINETO_NAME_MAX);

    *at++ = '"';
    at = k->process_name ? put_interned(k, at, k->process_name) : sl_json_escape(at, name, length);
    *at++ = '"';
    return at;
}

/* `device` is NULL for the rows of the process itself. */
static void put_process_rows(struct sl_kineto *k, int64_t pid, const struct sl_place *device,
                             int64_t sort_index)
{
    char *at = open_row(k, k->scratch, "process_name", pid, 0, "name");

    close_row(k, put_process_name(k, at));
    at = open_row(k, k->scratch, "process_labels", pid, 0, "labels");
    at = device ? sl_json_i64(SL_JSON_LITERAL(at, "\"GPU "), pid) : SL_JSON_LITERAL(at, "\"CPU");
    if (device && device->name)
        at = SL_JSON_LITERAL(put_interned(k, SL_JSON_LITERAL(at, " ("), device->name), ")");
    close_row(k, SL_JSON_LITERAL(at, "\""));
    put_sort_row(k, "process_sort_index", pid, 0, sort_index);
}

void sl_kineto_introduce_process(struct sl_kineto *k)
{
    put_process_rows(k, k->meta.pid, NULL, k->meta.pid);
}

/* The row's name is that of the member for which the row stands. There is no space after "rank":,
 * so that HTA finds only the member. */
void sl_kineto_introduce_rank(struct sl_kineto *k)
{
    int rank = k->meta.rank, world_size = k->meta.world_size;
    char *at = open_fact(k, k->scratch, "distributedInfo", "rank");

    (void)sl_distributed_rank(&rank, &world_size);
    at = sl_json_i64(SL_JSON_LITERAL(sl_json_i64(at, rank), ",\"world_size\":"), world_size);
    close_row(k, at);
}

static void put_thread_rows(struct sl_kineto *k, const struct sl_place *p)
{
    char *at = open_row(k, k->scratch, "thread_name", k->meta.pid, p->id, "name");

    at = sl_json_u32(SL_JSON_LITERAL(at, "\"thread "), p->id);
    if (p->name)
        at = SL_JSON_LITERAL(put_interned(k, SL_JSON_LITERAL(at, " ("), p->name), ")");
    close_row(k, SL_JSON_LITERAL(at, "\""));
    put_sort_row(k, "thread_sort_index", k->meta.pid, p->id, p->id);
}

static void put_stream_rows(struct sl_kineto *k, const struct sl_place *p)
{
    uint32_t context = probe(k, SL_PLACE_CONTEXT, p->device, p->context)->name;
    char *at = open_row(k, k->scratch, "thread_name", p->device, p->id, "name");

    at = sl_json_u32(SL_JSON_LITERAL(at, "\"stream "), p->id);
    *at++ = ' ';
    at = put_interned(k, at, p->name);
    if (context)
        at = put_interned(k, SL_JSON_LITERAL(at, " in "), context);
    at = SL_JSON_LITERAL(at, "\"");
    if (p->flags) { /* only from this row, trace readers know whether the stream is blocking */
        at = sl_json_u32(SL_JSON_LITERAL(at, ",\"context\":"), p->context);
        at = sl_json_u32(SL_JSON_LITERAL(at, ",\"stream flags\":"), p->flags);
    }
    close_row(k, at);
    put_sort_row(k, "thread_sort_index", p->device, p->id, p->id);
}

static void put_sync_rows(struct sl_kineto *k, const struct sl_place *p)
{
    int none = p->id == SL_STREAM_NONE;
    int64_t tid = SL_KINETO_SYNC_ROWS + (none ? 0 : (int64_t)p->id);
    char *at = open_row(k, k->scratch, "thread_name", p->device, tid, "name");

    at = none ? SL_JSON_LITERAL(at, "\"waits")
              : sl_json_u32(SL_JSON_LITERAL(at, "\"waits for stream "), p->id);
    close_row(k, SL_JSON_LITERAL(at, "\""));
    put_sort_row(k, "thread_sort_index", p->device, tid, tid);
}

static void put_overhead_rows(struct sl_kineto *k)
{
    char *at = open_row(k, k->scratch, "process_name", -1, 0, "name");

    close_row(k, SL_JSON_LITERAL(at, "\"CUPTI overhead\""));
    put_sort_row(k, "process_sort_index", -1, 0, OVERHEAD_SORT_INDEX);
}

/* Writes the handle as the program's %p prints it. */
static char *put_handle(char *at, uint64_t handle)
{
    static const char hex[] = "0123456789abcdef";
    int bits = 64;

    while (bits > 4 && !(handle >> (bits - 4) & 15))
        bits -= 4;
    at = SL_JSON_LITERAL(at, "0x");
    for (; bits; bits -= 4)
        *at++ = hex[handle >> (bits - 4) & 15];
    return at;
}

static void put_event_row(struct sl_kineto *k, const struct sl_place *p)
{
    char *at = open_fact(k, k->scratch, "cuda_event_name", "name");

    at = SL_JSON_LITERAL(put_interned(k, SL_JSON_LITERAL(at, "\""), p->name), "\",\"handle\":\"");
    at = put_handle(at, (uint64_t)p->device << 32 | p->id);
    close_row(k, SL_JSON_LITERAL(at, "\""));
}

static void put_place(struct sl_kineto *k, const struct sl_place *p)
{
    switch (p->kind) {
    case SL_PLACE_THREAD:
        put_thread_rows(k, p);
        break;
    case SL_PLACE_DEVICE:
        put_process_rows(k, p->device, p, DEVICE_SORT_INDEX + (int64_t)p->device);
        break;
    case SL_PLACE_STREAM:
        put_stream_rows(k, p);
        break;
    case SL_PLACE_SYNC_ROW:
        put_sync_rows(k, p);
        break;
    case SL_PLACE_OVERHEAD:
        put_overhead_rows(k);
        break;
    case SL_PLACE_EVENT:
        put_event_row(k, p);
        break;
    default:
        break;
    }
}

static void introduce(struct sl_kineto *k, uint32_t kind, uint32_t device, uint32_t id)
{
    struct sl_place *p = find_place(k, kind, device, id);

    if (p->file == k->file)
        return;
    p->file = k->file;
    put_place(k, p);
}

void sl_kineto_introduce(struct sl_kineto *k, const struct sl_event *ev)
{
    switch (ev->kind) {
    case SL_EV_RUNTIME:
    case SL_EV_DRIVER:
    case SL_EV_CPU_OP:
    case SL_EV_FLOW_BACK:
    case SL_EV_NVTX_RANGE:
    case SL_EV_NVTX_RANGE_MARK:
        introduce(k, SL_PLACE_THREAD, 0, ev->thread);
        return;
    case SL_EV_OVERHEAD:
        introduce(k, SL_PLACE_OVERHEAD, 0, 0);
        return;
    case SL_EV_FLOW:
        if (ev->flags & SL_EVF_FLOW_FIRST) {
            introduce(k, SL_PLACE_THREAD, 0, ev->thread);
            return;
        }
        break;
    default:
        break;
    }
    introduce(k, SL_PLACE_DEVICE, ev->device, 0);
    if (ev->kind == SL_EV_SYNC &&
        (ev->stream == SL_STREAM_NONE || ev->u.sync.type == SL_SYNC_STREAM))
        introduce(k, SL_PLACE_SYNC_ROW, ev->device, ev->stream);
    else
        introduce(k, SL_PLACE_STREAM, ev->device, ev->stream);
}

void sl_kineto_introduce_events(struct sl_kineto *k)
{
    for (unsigned i = 0; k->events && i < SL_KINETO_NAMES; i++) {
        if (k->place[i].kind != SL_PLACE_EVENT)
            continue;
        k->place[i].file = k->file;
        put_event_row(k, &k->place[i]);
    }
}

/* Returns the entry of a named CUDA event, or NULL if too many events are named. */
static struct sl_place *find_event(struct sl_kineto *k, uint64_t handle)
{
    const uint32_t high = (uint32_t)(handle >> 32), low = (uint32_t)handle;

    if (!probe(k, SL_PLACE_EVENT, high, low)->kind) {
        if (k->events == SL_KINETO_EVENTS) {
            sl_stats_add(SL_STAT_NAMES_LOST, 1);
            return NULL;
        }
        /* `events` is incremented after find_place(), because find_place() may empty the table. */
        find_place(k, SL_PLACE_EVENT, high, low)->file = k->sink && k->header_out ? k->file : 0;
        k->events++;
    }
    return probe(k, SL_PLACE_EVENT, high, low);
}

void sl_kineto_learn(struct sl_kineto *k, const struct sl_event *ev)
{
    uint32_t context = 0, flags = 0;
    struct sl_place *p;

    switch (ev->kind) {
    case SL_EV_META_PROCESS:
        if (k->process_name == ev->name)
            return;
        k->process_name = ev->name;
        if (k->sink && k->header_out)
            sl_kineto_introduce_process(k);
        return;
    case SL_EV_META_THREAD:
        p = find_place(k, SL_PLACE_THREAD, 0, ev->thread);
        break;
    case SL_EV_META_CONTEXT:
        p = find_place(k, SL_PLACE_CONTEXT, ev->device, ev->context);
        break;
    case SL_EV_META_STREAM:
        p = find_place(k, SL_PLACE_STREAM, ev->device, ev->stream);
        context = ev->context;
        flags = ev->u.meta.flags;
        break;
    case SL_EV_META_EVENT:
        p = find_event(k, ev->event_handle);
        if (!p)
            return;
        break;
    case SL_EV_META_DEVICE:
        /* Cached texts that were made before the device's limits were known do not contain the
         * occupancy. */
        if (ev->device < SL_DEVICE_MAX && !(k->devices_seen >> ev->device & 1)) {
            k->devices_seen |= 1ull << ev->device;
            sl_text_cache_clear(&k->cache);
        }
        p = find_place(k, SL_PLACE_DEVICE, ev->device, 0);
        break;
    default:
        return;
    }
    if (p->name == ev->name && p->context == context && p->flags == flags)
        return;
    p->name = ev->name;
    p->context = context;
    p->flags = flags;
    if (k->sink && p->file == k->file)
        put_place(k, p);
}
