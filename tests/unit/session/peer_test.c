/* peer_test.c - sessions of another profiler. A session begins after the recorder has released
 * CUPTI. It ends when all kinds of the profiler are disabled and all its buffers are returned, and
 * not earlier. */
#include <errno.h>

#include "collect/cupti/graph_nodes.h"
#include "unit/collect/cupti/graphs.h"
#include "unit/session/peer_rig.h"

static void a_session_begins_when_we_let_go_and_ends_with_its_buffers(void)
{
    uint8_t *buffer[2];

    watch(0);
    start_recorder();
    for (int session = 1; session <= 3; session++) {
        if (session == 1)
            CHECK(client.enroll(its_request, its_complete) == 0);
        CHECK(client.enable(10) == 0); /* from the second session on, its callbacks are restored */
        CHECK(cupti->registered == session);
        CHECK(sl_peer_state() == SL_PEER_THEIRS);
        CHECK(atomic_load(&handovers) == session);
        CHECK(client.enable(3) == 0);
        for (int i = 0; i < 2; i++)
            buffer[i] = ask();
        CHECK(sl_peer_stranded() == SL_PEER_AFLOAT);
        CHECK(client.disable(10) == 0 && client.disable(3) == 0);
        CHECK(sl_peer_state() == SL_PEER_THEIRS); /* the session's buffers are not returned yet */
        CHECK(sl_peer_stranded() == SL_PEER_MAY_FLUSH);
        give_back(buffer[0]);
        CHECK(sl_peer_state() == SL_PEER_THEIRS);
        give_back(buffer[1]);
        until_back(session);
        CHECK(sl_peer_stranded() == SL_PEER_AFLOAT);
        CHECK(atomic_load(&told) == 3 * session); /* the session reports three events */
    }
    stop_recorder();
}

/* The other client's session had begun before syncline watched it. syncline does not know the
 * client's earlier buffers, so the session ends without waiting for them. */
static void one_that_began_before_is_seen_to_the_end(void)
{
    uint8_t *buffer;

    load();
    client.enroll(its_request, its_complete);
    watch(1);
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
    start_recorder();
    /* The other client registers its callbacks again, like libkineto in every session. CUPTI
     * returns the old buffers. */
    client.enroll(its_request, its_complete);
    for (int i = 0; i < 3; i++)
        give_back(room[i]);
    buffer = ask();
    CHECK(client.disable(10) == 0);
    give_back(buffer);
    CHECK(sl_peer_state() == SL_PEER_THEIRS); /* kinds that syncline does not know may be enabled */
    CHECK(sl_peer_stranded() == SL_PEER_AFLOAT);
    CHECK(client.disable(3) == 0);
    buffer = ask(); /* a call that had begun before the session ends now */
    CHECK(client.flush(1) == 0);
    /* the client forced the flush, which truncates only the client's records */
    CHECK(cupti->flag == 1);
    CHECK(sl_peer_stranded() == SL_PEER_STRANDED);
    give_back(buffer);
    until_back(1);
    /* The buffers of the next session are known. */
    CHECK(client.enable(10) == 0);
    buffer = ask();
    CHECK(client.disable(10) == 0);
    usleep(20000); /* a faulty recorder would take CUPTI back now */
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
    CHECK(atomic_load(&returns) == 1);
    give_back(buffer);
    until_back(2);
    stop_recorder();
}

/* The other client did not wait until syncline had released CUPTI. Kinds that the client disabled
 * before the release were its own. */
static void a_late_hand_over_forgets_nothing(void)
{
    uint8_t *buffer;

    watch(1);
    client.enroll(its_request, its_complete);
    client.enable(10);
    buffer = ask();
    client.disable(10);
    client.flush(0);
    CHECK(sl_peer_stranded() == SL_PEER_STRANDED);
    sl_peer_let_go();
    CHECK(sl_peer_stranded() == SL_PEER_STRANDED);
    give_back(buffer);
    CHECK(sl_peer_state() == SL_PEER_LEFT);
}

/* syncline fetches a buffer of the client from CUPTI before the client flushes, and keeps the
 * buffer. So CUPTI has no buffer to deliver when the client (libkineto) flushes. syncline delivers
 * the kept buffer during this flush. */
