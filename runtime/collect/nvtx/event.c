/*
 * event.c - writes the application's ranges and marks into the lane of the calling thread.
 *
 * A lane is a thread's queue of records (collect/lane/lane.h). Threads: any thread, for its own
 * lane. Memory: only the lane.
 */
#include <string.h>

#include "base/clock.h"
#include "collect/lane/step.h"
#include "collect/nvtx/calls.h"

/* The result of a push or pop whose level is not known. NVTX calls this value
 * NVTX_NO_PUSH_POP_TRACKING. */
#define NO_LEVEL (-2)

static _Atomic uint64_t last_id;
static const struct sl_nvtx_text_taker *_Atomic text_taker;

void sl_nvtx_set_text_taker(const struct sl_nvtx_text_taker *taker)
{
    /* Release pairs with the acquires in push_text() and pop_text(), so that these functions see
     * the other source's data. */
    atomic_store_explicit(&text_taker, taker, memory_order_release);
}

static int push_text(struct sl_lane *lane, const struct sl_nvtx_message *m)
{
    const struct sl_nvtx_text_taker *taker =
        atomic_load_explicit(&text_taker, memory_order_acquire);

    return __builtin_expect(taker && m->text, 0) && taker->push(lane, m->text, m->length);
}

static int pop_text(struct sl_lane *lane)
{
    return __builtin_expect(lane->told != 0, 0) &&
           atomic_load_explicit(&text_taker, memory_order_acquire)->pop(lane);
}

static unsigned words_of(size_t bytes)
{
    return 1 + (unsigned)((bytes + 7) / 8);
}

static uint64_t *put_bytes(uint64_t *at, const char *text, size_t length)
{
    at[0] = length;
    memcpy(at + 1, text, length);
    return at + words_of(length);
}

static uint64_t *put_look(uint64_t *at, const struct sl_nvtx_event *ev, uint8_t *parts)
{
    if (!ev->has_category && !ev->has_color)
        return at;
    *parts |= (uint8_t)((ev->has_category ? SL_LANE_HAS_CATEGORY : 0) |
                        (ev->has_color ? SL_LANE_HAS_COLOR : 0));
    *at = ev->category | (uint64_t)ev->color << 32;
    return at + 1;
}

static uint64_t *put_value(uint64_t *at, const struct sl_nvtx_event *ev, uint8_t *parts)
{
    if (!ev->value_type)
        return at;
    *parts |= SL_LANE_HAS_VALUE;
    at[0] = ev->value_type;
    at[1] = ev->value;
    return at + 2;
}

static size_t clip(size_t length, size_t most)
{
    return length < most ? length : most;
}

/* Upper limit of the record's size in words. */
static unsigned most_words(const struct sl_nvtx_event *ev)
{
    unsigned words = 2 + 2 + 1 + 2 + 1;

    if (ev->message.text)
        words += words_of(clip(ev->message.length, SL_LANE_TEXT_MAX));
    if (ev->payloads)
        words += words_of(SL_LANE_JSON_MAX);
    else if (ev->more)
        words += words_of(strlen(ev->more));
    return (words + 1) & ~1u;
}

/* `times` holds the start and end of a past event. If `times` is NULL, the event happens now. */
static struct sl_lane *put_record(enum sl_lane_what what, unsigned domain,
                                  const struct sl_nvtx_event *ev, uint64_t id,
                                  const uint64_t *times)
{
    struct sl_lane *lane = sl_lane_get();
    struct sl_lane_record *r = lane ? sl_lane_begin(lane, most_words(ev)) : NULL;
    uint64_t *at;
    uint8_t parts = 0;
    unsigned words;

    if (!r)
        return NULL;
    at = (uint64_t *)(r + 1);
    if (times) {
        parts |= SL_LANE_HAS_TIMES;
        *at++ = times[0];
        *at++ = times[1];
    }
    at = put_value(put_look(at, ev, &parts), ev, &parts);
    if (id) {
        parts |= SL_LANE_HAS_ID;
        *at++ = id;
    }
    if (ev->message.string)
        parts |= SL_LANE_HAS_STRING;
    if (ev->message.text) {
        parts |= SL_LANE_HAS_TEXT;
        at = put_bytes(at, ev->message.text, clip(ev->message.length, SL_LANE_TEXT_MAX));
    }
    if (ev->payloads) {
        int is_end = what == SL_LANE_POP || what == SL_LANE_END;
        size_t length = sl_nvtx_payload_json((char *)(at + 1), SL_LANE_JSON_MAX,
                                             is_end ? "\"end payload\":" : "\"payload\":", domain,
                                             ev->payloads, ev->payload_count);

        parts |= SL_LANE_HAS_JSON;
        at[0] = length;
        at += words_of(length);
    } else if (ev->more) {
        parts |= SL_LANE_HAS_JSON;
        at = put_bytes(at, ev->more, strlen(ev->more));
    }
    words = ((unsigned)(at - (uint64_t *)r) + 1) & ~1u;
    *r = (struct sl_lane_record){.what = (uint8_t)what,
                                 .parts = parts,
                                 .pairs = (uint8_t)(words / 2),
                                 .domain = (uint16_t)domain,
                                 .aux = ev->message.string,
                                 /* Evaluated last, so that the time of writing the record is not
                                  * part of the range. */
                                 .stamp = sl_clock_stamp()};
    sl_lane_put(lane, words);
    return lane;
}

