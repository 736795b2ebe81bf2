/*
 * plugin.c - our profiler plugin for NCCL: the functions that NCCL calls.
 *
 * Threads, memory: see plugin.h. A communicator's entry is used again only after many others, so
 * that the recorder thread can still read it when it reads the last records of the communicator.
 */
#include "collect/nccl/plugin.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text_table.h"
#include "collect/nccl/deep.h"
#include "collect/nccl/level.h"

#define TEXT_MOST    64u /* longest text of NCCL in bytes; the rest of a longer text is cut */
#define TEXTS        256 /* size of the table of NCCL's texts, a power of two */
#define PROBES       8   /* entries of this table in which a text is looked for */
#define VERSION_2_31 23100
#define TAG_OF_NCCL  (1ull << 63) /* a tag with this bit is NCCL's own */

/* NCCL 2.27 (version 4) reports neither calls nor launches. */
#define TYPES_2_27 (SL_NCCL_COLL | SL_NCCL_P2P | SL_NCCL_PROXY_OP | SL_NCCL_PROXY_STEP)
#define TYPES      (~0)

/* A handle has the event's kind in the low bits, then a number that counts the thread's events, and
 * the number of the thread. */
#define THREAD_BIT 40
#define KIND_OTHER (SL_NCCL_RECORD_P2P + 1) /* an event that needs no record */
#define KIND_GROUP (SL_NCCL_RECORD_P2P + 2) /* the group of calls */
#define KIND_OFF   (SL_NCCL_RECORD_P2P + 3) /* an event outside windows */

struct comm {
    _Atomic int is_taken;
    _Atomic uint32_t number; /* 0: none */
    _Atomic uint64_t hash;
    _Atomic uint32_t name;
    _Atomic int32_t nodes, ranks, rank;
    _Atomic uint32_t instance;
};

static struct {
    _Atomic uint32_t comms; /* number of the last communicator */
    _Atomic uint32_t threads;
    _Atomic uint64_t odd;
    struct comm comm[SL_NCCL_COMMS];
    struct {
        const char *_Atomic text;
        _Atomic uint32_t number;
    } texts[TEXTS];
} plugin;

static _Thread_local struct {
    uint64_t next;   /* the next handle, without its kind; 0: none yet */
    uint64_t launch; /* handle of the launch, or of the copies, that have not ended; 0: none */
    uint64_t group;  /* handle of the last group of calls */
    uint64_t tasks;  /* handle of the last event around the collectives of a kernel */
    int has_calls;   /* 1: calls were recorded since the last launch or end of a group */
} mine;

static void count_odd(void)
{
    atomic_fetch_add_explicit(&plugin.odd, 1, memory_order_relaxed);
}

uint64_t sl_nccl_plugin_odd(void)
{
    return atomic_load_explicit(&plugin.odd, memory_order_relaxed);
}

/* ---- texts ---- */

/* Copies a text, which may be at an address that cannot be read. Returns its number or 0. */
static uint32_t read_text(const char *text)
{
    char bytes[TEXT_MOST];
    size_t in_page = 4096 - ((uintptr_t)text & 4095);
    size_t first = in_page < TEXT_MOST ? in_page : TEXT_MOST;
    const struct iovec to = {bytes, sizeof(bytes)};
    const struct iovec from[2] = {{(void *)(uintptr_t)text, first},
                                  {(void *)((uintptr_t)text + first), TEXT_MOST - first}};
    int saved = errno;
    ssize_t got = process_vm_readv(getpid(), &to, 1, from, 2, 0);

    if (got < 0 && errno != EFAULT) {
        /* A sandbox forbids the call. Then NCCL is trusted, as NCCL's own code trusts it. */
        got = (ssize_t)strnlen(text, TEXT_MOST);
        memcpy(bytes, text, (size_t)got);
    }
    errno = saved;
    return got > 0 ? sl_text_table_put(bytes, strnlen(bytes, (size_t)got)) : 0;
}