static void what_is_fetched_in_its_stead_waits_for_its_flush(void)
{
    uint8_t *buffer[2];

    watch(0);
    start_recorder();
    client.enroll(its_request, its_complete);
    client.enable(10);
    for (int i = 0; i < 2; i++)
        buffer[i] = ask();
    client.disable(10);
    sl_peer_fetch();
    CHECK(cupti->flushed == 1 && cupti->flag == 0);
    for (int i = 0; i < 2; i++)
        cupti->complete(NULL, 0, buffer[i], sizeof(*room), 8);
    CHECK(back == 0);
    until_back(1); /* CUPTI has no buffer of the client any more */
    CHECK(client.flush(1) == 0);
    CHECK(back == 2);
    CHECK(client.flush(1) == 0);
    CHECK(back == 2);
    /* The next session's buffers are delivered directly, also if a session continues after a
     * fetch. */
    client.enable(10);
    give_back(ask());
    client.disable(10);
    until_back(2);
    client.enable(10);
    buffer[0] = ask();
    client.disable(10);
    sl_peer_fetch();
    client.enable(10);
    give_back(buffer[0]);
    client.disable(10);
    until_back(3);
    stop_recorder();
}

/* The client's flush returns the client's buffers to the client, even if the recorder is about to
 * fetch them. */
static void nothing_is_fetched_in_its_flush(void)
{
    uint8_t *buffer;

    watch(0);
    start_recorder();
    client.enroll(its_request, its_complete);
    client.enable(10);
    buffer = ask();
    client.disable(10);
    cupti->on_flush = sl_peer_fetch;
    client.flush(1);
    CHECK(cupti->flushed == 1);
    give_back(buffer);
    stop_recorder();
}

static uint8_t *fetched;
static pthread_t flushing;

static void *flush_it(void *unused)
{
    CHECK(client.flush(1) == 0);
    return unused;
}

static void give_late(void)
{
    cupti->on_flush = NULL;
    CHECK(pthread_create(&flushing, NULL, flush_it, NULL) == 0);
    usleep(20000); /* gives a faulty flush, which does not wait, time to end */
    cupti->complete(NULL, 0, fetched, sizeof(*room), 8);
    CHECK(back == 0);
}

/* The client flushes during a flush of syncline. The client's flush also delivers the client's
 * buffers that syncline's flush returned. */
static void its_flush_waits_for_ours(void)
{
    watch(0);
    start_recorder();
    client.enroll(its_request, its_complete);
    client.enable(10);
    fetched = ask();
    client.disable(10);
    cupti->on_flush = give_late;
    sl_peer_fetch();
    pthread_join(flushing, NULL);
    CHECK(back == 1 && cupti->flushed == 2);
    stop_recorder();
}

static uint64_t stamp(void)
{
    return 1;
}

/* The client calls CUPTI after its last flush. These calls do not change syncline's settings. */
static void calls_that_come_too_late_change_nothing_of_ours(void)
{
    int disabled;

    watch(0);
    start_recorder();
    client.enroll(its_request, its_complete);
    client.enable(10);
    client.disable(10);
    until_ours();
    disabled = cupti->disabled;
    CHECK(client.disable(10) == 0 && client.disable(3) == 0);
    CHECK(cupti->disabled == disabled);
    CHECK(client.flush(1) == 0);
    CHECK(cupti->flag == 0); /* not forced, because this would truncate syncline's records */
    CHECK(sl_peer_state() == SL_PEER_OURS);
    stop_recorder();
}

/* The client gets the results that CUPTI returned. If CUPTI refuses to enable a kind, the kind is
 * not counted as enabled, and no session begins. */
static void results_are_cupti_s(void)
{
    watch(0);
    start_recorder();
    cupti->result = 7;
    CHECK(client.enroll(its_request, its_complete) == 7);
    until_ours();
    CHECK(client.clock(stamp) == 7);
    until_ours();
    CHECK(client.enable(10) == 7);
    until_ours();
    CHECK(client.disable(3) == 0); /* no kind of syncline is disabled */
    cupti->result = 0;
    CHECK(client.enable(10) == 0);
    cupti->result = 7;
    CHECK(client.enable(10) == 7 && client.enable(3) == 7); /* the session's kind stays enabled */
    CHECK(client.enroll(its_request, its_complete) == 7);
    usleep(20000);
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
    CHECK(client.disable(10) == 7);
    until_ours(); /* no kind of the client is on */
    stop_recorder();
}

