/*
 * lane.c - manages the buffers that are being filled. A lane holds one such buffer. There is one
 * lane for all threads, or one lane per thread.
 *
 * Application threads reserve bytes for records here (sim_place_open), and request client buffers
 * when needed. A flush removes the buffers from the lanes. A lane belongs to one thread; the first
 * lane may serve all threads. A lane is never freed. When its thread has ended, another thread
 * reuses the lane. The lane's lock is not held during a buffer request.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/fork.h"
#include "cupti/simcupti.h"
#include "cupti/v2.h"

#define RAW           UINT8_MAX /* the slot holds a raw record of a recording, copied unchanged */
#define REPLAY_NAP_NS 1000000
#define REPLAY_NAPS   10000
#define LIBRARIES     16 /* the most libraries in a process that register callbacks */

struct sim_lane {
    pthread_mutex_t lock;
    struct sim_buffer *active;
    struct sim_buffer *spare; /* second buffer, if two threads requested one at once; used next */
    uint32_t guise;           /* in a replay: id of the recorded thread; else 0 */
    unsigned client;
    atomic_bool taken;
    struct sim_lane *next;
};

#define SHARED(n, more)                                                                            \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .taken = true, .client = (n), .next = (more)            \
    }

static struct sim_lane shared[] = {SHARED(0, &shared[1]), SHARED(1, &shared[2]),
                                   SHARED(2, &shared[3]), SHARED(3, NULL)};
static _Atomic(struct sim_lane *) lanes = shared; /* list of all lanes; lanes are never removed */
static _Atomic uint64_t dropped[SIM_CLIENTS];

_Static_assert(sizeof shared / sizeof *shared == SIM_CLIENTS, "each client has one");

__attribute__((constructor)) static void hold_shared(void)
{
    for (size_t i = 0; i < SIM_CLIENTS; i++) {
        sim_fork_hold(&shared[i].lock);
    }
}

static __thread struct sim_lane *own[SIM_CLIENTS];
static __thread bool in_client;
/* Times of this thread's last buffer request, until its overhead record has been made. */
static __thread struct {
    uint64_t start_ns, end_ns;
} asked;
static pthread_key_t end_of_thread;
static pthread_once_t once = PTHREAD_ONCE_INIT;

bool sim_in_client(void)
{
    return in_client;
}

static void leave_lanes(void *lanes_of_thread)
{
    struct sim_lane **lane = lanes_of_thread;

    for (unsigned i = 0; i < SIM_CLIENTS; i++) {
        if (lane[i]) {
            atomic_store_explicit(&lane[i]->taken, false, memory_order_release);
        }
    }
}

static void make_key(void)
{
    pthread_key_create(&end_of_thread, leave_lanes);
}

static struct sim_lane *new_lane(uint32_t guise)
{
    struct sim_lane *lane = calloc(1, sizeof *lane);

    if (!lane) {
        return &shared[sim_client];
    }
    pthread_mutex_init(&lane->lock, NULL);
    sim_fork_hold(&lane->lock);
    lane->taken = true;
    lane->client = sim_client;
    lane->guise = guise;
    lane->next = atomic_load_explicit(&lanes, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&lanes, &lane->next, lane)) {
    }
    return lane;
}

static struct sim_lane *take_lane(void)
{
    struct sim_lane *lane;

    for (lane = atomic_load_explicit(&lanes, memory_order_acquire); lane; lane = lane->next) {
        bool taken = false;

        if (lane->client == sim_client &&
            atomic_compare_exchange_strong(&lane->taken, &taken, true)) {
            break;
        }
    }
    lane = lane ? lane : new_lane(0);
    pthread_once(&once, make_key);
    pthread_setspecific(end_of_thread, own);
    return lane;
}

/* Returns the lane of a recorded thread, which has this lane until the replay ends. */
static struct sim_lane *guise_lane(uint32_t thread)
{
    struct sim_lane *lane = atomic_load_explicit(&lanes, memory_order_acquire);

