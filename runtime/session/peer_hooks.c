/*
 * peer_hooks.c - intercepts the peer's calls of CUPTI and CUPTI's callbacks to the peer.
 *
 * Our functions are in the peer's import slots. Threads of the application call them at the
 * beginning and the end of a profiler's session, and may wait there for a limited time. The
 * functions return CUPTI's own results. Our callbacks run on any thread of the application, and on
 * CUPTI's thread. Functions and callbacks update the state in peer_impl.h. Memory: static; only the
 * thread that scans for slots uses the table of slots.
 */
#include "session/peer_impl.h"

#include <errno.h>
#include <stddef.h>

#include "base/import_slot.h"
#include "base/log.h"
#include "collect/cupti/buffer.h"
#include "collect/cupti/graph_nodes.h"
#include "collect/cupti/tables.h"
#include "session/kept_buffers.h"

/* ---- our callbacks, which replace the callbacks of the peer ---- */

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    sl_cupti_request_fn of_client =
        atomic_load_explicit(&sl_peer_client.request, memory_order_acquire);

    *buffer = NULL;
    of_client(buffer, size, max_records);
    if (*buffer)
        atomic_fetch_add(&sl_peer_client.buffers, 1);
}

/* Buffers that the peer had given to CUPTI before we watched the peer were not counted, so the
 * count must not fall below 0. */
static void count_back(void)
{
    int buffers = atomic_load(&sl_peer_client.buffers);

    while (buffers > 0 &&
           !atomic_compare_exchange_weak(&sl_peer_client.buffers, &buffers, buffers - 1))
        ;
}

/* One of our buffers may arrive here late. We put it into our pool, because the peer does not know
 * the buffer. */
static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                     size_t valid_size)
{
    sl_cupti_complete_fn of_client =
        atomic_load_explicit(&sl_peer_client.complete, memory_order_acquire);

    if (sl_cupti_pool_owns(buffer)) {
        sl_cupti_pool_complete(context, stream, buffer, size, valid_size);
        return;
    }
    if (sl_kept_buffers_put(of_client, context, stream, buffer, size, valid_size) != 0)
        of_client(context, stream, buffer, size, valid_size);
    count_back();
    sl_peer_leave_if_over();
}

/* Called with a buffer of the peer that CUPTI has returned to our own callback. */
static int take_stranger(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                         size_t valid_size)
{
    if (!atomic_load_explicit(&sl_peer_client.complete, memory_order_acquire) ||
        !atomic_load(&sl_peer_client.buffers))
        return -ENOENT;
    complete(context, stream, buffer, size, valid_size);
    return 0;
}

/* ---- the functions in the slots ---- */

static int set_callbacks(sl_cupti_request_fn of_request, sl_cupti_complete_fn of_complete)
{
    if (!of_request || !of_complete || sl_peer_state() == SL_PEER_OFF)
        return sl_peer_watched.api->v1.ActivityRegisterCallbacks(of_request, of_complete);
    atomic_store_explicit(&sl_peer_client.request, of_request, memory_order_release);
    atomic_store_explicit(&sl_peer_client.complete, of_complete, memory_order_release);
    return sl_peer_watched.api->v1.ActivityRegisterCallbacks(request, complete);
}

static int register_callbacks(sl_cupti_request_fn of_request, sl_cupti_complete_fn of_complete)
{
    int result;

    sl_peer_obtain();
    result = set_callbacks(of_request, of_complete);
    if (result != SL_CUPTI_SUCCESS)
        sl_peer_leave_if_idle();
    return result;
}

/* CUPTI requires this call before kinds are turned on, so the call means that the peer begins. A
 * call with NULL restores CUPTI's own clock, and a profiler may make such a call when its session
 * is over. */
static int register_clock(sl_cupti_stamp_fn stamp)
{
    int result;

    sl_peer_obtain();
    result = sl_peer_watched.api->v1.ActivityRegisterTimestampCallback(stamp);
    if (!stamp || result != SL_CUPTI_SUCCESS)
        sl_peer_leave_if_idle();
    return result;
}