/* At its end, the client restores CUPTI's default clock. This call does not begin a new session. */
static void the_clock_put_back_begins_nothing(void)
{
    watch(0);
    start_recorder();
    client.clock(stamp);
    client.enroll(its_request, its_complete);
    client.enable(10);
    CHECK(client.clock(NULL) == 0);
    usleep(20000);
    CHECK(sl_peer_state() == SL_PEER_THEIRS); /* it is recording */
    client.disable(10);
    until_ours();
    CHECK(client.clock(NULL) == 0);
    until_ours();
    stop_recorder();
}

static uint8_t *late;

static void come_late(void)
{
    cupti->on_enable = NULL;
    give_back(late);
    usleep(20000); /* a faulty recorder would take CUPTI back now */
}

/* CUPTI returns the last buffer of the previous session while the client enables the first kind of
 * the next session. */
static void a_late_buffer_ends_no_session_that_begins(void)
{
    watch(0);
    start_recorder();
    client.enroll(its_request, its_complete);
    client.enable(10);
    late = ask();
    client.disable(10);
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
    cupti->on_enable = come_late;
    CHECK(client.enable(10) == 0);
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
    CHECK(atomic_load(&returns) == 0 && atomic_load(&handovers) == 1);
    client.disable(10);
    until_back(1);
    stop_recorder();
}

static void *begin_when_left(void *unused)
{
    while (sl_peer_state() != SL_PEER_LEFT)
        usleep(1000);
    client.enable(10);
    return unused;
}

/* This test has no recorder, because a recorder would take CUPTI back in between. */
static void an_end_does_not_wait_where_another_thread_begins(void)
{
    pthread_t other;

    watch(1);
    pthread_create(&other, NULL, begin_when_left, NULL);
    CHECK(sl_peer_end() == -EBUSY);
    pthread_join(other, NULL);
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
}

/* ---- clients that announce their sessions themselves ---- */

static void a_client_may_say_when_it_begins_and_ends(void)
{
    CHECK(sl_peer_begin() == -ENOTSUP); /* syncline watches no client */
    watch(0);
    start_recorder();
    CHECK(sl_peer_begin() == 0);
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
    CHECK(sl_peer_begin() == 0); /* the client already owns CUPTI */
    client.enroll(its_request, its_complete);
    client.enable(10);
    CHECK(sl_peer_end() == -EBUSY); /* it is recording */
    client.disable(10);
    CHECK(sl_peer_end() == 0);
    until_ours();
    CHECK(sl_peer_end() == 0); /* CUPTI is ours, so there is nothing to wait for */
    CHECK(!sl_peer_is_settled());
    stop_recorder();
}

/* CUPTI allows one subscriber. syncline unsubscribes for another client, even after it has stopped
 * watching clients. */
static void our_subscriber_makes_room_at_the_end_too(void)
{
    watch(0);
    api.fn = api.v1;
    graphs_add_to(&api.fn);
    api.fn.Subscribe = api.v1.Subscribe;
    CHECK(sl_graph_nodes_start(&api) == 0);
    sl_peer_stop();
    CHECK(client.subscribe() == 0 && client.subscribe() == 0);
    CHECK(graphs.unsubscribed == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD(a_session_begins_when_we_let_go_and_ends_with_its_buffers),
        CHILD(one_that_began_before_is_seen_to_the_end),
        CHILD(what_is_fetched_in_its_stead_waits_for_its_flush),
        CHILD(nothing_is_fetched_in_its_flush),
        CHILD(its_flush_waits_for_ours),
        CHILD(a_late_hand_over_forgets_nothing),
        CHILD(calls_that_come_too_late_change_nothing_of_ours),
        CHILD(results_are_cupti_s),
        CHILD(the_clock_put_back_begins_nothing),
        CHILD(a_late_buffer_ends_no_session_that_begins),
        CHILD(an_end_does_not_wait_where_another_thread_begins),
        CHILD(a_client_may_say_when_it_begins_and_ends),
        CHILD(our_subscriber_makes_room_at_the_end_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
