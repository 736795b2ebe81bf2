/*
 * nccl_fuzz.c - calls the profiler plugin for NCCL in any order, from four threads.
 *
 * For any input, the calls must return 0 (only `init` may fail), each event must get a handle, and
 * no call may crash. The records must be readable, and the text about each launch must be members
 * of a JSON object. An input is a sequence of calls of four bytes: the call and its thread, and
 * three bytes that choose the arguments. One of the calls opens and closes NVTX ranges of NCCL.
 * Handles and contexts are shared by the threads, and some are another library's. Names may be
 * NULL, not mapped, or end at the end of a page. The seeds are collectives as NCCL sends them. With
 * libFuzzer: build/fuzz/tests/fuzz/nccl_fuzz /tmp/found
 *
 * Threads: four. Memory: the input, and static memory of the plugin.
 */
#undef NDEBUG /* assertions are needed in release builds, too, because they are the test */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/intern.h"
#include "collect/nccl/level.h"
#include "collect/nccl/plugin.h"
#include "collect/nccl/read.h"
#include "collect/nvtx/calls.h"
#include "fuzz.h"
#include "read/json_event.h"

enum {
    THREADS = 4,
    HANDLES = 32,
    CONTEXTS = 8,
    MASKS = 12, /* more than the copies of NCCL that the plugin knows */
    CALL_BYTES = 4,
    NCCL_DOMAIN = 5, /* the number of NCCL's NVTX domain */
    RECORDS = 1 << 16,
};

enum {
    INIT,
    FINALIZE,
    START,
    STOP,
    STATE,
    WINDOW,
    RANGE,
    CALLS
};

static struct {
    const uint8_t *data;
    size_t size;
} input;

static void *_Atomic handle[HANDLES];
static void *_Atomic context[CONTEXTS];
static int mask[MASKS];
static const char *page_end; /* a text without NUL that ends where no memory follows */

static const char *text_of(uint8_t number)
{
    static const char *const texts[] = {
        "AllReduce",   "Broadcast", "AllGather",  "Send",
        "ncclFloat32", "ncclInt8",  "RING",       "LL",
        "AlltoAll",    "",          "\"\\\n\xff", "ncclFloat99999999999999999999"};
    static const uintptr_t wild[] = {0, 1, 4095, 4096, 0x7fffffffffff, 0x800000000000, UINTPTR_MAX};

    if (number < 192)
        return texts[number % (sizeof(texts) / sizeof(*texts))];
    if (number < 200)
        return page_end + (number & 3);
    return (const char *)wild[number % (sizeof(wild) / sizeof(*wild))];
}

static uint64_t number_of(uint8_t number)
{
    static const uint64_t special[] = {0,          1,          INT32_MAX,      1ull << 31,
                                       UINT32_MAX, 1ull << 62, UINT64_MAX / 4, UINT64_MAX};

    return number < 128 ? number : special[number % 8];
}

static void fill(struct sl_nccl_descriptor *d, uint64_t type, const uint8_t *b)
{
    memset(d, b[3], sizeof(*d));
    d->type = type;
    d->parent = atomic_load(&handle[b[2] % HANDLES]);
    if (type == SL_NCCL_COLL) {
        d->coll.number = number_of(b[2]);
        d->coll.func = text_of(b[3]);
        d->coll.count = number_of((uint8_t)(b[3] ^ b[2]));
        d->coll.dtype = text_of((uint8_t)(b[3] + 4));
        d->coll.algorithm = text_of((uint8_t)(b[3] + 6));
        d->coll.protocol = text_of((uint8_t)(b[2] + 7));
    } else if (type == SL_NCCL_P2P) {
        d->p2p.func = text_of(b[3]);
        d->p2p.dtype = text_of((uint8_t)(b[3] + 4));
        d->p2p.count = number_of(b[2]);
    } else if (type == SL_NCCL_COLL_API || type == SL_NCCL_P2P_API) {
        d->coll_api.func = text_of(b[3]);
        d->coll_api.dtype = text_of((uint8_t)(b[3] + 4));
        d->coll_api.count = number_of(b[2]);
    }
}

static void init(const uint8_t *b)
{
    int *its = &mask[b[2] % MASKS], wrong;
    void *made = &made;
    const char *name = text_of(b[3]);
    uint64_t hash = number_of(b[3]); /* also 0, and equal ones */
    int ranks = (int)number_of(b[2]), rank = ranks > INT32_MIN ? ranks - 1 : 0;

    switch (b[1] >> 6) {
    case 0:
        wrong = sl_nccl_plugin_init_v4(&made, its, name, hash, 1, ranks, rank, NULL);
        assert(!wrong);
        break;
    case 1: /* this program is no NCCL of 2.31 or later */
        wrong = sl_nccl_plugin_init_v7(&made, hash, its, name, 1, ranks, rank, NULL);
        assert(wrong == 0 || !made);
        break;
    default:
        wrong = sl_nccl_plugin_init_v5(&made, hash, its, name, 1, ranks, rank, NULL);
        assert(!wrong);
    }
    made = atomic_exchange(&context[b[1] % CONTEXTS], made);
    if (b[3] & 1 && made)
        sl_nccl_plugin_finalize(made);
}

