/*
 * read.c - turns the NVTX records in the lanes (collect/lane/lane.h) into ranges, marks and names.
 *
 * Threads, memory: see read.h.
 */
#include "collect/nvtx/read.h"

#include <errno.h>
#include <string.h>

#include "base/pages.h"
#include "collect/lane/lane.h"
#include "collect/nvtx/attributes.h"

#define FIRST_ROW SL_ROW_FIRST
#define ROWS      256
#define PAST_ROW  (FIRST_ROW + ROWS)
#define STEP_ROW  (PAST_ROW + 1)
#define ORPHANS   256 /* maximum number of ends without a start; a power of two */
#define LOCKS     256 /* maximum number of locks; a power of two */
#define RELEASES  64
/* The ids of ranges that show how long a thread holds a lock. */
#define LOCK_ID(lock, thread) (1ull << 63 | (uint64_t)(lock) << 32 | (thread))
/* The waits for each lock have a domain of their own, so that waits for different locks need not
 * nest. */
#define LOCK_DOMAIN 0x10000u

struct sl_nvtx_read {
    struct sl_nvtx_read_options opt;
    struct sl_nvtx_attributes *look;
    uint32_t names; /* number of names read */
    uint8_t row_used[ROWS], row_told[ROWS + 2];
    /* Ends of ranges whose start is in another lane that was not read yet. */
    struct {
        uint64_t id, ns;
        struct sl_range_look look;
    } orphan[ORPHANS];
    /* The thread that acquired a lock last. Another thread may release the lock. */
    struct {
        uint32_t lock, thread;
        uint64_t ns;
    } holder[LOCKS];
    /* The releases of a lock by a thread that did not acquire the lock. The lane with the
     * acquisition may be read later. */
    struct {
        uint32_t lock;
        uint64_t ns;
    } release[RELEASES];
    unsigned releases;
};

int sl_nvtx_read_create(struct sl_nvtx_read **out, const struct sl_nvtx_read_options *opt)
{
    struct sl_nvtx_read *r = sl_pages_map(sizeof(*r));
    int err;

    if (!r)
        return -ENOMEM;
    r->opt = *opt;
    err = sl_nvtx_attributes_create(&r->look, opt->intern, opt->texts_bytes);
    if (err) {
        sl_pages_unmap(r, sizeof(*r));
        return err;
    }
    *out = r;
    return 0;
}

void sl_nvtx_read_destroy(struct sl_nvtx_read *r)
{
    if (!r)
        return;
    sl_nvtx_attributes_destroy(r->look);
    sl_pages_unmap(r, sizeof(*r));
}

uint64_t sl_nvtx_read_texts_lost(const struct sl_nvtx_read *r)
{
    return sl_nvtx_attributes_lost(r->look);
}

/* ---- ranges that no thread owns ---- */

static void tell_row(struct sl_nvtx_read *r, uint32_t row, const char *name)
{
    struct sl_event ev = {.kind = SL_EV_META_THREAD, .thread = row};

    if (r->row_told[row - FIRST_ROW])
        return;
    r->row_told[row - FIRST_ROW] = 1;
    ev.name = sl_nvtx_attributes_text(r->look, name, strlen(name));
    r->opt.sink(r->opt.user, &ev);
}

/* Returns a free track. If all tracks are used, further ranges share the last track. */
static uint32_t take_row(struct sl_nvtx_read *r)
{
    unsigned i = 0;

    while (i < ROWS - 1 && r->row_used[i])
        i++;
    r->row_used[i] = 1;
    tell_row(r, FIRST_ROW + i, "NVTX start and end");
    return FIRST_ROW + i;
}

/* `look` holds further attributes, which the range's end has given. Returns 1, or 0 if no range
 * with this id has begun. */
static int end_range(struct sl_nvtx_read *r, uint64_t id, uint64_t ns,
                     const struct sl_range_look *look)
{
    uint32_t row;
    struct sl_range_look *begun = sl_ranges_started(r->opt.ranges, id, &row);

    if (!begun)
        return 0;
    if (look)
        sl_nvtx_attributes_join(r->look, begun, look);
    sl_ranges_end(r->opt.ranges, id, ns);
    if (row >= FIRST_ROW)
        r->row_used[row - FIRST_ROW] = 0;
    return 1;
}

static void start_range(struct sl_nvtx_read *r, uint32_t thread, uint64_t id, uint64_t ns,
                        const struct sl_range_look *look)
{
    unsigned slot = (unsigned)id & (ORPHANS - 1);
    uint32_t row = take_row(r);

    sl_ranges_start(r->opt.ranges, thread, id, ns, row, look);
    if (!sl_ranges_started(r->opt.ranges, id, &row))
        r->row_used[row - FIRST_ROW] = 0; /* the range was dropped because the table of ranges is
                                           * full */
    if (r->orphan[slot].id == id) {
        r->orphan[slot].id = 0;
        end_range(r, id, r->orphan[slot].ns, &r->orphan[slot].look);
    }
}