/* Returns the number of a text. NCCL's texts are constants, so the address identifies a text. */
static uint32_t text_of(const char *text)
{
    unsigned at = (unsigned)(((uintptr_t)text * 0x9e3779b97f4a7c15u) >> 56);
    const char *there;
    uint32_t number;

    if (!text)
        return 0;
    for (unsigned i = 0; i < PROBES; i++, at++) {
        /* Acquire pairs with the release below. A number of 0 is being written. */
        number = atomic_load_explicit(&plugin.texts[at % TEXTS].number, memory_order_acquire);
        there = atomic_load_explicit(&plugin.texts[at % TEXTS].text, memory_order_relaxed);
        if (there == text && number)
            return number;
        if (there)
            continue;
        number = read_text(text);
        if (number && atomic_compare_exchange_strong(&plugin.texts[at % TEXTS].text, &there, text))
            atomic_store_explicit(&plugin.texts[at % TEXTS].number, number, memory_order_release);
        return number;
    }
    return read_text(text);
}

/* ---- communicators ---- */

/* Returns how many communicators with this hash and rank are known. A program that aborts a
 * communicator may create it again from the same id. */
static uint32_t count_instances(uint64_t hash, int rank)
{
    uint32_t most = 0;

    for (unsigned i = 0; i < SL_NCCL_COMMS; i++) {
        const struct comm *c = &plugin.comm[i];
        uint32_t instance = atomic_load_explicit(&c->instance, memory_order_relaxed);

        if (instance > most && atomic_load_explicit(&c->hash, memory_order_relaxed) == hash &&
            atomic_load_explicit(&c->rank, memory_order_relaxed) == rank)
            most = instance;
    }
    return most;
}

/* Returns the communicator's number, 0 if the table is full. */
static uint32_t add_comm(uint64_t hash, const char *name, int nodes, int ranks, int rank)
{
    uint32_t instance = count_instances(hash, rank) + 1;

    for (unsigned tries = 0; tries < SL_NCCL_COMMS; tries++) {
        uint32_t number = atomic_fetch_add(&plugin.comms, 1) + 1;
        struct comm *c = &plugin.comm[number % SL_NCCL_COMMS];

        if (number == 0 || atomic_exchange(&c->is_taken, 1))
            continue;
        atomic_store(&c->number, 0);
        atomic_store(&c->hash, hash);
        atomic_store(&c->name, name ? read_text(name) : 0);
        atomic_store(&c->nodes, nodes);
        atomic_store(&c->ranks, ranks);
        atomic_store(&c->rank, rank);
        atomic_store(&c->instance, instance);
        atomic_store(&c->number, number);
        return number;
    }
    count_odd();
    return 0;
}

static uint32_t comm_of(const void *context)
{
    uint32_t number = (uint32_t)(uintptr_t)context;
    const struct comm *c = &plugin.comm[number % SL_NCCL_COMMS];

    return number && atomic_load_explicit(&c->number, memory_order_relaxed) == number ? number : 0;
}

uint32_t sl_nccl_plugin_comm_of(uint64_t hash, int *is_alone)
{
    uint32_t last = 0;
    int32_t rank = 0;

    *is_alone = 1;

    for (unsigned i = 0; i < SL_NCCL_COMMS; i++) {
        uint32_t number = atomic_load(&plugin.comm[i].number);

        if (!number || atomic_load(&plugin.comm[i].hash) != hash)
            continue;
        *is_alone &= !last || atomic_load(&plugin.comm[i].rank) == rank;
        rank = atomic_load(&plugin.comm[i].rank);
        if (number > last)
            last = number;
    }
    return last;
}

int sl_nccl_plugin_comm(uint32_t number, struct sl_nccl_comm *out)
{
    const struct comm *c = &plugin.comm[number % SL_NCCL_COMMS];

    if (!number || atomic_load(&c->number) != number)
        return -ENOENT;
    *out = (struct sl_nccl_comm){atomic_load(&c->hash),  atomic_load(&c->name),
                                 atomic_load(&c->nodes), atomic_load(&c->ranks),
                                 atomic_load(&c->rank),  atomic_load(&c->instance)};
    return atomic_load(&c->number) == number ? 0 : -ENOENT;
}

