/*
 * lane.c - the queue of records from an application thread to the recorder thread.
 *
 * Threads, memory: see lane.h. Lanes that no thread uses are on a lock-free stack. The stack's head
 * holds the index + 1 of the top lane, and counts changes of the stack. The count shows a thread
 * that another thread has popped the top lane and pushed it again (the ABA problem).
 */
#include "collect/lane/lane.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/pages.h"

/* The writer wakes the recorder thread when this many words of the writer's ring are unread. If
 * twice as many words are unread, the ring may grow when the writer reaches the ring's end, or when
 * the ring is full. */
#define CHECKPOINT(lane) ((lane)->words / 8)
/* Lanes may grow only up to this part of the memory. The rest of the memory stays free for lanes of
 * new threads. */
#define GROWTH(bytes) ((bytes) / 4 * 3)
/* Words that are kept free in each lane, so that a THREAD_END record always fits. */
#define END_WORDS 2
/* Size in bytes of a lane that has not grown. */
#define EACH (SL_LANE_WORDS * sizeof(uint64_t) + sizeof(struct sl_lane))

static struct {
    struct sl_lane *lane;
    unsigned lanes;
    uint64_t bytes; /* memory limit in bytes for all lanes */
    _Atomic uint64_t taken_bytes;
    _Atomic unsigned used;
    _Atomic uint64_t free; /* lower half: index + 1 of the top lane; upper half: count of changes */
    _Atomic uint64_t lost; /* number of records lost by threads without a lane, or reported to
                            * sl_lanes_lose() */
    void (*_Atomic wake)(void);
    pthread_key_t key;
    uint64_t point_stamp, point_ns;
    int has_point;
    _Atomic int is_ready;
} all;

/* The lane pointer of an ending thread points here once the thread has returned its lane. Later
 * records of that thread are lost. */
static struct sl_lane ended;

_Thread_local struct sl_lane *sl_lane_mine;

/* ---- the stack of free lanes ---- */

static uint64_t changed(uint64_t top, uint32_t to)
{
    return ((top >> 32) + 1) << 32 | to;
}

static void give(struct sl_lane *lane)
{
    uint64_t top = atomic_load_explicit(&all.free, memory_order_relaxed);
    uint32_t mine = (uint32_t)(lane - all.lane) + 1;

    do {
        atomic_store_explicit(&lane->next_free, (uint32_t)top, memory_order_relaxed);
        /* Release pairs with the acquire in take(), so that the next holder sees this thread's data
         * in the lane. */
    } while (!atomic_compare_exchange_weak_explicit(&all.free, &top, changed(top, mine),
                                                    memory_order_release, memory_order_relaxed));
}

/* Adds `bytes` to the memory total of all lanes. Returns 0, or -ENOMEM if the total would exceed
 * `most`. */
