/*
 * buffer.c - the pool of CUPTI buffers, which lends buffers to CUPTI and takes them back.
 *
 * Threads: application threads and CUPTI's own thread request and complete buffers; the recorder
 * thread takes, recycles and refills. One address range of `cap_bytes` holds all buffers. So
 * arithmetic finds the buffer of a pointer, and recognises a pointer that is not ours without
 * reading the memory there. A buffer takes up memory once the recorder thread has prepared the
 * buffer, or once CUPTI writes to the buffer after a burst of requests that found no ready buffer.
 * If the cap is lowered, buffers are parked: their memory is returned to the system, and they are
 * on neither list until the cap is raised. The address range stays until sl_cupti_pool_reset().
 *
 * The pool has two lock-free lists:
 *   - ready: A request takes a buffer from this list, and the recorder thread puts buffers back. A
 *     taken buffer returns to the list later, so the head contains a tag that grows with each
 *     change. Without the tag, a slow request could install a stale `next` (the ABA problem). The
 *     `next` indices are atomic, because a slow request may read an index that another thread is
 *     rewriting. Then the tag makes the slow request's exchange fail.
 *   - completed: A completion puts its buffer on this list. The recorder thread takes the whole
 *     list, so the head needs no tag.
 */
#include "collect/cupti/buffer.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#include "base/pages.h"
#include "base/stats.h"

#define DISCARD_BYTES (64u << 10)
#define PAGE_BYTES    4096u
#define NO_SLOT       UINT32_MAX
/* Average bytes of a record. Usually half of the records are API calls (40 bytes) and half are
 * kernels (about 216 bytes). */
#define TYPICAL_RECORD_BYTES 128u

enum state {
    UNUSED, /* the slot has never been used and has no memory */
    READY,
    OUT,       /* CUPTI holds the buffer */
    COMPLETED, /* CUPTI has returned the buffer, which is on the completed list or about to be */
    BACK       /* the recorder thread has taken the buffer */
};

struct slot {
    struct sl_cupti_buffer buffer;
    _Atomic uint32_t next_ready;
    _Atomic uint64_t turn; /* number of the buffer's last request */
    _Atomic int state;
};

static struct {
    /* Fields that do not change after init. */
    uint8_t *base;
    size_t buffer_bytes;
    uint32_t slots;
    struct slot *slot;
    void (*wake)(void);
    void (*on_first_use)(void);
    int (*_Atomic stranger)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid_size);

    /* Fields that requests and completions change. */
    _Atomic uint64_t ready; /* head of the ready list: tag << 32 | slot */
    struct sl_cupti_buffer *_Atomic completed;
    _Atomic uint32_t ready_count, completed_count, out, discards, starved;
    _Atomic uint64_t turn; /* number of requests served so far */
    _Atomic int passive, used;

    _Atomic uint32_t limit;    /* number of slots that may be used now; at most `slots` */
    _Atomic uint32_t parked;   /* number of prepared slots whose memory was returned */
    _Atomic uint32_t prepared; /* number of slots used so far, which are slots 0 .. prepared - 1 */

    /* Fields of the recorder thread. */
    uint32_t ready_goal;
    struct sl_cupti_buffer *parked_list;
    _Atomic size_t mapped_bytes;
} pool;

/* The discard buffer. CUPTI writes to this buffer on several threads at once, and nobody reads the
 * buffer. */
static uint8_t discard[DISCARD_BYTES] __attribute__((aligned(64)));

static void push_ready(uint32_t index)
{
    uint64_t head = atomic_load_explicit(&pool.ready, memory_order_relaxed), next;
    struct slot *s = &pool.slot[index];

    atomic_store_explicit(&s->state, READY, memory_order_relaxed);
    do {
        atomic_store_explicit(&s->next_ready, (uint32_t)head, memory_order_relaxed);
        next = ((head >> 32) + 1) << 32 | index;
        /* Release pairs with the acquire in pop_ready(), which sees a zeroed buffer and a complete
         * slot. */
    } while (!atomic_compare_exchange_weak_explicit(&pool.ready, &head, next, memory_order_release,
                                                    memory_order_relaxed));
    atomic_fetch_add_explicit(&pool.ready_count, 1, memory_order_relaxed);
}

