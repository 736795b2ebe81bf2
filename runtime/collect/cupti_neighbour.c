/*
 * cupti_neighbour.c - another client of CUPTI's in the process: when it comes, and when it has
 * left.
 *
 * The functions in the slots are entered by threads of the application's, at the beginning and the
 * end of a profiler's session: they may wait there, within bounds. Results are CUPTI's own, passed
 * on. State is static and atomic; no lock is held.
 */
#include "collect/cupti_neighbour.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/import_slot.h"
#include "base/log.h"
#include "collect/cupti_buffer.h"
#include "collect/cupti_held.h"
#include "collect/cupti_tables.h"
#include "collect/graph_nodes.h"

/* Longer than the collector takes to let go, unless CUPTI keeps it. */
#define WAIT_MOST_NS 5000000000ull

/* Where calls go that are passed on. */
static struct {
    const struct sl_cupti_api *api;
    void (*tell)(void);
    int was_here;           /* a client that had begun before */
    uint64_t generation;    /* of loaded objects, at the last scan */
    _Atomic int is_scanned; /* the first scan is over: the collector may make others */
} watch;

static struct {
    _Atomic uint32_t state;
    _Atomic uint64_t kinds; /* bit = kind that it has enabled */
    _Atomic int buffers;    /* that CUPTI has of it */
    _Atomic int is_unknown; /* it began before we watched: not all of the two above is known */
    _Atomic int has_disabled;
    _Atomic int has_flushed;  /* since it disabled a kind */
    _Atomic uint64_t left_ns; /* monotonic: its last sign */
    _Atomic int is_settled;   /* it has said itself that it is over */
    _Atomic uint32_t is_back; /* since then the collector has come back */
    _Atomic(sl_cupti_request_fn) request;
    _Atomic(sl_cupti_complete_fn) complete;
    _Atomic uint32_t is_fetched; /* by a flush of ours, right now */
    _Atomic int flushing;        /* threads of its that flush right now */
} theirs = {.state = SL_NEIGHBOUR_OFF};

enum sl_neighbour_state sl_neighbour_state(void)
{
    /* Acquire pairs with the releases of those who change it. */
    return (enum sl_neighbour_state)atomic_load_explicit(&theirs.state, memory_order_acquire);
}

static int change(enum sl_neighbour_state from, enum sl_neighbour_state to)
{
    uint32_t expected = from;

    if (!atomic_compare_exchange_strong_explicit(&theirs.state, &expected, to, memory_order_acq_rel,
                                                 memory_order_acquire))
        return -EBUSY;
    sl_futex_wake(&theirs.state);
    return 0;
}

/* ---- it begins ---- */

static void wait_until_let_go(void)
{
    static int said;
    uint64_t deadline = sl_clock_monotonic() + WAIT_MOST_NS, now;

    while (sl_neighbour_state() == SL_NEIGHBOUR_ASKED) {
        now = sl_clock_monotonic();
        if (now >= deadline && change(SL_NEIGHBOUR_ASKED, SL_NEIGHBOUR_THEIRS) == 0) {
            sl_log_once(&said, SL_LOG_WARN,
                        "CUPTI could not be handed over in time to the profiler that begins: its "
                        "trace may lack its first records; begin it when the GPU is idle");
            return;
        }
        sl_futex_wait(&theirs.state, SL_NEIGHBOUR_ASKED, deadline - now);
    }
}

/* It had left and begins again: whoever waits for the collector to come back waits for nothing. */
static void go_on(void)
{
    if (change(SL_NEIGHBOUR_LEFT, SL_NEIGHBOUR_THEIRS))
        return;
    atomic_store(&theirs.has_disabled, 0);
    sl_neighbour_back();
}

/* Returns when CUPTI is the caller's; 1 if it was not before. */
static int begin(void)
{
    int was_ours = 0;

    for (;;) {
        switch (sl_neighbour_state()) {
        case SL_NEIGHBOUR_OURS:
            if (change(SL_NEIGHBOUR_OURS, SL_NEIGHBOUR_ASKED) == 0)
                watch.tell();
            was_ours = 1;
            break;
        case SL_NEIGHBOUR_ASKED:
            wait_until_let_go();
            break;
        case SL_NEIGHBOUR_LEFT:
            go_on();
            break;
        case SL_NEIGHBOUR_THEIRS:
        case SL_NEIGHBOUR_OFF:
            return was_ours;
        }
    }
}

