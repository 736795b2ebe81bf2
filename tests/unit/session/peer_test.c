/* peer_test.c - sessions of another profiler. A session begins after the recorder has released
 * CUPTI. It ends exactly when the profiler's kinds are off and its buffers are returned. */
#include <errno.h>

#include "unit/session/peer_rig.h"

static void play_sessions(void)
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
        CHECK(atomic_load(&told) == 3 * session); /* three events in each session */
    }
    stop_recorder();
}

static void a_session_begins_when_we_let_go_and_ends_with_its_buffers(void **state)
{
    (void)state;
    in_child(play_sessions);
}

/* The profiler began before syncline watched it. The buffers that it had then are unknown and not
 * counted. */
static void play_begun_before(void)
{
    uint8_t *buffer;

    load();
    client.enroll(its_request, its_complete);
    watch(1);
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
    start_recorder();
    /* It registers again, as libkineto does in every session. CUPTI returns the old buffers. */
    client.enroll(its_request, its_complete);
    for (int i = 0; i < 3; i++)
        give_back(room[i]);
    buffer = ask();
    CHECK(client.disable(10) == 0);
    give_back(buffer);
    CHECK(sl_peer_state() == SL_PEER_THEIRS); /* other kinds may be on */
    CHECK(sl_peer_stranded() == SL_PEER_AFLOAT);
    CHECK(client.disable(3) == 0);
    buffer = ask(); /* a call that had begun before ends */
    CHECK(client.flush(1) == 0);
    CHECK(cupti->flag == 1); /* the client forced it, which truncates only its own records */
    CHECK(sl_peer_stranded() == SL_PEER_STRANDED);
    give_back(buffer);
    until_back(1);
    /* The buffers of the next session are known. */
    CHECK(client.enable(10) == 0);
    buffer = ask();
    CHECK(client.disable(10) == 0);
    usleep(20000); /* time for a recorder that takes CUPTI back too early */
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
    CHECK(atomic_load(&returns) == 1);
    give_back(buffer);
    until_back(2);
    stop_recorder();
}

static void one_that_began_before_is_seen_to_the_end(void **state)
{
    (void)state;
    in_child(play_begun_before);
}

/* The profiler did not wait for the recorder to release CUPTI. The kinds that it has disabled were
 * its own, so its session has ended. */
static void play_let_go_late(void)
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

static void a_late_hand_over_forgets_nothing(void **state)
{
    (void)state;
    in_child(play_let_go_late);
}

/* syncline fetches a client's buffers before the client flushes. They are kept until the client's
 * flush, because libkineto ignores a flush if none of its buffers is outstanding. */
static void play_fetched(void)
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
    until_back(1); /* CUPTI has none of the client's buffers any more */
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

static void what_is_fetched_in_its_stead_waits_for_its_flush(void **state)
{
    (void)state;
    in_child(play_fetched);
}

/* The client's own flush runs when the recorder is about to fetch. The flush's buffers belong to
 * the client. */
static void play_fetch_in_its_flush(void)
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

static void nothing_is_fetched_in_its_flush(void **state)
{
    (void)state;
    in_child(play_fetch_in_its_flush);
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
    usleep(20000); /* time for a flush that wrongly does not wait */
    cupti->complete(NULL, 0, fetched, sizeof(*room), 8);
    CHECK(back == 0);
}

/* The client flushes while the recorder fetches. The client's flush waits and then delivers the
 * fetched buffers. */
static void play_flush_in_fetch(void)
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

static void its_flush_waits_for_ours(void **state)
{
    (void)state;
    in_child(play_flush_in_fetch);
}

/* The client disables kinds and flushes after its session has ended. syncline's kinds and records
 * are not affected. */
static void play_tidying(void)
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
    CHECK(cupti->flag == 0); /* plain, because a forced flush would truncate our records */
    CHECK(sl_peer_state() == SL_PEER_OURS);
    stop_recorder();
}

static void calls_that_come_too_late_change_nothing_of_ours(void **state)
{
    (void)state;
    in_child(play_tidying);
}

static uint64_t stamp(void)
{
    return 1;
}

/* CUPTI refuses calls, and the client gets CUPTI's own results. A refused kind is not on, and a
 * refused client has not begun a session. */
static void play_refused(void)
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
    CHECK(client.enable(10) == 7 && client.enable(3) == 7); /* it stays on */
    CHECK(client.enroll(its_request, its_complete) == 7);
    usleep(20000);
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
    CHECK(client.disable(10) == 7);
    until_ours(); /* no kind of the client is on */
    stop_recorder();
}

/* After its session, the client restores CUPTI's own clock. That begins no new session. */
static void play_clock_put_back(void)
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

static void the_clock_put_back_begins_nothing(void **state)
{
    (void)state;
    in_child(play_clock_put_back);
}

static uint8_t *late;

static void come_late(void)
{
    cupti->on_enable = NULL;
    give_back(late);
    usleep(20000); /* time for a recorder that takes CUPTI back too early */
}

/* The last buffer of a session is returned while CUPTI enables the first kind of the next session.
 * The next session continues. */
static void play_late_buffer(void)
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

static void a_late_buffer_ends_no_session_that_begins(void **state)
{
    (void)state;
    in_child(play_late_buffer);
}

static void *begin_when_left(void *unused)
{
    while (sl_peer_state() != SL_PEER_LEFT)
        usleep(1000);
    client.enable(10);
    return unused;
}

/* Runs without a recorder, which would have to take CUPTI back between the two sessions. */
static void play_end_beside_begin(void)
{
    pthread_t other;

    watch(1);
    pthread_create(&other, NULL, begin_when_left, NULL);
    CHECK(sl_peer_end() == -EBUSY);
    pthread_join(other, NULL);
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
}

static void an_end_does_not_wait_where_another_thread_begins(void **state)
{
    (void)state;
    in_child(play_end_beside_begin);
}

static void results_are_cupti_s(void **state)
{
    (void)state;
    in_child(play_refused);
}

/* ---- clients that announce a session themselves ---- */

static void play_said(void)
{
    CHECK(sl_peer_begin() == -ENOTSUP); /* no client is watched */
    watch(0);
    start_recorder();
    CHECK(sl_peer_begin() == 0);
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
    CHECK(sl_peer_begin() == 0); /* it already owns CUPTI */
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

static void a_client_may_say_when_it_begins_and_ends(void **state)
{
    (void)state;
    in_child(play_said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_begins_when_we_let_go_and_ends_with_its_buffers),
        cmocka_unit_test(one_that_began_before_is_seen_to_the_end),
        cmocka_unit_test(what_is_fetched_in_its_stead_waits_for_its_flush),
        cmocka_unit_test(nothing_is_fetched_in_its_flush),
        cmocka_unit_test(its_flush_waits_for_ours),
        cmocka_unit_test(a_late_hand_over_forgets_nothing),
        cmocka_unit_test(calls_that_come_too_late_change_nothing_of_ours),
        cmocka_unit_test(results_are_cupti_s),
        cmocka_unit_test(the_clock_put_back_begins_nothing),
        cmocka_unit_test(a_late_buffer_ends_no_session_that_begins),
        cmocka_unit_test(an_end_does_not_wait_where_another_thread_begins),
        cmocka_unit_test(a_client_may_say_when_it_begins_and_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