static uint64_t bit_of(int kind)
{
    return kind >= 0 && kind < 64 ? 1ull << kind : 0;
}

/* Registers the peer's callbacks again, because our callbacks have replaced them since. The peer
 * itself may register its callbacks only once, and then turn kinds on many times. */
static void put_back_callbacks(void)
{
    static int said;
    sl_cupti_request_fn of_client =
        atomic_load_explicit(&sl_peer_client.request, memory_order_acquire);

    if (of_client)
        set_callbacks(of_client,
                      atomic_load_explicit(&sl_peer_client.complete, memory_order_acquire));
    else if (sl_peer_watched.was_here && !sl_peer_watched.api->is_v2)
        sl_log_once(&said, SL_LOG_WARN,
                    "a profiler that was active before syncline started again without registering "
                    "its CUPTI callbacks: it gets no records; start it after CUDA is initialised, "
                    "or have it register for each session");
}

static int enable(int kind)
{
    uint64_t bit = bit_of(kind);
    /* The kind is counted before the call of CUPTI. Otherwise, if CUPTI returned a buffer of the
     * last session while it turns this kind on, no kind would be on, and the peer would count as
     * gone. */
    int was_on = (atomic_fetch_or(&sl_peer_client.kinds, bit) & bit) != 0, result;

    if (sl_peer_obtain())
        put_back_callbacks();
    sl_kept_buffers_close(); /* further buffers are passed to the peer at once; kept buffers wait
                              * for the peer's flush */
    result = sl_peer_watched.api->v1.ActivityEnable(kind);
    if (result != SL_CUPTI_SUCCESS && !was_on) {
        atomic_fetch_and(&sl_peer_client.kinds, ~bit);
        sl_peer_leave_if_idle();
    }
    return result;
}

static int disable(int kind)
{
    enum sl_peer_state state = sl_peer_state();
    int result;

    /* The peer has already turned off its kinds. The kinds that are on now are ours. */
    if (state == SL_PEER_OURS || state == SL_PEER_ASKED)
        return SL_CUPTI_SUCCESS;
    result = sl_peer_watched.api->v1.ActivityDisable(kind);
    atomic_fetch_and(&sl_peer_client.kinds, ~bit_of(kind));
    atomic_store(&sl_peer_client.has_flushed, 0);
    atomic_store(&sl_peer_client.has_disabled, 1);
    sl_peer_leave_or_tell();
    return result;
}

/* Passes the kept buffers to the peer's callback, like a flush of CUPTI. */
static void deliver_kept(void)
{
    sl_peer_wait_until_fetched();
    sl_kept_buffers_deliver();
}

static int flush(uint32_t flag)
{
    enum sl_peer_state state = sl_peer_state();
    int result;

    /* CUPTI is ours now. A forced flush would truncate our pending records, and return nothing of
     * the peer. */
    if (state == SL_PEER_OURS || state == SL_PEER_ASKED)
        flag = SL_CUPTI_FLUSH_PLAIN;
    atomic_fetch_add(&sl_peer_client.flushing, 1);
    deliver_kept();
    result = sl_peer_watched.api->v1.ActivityFlushAll(flag);
    atomic_fetch_sub(&sl_peer_client.flushing, 1);
    atomic_store(&sl_peer_client.has_flushed, 1);
    /* Kinds that were on before we watched are not known, and are turned off one by one. A flush
     * after these calls counts as the sign that all of the peer's kinds are off. */
    if (atomic_load(&sl_peer_client.has_disabled))
        atomic_store(&sl_peer_client.is_unknown, 0);
    sl_peer_leave_or_tell();
    return result;
}

/* CUPTI refuses a second subscriber. If CUPTI refused libkineto's subscriber, libkineto would not
 * profile the GPU for the rest of the process. So we end our own subscription before libkineto
 * subscribes. */