static struct slot *pop_ready(void)
{
    uint64_t head = atomic_load_explicit(&pool.ready, memory_order_acquire), next;
    struct slot *s;

    do {
        if ((uint32_t)head == NO_SLOT)
            return NULL;
        s = &pool.slot[(uint32_t)head];
        next =
            ((head >> 32) + 1) << 32 | atomic_load_explicit(&s->next_ready, memory_order_relaxed);
        /* Acquire pairs with the release in push_ready(). */
    } while (!atomic_compare_exchange_weak_explicit(&pool.ready, &head, next, memory_order_acquire,
                                                    memory_order_acquire));
    atomic_fetch_sub_explicit(&pool.ready_count, 1, memory_order_relaxed);
    return s;
}

/* Returns 1 if the pool exceeds its cap with `more` buffers. A thread may read an older `prepared`
 * than `parked`, so the difference has a sign. */
static int is_over_limit(uint32_t prepared, uint32_t more)
{
    int64_t parked = atomic_load_explicit(&pool.parked, memory_order_relaxed);

    return prepared + more - parked > atomic_load_explicit(&pool.limit, memory_order_relaxed);
}

/* Returns the next slot that was never used, whose pages are untouched. Returns NULL if all slots
 * are used. */
static struct slot *take_fresh(void)
{
    uint32_t index = atomic_load_explicit(&pool.prepared, memory_order_relaxed);
    struct slot *s;

    do {
        if (index >= pool.slots || is_over_limit(index, 1))
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&pool.prepared, &index, index + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    s = &pool.slot[index];
    s->buffer.data = pool.base + (size_t)index * pool.buffer_bytes;
    s->buffer.size = pool.buffer_bytes;
    atomic_fetch_add_explicit(&pool.mapped_bytes, pool.buffer_bytes, memory_order_relaxed);
    return s;
}

/* Returns the memory of a buffer, which is on no list, to the system. Recorder thread. */
static void park(struct sl_cupti_buffer *b)
{
    sl_pages_clear(b->data, b->size);
    b->next = pool.parked_list;
    pool.parked_list = b;
    atomic_fetch_add_explicit(&pool.parked, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&pool.mapped_bytes, pool.buffer_bytes, memory_order_relaxed);
}

static struct slot *unpark(void)
{
    struct sl_cupti_buffer *b = pool.parked_list;