    while (lane && (lane->guise != thread || lane->client != sim_client)) {
        lane = lane->next;
    }
    return lane ? lane : new_lane(thread);
}

static struct sim_lane *lane_of_thread(void)
{
    if (!sim_attribute_on(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)) {
        return &shared[sim_client];
    }
    if (sim_replay_thread()) {
        return guise_lane(sim_replay_thread());
    }
    if (!own[sim_client]) {
        own[sim_client] = take_lane();
    }
    return own[sim_client];
}

static void drop(uint32_t kind, uint32_t correlation, const struct sim_op *op)
{
    struct sim_slot slot = {
        .kind = (uint8_t)kind, .correlation = correlation, .op_id = op ? op->id : 0};

    atomic_fetch_add_explicit(&dropped[sim_client], 1, memory_order_relaxed);
    sim_log_record("dropped", &slot);
}

static void check_zeroed(const struct sim_buffer *b)
{
    for (size_t i = 0; i < b->size; i++) {
        if (b->memory[i]) {
            sim_log("{\"what\":\"misuse\",\"problem\":\"buffer not zeroed\",\"offset\":%zu}", i);
            return;
        }
    }
}

/* Returns the address of a size: the size of the largest buffer that the library of these callbacks
 * has given. The address of the request callback identifies the library. Returns NULL if there are
 * too many libraries. Each library has an entry of its own, because a request may overlap a change
 * of callbacks. */
static _Atomic size_t *largest_of(const struct sim_callbacks *callbacks)
{
    static struct {
        _Atomic uintptr_t library;
        _Atomic size_t largest;
    } known[LIBRARIES];
    uintptr_t library = (uintptr_t)callbacks->request ^ (uintptr_t)callbacks->request_v2;

    for (size_t i = 0; i < LIBRARIES; i++) {
        uintptr_t nobody = 0;

        if (atomic_compare_exchange_strong(&known[i].library, &nobody, library) ||
            nobody == library) {
            return &known[i].largest;
        }
    }
    return NULL;
}

/* Returns whether the buffer is a dummy. A client at its memory limit gives no buffer, or a small
 * dummy buffer, which several threads may get. The client does not read a dummy buffer, so its
 * records are lost. */
static bool is_for_show(const struct sim_buffer *b, const struct sim_callbacks *callbacks)
{
    _Atomic size_t *largest = b->owner == SIM_CLIENT ? largest_of(callbacks) : NULL;

    if (!largest) {
        return false;
    }
    if (b->size >= *largest) {
        *largest = b->size;
        return false;
    }
    return true;
}

/* Requests a buffer from the client, on this thread and without a lock. Returns NULL if the client
 * gave no buffer. */
static struct sim_buffer *request_once(void)
{
    struct sim_callbacks callbacks = sim_callbacks_get();
    uint8_t *memory = NULL;
    size_t size = 0, max_records = 0;
    uint64_t start = sim_now_ns();

    if (!callbacks.request && !callbacks.request_v2) {
        return NULL;
    }
    uint64_t began = sim_account_begin();

    in_client = true;
    if (callbacks.request_v2) {
        callbacks.request_v2(&memory, &size, &max_records,
                             &(struct sim_request_info){sizeof(struct sim_request_info)});
    } else {
        callbacks.request(&memory, &size, &max_records);
    }
    in_client = false;
    sim_account_end(SIM_CALLBACK_REQUEST, began, 0, 0);
    if (!memory && sim_trouble.null_crash && sim_version()->number < 27) {
        /* As NVIDIA documents for CUPTI below API 27, the process crashes in CUPTI's own code. */
        *(volatile uint8_t *)memory = 0;
    }
    struct sim_buffer *b = memory ? sim_buffer_new() : NULL;