static void take_end(struct sl_nvtx_read *r, const struct sl_lane_record *record, uint64_t ns)
{
    struct sl_range_look look;
    uint64_t id;
    unsigned slot;

    sl_nvtx_attributes_make(r->look, record, NULL, &look, &id);
    /* Without category and color, `more` has only the domain, which the start has already given. */
    if (!(record->parts & (SL_LANE_HAS_CATEGORY | SL_LANE_HAS_COLOR)))
        look.more = 0;
    slot = (unsigned)id & (ORPHANS - 1);
    if (end_range(r, id, ns, &look))
        return;
    r->orphan[slot].id = id;
    r->orphan[slot].ns = ns;
    r->orphan[slot].look = look;
}

/* ---- locks ---- */

static struct sl_range_look look_of_lock(struct sl_nvtx_read *r, uint32_t name, const char *more)
{
    const struct sl_lane_record nothing = {.what = SL_LANE_ACQUIRE};
    struct sl_range_look look;
    uint32_t text;

    sl_nvtx_attributes_make(r->look, &nothing, more, &look, NULL);
    text = sl_nvtx_attributes_string(r->look, name);
    if (text)
        look.name = text;
    return look;
}

/* Lanes are read one after the other. So two threads that held the lock one after the other may
 * seem to hold it at the same time. */
static void hold(struct sl_nvtx_read *r, uint32_t thread, uint32_t lock, uint32_t name, uint64_t ns)
{
    struct sl_range_look look;
    uint32_t row;

    r->holder[lock & (LOCKS - 1)].lock = lock;
    r->holder[lock & (LOCKS - 1)].thread = thread;
    r->holder[lock & (LOCKS - 1)].ns = ns;
    if (sl_ranges_started(r->opt.ranges, LOCK_ID(lock, thread), &row))
        return;
    look = look_of_lock(r, name, "\"sync\":\"held\"");
    start_range(r, thread, LOCK_ID(lock, thread), ns, &look);
}

static void release_held(struct sl_nvtx_read *r, uint32_t lock, uint64_t ns)
{
    unsigned i = lock & (LOCKS - 1);

    if (r->holder[i].lock == lock && r->holder[i].ns <= ns)
        end_range(r, LOCK_ID(lock, r->holder[i].thread), ns, NULL);
}

static void release(struct sl_nvtx_read *r, uint32_t thread, uint32_t lock, uint64_t ns)
{
    if (end_range(r, LOCK_ID(lock, thread), ns, NULL))
        return;
    if (r->releases == RELEASES) {
        release_held(r, lock, ns);
        return;
    }
    r->release[r->releases].lock = lock;
    r->release[r->releases++].ns = ns;
}

static void take_lock(struct sl_nvtx_read *r, uint32_t thread, const struct sl_lane_record *record,
                      uint64_t ns)
{
    static const char got[] = "\"acquired\":true", not_got[] = "\"acquired\":false";
    uint32_t lock = record->aux, domain = LOCK_DOMAIN + lock;
    struct sl_range_look look, *waiting;
    struct sl_named name;

    /* The program passed a handle that we did not create. */
    if (sl_nvtx_name_get(lock, &name) || name.what != SL_NAMED_OTHER)
        return;
    switch (record->what) {
    case SL_LANE_ACQUIRE:
        look = look_of_lock(r, name.string, "\"sync\":\"acquire\"");
        sl_ranges_push(r->opt.ranges, thread, domain, ns, &look);
        return;
    case SL_LANE_RELEASE:
        release(r, thread, lock, ns);
        return;
    default:
        break;
    }
    waiting = sl_ranges_innermost(r->opt.ranges, thread, domain);
    if (waiting && record->what == SL_LANE_ACQUIRED)
        sl_nvtx_attributes_add_payload(r->look, waiting, got, sizeof(got) - 1);
    else if (waiting)
        sl_nvtx_attributes_add_payload(r->look, waiting, not_got, sizeof(not_got) - 1);
    sl_ranges_pop(r->opt.ranges, thread, domain, ns);
    if (record->what == SL_LANE_ACQUIRED)
        hold(r, thread, lock, name.string, ns);
}

/* ---- records ---- */

/* Steps have their own track, because a step ends inside another range of the same thread, the
 * optimizer's range. */
static void take_past(struct sl_nvtx_read *r, const struct sl_lane_record *record)
{
    const uint64_t *times = (const uint64_t *)(record + 1);
    struct sl_range_look look;

    sl_nvtx_attributes_make(r->look, record, NULL, &look, NULL);
    if (record->what == SL_LANE_STEP)
        tell_row(r, STEP_ROW, "steps");
    else
        tell_row(r, PAST_ROW, "NVTX deferred");
    sl_ranges_past(r->opt.ranges, record->what == SL_LANE_STEP ? STEP_ROW : PAST_ROW, times[0],
                   times[1], &look);
}