static void start(const uint8_t *b)
{
    static const uint64_t types[] = {SL_NCCL_GROUP_API,
                                     SL_NCCL_COLL_API,
                                     SL_NCCL_P2P_API,
                                     SL_NCCL_KERNEL_LAUNCH,
                                     SL_NCCL_GROUP,
                                     SL_NCCL_COLL,
                                     SL_NCCL_P2P,
                                     SL_NCCL_KERNEL_LAUNCH,
                                     8,
                                     16,
                                     32,
                                     64,
                                     128,
                                     4096,
                                     SL_NCCL_COLL_API + 2,
                                     UINT64_MAX};
    struct sl_nccl_descriptor d;
    void *made = NULL, *its = atomic_load(&context[b[1] % CONTEXTS]);
    uint64_t type = types[b[1] >> 3 & 15];

    fill(&d, type, b);
    if (b[1] >> 7 && type < 256)
        assert(sl_nccl_plugin_start_v4(its, &made, &d) == 0);
    else
        assert(sl_nccl_plugin_start(its, &made, &d) == 0);
    assert(made);
    atomic_store(&handle[b[2] >> 3 & (HANDLES - 1)], made);
}

/* An NVTX range of NCCL's, whose payload may be cut. */
static void range(const uint8_t *b)
{
    static const char *const names[] = {"ncclAllReduce", "ncclBroadcast", "ncclSend", "nccl", "x"};
    const char *name = names[b[1] >> 3 & 3];
    char payload[256];
    int length = snprintf(payload, sizeof(payload),
                          "\"payload\":{\"NCCL communicator ID\":%lu,\"Message size [bytes]\":%lu,"
                          "\"Root\":%u,\"Reduction operation\":%s}",
                          number_of(b[3]), number_of(b[2]) * 4, b[2], b[3] & 1 ? "\"Sum\"" : "17");
    struct sl_nvtx_event ev = {.message = {.string = sl_text_table_put(name, strlen(name))},
                               .more = payload};

    if (b[1] & 1) {
        sl_nvtx_pop(NCCL_DOMAIN, NULL);
        return;
    }
    if (b[1] & 2)
        payload[b[2] % length] = '\0';
    sl_nvtx_push(NCCL_DOMAIN, &ev);
}

static void call(const uint8_t *b)
{
    uint64_t args[8] = {number_of(b[2]), number_of(b[3])};
    void *its;

    switch (b[0] / THREADS % (CALLS + 2)) {
    case INIT:
        init(b);
        break;
    case FINALIZE: /* the context stays, for late calls */
        its =
            b[1] < 240 ? atomic_load(&context[b[1] % CONTEXTS]) : (void *)(uintptr_t)text_of(b[2]);
        assert(sl_nccl_plugin_finalize(its) == 0);
        break;
    case STOP:
        its = b[1] < 240 ? atomic_load(&handle[b[1] % HANDLES]) : (void *)(uintptr_t)text_of(b[2]);
        assert(sl_nccl_plugin_end(its) == 0);
        break;
    case STATE:
        assert(sl_nccl_plugin_state(atomic_load(&handle[b[1] % HANDLES]), (int)number_of(b[2]),
                                    b[3] & 1 ? args : NULL) == 0);
        break;
    case WINDOW:
        if (b[0] % THREADS == 0) { /* the recorder thread */
            sl_nccl_level_set(b[2] % 8 ? SL_NCCL_CALLS : SL_NCCL_OFF);
            sl_nccl_level_enable(b[1] % 8 != 0);
        }
        break;
    case RANGE:
        range(b);
        break;
    default:
        start(b);
    }
}

static void *run(void *thread)
{
    for (size_t i = 0; i + CALL_BYTES <= input.size; i += CALL_BYTES)
        if (input.data[i] % THREADS == (uintptr_t)thread)
            call(input.data + i);
    return NULL;
}

/* ---- reading ---- */

static void check_members(struct sl_json *json, const char *text)
{
    char object[8192 + SL_JSON_PADDING];
    struct sl_json_error error;
    int length = snprintf(object, sizeof(object) - SL_JSON_PADDING, "{\"a\":0%s}", text);

    assert(length > 0 && (size_t)length < sizeof(object) - SL_JSON_PADDING);
    assert(sl_json_visit(json, "", object, (size_t)length, NULL, NULL, &error) == 0);
}