static int init(void **context, int *mask, int known, int least, uint64_t hash, const char *name,
                int nodes, int ranks, int rank)
{
    int saved = errno;

    *context = NULL;
    if (sl_nccl_level_take(mask, known, least)) {
        errno = saved;
        return 1;
    }
    *context = (void *)(uintptr_t)add_comm(hash, name, nodes, ranks, rank);
    errno = saved;
    return 0;
}

int sl_nccl_plugin_init_v4(void **context, int *mask, const char *name, uint64_t hash, int nodes,
                           int ranks, int rank, void *log)
{
    (void)log;
    return init(context, mask, TYPES_2_27, 0, hash, name, nodes, ranks, rank);
}

int sl_nccl_plugin_init_v5(void **context, uint64_t hash, int *mask, const char *name, int nodes,
                           int ranks, int rank, void *log)
{
    (void)log;
    return init(context, mask, TYPES, 0, hash, name, nodes, ranks, rank);
}

int sl_nccl_plugin_init_v7(void **context, uint64_t hash, int *mask, const char *name, int nodes,
                           int ranks, int rank, void *log)
{
    (void)log;
    return init(context, mask, TYPES, VERSION_2_31, hash, name, nodes, ranks, rank);
}

/* The number stays in the entry until the entry is used again, because records of the communicator
 * may not have been read yet. */
int sl_nccl_plugin_finalize(void *context)
{
    uint32_t number = comm_of(context);

    if (!number || !atomic_exchange(&plugin.comm[number % SL_NCCL_COMMS].is_taken, 0))
        count_odd();
    return 0;
}

/* ---- events ---- */

static uint64_t new_handle(void)
{
    if (!mine.next)
        mine.next =
            (uint64_t)(atomic_fetch_add_explicit(&plugin.threads, 1, memory_order_relaxed) + 1)
            << THREAD_BIT;
    return mine.next += 1 << SL_NCCL_KIND_BITS;
}

/* Writes an event. Without a lane, or without room in it, the lanes count the loss. */
static void put(const void *event, uint64_t stamp)
{
    const unsigned words = sizeof(struct sl_nccl_event) / sizeof(uint64_t);
    struct sl_lane *lane = sl_lane_get();
    struct sl_lane_record *to = lane ? sl_lane_begin(lane, words) : NULL;

    if (!to)
        return;
    memcpy(to, event, words * sizeof(uint64_t));
    to->stamp = stamp;
    sl_lane_put(lane, words);
}

static struct sl_nccl_event event_of(enum sl_nccl_record kind, uint32_t comm, uint64_t handle,
                                     const struct sl_nccl_descriptor *d)
{
    return (struct sl_nccl_event){.record = {.what = SL_LANE_NCCL,
                                             .parts = (uint8_t)kind,
                                             .pairs = sizeof(struct sl_nccl_event) / 16,
                                             .aux = comm},
                                  .handle = handle,
                                  .parent = (uint64_t)(uintptr_t)d->parent,
                                  .root = -1,
                                  .tasks = mine.tasks};
}

/* Returns the handle's kind. */
static uint64_t start_call(uint32_t comm, uint64_t handle, const struct sl_nccl_descriptor *d,
                           int is_collective, int has_tag)
{
    uint64_t tag = !has_tag ? 0 : is_collective ? d->coll_api.tag : d->p2p_api.tag;
    uint8_t is_captured = is_collective ? d->coll_api.graph_captured : d->p2p_api.graph_captured;
    uint64_t kind = is_captured == 1 ? SL_NCCL_KIND_CAPTURED : SL_NCCL_RECORD_CALL;
    struct sl_nccl_event e = event_of(SL_NCCL_RECORD_CALL, comm, handle | kind, d);

    e.func = text_of(d->coll_api.func);
    e.dtype = text_of(d->coll_api.dtype);
    e.count = d->coll_api.count;
    e.number = tag & TAG_OF_NCCL ? 0 : tag;
    if (is_collective)
        e.root = d->coll_api.root;
    mine.has_calls = 1;
    put(&e, sl_clock_stamp());
    return kind;
}