    if (b) {
        b->memory = memory;
        b->size = size;
        b->max_records = max_records;
        if (sim_trouble.buffer_records &&
            (!max_records || max_records > sim_trouble.buffer_records)) {
            b->max_records = sim_trouble.buffer_records;
        }
        b->owner = callbacks.owner;
        b->client = sim_client;
        b->for_show = is_for_show(b, &callbacks);
        sim_name_spoil(memory);
        if (!sim_attribute_on(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)) {
            memset(memory, 0, size);
        } else if (callbacks.owner == SIM_CLIENT && !b->for_show) {
            check_zeroed(b);
        }
    }
    asked.start_ns = start;
    asked.end_ns = sim_now_ns();
    return b;
}

/* If the client gives no buffer, a live run loses records. A replay waits until the client gives a
 * buffer, because a replay makes records faster than the recorded run. */
static struct sim_buffer *request(void)
{
    const struct timespec nap = {.tv_nsec = REPLAY_NAP_NS};
    struct sim_buffer *b = request_once();

    for (int naps = 0; sim_replaying() && (!b || b->for_show) && naps < REPLAY_NAPS; naps++) {
        if (b) {
            sim_worker_push(b); /* returns the buffer to the client, empty */
        }
        nanosleep(&nap, NULL);
        b = request_once();
    }
    return b;
}

static bool has_room(const struct sim_buffer *b, size_t size)
{
    return b->size - b->used >= size && (!b->max_records || b->slots < b->max_records);
}

/* Makes sure that the lane's active buffer has room for `size` bytes. The caller holds the lane's
 * lock; this function releases it during a buffer request. Returns false if the client gave no
 * buffer. */
static bool provide(struct sim_lane *lane, size_t size)
{
    while (!lane->active || !has_room(lane->active, size)) {
        bool useless = lane->active && !lane->active->slots;

        if (lane->active) {
            sim_worker_push(lane->active);
            lane->active = NULL;
        }
        if (useless) {
            return false; /* too small even if empty, so more requests would not help */
        }
        if (lane->spare) {
            lane->active = lane->spare;
            lane->spare = NULL;
            continue;
        }
        pthread_mutex_unlock(&lane->lock);
        struct sim_buffer *b = request();
        pthread_mutex_lock(&lane->lock);
        if (!b) {
            return lane->active && has_room(lane->active, size);
        }
        if (!lane->active) {
            lane->active = b;
        } else if (!lane->spare) {
            lane->spare = b;
        } else {
            sim_worker_push(b);
        }
    }
    return true;
}

static struct sim_slot *add_slot(struct sim_buffer *b)
{
    if (b->slots == b->slots_cap) {
        size_t cap = b->slots_cap ? b->slots_cap * 2 : 256;
        struct sim_slot *more = realloc(b->slot, cap * sizeof *more);

        if (!more) {
            return NULL;
        }
        b->slot = more;
        b->slots_cap = cap;
    }
    return &b->slot[b->slots++];
}

/* Returns a key for the random decisions about a record. The key is the same in every run. It
 * consists of the kind, the correlation id and the graph node. A record without a correlation id
 * gets a number per kind instead. */
static uint64_t decision_key(uint32_t kind, uint32_t correlation, const struct sim_op *op)
{
    static _Atomic uint32_t made[SIM_CLIENTS][256];
    uint64_t node = op ? op->graph_node : 0;
    uint32_t low = correlation ? correlation : atomic_fetch_add(&made[sim_client][kind % 256], 1);

    return (uint64_t)kind << 56 ^ node << 32 ^ low;
}