static void take_node(void *user, const struct sl_event *ev)
{
    (void)user;
    assert(ev->kind < SL_EV_KIND_COUNT);
}

static void read_all(void)
{
    static struct sl_json *json;
    struct sl_nccl_read_options opt = {.texts_bytes = 1 << 16, .sink = take_node};
    const struct sl_lane_record *record;
    struct sl_nccl_read *reader;
    static uint64_t ns[RECORDS];
    size_t count = 0;

    if (!json && sl_json_create(&json))
        abort();
    if (sl_intern_create(&opt.names, 1 << 20) || sl_launches_create(&opt.launches) ||
        sl_nccl_read_create(&reader, &opt))
        abort();
    for (unsigned i = 0; i < sl_lanes_used(); i++) {
        while ((record = sl_lane_next(sl_lane_at(i)))) {
            sl_nccl_read_record(reader, i + 1, record, record->stamp,
                                record->domain == NCCL_DOMAIN);
            if (count < RECORDS)
                ns[count++] = record->stamp;
            sl_lane_read(sl_lane_at(i), record);
        }
    }
    sl_nccl_read_done(reader);
    for (size_t at = 0; at < count; at++) {
        for (unsigned i = 0; i < sl_lanes_used(); i++) {
            const struct sl_launch_about *about = sl_launches_find(opt.launches, i + 1, ns[at]);

            if (about && about->text)
                check_members(json, sl_intern_get(opt.names, about->text, NULL));
        }
    }
    sl_nccl_read_destroy(reader);
    sl_launches_destroy(opt.launches);
    sl_intern_destroy(opt.names);
}

static void prepare(void)
{
    static int is_ready;
    char *pages;

    if (is_ready)
        return;
    is_ready = 1;
    pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE) || sl_lanes_init(16 << 20))
        abort();
    memset(pages, 'x', 4096);
    page_end = pages + 4092;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pthread_t thread[THREADS];

    prepare();
    input.data = data;
    input.size = size;
    sl_nccl_level_set(SL_NCCL_CALLS);
    sl_nccl_level_enable(1);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, run, (void *)i))
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    read_all();
    for (int i = 0; i < CONTEXTS; i++) /* or the table of communicators fills up for good */
        sl_nccl_plugin_finalize(atomic_exchange(&context[i], NULL));
    return 0;
}

static uint8_t *put(uint8_t *at, unsigned what, unsigned thread, unsigned b1, unsigned b2,
                    unsigned b3)
{
    *at++ = (uint8_t)(what * THREADS + thread);
    *at++ = (uint8_t)b1;
    *at++ = (uint8_t)b2;
    *at++ = (uint8_t)b3;
    return at;
}

/* Collectives of one thread, or of each, with handles in the places 0 (group), 1 (call) and 2. A
 * communicator comes again and again in every 500th seed. */
size_t fuzz_seed(uint32_t seed, uint8_t *data, size_t cap)
{
    unsigned many = seed % 500 == 7 ? 2000 : 20;
    uint8_t *at = data;

    for (unsigned i = 0; i < many && (size_t)(at - data) + 80 < cap; i++) {
        unsigned thread = seed & 1 ? i % THREADS : 0, text = (seed + i) % 192;
        unsigned place = seed & 2 ? i % 8 : 0, is_message = i % 5 == 4;

        if (i == 0 || many > 20)
            at = put(at, INIT, thread, 0x80, seed, seed >> 3);
        at = put(at, START, thread, 0 << 3, place << 3, 0);
        at = put(at, START, thread, (is_message ? 2 : 1) << 3, (place + 1) << 3 | place, text);
        at = put(at, STOP, thread, place + 1, 0, 0);
        at = put(at, STATE, thread, place, 23, 0);
        at = put(at, START, thread, 3 << 3, (place + 2) << 3 | place, 0);
        at = put(at, STOP, thread, place + 2, 0, 0);
        at =
            put(at, START, thread, (is_message ? 6 : 5) << 3, (place + 2) << 3 | (place + 1), text);
        at = put(at, STOP, thread, place + 2, 0, 0);
        at = put(at, STOP, thread, place, 0, 0);
        if (seed & 8)
            at = put(at, RANGE, thread, 0, seed, seed >> 3);
        if (seed & 8 && i % 3)
            at = put(at, RANGE, thread, 1, 0, 0);
        if (i % 7 == 6)
            at = put(at, WINDOW, 0, i, 1, 0);
    }
    return (size_t)(at - data);
}