static void start_coll(uint32_t comm, uint64_t handle, const struct sl_nccl_descriptor *d)
{
    struct sl_nccl_event e = event_of(SL_NCCL_RECORD_COLL, comm, handle, d);

    e.func = text_of(d->coll.func);
    e.dtype = text_of(d->coll.dtype);
    e.algorithm = text_of(d->coll.algorithm);
    e.protocol = text_of(d->coll.protocol);
    e.count = d->coll.count;
    e.number = d->coll.number;
    e.root = d->coll.root;
    e.channels = d->coll.channels;
    put(&e, sl_clock_stamp());
}

static void start_p2p(uint32_t comm, uint64_t handle, const struct sl_nccl_descriptor *d)
{
    struct sl_nccl_event e = event_of(SL_NCCL_RECORD_P2P, comm, handle, d);

    e.func = text_of(d->p2p.func);
    e.dtype = text_of(d->p2p.dtype);
    e.count = d->p2p.count;
    e.root = d->p2p.peer;
    e.channels = d->p2p.channels;
    put(&e, sl_clock_stamp());
}

static void start_launch(uint32_t comm, uint64_t handle, const struct sl_nccl_descriptor *d)
{
    const struct sl_nccl_event e = event_of(SL_NCCL_RECORD_LAUNCH, comm, handle, d);

    mine.launch = handle;
    mine.has_calls = 0;
    put(&e, sl_clock_stamp());
}

static void start_ce(uint32_t comm, uint64_t handle, const struct sl_nccl_descriptor *d)
{
    struct sl_nccl_event e = event_of(SL_NCCL_RECORD_CE, comm, handle, d);

    e.func = text_of(d->ce_coll.func);
    e.dtype = text_of(d->ce_coll.dtype);
    e.count = d->ce_coll.count;
    e.number = d->ce_coll.number;
    e.root = d->ce_coll.root;
    mine.launch = handle;
    mine.has_calls = 0;
    put(&e, sl_clock_stamp());
}

/* Returns the handle's kind. */
static uint64_t start(uint64_t type, uint32_t comm, uint64_t handle,
                      const struct sl_nccl_descriptor *d, int has_tag)
{
    switch (type) {
    case SL_NCCL_COLL_API:
    case SL_NCCL_P2P_API:
        return start_call(comm, handle, d, type == SL_NCCL_COLL_API, has_tag);
    case SL_NCCL_GROUP_API:
        mine.has_calls = 0;
        mine.group = handle | KIND_GROUP;
        return KIND_GROUP;
    case SL_NCCL_GROUP:
        mine.tasks = handle;
        return KIND_OTHER;
    case SL_NCCL_KERNEL_LAUNCH:
        start_launch(comm, handle | SL_NCCL_RECORD_LAUNCH, d);
        return SL_NCCL_RECORD_LAUNCH;
    case SL_NCCL_CE_COLL:
        start_ce(comm, handle | SL_NCCL_RECORD_CE, d);
        return SL_NCCL_RECORD_CE;
    case SL_NCCL_COLL:
        start_coll(comm, handle | SL_NCCL_RECORD_COLL, d);
        return SL_NCCL_RECORD_COLL;
    case SL_NCCL_P2P:
        start_p2p(comm, handle | SL_NCCL_RECORD_P2P, d);
        return SL_NCCL_RECORD_P2P;
    case SL_NCCL_KERNEL_CH:
        sl_nccl_deep_start(type, comm, handle | SL_NCCL_KIND_CHANNEL, d);
        return SL_NCCL_KIND_CHANNEL;
    case SL_NCCL_PROXY_OP:
    case SL_NCCL_PROXY_STEP:
        sl_nccl_deep_start(type, comm, handle | SL_NCCL_KIND_NET, d);
        return SL_NCCL_KIND_NET;
    default:
        return KIND_OTHER;
    }
}