/* ---- it leaves ---- */

static int is_all_off(void)
{
    return atomic_load(&theirs.has_disabled) && !atomic_load(&theirs.is_unknown) &&
           !atomic_load(&theirs.kinds);
}

/* 0: it was the last sign of a session of its. */
static int leave(void)
{
    atomic_store(&theirs.left_ns, sl_clock_monotonic());
    return change(SL_NEIGHBOUR_THEIRS, SL_NEIGHBOUR_LEFT);
}

uint64_t sl_neighbour_left_ns(void)
{
    return atomic_load(&theirs.left_ns);
}

/* Behind a call of its that turned nothing on: it has not begun, unless something of its is on. */
static void leave_if_idle(void)
{
    if (!atomic_load(&theirs.kinds) && !atomic_load(&theirs.buffers) &&
        !atomic_load(&theirs.is_unknown) && leave() == 0)
        watch.tell();
}

/* Whoever changes a part of the condition looks at all of it, so the last one sees it met. */
static void leave_if_over(void)
{
    if (is_all_off() && !atomic_load(&theirs.buffers) && leave() == 0)
        watch.tell();
}

enum sl_neighbour_stranded sl_neighbour_stranded(void)
{
    if (sl_neighbour_state() != SL_NEIGHBOUR_THEIRS || !is_all_off() ||
        atomic_load(&theirs.buffers) <= 0)
        return SL_NEIGHBOUR_AFLOAT;
    return atomic_load(&theirs.has_flushed) ? SL_NEIGHBOUR_STRANDED : SL_NEIGHBOUR_MAY_FLUSH;
}

void sl_neighbour_fetch(void)
{
    /* Sequentially consistent with flush() and finalize(): one of both sees the other. */
    atomic_store(&theirs.is_fetched, 1);
    if (!atomic_load(&theirs.flushing)) {
        sl_held_open();
        sl_cupti_check(watch.api, watch.api->v1.ActivityFlushAll(SL_CUPTI_FLUSH_PLAIN),
                       "ActivityFlushAll");
    }
    atomic_store(&theirs.is_fetched, 0);
    sl_futex_wake(&theirs.is_fetched);
}

/* What our flush has taken from CUPTI and not given on is nowhere. */
static void wait_until_fetched(void)
{
    uint64_t deadline = sl_clock_monotonic() + WAIT_MOST_NS, now;

    while (atomic_load(&theirs.is_fetched) && sl_neighbour_state() != SL_NEIGHBOUR_OFF) {
        now = sl_clock_monotonic();
        if (now >= deadline)
            return;
        sl_futex_wait(&theirs.is_fetched, 1, deadline - now);
    }
}

/* The client's last calls are these: if buffers are out then, the collector keeps an eye on them.
 */
static void leave_or_tell(void)
{
    leave_if_over();
    if (sl_neighbour_stranded() != SL_NEIGHBOUR_AFLOAT)
        watch.tell();
}

/* ---- it says so itself ---- */

int sl_neighbour_begin(void)
{
    atomic_store(&theirs.is_settled, 0);
    begin();
    return sl_neighbour_state() == SL_NEIGHBOUR_OFF ? -ENOTSUP : 0;
}

int sl_neighbour_end(void)
{
    uint64_t deadline = sl_clock_monotonic() + WAIT_MOST_NS, now;

    if (atomic_load(&theirs.kinds) || atomic_load(&theirs.buffers))
        return -EBUSY;
    atomic_store(&theirs.is_back, 0);
    atomic_store(&theirs.is_settled, 1);
    leave();
    if (sl_neighbour_state() != SL_NEIGHBOUR_LEFT) {
        atomic_store(&theirs.is_settled, 0); /* it is ours, or somebody's who has not said so */
        return 0;
    }
    watch.tell();
    while (!atomic_load(&theirs.is_back)) {
        now = sl_clock_monotonic();
        if (now >= deadline)
            return -ETIMEDOUT;
        sl_futex_wait(&theirs.is_back, 0, deadline - now);
    }
    return sl_neighbour_state() == SL_NEIGHBOUR_THEIRS ? -EBUSY : 0;
}