static int take_bytes(uint64_t bytes, uint64_t most)
{
    uint64_t taken = atomic_load_explicit(&all.taken_bytes, memory_order_relaxed);

    do {
        if (taken + bytes > most)
            return -ENOMEM;
    } while (!atomic_compare_exchange_weak_explicit(&all.taken_bytes, &taken, taken + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return 0;
}

static struct sl_lane *take(void)
{
    uint64_t top = atomic_load_explicit(&all.free, memory_order_acquire);
    unsigned index;

    while ((uint32_t)top) {
        struct sl_lane *lane = &all.lane[(uint32_t)top - 1];
        /* Another thread may have taken the lane by now. Then the count has changed, the exchange
         * fails, and `next` is not used. */
        uint32_t next = atomic_load_explicit(&lane->next_free, memory_order_relaxed);

        if (atomic_compare_exchange_weak_explicit(&all.free, &top, changed(top, next),
                                                  memory_order_acquire, memory_order_acquire))
            return lane;
    }
    if (take_bytes(EACH, all.bytes))
        return NULL;
    index = atomic_load_explicit(&all.used, memory_order_relaxed);
    while (index < all.lanes) {
        /* Release pairs with the acquire in sl_lanes_used(). */
        if (atomic_compare_exchange_weak_explicit(&all.used, &index, index + 1,
                                                  memory_order_release, memory_order_relaxed))
            return &all.lane[index];
    }
    return NULL;
}

/* ---- a thread's first and last record ---- */

static void put_thread(struct sl_lane *lane, enum sl_lane_what what)
{
    struct sl_lane_record *r = sl_lane_reserved(lane);

    *r = (struct sl_lane_record){
        .what = (uint8_t)what, .pairs = 1, .aux = lane->thread, .stamp = sl_clock_stamp()};
    sl_lane_put(lane, 2);
}

/* Called when the thread ends. */
static void on_thread_end(void *mine)
{
    struct sl_lane *lane = mine;

    sl_lane_mine = &ended;
    if (lane->announced)
        put_thread(lane, SL_LANE_THREAD_END);
    give(lane);
}

static void begin_thread(struct sl_lane *lane)
{
    lane->thread = (uint32_t)syscall(SYS_gettid);
    lane->announced = 0;
    lane->reserved = END_WORDS;
    lane->limit = lane->at; /* the first record takes the slow path */
    memset(lane->depth, 0, sizeof(lane->depth));
    memset(lane->skipped, 0, sizeof(lane->skipped));
    lane->ops = lane->ops_skipped = lane->ops_plain = 0;
    lane->told = lane->told_number = 0;
    lane->starts = 0;
}

struct sl_lane *sl_lane_take(void)
{
    int saved = errno;
    struct sl_lane *lane = NULL;

    if (atomic_load_explicit(&all.is_ready, memory_order_acquire))
        lane = take();
    if (!lane) {
        atomic_fetch_add_explicit(&all.lost, 1, memory_order_relaxed);
        return NULL;
    }
    begin_thread(lane);
    if (pthread_setspecific(all.key, lane)) {
        /* Without the key's value, on_thread_end() would not be called. */
        give(lane);
        lane = NULL;
        atomic_fetch_add_explicit(&all.lost, 1, memory_order_relaxed);
    } else {
        sl_lane_mine = lane;
    }
    errno = saved;
    return lane;
}

/* ---- making room for a record ---- */

static struct sl_lane_record *lose(struct sl_lane *lane)
{
    atomic_fetch_add_explicit(&lane->lost, 1, memory_order_relaxed);
    return NULL;
}

/* Doubles the ring if much of the ring is unread and the memory limit allows the growth. Called
 * when the writer has reached the ring's end, or when the ring is full. If no unread record lies
 * between the writer and the old end, the writer continues at its position. Otherwise the writer
 * jumps to the new half of the ring. The writer returns to the ring's beginning only after the
 * reader has also reached the new half. */
static int grow(struct sl_lane *lane, uint64_t tail)
{
    uint64_t waiting = lane->at - tail, more = lane->words, next;
    int has_left = tail < lane->left, goes_on = has_left || waiting <= lane->offset;

    if (waiting < 2 * CHECKPOINT(lane) || more == SL_LANE_WORDS_MAX ||
        take_bytes(more * sizeof(uint64_t), GROWTH(all.bytes)))
        return 0;
    /* The record always fits, because more words are reserved than the record takes. This is true
     * in the new half, too. */
    next = goes_on ? lane->offset + 2 : more;
    *sl_lane_reserved(lane) =
        (struct sl_lane_record){.what = SL_LANE_GROW, .pairs = 1, .aux = (uint32_t)next};
    lane->words += more;
    sl_lane_put(lane, 2);
    lane->offset = next;
    if (!goes_on)
        lane->left = lane->at;
    lane->wall = lane->at + lane->words - next;
    return 1;
}

void sl_lanes_wake(void)
{
    void (*wake)(void) = atomic_load_explicit(&all.wake, memory_order_acquire);

    if (wake)
        wake();
}

/* Sets the position at which the writer must read the reader's position `tail` again. Returns the
 * position at which the ring is full. */
static uint64_t set_limit(struct sl_lane *lane, uint64_t tail)
{
    uint64_t most = tail + lane->words - lane->reserved;

    if (tail < lane->left && most > lane->wall - lane->reserved)
        most = lane->wall - lane->reserved;
    lane->limit = lane->at + CHECKPOINT(lane) < most ? lane->at + CHECKPOINT(lane) : most;
    return most;
}

struct sl_lane_record *sl_lane_room(struct sl_lane *lane, unsigned words)
{
    uint64_t tail, most, skip;

    if (lane == &ended)
        return lose(lane);
    /* Acquire pairs with the release in the reader, which has finished with the records before
     * `tail`. */
    tail = atomic_load_explicit(&lane->tail, memory_order_acquire);
    most = set_limit(lane, tail);
    if (!lane->announced) {
        if (lane->at + 2 > most)
            return lose(lane);
        put_thread(lane, SL_LANE_THREAD_BEGIN);
        lane->announced = 1;
    }
    if (lane->at - tail >= CHECKPOINT(lane))
        sl_lanes_wake();
    if ((lane->offset + words >= lane->words || lane->at + words + 2 > most) && grow(lane, tail))
        most = set_limit(lane, tail);
    skip = lane->offset + words > lane->words ? lane->words - lane->offset : 0;
    if (lane->at + skip + words + 2 > most)
        return lose(lane);
    if (skip) {
        *sl_lane_reserved(lane) = (struct sl_lane_record){.what = SL_LANE_PAD};
        sl_lane_put(lane, (unsigned)skip);
    }
    return (struct sl_lane_record *)&lane->word[lane->offset];
}

int sl_lane_skip(struct sl_lane *lane, unsigned domain)
{
    if (lane == &ended)
        return -1;
    if (lane->skipped[domain]) /* the loss of the outermost range is counted already */
        lose(lane);
    return lane->depth[domain] + lane->skipped[domain]++;
}

void sl_lane_op_skip(struct sl_lane *lane)
{
    if (lane == &ended)
        return;
    if (lane->ops_skipped) /* the loss of the outermost operator is counted already */
        lose(lane);
    lane->ops_skipped++;
}

void sl_lanes_lose(uint64_t records)
{
    atomic_fetch_add_explicit(&all.lost, records, memory_order_relaxed);
}

/* ---- interface ---- */

int sl_lanes_init(size_t bytes)
{
    /* Maps address space for all lanes at their largest size. At most `bytes` of this address space
     * are ever touched. */
    const size_t each = SL_LANE_WORDS_MAX * sizeof(uint64_t);
    unsigned lanes = (unsigned)(bytes / EACH);
    uint64_t *word;

    if (atomic_load_explicit(&all.is_ready, memory_order_acquire))
        return -EALREADY;
    all.lane = sl_pages_map(lanes * sizeof(*all.lane));
    word = sl_pages_map(lanes * each);
    if (!all.lane || !word || pthread_key_create(&all.key, on_thread_end)) {
        sl_pages_unmap(all.lane, lanes * sizeof(*all.lane));
        sl_pages_unmap(word, lanes * each);
        all.lane = NULL;
        return -ENOMEM;
    }
    for (unsigned i = 0; i < lanes; i++) {
        all.lane[i].word = word + (size_t)i * SL_LANE_WORDS_MAX;
        all.lane[i].words = all.lane[i].read_words = SL_LANE_WORDS;
    }
    all.lanes = lanes;
    all.bytes = bytes;
    all.has_point = sl_clock_take_point(&all.point_stamp, &all.point_ns) == 0;
    /* Release pairs with the acquire in sl_lane_take(). */
    atomic_store_explicit(&all.is_ready, 1, memory_order_release);
    return 0;
}

void sl_lane_put_past(enum sl_lane_what what, const char *name, size_t length, uint64_t start_ns,
                      uint64_t end_ns)
{
    /* The record consists of the header, two times, the text's length, and the text. */
    unsigned words = 2 + 2 + 1 + (unsigned)((length + 7) / 8);
    struct sl_lane *lane = sl_lane_get();
    struct sl_lane_record *r;
    uint64_t *at;

    words = (words + 1) & ~1u;
    r = lane ? sl_lane_begin(lane, words) : NULL;
    if (!r)
        return;
    at = (uint64_t *)(r + 1);
    at[0] = start_ns;
    at[1] = end_ns;
    at[2] = length;
    memcpy(at + 3, name, length);
    *r = (struct sl_lane_record){.what = (uint8_t)what,
                                 .parts = SL_LANE_HAS_TIMES | SL_LANE_HAS_TEXT,
                                 .pairs = (uint8_t)(words / 2),
                                 .stamp = sl_clock_stamp()};
    sl_lane_put(lane, words);
}

void sl_lanes_set_wake(void (*wake)(void))
{
    atomic_store_explicit(&all.wake, wake, memory_order_release);
}

unsigned sl_lanes_used(void)
{
    return atomic_load_explicit(&all.used, memory_order_acquire);
}

struct sl_lane *sl_lane_at(unsigned index)
{
    return &all.lane[index];
}

uint64_t sl_lanes_lost(void)
{
    uint64_t lost = atomic_load_explicit(&all.lost, memory_order_relaxed) +
                    atomic_load_explicit(&ended.lost, memory_order_relaxed);

    for (unsigned i = 0; i < sl_lanes_used(); i++)
        lost += atomic_load_explicit(&all.lane[i].lost, memory_order_relaxed);
    return lost;
}

uint64_t sl_lanes_bytes(void)
{
    return atomic_load_explicit(&all.taken_bytes, memory_order_relaxed);
}

int sl_lanes_point(uint64_t *stamp, uint64_t *ns)
{
    *stamp = all.point_stamp;
    *ns = all.point_ns;
    return all.has_point ? 0 : -EAGAIN;
}

/* ---- the reader ---- */

static void pass(struct sl_lane *lane, uint64_t words)
{
    lane->read_offset += words;
    if (lane->read_offset == lane->read_words)
        lane->read_offset = 0;
    /* Release pairs with the acquire in sl_lane_room(), so that the writer overwrites only records
     * that we have read. */
    atomic_store_explicit(&lane->tail,
                          atomic_load_explicit(&lane->tail, memory_order_relaxed) + words,
                          memory_order_release);
}

/* Stops reading a damaged lane. A signal handler has recorded something while its thread was
 * writing a record, so the beginning of the next record is unknown. */
static void give_up(struct sl_lane *lane)
{
    static int said;

    lane->is_broken = 1;
    sl_log_once(
        &said, SL_LOG_WARN,
        "a signal handler made a range or mark while its thread was making another: ranges and "
        "operators of that thread are no longer recorded; make none in signal handlers");
}

const struct sl_lane_record *sl_lane_next(struct sl_lane *lane)
{
    while (!lane->is_broken) {
        const struct sl_lane_record *r =
            (const struct sl_lane_record *)&lane->word[lane->read_offset];
        /* Acquire pairs with the release in sl_lane_put(), so that records up to head are
         * complete. */
        uint64_t head = atomic_load_explicit(&lane->head, memory_order_acquire);
        uint64_t tail = atomic_load_explicit(&lane->tail, memory_order_relaxed);

        if (tail >= head)
            return NULL;
        if (r->what == SL_LANE_GROW) {
            uint64_t next = r->aux;

            lane->read_words *= 2;
            pass(lane, 2);
            lane->read_offset = next;
        } else if (r->what == SL_LANE_PAD) {
            pass(lane, lane->read_words - lane->read_offset);
        } else if (r->pairs && 2u * r->pairs <= head - tail) {
            return r;
        } else {
            give_up(lane);
        }
    }
    return NULL;
}

void sl_lane_read(struct sl_lane *lane, const struct sl_lane_record *record)
{
    pass(lane, 2u * record->pairs);
}