static int subscribe(void **subscriber, void *callback, void *user)
{
    int result;

    if (!sl_peer_watched.api->is_v2) {
        sl_graph_nodes_give_up(); /* also if we are passive, because even then we still have our
                                   * subscription */
        return sl_peer_watched.api->v1.Subscribe(subscriber, callback, user);
    }
    sl_peer_obtain();
    result = sl_peer_watched.api->v1.Subscribe(subscriber, callback, user);
    /* The peer does not record yet, so we continue to record until the peer begins. */
    sl_peer_leave();
    return result;
}

/* cuptiFinalize ends CUPTI for the whole process, with the callbacks, kinds and buffers of every
 * client; CUPTI's next call initialises it again. So we fetch our records before this call. If
 * TEARDOWN_CUPTI is set, libkineto makes this call after a session, in a CUPTI callback at the end
 * of the next CUDA call. So the recorder waits before it takes CUPTI back, just as it waits after a
 * session. */
static int finalize(void)
{
    int result;

    atomic_fetch_add(&sl_peer_client.flushing, 1);
    deliver_kept(); /* the names that records point to are freed with CUPTI */
    if (sl_peer_state() == SL_PEER_OFF) {
        atomic_fetch_sub(&sl_peer_client.flushing, 1);
        return sl_peer_watched.api->v1.Finalize();
    }
    sl_peer_obtain();
    atomic_store(&sl_peer_client.is_settled, 0); /* the recorder must wait until this callback is
                                                  * over */
    sl_graph_nodes_give_up();                    /* cuptiFinalize ends every subscription */
    result = sl_peer_watched.api->v1.Finalize();
    /* Meanwhile the recorder may have taken CUPTI back, after another thread's last call.
     * cuptiFinalize has ended our use of CUPTI, too. */
    sl_peer_obtain();
    atomic_store(&sl_peer_client.kinds, 0);
    atomic_store(&sl_peer_client.buffers, 0);
    atomic_store(&sl_peer_client.is_unknown, 0);
    atomic_fetch_sub(&sl_peer_client.flushing, 1);
    sl_peer_leave();
    return result;
}

/* ---- the slots ---- */

static struct sl_import imports[] = {
    {.name = "cuptiActivityRegisterTimestampCallback", .instead = (void *)register_clock},
    {.name = "cuptiActivityRegisterCallbacks", .instead = (void *)register_callbacks},
    {.name = "cuptiActivityEnable", .instead = (void *)enable},
    {.name = "cuptiActivityDisable", .instead = (void *)disable},
    {.name = "cuptiActivityFlushAll", .instead = (void *)flush},
    {.name = "cuptiSubscribe", .instead = (void *)subscribe},
    {.name = "cuptiFinalize"}, /* this CUPTI may lack the function */
};

static uint64_t generation; /* generation of the linker's list of objects at the last scan */

void sl_peer_slots_fill(void)
{
    imports[0].function = (void *)sl_peer_watched.api->v1.ActivityRegisterTimestampCallback;
    imports[1].function = (void *)sl_peer_watched.api->v1.ActivityRegisterCallbacks;
    imports[2].function = (void *)sl_peer_watched.api->v1.ActivityEnable;
    imports[3].function = (void *)sl_peer_watched.api->v1.ActivityDisable;
    imports[4].function = (void *)sl_peer_watched.api->v1.ActivityFlushAll;
    imports[5].function = (void *)sl_peer_watched.api->v1.Subscribe;
    imports[6].function = (void *)sl_peer_watched.api->v1.Finalize;
    imports[6].instead = sl_peer_watched.api->v1.Finalize ? (void *)finalize : NULL;
    sl_cupti_pool_set_stranger(take_stranger);
}

int sl_peer_slots_are_new(void)
{
    return generation != sl_import_generation();
}

void sl_peer_slots_scan(void)
{
    unsigned found = 0, redirected = 0;

    generation = sl_import_generation();
    sl_import_redirect(imports, sizeof(imports) / sizeof(*imports));
    for (size_t i = 0; i < sizeof(imports) / sizeof(*imports); i++) {
        found += imports[i].slots;
        redirected += imports[i].redirected;
    }
    if (found)
        sl_log(SL_LOG_DEBUG, "watching %u of %u import slots for CUPTI functions", redirected,
               found);
}