    if (!b || is_over_limit(atomic_load_explicit(&pool.prepared, memory_order_relaxed), 1))
        return NULL;
    pool.parked_list = b->next;
    atomic_fetch_sub_explicit(&pool.parked, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool.mapped_bytes, pool.buffer_bytes, memory_order_relaxed);
    return &pool.slot[(size_t)(b->data - pool.base) / pool.buffer_bytes];
}

/* Adds one more buffer to the ready list. Touches the buffer's pages, so that no application thread
 * gets the page faults. Returns 0 if the pool is at its cap. */
static int prepare_one(void)
{
    struct slot *s = unpark();

    if (!s)
        s = take_fresh();
    if (!s)
        return 0;
    for (size_t at = 0; at < pool.buffer_bytes; at += PAGE_BYTES)
        ((volatile uint8_t *)s->buffer.data)[at] = 0;
    push_ready((uint32_t)(s - pool.slot));
    return 1;
}

int sl_cupti_pool_init(size_t buffer_bytes, size_t cap_bytes, unsigned ready, void (*wake)(void))
{
    size_t rounded = sl_pages_round(buffer_bytes), slots;

    if (pool.base)
        return -EALREADY;
    if (rounded == 0 || cap_bytes < rounded)
        return -EINVAL;
    slots = cap_bytes / rounded;
    if (slots >= INT_MAX)
        return -EINVAL;
    pool.slot = sl_pages_map(slots * sizeof *pool.slot);
    if (!pool.slot)
        return -ENOMEM;
    pool.base = sl_pages_map(slots * rounded);
    if (!pool.base)
        goto fail_base;
    pool.buffer_bytes = rounded;
    pool.slots = (uint32_t)slots;
    atomic_store_explicit(&pool.limit, pool.slots, memory_order_relaxed);
    pool.wake = wake;
    pool.ready_goal = ready < pool.slots ? ready : pool.slots;
    atomic_store_explicit(&pool.ready, NO_SLOT, memory_order_relaxed);
    for (uint32_t i = 0; i < pool.ready_goal; i++)
        prepare_one();
    return 0;

fail_base:
    sl_pages_unmap(pool.slot, slots * sizeof *pool.slot);
    pool.slot = NULL;
    return -ENOMEM;
}

void sl_cupti_pool_limit(size_t bytes)
{
    size_t slots = pool.base ? bytes / pool.buffer_bytes : 0;
    struct slot *s;

    atomic_store_explicit(&pool.limit, slots < pool.slots ? (uint32_t)slots : pool.slots,
                          memory_order_relaxed);
    while (is_over_limit(atomic_load_explicit(&pool.prepared, memory_order_relaxed), 0) &&
           (s = pop_ready()) != NULL)
        park(&s->buffer);
}

int sl_cupti_pool_is_limited(void)
{
    return atomic_load_explicit(&pool.limit, memory_order_relaxed) < pool.slots;
}

void sl_cupti_pool_set_first_use(void (*on_first_use)(void))
{
    pool.on_first_use = on_first_use;
}

void sl_cupti_pool_set_stranger(int (*stranger)(void *context, uint32_t stream, uint8_t *buffer,
                                                size_t size, size_t valid_size))
{
    /* Release pairs with the acquire in is_of_another(). */
    atomic_store_explicit(&pool.stranger, stranger, memory_order_release);
}

int sl_cupti_pool_owns(const uint8_t *buffer)
{
    return buffer == discard || (pool.base && (uintptr_t)buffer - (uintptr_t)pool.base <
                                                  (uintptr_t)pool.slots * pool.buffer_bytes);
}

void sl_cupti_pool_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    struct slot *s = NULL;

    *max_records = 0; /* with 0, CUPTI may write as many records as fit */
    if (!atomic_load_explicit(&pool.passive, memory_order_relaxed)) {
        if (pool.on_first_use && !atomic_exchange_explicit(&pool.used, 1, memory_order_relaxed))
            pool.on_first_use();
        if (pool.base)
            s = pop_ready();
        if (!s) {
            /* No buffer is ready, because of a burst of requests, or because there are more threads
             * than ready buffers. This thread gets an untouched buffer. The thread then takes the
             * page faults, but no records are lost. */
            if (pool.base)
                s = take_fresh();
            if (!s) {
                sl_stats_add(SL_STAT_DROPPED_NO_BUFFER, 1);
                atomic_fetch_add_explicit(&pool.discards, 1, memory_order_relaxed);
            }
            /* Only the first request of a series wakes the recorder thread, which then maps buffers
             * for all requests. */
            if (atomic_fetch_add_explicit(&pool.starved, 1, memory_order_relaxed) == 0 && pool.wake)
                pool.wake();
        }
        atomic_fetch_add_explicit(&pool.out, 1, memory_order_relaxed);
    }
    if (s) {
        uint64_t turn;

        atomic_store_explicit(&s->state, OUT, memory_order_relaxed);
        /* Release pairs with the acquire in sl_cupti_pool_turn(), so that a thread that has read
         * this request number sees the buffer's state as OUT. Such a thread may still see the
         * number of the buffer's previous request in the slot, because the slot's number is stored
         * afterwards. */
        turn = atomic_fetch_add_explicit(&pool.turn, 1, memory_order_release) + 1;
        atomic_store_explicit(&s->turn, turn, memory_order_relaxed);
        *buffer = s->buffer.data;
        *size = pool.buffer_bytes;
    } else {
        *buffer = discard;
        *size = sizeof discard;
    }
}