static void take_mark(struct sl_nvtx_read *r, uint32_t thread, const struct sl_lane_record *record,
                      uint64_t ns)
{
    struct sl_range_look look;
    struct sl_event ev = {
        .kind = SL_EV_NVTX_RANGE_MARK, .start_ns = ns, .end_ns = ns, .thread = thread};

    sl_nvtx_attributes_make(r->look, record, NULL, &look, NULL);
    ev.name = look.name;
    ev.name_numbers = look.numbers;
    ev.more = look.more;
    ev.payload = look.payload;
    ev.value_type = look.value_type;
    ev.u.note.value = look.value;
    ev.u.note.payload_numbers = look.payload_numbers;
    r->opt.sink(r->opt.user, &ev);
}

/* Starts a range that sl_nvtx_begin() has recorded and that is ended by its id. */
static void take_begin(struct sl_nvtx_read *r, uint32_t thread, const struct sl_lane_record *record,
                       uint64_t ns)
{
    struct sl_range_look look;
    uint64_t id;
    unsigned slot;

    sl_nvtx_attributes_make(r->look, record, NULL, &look, &id);
    look.value = id;
    sl_ranges_push(r->opt.ranges, thread, record->domain, ns, &look);
    slot = (unsigned)id & (ORPHANS - 1);
    if (id && r->orphan[slot].id == id) {
        r->orphan[slot].id = 0;
        sl_ranges_pop_value(r->opt.ranges, thread, record->domain, (uint32_t)id,
                            r->orphan[slot].ns);
    }
}

/* The range may have begun on another thread, whose lane may be read later. */
static void take_finish(struct sl_nvtx_read *r, const struct sl_lane_record *record, uint64_t ns)
{
    uint64_t id = *(const uint64_t *)(record + 1);
    unsigned slot = (unsigned)id & (ORPHANS - 1);

    if (sl_ranges_pop_value(r->opt.ranges, (uint32_t)(id >> 32), record->domain, (uint32_t)id, ns))
        return;
    r->orphan[slot].id = id;
    r->orphan[slot].ns = ns;
}

static void take_pop(struct sl_nvtx_read *r, uint32_t thread, const struct sl_lane_record *record,
                     uint64_t ns)
{
    struct sl_range_look *look;

    if (record->parts == SL_LANE_HAS_ID) {
        take_finish(r, record, ns);
        return;
    }
    if (record->parts) {
        look = sl_ranges_innermost(r->opt.ranges, thread, record->domain);
        if (look)
            sl_nvtx_attributes_add(r->look, record, look);
    }
    sl_ranges_pop(r->opt.ranges, thread, record->domain, ns);
}

void sl_nvtx_read_record(struct sl_nvtx_read *r, uint32_t thread,
                         const struct sl_lane_record *record, uint64_t ns)
{
    struct sl_range_look look;
    uint64_t id;

    switch (record->what) {
    case SL_LANE_PUSH:
        if (record->parts & SL_LANE_HAS_ID) {
            take_begin(r, thread, record, ns);
            break;
        }
        sl_nvtx_attributes_make(r->look, record, NULL, &look, NULL);
        sl_ranges_push(r->opt.ranges, thread, record->domain, ns, &look);
        break;
    case SL_LANE_POP:
        take_pop(r, thread, record, ns);
        break;
    case SL_LANE_START:
        sl_nvtx_attributes_make(r->look, record, NULL, &look, &id);
        start_range(r, thread, id, ns, &look);
        break;
    case SL_LANE_END:
        take_end(r, record, ns);
        break;
    case SL_LANE_MARK:
        take_mark(r, thread, record, ns);
        break;
    case SL_LANE_PAST:
    case SL_LANE_STEP:
        take_past(r, record);
        break;
    case SL_LANE_THREAD_END:
        sl_ranges_end_thread(r->opt.ranges, thread, ns);
        break;
    case SL_LANE_ACQUIRE:
    case SL_LANE_ACQUIRED:
    case SL_LANE_NOT_ACQUIRED:
    case SL_LANE_RELEASE:
        take_lock(r, thread, record, ns);
        break;
    default:
        break;
    }
}

void sl_nvtx_read_done(struct sl_nvtx_read *r)
{
    for (unsigned i = 0; i < r->releases; i++)
        release_held(r, r->release[i].lock, r->release[i].ns);
    r->releases = 0;
}

/* Stops at a name that another thread is still writing. The next call of this function reads that
 * name. */
void sl_nvtx_read_names(struct sl_nvtx_read *r)
{
    struct sl_named name;

    while (sl_nvtx_name_get(r->names + 1, &name) == 0) {
        r->names++;
        if (name.what == SL_NAMED_CATEGORY)
            sl_nvtx_attributes_category(r->look, name.domain, (uint32_t)name.key, name.string);
        else if (name.what != SL_NAMED_OTHER)
            r->opt.named(r->opt.user, &name, sl_nvtx_attributes_string(r->look, name.string));
    }
}