int sl_neighbour_is_settled(void)
{
    return atomic_load(&theirs.is_settled);
}

void sl_neighbour_back(void)
{
    atomic_store(&theirs.is_settled, 0);
    atomic_store(&theirs.is_back, 1);
    sl_futex_wake(&theirs.is_back);
}

/* ---- its callbacks, as CUPTI has them ---- */

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    sl_cupti_request_fn of_client = atomic_load_explicit(&theirs.request, memory_order_acquire);

    *buffer = NULL;
    of_client(buffer, size, max_records);
    if (*buffer)
        atomic_fetch_add(&theirs.buffers, 1);
}

/* Those from before we watched were not counted: they must not make up for later ones. */
static void count_back(void)
{
    int buffers = atomic_load(&theirs.buffers);

    while (buffers > 0 && !atomic_compare_exchange_weak(&theirs.buffers, &buffers, buffers - 1))
        ;
}

/* Of ours, some may come late; it would not know them. */
static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                     size_t valid_size)
{
    sl_cupti_complete_fn of_client = atomic_load_explicit(&theirs.complete, memory_order_acquire);

    if (sl_cupti_pool_owns(buffer)) {
        sl_cupti_pool_complete(context, stream, buffer, size, valid_size);
        return;
    }
    if (sl_held_put(of_client, context, stream, buffer, size, valid_size) != 0)
        of_client(context, stream, buffer, size, valid_size);
    count_back();
    leave_if_over();
}

/* The other way round: CUPTI gives us a buffer of its. */
static int take_stranger(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                         size_t valid_size)
{
    if (!atomic_load_explicit(&theirs.complete, memory_order_acquire) ||
        !atomic_load(&theirs.buffers))
        return -ENOENT;
    complete(context, stream, buffer, size, valid_size);
    return 0;
}

/* ---- what is in the slots ---- */

static int set_callbacks(sl_cupti_request_fn of_request, sl_cupti_complete_fn of_complete)
{
    if (!of_request || !of_complete || sl_neighbour_state() == SL_NEIGHBOUR_OFF)
        return watch.api->v1.ActivityRegisterCallbacks(of_request, of_complete);
    atomic_store_explicit(&theirs.request, of_request, memory_order_release);
    atomic_store_explicit(&theirs.complete, of_complete, memory_order_release);
    return watch.api->v1.ActivityRegisterCallbacks(request, complete);
}

static int register_callbacks(sl_cupti_request_fn of_request, sl_cupti_complete_fn of_complete)
{
    int result;

    begin();
    result = set_callbacks(of_request, of_complete);
    if (result != SL_CUPTI_SUCCESS)
        leave_if_idle();
    return result;
}

/* Not while kinds are on: it is documented to come before. Without a function it is CUPTI's own
 * clock again, which a client may ask for when it is over. */
static int register_clock(sl_cupti_stamp_fn stamp)
{
    int result;

    begin();
    result = watch.api->v1.ActivityRegisterTimestampCallback(stamp);
    if (!stamp || result != SL_CUPTI_SUCCESS)
        leave_if_idle();
    return result;
}

static uint64_t bit_of(int kind)
{
    return kind >= 0 && kind < 64 ? 1ull << kind : 0;
}

/* One that registers once and enables many times: its callbacks have been replaced by ours. */
static void put_back_callbacks(void)
{
    static int said;
    sl_cupti_request_fn of_client = atomic_load_explicit(&theirs.request, memory_order_acquire);

    if (of_client)
        set_callbacks(of_client, atomic_load_explicit(&theirs.complete, memory_order_acquire));
    else if (watch.was_here && !watch.api->is_v2)
        sl_log_once(&said, SL_LOG_WARN,
                    "a profiler that was there before syncline begins again without registering "
                    "its callbacks, which are not known here: it gets no records; start it after "
                    "CUDA, or let it register for each session");
}