/* Marks a buffer that CUPTI holds as completed and returns its slot. Returns NULL if the pointer is
 * not ours, or if CUPTI does not hold the buffer. */
static struct slot *slot_of(const uint8_t *buffer)
{
    uintptr_t offset = (uintptr_t)buffer - (uintptr_t)pool.base;
    int expected = OUT;
    struct slot *s;

    if (!pool.base || (uintptr_t)buffer < (uintptr_t)pool.base || offset % pool.buffer_bytes != 0 ||
        offset / pool.buffer_bytes >= pool.slots)
        return NULL;
    s = &pool.slot[offset / pool.buffer_bytes];
    /* Only one thread wins this exchange, so a second completion of the same buffer does
     * nothing. */
    if (!atomic_compare_exchange_strong_explicit(&s->state, &expected, COMPLETED,
                                                 memory_order_relaxed, memory_order_relaxed))
        return NULL;
    return s;
}

/* Returns whether the buffer belongs to another client. CUPTI returned such a buffer to us because
 * our callbacks are registered now. */
static int is_of_another(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                         size_t valid_size)
{
    int (*stranger)(void *, uint32_t, uint8_t *, size_t, size_t) =
        atomic_load_explicit(&pool.stranger, memory_order_acquire);

    return !sl_cupti_pool_owns(buffer) && stranger &&
           stranger(context, stream, buffer, size, valid_size) == 0;
}

void sl_cupti_pool_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid_size)
{
    struct sl_cupti_buffer *head;
    uint32_t waiting;
    struct slot *s;

    if (atomic_load_explicit(&pool.passive, memory_order_relaxed))
        return;
    if (buffer == discard) {
        sl_stats_add(SL_STAT_DROPPED_RECORDS_DISCARDED, valid_size / TYPICAL_RECORD_BYTES);
        atomic_fetch_sub_explicit(&pool.discards, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&pool.out, 1, memory_order_relaxed);
        return;
    }
    s = slot_of(buffer);
    if (!s) {
        if (!is_of_another(context, stream, buffer, size, valid_size))
            sl_stats_add(SL_STAT_FOREIGN_BUFFERS, 1);
        return;
    }
    s->buffer.valid = valid_size < pool.buffer_bytes ? valid_size : pool.buffer_bytes;
    s->buffer.context = context;
    s->buffer.stream = stream;
    waiting = atomic_fetch_add_explicit(&pool.completed_count, 1, memory_order_relaxed) + 1;
    head = atomic_load_explicit(&pool.completed, memory_order_relaxed);
    do {
        s->buffer.next = head;
        /* Release pairs with the acquire in sl_cupti_pool_take(), which sees the records and the
         * buffer's fields. */
    } while (!atomic_compare_exchange_weak_explicit(&pool.completed, &head, &s->buffer,
                                                    memory_order_release, memory_order_relaxed));
    atomic_fetch_sub_explicit(&pool.out, 1, memory_order_relaxed);
    /* Wakes only when the count crosses a quarter of the pool, because a futex wake for every
     * buffer would cost more than all other work here. */
    if (waiting == pool.slots / 4 + 1 && pool.wake)
        pool.wake();
}

static uint32_t index_of(const struct sl_cupti_buffer *b)
{
    return (uint32_t)((size_t)(b->data - pool.base) / pool.buffer_bytes);
}

struct sl_cupti_buffer *sl_cupti_pool_take(void)
{
    struct sl_cupti_buffer *oldest = NULL, *b, *next;
    uint32_t taken = 0;

    /* Acquire pairs with the release in sl_cupti_pool_complete(). */
    b = atomic_exchange_explicit(&pool.completed, NULL, memory_order_acquire);
    for (; b; b = next, taken++) {
        next = b->next;
        b->next = oldest;
        oldest = b;
        atomic_store_explicit(&pool.slot[index_of(b)].state, BACK, memory_order_relaxed);
    }
    atomic_fetch_sub_explicit(&pool.completed_count, taken, memory_order_relaxed);
    return oldest;
}