/* `record` is an enum sim_record, or RAW. */
static bool open_place(struct sim_place *place, uint8_t record, uint32_t size, uint32_t kind,
                       uint32_t correlation, struct sim_op *op)
{
    const struct sim_layout *layout = place->layout;

    if (in_client || !sim_worker_alive()) {
        return false;
    }
    uint64_t key = decision_key(kind, correlation, op);

    if (sim_trouble.drop > 0 && sim_random("cupti-drop", key) < sim_trouble.drop) {
        drop(kind, correlation, op);
        return false;
    }
    sim_trouble_count_record();
    struct sim_lane *lane = lane_of_thread();

    pthread_mutex_lock(&lane->lock);
    struct sim_slot *slot = provide(lane, size) ? add_slot(lane->active) : NULL;

    if (!slot) {
        pthread_mutex_unlock(&lane->lock);
        drop(kind, correlation, op);
        return false;
    }
    struct sim_buffer *b = lane->active;

    *slot = (struct sim_slot){.offset = (uint32_t)b->used,
                              .size = (uint16_t)size,
                              .record = record,
                              .layout = layout,
                              .kind = (uint8_t)kind,
                              .correlation = correlation,
                              .op_id = op ? op->id : 0,
                              .key = key,
                              .op = op,
                              .clock = sim_clock_now()};
    if (op) {
        sim_op_ref(op);
    }
    *place = (struct sim_place){
        .lane = lane, .buffer = b, .record = b->memory + b->used, .layout = layout};
    b->used += size;
    return true;
}

bool sim_place_open(struct sim_place *place, enum sim_record record, uint32_t kind,
                    uint32_t correlation, struct sim_op *op)
{
    place->layout = sim_layout_of(kind);
    if (!place->layout ||
        !open_place(place, (uint8_t)record, place->layout->size, kind, correlation, op)) {
        return false;
    }
    if (sim_fields_on()) {
        place->buffer->places = sim_fields_written(kind);
    }
    sim_put(place, F_kind, kind);
    return true;
}

bool sim_place_open_raw(struct sim_place *place, const struct sim_raw_record *raw)
{
    place->layout = NULL;
    return open_place(place, RAW, raw->size, raw->kind, raw->correlation, NULL);
}

void sim_place_close(struct sim_place *place)
{
    bool overhead = place->buffer->slot[place->buffer->slots - 1].record == R_OVERHEAD;
    uint64_t start = asked.start_ns, end = asked.end_ns;

    pthread_mutex_unlock(&place->lane->lock);
    asked.start_ns = 0;
    if (start && !overhead) { /* an overhead record's own request makes no further record */
        sim_overhead(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, start, end);
    }
}

void sim_lane_flush(bool forced)
{
    struct sim_lane *lane = atomic_load_explicit(&lanes, memory_order_acquire);

    for (; lane; lane = lane->next) {
        pthread_mutex_lock(&lane->lock);
        struct sim_buffer *b = lane->active;

        if (b && (forced || (b->slots && sim_buffer_finish(b)))) {
            b->forced = forced;
            sim_worker_push(b);
            lane->active = NULL;
        }
        if (forced && lane->spare) {
            sim_worker_push(lane->spare);
            lane->spare = NULL;
        }
        pthread_mutex_unlock(&lane->lock);
    }
}

void sim_lane_close(void)
{
    struct sim_lane *lane = atomic_load_explicit(&lanes, memory_order_acquire);

    for (; lane; lane = lane->next) {
        pthread_mutex_lock(&lane->lock);
        if (lane->client == sim_client && lane->active) {
            sim_worker_push(lane->active);
            lane->active = NULL;
        }
        pthread_mutex_unlock(&lane->lock);
    }
}

void sim_lane_hand_over(uint64_t dropped_records)
{
    struct sim_lane *lane = lane_of_thread();

    pthread_mutex_lock(&lane->lock);
    if (lane->active) {
        sim_worker_push(lane->active);
        lane->active = NULL;
    }
    pthread_mutex_unlock(&lane->lock);
    atomic_fetch_add_explicit(&dropped[sim_client], dropped_records, memory_order_relaxed);
}

uint64_t sim_lane_take_dropped(void)
{
    return atomic_exchange_explicit(&dropped[sim_client], 0, memory_order_relaxed);
}

void sim_lane_log_rest(void)
{
    struct sim_lane *lane = atomic_load_explicit(&lanes, memory_order_acquire);

    for (; lane; lane = lane->next) {
        pthread_mutex_lock(&lane->lock);
        if (lane->active) {
            sim_log_buffer("undelivered", lane->active);
        }
        pthread_mutex_unlock(&lane->lock);
    }
}