static int enable(int kind)
{
    uint64_t bit = bit_of(kind);
    /* Before anything else: a buffer that comes back from its last session must not find nothing on
     * while CUPTI turns this one on. */
    int was_on = (atomic_fetch_or(&theirs.kinds, bit) & bit) != 0, result;

    if (begin())
        put_back_callbacks();
    sl_held_close(); /* what is kept is: the client goes on where it was */
    result = watch.api->v1.ActivityEnable(kind);
    if (result != SL_CUPTI_SUCCESS && !was_on) {
        atomic_fetch_and(&theirs.kinds, ~bit);
        leave_if_idle();
    }
    return result;
}

static int disable(int kind)
{
    enum sl_neighbour_state state = sl_neighbour_state();
    int result;

    /* It tidies up once more; what is on is ours. */
    if (state == SL_NEIGHBOUR_OURS || state == SL_NEIGHBOUR_ASKED)
        return SL_CUPTI_SUCCESS;
    result = watch.api->v1.ActivityDisable(kind);
    atomic_fetch_and(&theirs.kinds, ~bit_of(kind));
    atomic_store(&theirs.has_flushed, 0);
    atomic_store(&theirs.has_disabled, 1);
    leave_or_tell();
    return result;
}

/* What was kept for the client comes to it as by CUPTI. */
static void deliver_held(void)
{
    wait_until_fetched();
    sl_held_deliver();
}

static int flush(uint32_t flag)
{
    enum sl_neighbour_state state = sl_neighbour_state();
    int result;

    /* A forced one would cut off our unfinished records, and nothing of its is in there. */
    if (state == SL_NEIGHBOUR_OURS || state == SL_NEIGHBOUR_ASKED)
        flag = SL_CUPTI_FLUSH_PLAIN;
    atomic_fetch_add(&theirs.flushing, 1);
    deliver_held();
    result = watch.api->v1.ActivityFlushAll(flag);
    atomic_fetch_sub(&theirs.flushing, 1);
    atomic_store(&theirs.has_flushed, 1);
    /* Its kinds from before we watched go off one by one; a flush ends the row. */
    if (atomic_load(&theirs.has_disabled))
        atomic_store(&theirs.is_unknown, 0);
    leave_or_tell();
    return result;
}

/* Refused beside a subscriber of ours, which it would take for the end of its life: libkineto goes
 * without the GPU then. */
static int subscribe(void **subscriber, void *callback, void *user)
{
    int result;

    if (!watch.api->is_v2) {
        sl_graph_nodes_give_up(); /* passive, too: it stays ours until then */
        return watch.api->v1.Subscribe(subscriber, callback, user);
    }
    begin();
    result = watch.api->v1.Subscribe(subscriber, callback, user);
    /* It does not record yet: until then we do, as it does. */
    if (leave() == 0)
        watch.tell();
    return result;
}

/* Ends CUPTI for the whole process: callbacks, kinds and buffers of whoever has some; it begins
 * anew with the next call of its. What we have recorded is fetched before. libkineto makes this
 * call behind a session where TEARDOWN_CUPTI is set, in a callback of CUPTI's at the end of the
 * next CUDA call: so we come back later, from the collector, as after a session. */
static int finalize(void)
{
    int result;

    atomic_fetch_add(&theirs.flushing, 1);
    deliver_held(); /* names in records do not outlive CUPTI */
    if (sl_neighbour_state() == SL_NEIGHBOUR_OFF) {
        atomic_fetch_sub(&theirs.flushing, 1);
        return watch.api->v1.Finalize();
    }
    begin();
    atomic_store(&theirs.is_settled, 0); /* this callback must be over first */
    sl_graph_nodes_give_up();            /* no subscriber outlives it */
    result = watch.api->v1.Finalize();
    /* Another thread's last call may have let us come back meanwhile: that is gone, too. */
    begin();
    atomic_store(&theirs.kinds, 0);
    atomic_store(&theirs.buffers, 0);
    atomic_store(&theirs.is_unknown, 0);
    atomic_fetch_sub(&theirs.flushing, 1);
    if (leave() == 0)
        watch.tell();
    return result;
}