void sl_cupti_pool_recycle(struct sl_cupti_buffer *buffer)
{
    if (is_over_limit(atomic_load_explicit(&pool.prepared, memory_order_relaxed), 0)) {
        buffer->valid = 0;
        park(buffer);
        return;
    }
    /* Zeroes the whole buffer, not only the `valid` bytes, because CUPTI may have begun records
     * after the `valid` bytes. */
    memset(buffer->data, 0, buffer->size);
    buffer->valid = 0;
    push_ready(index_of(buffer));
}

void sl_cupti_pool_refill(void)
{
    if (!pool.base)
        return;
    /* A request found no ready buffer since the last call. So the process has more threads than
     * ready buffers. From now on, twice as many buffers are kept ready. */
    if (atomic_exchange_explicit(&pool.starved, 0, memory_order_relaxed) > 0)
        pool.ready_goal = pool.ready_goal < pool.slots / 2 ? pool.ready_goal * 2 + 1 : pool.slots;
    while (atomic_load_explicit(&pool.ready_count, memory_order_relaxed) < pool.ready_goal &&
           prepare_one())
        ;
}

unsigned sl_cupti_pool_outstanding(void)
{
    return atomic_load_explicit(&pool.out, memory_order_relaxed);
}

int sl_cupti_pool_is_discarding(void)
{
    return atomic_load_explicit(&pool.discards, memory_order_relaxed) != 0;
}

uint64_t sl_cupti_pool_turn(void)
{
    return atomic_load_explicit(&pool.turn, memory_order_acquire);
}

static int is_between(const struct slot *s, uint64_t turn, enum state first, enum state last)
{
    int state = atomic_load_explicit(&s->state, memory_order_relaxed);

    return state >= (int)first && state <= (int)last &&
           atomic_load_explicit(&s->turn, memory_order_relaxed) <= turn;
}

static unsigned count(uint64_t turn, enum state first, enum state last)
{
    uint32_t used = atomic_load_explicit(&pool.prepared, memory_order_relaxed);
    unsigned found = 0;

    for (uint32_t i = 0; i < used; i++)
        found += (unsigned)is_between(&pool.slot[i], turn, first, last);
    return found;
}

/* A buffer counts as missing until the recorder thread has taken it. The moment when CUPTI returns
 * the buffer would be too early, because CUPTI's thread may be interrupted before it puts the
 * buffer on the list. Relaxed order is enough, because only the recorder thread ends this state. */
unsigned sl_cupti_pool_missing(uint64_t turn)
{
    return count(turn, OUT, COMPLETED);
}

unsigned sl_cupti_pool_lent(uint64_t turn)
{
    return count(turn, OUT, OUT);
}

int sl_cupti_pool_all_back(uint64_t turn)
{
    return sl_cupti_pool_missing(turn) == 0;
}

void sl_cupti_pool_look(uint64_t turn, void (*look)(void *user, const uint8_t *data, size_t size),
                        void *user)
{
    uint32_t used = atomic_load_explicit(&pool.prepared, memory_order_relaxed);

    for (uint32_t i = 0; i < used; i++) {
        if (is_between(&pool.slot[i], turn, OUT, COMPLETED))
            look(user, pool.base + (size_t)i * pool.buffer_bytes, pool.buffer_bytes);
    }
}

size_t sl_cupti_pool_mapped_bytes(void)
{
    return atomic_load_explicit(&pool.mapped_bytes, memory_order_relaxed);
}

void sl_cupti_pool_set_passive(void)
{
    atomic_store_explicit(&pool.passive, 1, memory_order_relaxed);
}

void sl_cupti_pool_reset(void)
{
    if (pool.base)
        sl_pages_unmap(pool.base, (size_t)pool.slots * pool.buffer_bytes);
    if (pool.slot)
        sl_pages_unmap(pool.slot, (size_t)pool.slots * sizeof *pool.slot);
    memset(&pool, 0, sizeof pool);
}