struct sl_lane *sl_nvtx_record_event(enum sl_lane_what what, unsigned domain,
                                     const struct sl_nvtx_event *ev, uint64_t id)
{
    return put_record(what, domain, ev, id, NULL);
}

void sl_nvtx_record_past(enum sl_lane_what what, unsigned domain, const struct sl_nvtx_event *ev,
                         uint64_t start_ns, uint64_t end_ns)
{
    const uint64_t times[] = {start_ns, end_ns};

    put_record(what, domain, ev, 0, times);
}

struct renamed {
    struct sl_nvtx_event ev;
    struct sl_step_name as;
};

/* Counts the step if the event names one. Returns the event to record: `ev` itself, or a renamed
 * copy of it in `room`. */
static const struct sl_nvtx_event *note_step(const struct sl_nvtx_event *ev, struct renamed *room)
{
    uint32_t given = ev->step - 1;

    if (!ev->step &&
        (!ev->message.text || sl_step_read_name(ev->message.text, ev->message.length, &given) != 0))
        return ev;
    if (!sl_step_begin_named(given, 0, &room->as))
        return ev;
    room->ev = *ev;
    room->ev.message = (struct sl_nvtx_message){0, room->as.name, strlen(room->as.name)};
    room->ev.more = room->as.more;
    return &room->ev;
}

int sl_nvtx_push(unsigned domain, const struct sl_nvtx_event *ev)
{
    struct renamed room;
    struct sl_lane *lane = sl_lane_get();

    if (!lane)
        return NO_LEVEL;
    if (domain == 0 && push_text(lane, &ev->message))
        return lane->depth[0] + (int)lane->told - 1;
    ev = note_step(ev, &room);
    if (lane->skipped[domain] || !sl_nvtx_record_event(SL_LANE_PUSH, domain, ev, 0))
        return sl_lane_skip(lane, domain);
    return sl_lane_pushed(lane, domain);
}

int sl_nvtx_push_string(unsigned domain, uint32_t string)
{
    struct sl_lane *lane = sl_lane_get();
    struct sl_lane_record *r = NULL;

    if (!lane)
        return NO_LEVEL;
    if (__builtin_expect(!lane->skipped[domain], 1))
        r = sl_lane_begin(lane, 2);
    if (__builtin_expect(!r, 0))
        return sl_lane_skip(lane, domain);
    *r = (struct sl_lane_record){.what = SL_LANE_PUSH,
                                 .parts = SL_LANE_HAS_STRING,
                                 .pairs = 1,
                                 .domain = (uint16_t)domain,
                                 .aux = string,
                                 .stamp = sl_clock_stamp()};
    sl_lane_put(lane, 2);
    return sl_lane_pushed(lane, domain);
}

/* Writes a pop record into the room that was reserved at the push. */
static void put_pop(struct sl_lane *lane, unsigned domain)
{
    struct sl_lane_record *r = sl_lane_reserved(lane);

    /* All fields are set explicitly. Otherwise gcc 12 first clears the record, and then reads the
     * cleared bytes back. */
    *r = (struct sl_lane_record){.what = SL_LANE_POP,
                                 .parts = 0,
                                 .pairs = 1,
                                 .domain = (uint16_t)domain,
                                 .aux = 0,
                                 .stamp = sl_clock_stamp()};
    sl_lane_put(lane, 2);
}

int sl_nvtx_pop(unsigned domain, const struct sl_nvtx_event *ev)
{
    struct sl_lane *lane = sl_lane_mine;

    if (!lane)
        return NO_LEVEL;
    if (__builtin_expect(lane->skipped[domain] != 0, 0))
        return lane->depth[domain] + --lane->skipped[domain];
    if (domain == 0 && pop_text(lane))
        return lane->depth[0] + (int)lane->told;
    if (lane->depth[domain] == 0)
        return NO_LEVEL;
    if (!ev || !sl_nvtx_record_event(SL_LANE_POP, domain, ev, 0))
        put_pop(lane, domain);
    return sl_lane_popped(lane, domain);
}

uint64_t sl_nvtx_begin(unsigned domain, const struct sl_nvtx_event *ev)
{
    static _Atomic uint32_t last;
    struct renamed room;
    struct sl_lane *lane = sl_lane_get();
    uint64_t id;
    uint32_t number;

    if (!lane)
        return 0;
    do
        number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    while (!number);
    id = (uint64_t)lane->thread << 32 | number;
    return sl_nvtx_record_event(SL_LANE_PUSH, domain, note_step(ev, &room), id) ? id : 0;
}

void sl_nvtx_finish(unsigned domain, uint64_t id)
{
    static const struct sl_nvtx_event nothing;

    if (id)
        sl_nvtx_record_event(SL_LANE_POP, domain, &nothing, id);
}

uint64_t sl_nvtx_start(unsigned domain, const struct sl_nvtx_event *ev)
{
    struct renamed room;
    uint64_t id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;

    ev = note_step(ev, &room);
    sl_nvtx_record_event(SL_LANE_START, domain, ev, id);
    return id;
}

void sl_nvtx_end(unsigned domain, uint64_t id, const struct sl_nvtx_event *ev)
{
    static const struct sl_nvtx_event nothing;

    if (id)
        sl_nvtx_record_event(SL_LANE_END, domain, ev ? ev : &nothing, id);
}