static struct sl_import imports[] = {
    {.name = "cuptiActivityRegisterTimestampCallback", .instead = (void *)register_clock},
    {.name = "cuptiActivityRegisterCallbacks", .instead = (void *)register_callbacks},
    {.name = "cuptiActivityEnable", .instead = (void *)enable},
    {.name = "cuptiActivityDisable", .instead = (void *)disable},
    {.name = "cuptiActivityFlushAll", .instead = (void *)flush},
    {.name = "cuptiSubscribe", .instead = (void *)subscribe},
    {.name = "cuptiFinalize"}, /* CUPTI may have none */
};

/* ---- watching ---- */

static void scan(void)
{
    unsigned found = 0, redirected = 0;

    watch.generation = sl_import_generation();
    sl_import_redirect(imports, sizeof(imports) / sizeof(*imports));
    for (size_t i = 0; i < sizeof(imports) / sizeof(*imports); i++) {
        found += imports[i].slots;
        redirected += imports[i].redirected;
    }
    if (found)
        sl_log(SL_LOG_DEBUG, "%u of %u import slots for CUPTI's functions are watched", redirected,
               found);
}

void sl_neighbour_watch(const struct sl_neighbour_options *opt, int is_here)
{
    watch.api = opt->api;
    watch.tell = opt->tell;
    watch.was_here = is_here;
    if (!watch.api->v1.ActivityRegisterTimestampCallback || !watch.api->v1.Subscribe)
        return;
    imports[0].function = (void *)watch.api->v1.ActivityRegisterTimestampCallback;
    imports[1].function = (void *)watch.api->v1.ActivityRegisterCallbacks;
    imports[2].function = (void *)watch.api->v1.ActivityEnable;
    imports[3].function = (void *)watch.api->v1.ActivityDisable;
    imports[4].function = (void *)watch.api->v1.ActivityFlushAll;
    imports[5].function = (void *)watch.api->v1.Subscribe;
    imports[6].function = (void *)watch.api->v1.Finalize;
    imports[6].instead = watch.api->v1.Finalize ? (void *)finalize : NULL;
    atomic_store(&theirs.is_unknown, is_here);
    sl_cupti_pool_set_stranger(take_stranger);
    change(SL_NEIGHBOUR_OFF, is_here ? SL_NEIGHBOUR_THEIRS : SL_NEIGHBOUR_OURS);
    scan();
    /* Release pairs with the acquire in sl_neighbour_rescan(). */
    atomic_store_explicit(&watch.is_scanned, 1, memory_order_release);
}

void sl_neighbour_rescan(void)
{
    /* A collector that was started meanwhile leaves the first one to who watches. */
    if (atomic_load_explicit(&watch.is_scanned, memory_order_acquire) &&
        sl_neighbour_state() != SL_NEIGHBOUR_OFF && watch.generation != sl_import_generation())
        scan();
}

void sl_neighbour_let_go(void)
{
    int has_disabled = atomic_exchange(&theirs.has_disabled, 0);

    if (change(SL_NEIGHBOUR_ASKED, SL_NEIGHBOUR_THEIRS) == 0 || !has_disabled)
        return;
    /* It has not waited for us, and has disabled in the session that goes on. */
    atomic_store(&theirs.has_disabled, 1);
    leave_if_over();
}

int sl_neighbour_take(void)
{
    /* Turned on between a look that found nothing on and the change that came of it. */
    if (atomic_load(&theirs.kinds)) {
        go_on();
        return -EBUSY;
    }
    return change(SL_NEIGHBOUR_LEFT, SL_NEIGHBOUR_OURS);
}

void sl_neighbour_stop(void)
{
    atomic_store_explicit(&theirs.state, SL_NEIGHBOUR_OFF, memory_order_release);
    sl_futex_wake(&theirs.state);
    sl_neighbour_back();
}

int sl_neighbour_imports(const char *function)
{
    struct sl_import import = {.name = function};

    sl_import_redirect(&import, 1);
    return import.slots != 0;
}