/* NCCL starts types that were not asked for, and up to 2.27 it leaves out the events inside an
 * event without a handle. So each event gets a handle. An event of a type that was not asked for is
 * not recorded. */
static int start_event(void *context, void **handle, const struct sl_nccl_descriptor *d,
                       uint64_t type, int has_tag)
{
    int types = sl_nccl_level_types();
    uint64_t number;

    if (!types) {
        *handle = (void *)(uintptr_t)KIND_OFF;
        return 0;
    }
    number = new_handle();
    if (!((uint64_t)types & type)) {
        *handle = (void *)(uintptr_t)(number | KIND_OTHER);
        return 0;
    }
    *handle = (void *)(uintptr_t)(number | start(type, comm_of(context), number, d, has_tag));
    return 0;
}

int sl_nccl_plugin_start_v4(void *context, void **handle, const struct sl_nccl_descriptor *d)
{
    int result = start_event(context, handle, d, d->type_v4, 0);

    if (d->type_v4 == SL_NCCL_GROUP && (uint64_t)(uintptr_t)*handle != KIND_OFF) {
        const struct sl_nccl_event e =
            event_of(SL_NCCL_RECORD_TASKS, comm_of(context), mine.tasks, d);

        put(&e, sl_clock_stamp());
    }
    return result;
}

int sl_nccl_plugin_start(void *context, void **handle, const struct sl_nccl_descriptor *d)
{
    return start_event(context, handle, d, d->type, 0);
}

int sl_nccl_plugin_start_v7(void *context, void **handle, const struct sl_nccl_descriptor *d)
{
    return start_event(context, handle, d, d->type, 1);
}

static void put_end(enum sl_nccl_record kind, uint64_t handle)
{
    const struct sl_nccl_event e = {
        .record = {.what = SL_LANE_NCCL, .parts = (uint8_t)kind, .pairs = sizeof(e) / 16},
        .handle = handle};

    put(&e, sl_clock_stamp());
}

/* The ends of other events are not recorded. NCCL also ends the last call of a thread again and
 * again after a window has closed. */
int sl_nccl_plugin_end(void *handle)
{
    uint64_t it = (uint64_t)(uintptr_t)handle, kind = it & ((1 << SL_NCCL_KIND_BITS) - 1);
    int is_launch = kind == SL_NCCL_RECORD_LAUNCH || kind == SL_NCCL_RECORD_CE;
    struct sl_nccl_deep deep;

    if (kind == KIND_GROUP && mine.has_calls) {
        mine.has_calls = 0;
        put_end(SL_NCCL_RECORD_GROUP_END, it);
    } else if (is_launch && mine.launch == it) {
        mine.launch = 0;
        put_end(SL_NCCL_RECORD_LAUNCH_END, it);
    } else if (kind == SL_NCCL_KIND_NET || kind == SL_NCCL_KIND_CHANNEL) {
        if (sl_nccl_deep_end(it, &deep))
            put(&deep, sl_clock_stamp());
    } else if (is_launch || kind == 0 || (kind > KIND_OFF && kind != SL_NCCL_KIND_CAPTURED)) {
        count_odd();
    }
    return 0;
}

void sl_nccl_plugin_node(uint64_t node, int is_in_range)
{
    const struct sl_nccl_event e = {
        .record = {.what = SL_LANE_NCCL, .parts = SL_NCCL_RECORD_NODE, .pairs = sizeof(e) / 16},
        .handle = mine.launch,
        .parent = mine.group,
        .number = node};

    int is_reported = sl_nccl_level_types() && (mine.launch || mine.has_calls);

    if (node && (is_reported || is_in_range))
        put(&e, sl_clock_stamp());
}

int sl_nccl_plugin_state(void *handle, int state, void *args)
{
    uint64_t it = (uint64_t)(uintptr_t)handle, kind = it & ((1 << SL_NCCL_KIND_BITS) - 1);

    if (kind == SL_NCCL_KIND_NET || kind == SL_NCCL_KIND_CHANNEL)
        sl_nccl_deep_state(it, state, args);
    return 0;
}
