/* cupti_neighbour_test.c - another profiler's sessions: each begins when the collector has let go,
 * and is over when its kinds are off and its buffers are back, and not before. The state is the
 * process's, so every case plays in a child. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "collect/cupti_neighbour.h"
#include "collect/graph_nodes.h"
#include "unit/collect/fixture_calls.h"

/* ---- CUPTI and the other profiler ---- */

static struct fixture_calls *cupti;
static struct sl_cupti_api api;
static struct {
    int (*clock)(uint64_t (*stamp)(void));
    int (*enroll)(fixture_request request, fixture_complete complete);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*flush)(uint32_t flag);
    int (*subscribe)(void);
} client;

static _Atomic int told;

static void tell(void)
{
    atomic_fetch_add(&told, 1);
}

static void find(void *function, void *library, const char *name)
{
    void *found = dlsym(library, name);

    CHECK(found);
    memcpy(function, &found, sizeof(found));
}

static void load(void)
{
    void *library = dlopen(FIXTURE_CALLS, RTLD_NOW), *profiler = dlopen(FIXTURE_CLIENT, RTLD_NOW);

    CHECK(library && profiler);
    cupti = dlsym(library, "fixture_calls");
    CHECK(cupti);
    find(&api.v1.ActivityRegisterTimestampCallback, library,
         "cuptiActivityRegisterTimestampCallback");
    find(&api.v1.ActivityRegisterCallbacks, library, "cuptiActivityRegisterCallbacks");
    find(&api.v1.ActivityEnable, library, "cuptiActivityEnable");
    find(&api.v1.ActivityDisable, library, "cuptiActivityDisable");
    find(&api.v1.ActivityFlushAll, library, "cuptiActivityFlushAll");
    find(&api.v1.Subscribe, library, "cuptiSubscribe");
    find(&client.clock, profiler, "client_clock");
    find(&client.enroll, profiler, "client_register");
    find(&client.enable, profiler, "client_enable");
    find(&client.disable, profiler, "client_disable");
    find(&client.flush, profiler, "client_flush");
    find(&client.subscribe, profiler, "client_subscribe");
}

static void watch(int is_here)
{
    const struct sl_neighbour_options opt = {&api, tell};

    load();
    CHECK(sl_neighbour_imports("cuptiActivityEnable"));
    CHECK(!sl_neighbour_imports("cuptiNobodyImportsThis"));
    sl_neighbour_watch(&opt, is_here);
}

static uint8_t room[8][64]; /* its buffers */
static unsigned lent, back;

static void its_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = room[lent++ % 8];
    *size = sizeof(*room);
    *max_records = 0;
}

static void its_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)valid;
    CHECK(buffer && size == sizeof(*room));
    back++;
}

/* CUPTI asks the client for a buffer, and gives one back. */
static uint8_t *ask(void)
{
    uint8_t *buffer;
    size_t size, max_records;

    cupti->request(&buffer, &size, &max_records);
    CHECK(buffer);
    return buffer;
}

static void give_back(uint8_t *buffer)
{
    unsigned before = back;

    cupti->complete(NULL, 0, buffer, sizeof(*room), 8);
    CHECK(back == before + 1);
}

/* ---- the collector ---- */

static _Atomic int is_over;
static _Atomic int handovers, returns;

static void *collect(void *unused)
{
    while (!atomic_load(&is_over)) {
        switch (sl_neighbour_state()) {
        case SL_NEIGHBOUR_ASKED:
            atomic_fetch_add(&handovers, 1);
            sl_neighbour_let_go();
            break;
        case SL_NEIGHBOUR_LEFT:
            if (sl_neighbour_take() == 0) {
                atomic_fetch_add(&returns, 1);
                sl_neighbour_back();
            }
            break;
        default:
            usleep(100);
            break;
        }
    }
    return unused;
}

static pthread_t collector;

static void start_collector(void)
{
    CHECK(pthread_create(&collector, NULL, collect, NULL) == 0);
}

static void stop_collector(void)
{
    atomic_store(&is_over, 1);
    pthread_join(collector, NULL);
}

static void until_ours(void)
{
    while (sl_neighbour_state() != SL_NEIGHBOUR_OURS)
        usleep(100);
}

/* The collector counts once it has it. */
static void until_back(int count)
{
    until_ours();
    while (atomic_load(&returns) < count)
        usleep(100);
    CHECK(atomic_load(&returns) == count);
}

/* ---- sessions ---- */

static void play_sessions(void)
{
    uint8_t *buffer[2];

    watch(0);
    start_collector();
    for (int session = 1; session <= 3; session++) {
        if (session == 1)
            CHECK(client.enroll(its_request, its_complete) == 0);
        CHECK(client.enable(10) == 0); /* from the second on its callbacks are put back */
        CHECK(cupti->registered == session);
        CHECK(sl_neighbour_state() == SL_NEIGHBOUR_THEIRS);
        CHECK(atomic_load(&handovers) == session);
        CHECK(client.enable(3) == 0);
        for (int i = 0; i < 2; i++)
            buffer[i] = ask();
        CHECK(!sl_neighbour_is_stranded());
        CHECK(client.disable(10) == 0 && client.disable(3) == 0);
        CHECK(sl_neighbour_state() == SL_NEIGHBOUR_THEIRS); /* its buffers are out */
        CHECK(sl_neighbour_is_stranded());
        give_back(buffer[0]);
        CHECK(sl_neighbour_state() == SL_NEIGHBOUR_THEIRS);
        give_back(buffer[1]);
        until_back(session);
        CHECK(!sl_neighbour_is_stranded());
        CHECK(atomic_load(&told) == 3 * session); /* it begins, is stranded, has left */
    }
    stop_collector();
}

static void a_session_begins_when_we_let_go_and_ends_with_its_buffers(void **state)
{
    (void)state;
    in_child(play_sessions);
}

/* It had begun before we watched: its buffers from then are not known, and count for nothing. */
static void play_begun_before(void)
{
    uint8_t *buffer;

    load();
    client.enroll(its_request, its_complete);
    watch(1);
    CHECK(sl_neighbour_state() == SL_NEIGHBOUR_THEIRS);
    start_collector();
    /* It registers again, as libkineto does with every session; CUPTI gives back what it had. */
    client.enroll(its_request, its_complete);
    for (int i = 0; i < 3; i++)
        give_back(room[i]);
    buffer = ask();
    CHECK(client.disable(10) == 0);
    give_back(buffer);
    CHECK(sl_neighbour_state() == SL_NEIGHBOUR_THEIRS); /* others may be on */
    CHECK(!sl_neighbour_is_stranded());
    CHECK(client.disable(3) == 0);
    buffer = ask(); /* a call that had begun before ends */
    CHECK(client.flush(1) == 0);
    CHECK(cupti->flag == 1); /* what it cuts off is its own */
    CHECK(sl_neighbour_is_stranded());
    give_back(buffer);
    until_back(1);
    /* The next session's are known. */
    CHECK(client.enable(10) == 0);
    buffer = ask();
    CHECK(client.disable(10) == 0);
    usleep(20000); /* for a collector that takes what is not over */
    CHECK(sl_neighbour_state() == SL_NEIGHBOUR_THEIRS);
    CHECK(atomic_load(&returns) == 1);
    give_back(buffer);
    until_back(2);
    stop_collector();
}

static void one_that_began_before_is_seen_to_the_end(void **state)
{
    (void)state;
    in_child(play_begun_before);
}

/* It did not wait until we had let go: what it has disabled by then was its own. */
static void play_let_go_late(void)
{
    uint8_t *buffer;

    watch(1);
    client.enroll(its_request, its_complete);
    client.enable(10);
    buffer = ask();
    client.disable(10);
    client.flush(0);
    CHECK(sl_neighbour_is_stranded());
    sl_neighbour_let_go();
    CHECK(sl_neighbour_is_stranded());
    give_back(buffer);
    CHECK(sl_neighbour_state() == SL_NEIGHBOUR_LEFT);
}

static void a_late_hand_over_forgets_nothing(void **state)
{
    (void)state;
    in_child(play_let_go_late);
}

/* What it does behind its last flush does not touch what is ours. */
static void play_tidying(void)
{
    int disabled;

    watch(0);
    start_collector();
    client.enroll(its_request, its_complete);
    client.enable(10);
    client.disable(10);
    until_ours();
    disabled = cupti->disabled;
    CHECK(client.disable(10) == 0 && client.disable(3) == 0);
    CHECK(cupti->disabled == disabled);
    CHECK(client.flush(1) == 0);
    CHECK(cupti->flag == 0); /* plain: a forced one would cut off our records */
    CHECK(sl_neighbour_state() == SL_NEIGHBOUR_OURS);
    stop_collector();
}

static void calls_that_come_too_late_change_nothing_of_ours(void **state)
{
    (void)state;
    in_child(play_tidying);
}

/* Results are CUPTI's own; a kind that was refused is not on. */
static void play_refused(void)
{
    watch(0);
    start_collector();
    cupti->result = 7;
    CHECK(client.enroll(its_request, its_complete) == 7);
    CHECK(client.clock(NULL) == 7);
    CHECK(client.enable(10) == 7);
    CHECK(client.disable(3) == 7);
    until_ours(); /* nothing of its is on */
    stop_collector();
}

static void results_are_cupti_s(void **state)
{
    (void)state;
    in_child(play_refused);
}

/* ---- clients that say so themselves ---- */

static void play_said(void)
{
    CHECK(sl_neighbour_begin() == -ENOTSUP); /* nobody is watched */
    watch(0);
    start_collector();
    CHECK(sl_neighbour_begin() == 0);
    CHECK(sl_neighbour_state() == SL_NEIGHBOUR_THEIRS);
    CHECK(sl_neighbour_begin() == 0); /* it is already */
    client.enroll(its_request, its_complete);
    client.enable(10);
    CHECK(sl_neighbour_end() == -EBUSY); /* it records */
    client.disable(10);
    CHECK(sl_neighbour_end() == 0);
    until_ours();
    CHECK(sl_neighbour_end() == 0); /* it is ours: nothing to wait for */
    CHECK(!sl_neighbour_is_settled());
    stop_collector();
}

static void a_client_may_say_when_it_begins_and_ends(void **state)
{
    (void)state;
    in_child(play_said);
}

/* ---- threads, the end ---- */

static void *begin_and_end(void *unused)
{
    for (int i = 0; i < 200; i++) {
        CHECK(sl_neighbour_begin() == 0);
        CHECK(sl_neighbour_end() == 0);
    }
    return unused;
}

static void play_threads(void)
{
    pthread_t thread[4];

    watch(0);
    start_collector();
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&thread[i], NULL, begin_and_end, NULL) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    until_ours();
    stop_collector();
}

static void clients_of_many_threads(void **state)
{
    (void)state;
    in_child(play_threads);
}

static void *enable_one(void *unused)
{
    CHECK(client.enable(10) == 0);
    return unused;
}

/* The process ends: who waits for us goes on, and calls are CUPTI's. */
static void play_stop(void)
{
    pthread_t thread;

    watch(0);
    CHECK(pthread_create(&thread, NULL, enable_one, NULL) == 0);
    while (sl_neighbour_state() != SL_NEIGHBOUR_ASKED)
        usleep(100);
    CHECK(cupti->enabled == 0);
    sl_neighbour_stop();
    pthread_join(thread, NULL);
    CHECK(cupti->enabled == 1);
    CHECK(client.disable(10) == 0 && cupti->disabled == 1);
    CHECK(client.flush(1) == 0 && cupti->flag == 1);
    CHECK(client.enroll(its_request, its_complete) == 0);
    CHECK(cupti->request == its_request && cupti->complete == its_complete);
    CHECK(sl_neighbour_state() == SL_NEIGHBOUR_OFF);
    CHECK(sl_neighbour_begin() == -ENOTSUP);
}

static void at_the_end_nobody_waits(void **state)
{
    (void)state;
    in_child(play_stop);
}

/* Beside the newer calls a subscriber would be refused: ours is given up before. */
static void play_subscriber(void)
{
    watch(0);
    start_collector();
    CHECK(client.subscribe() == 0);
    CHECK(atomic_load(&handovers) == 0); /* the older calls do not mind */
    api.is_v2 = 1;
    CHECK(client.subscribe() == 0);
    CHECK(atomic_load(&handovers) == 1);
    CHECK(cupti->subscribed == 2);
    until_ours(); /* it does not record */
    stop_collector();
}

static void a_subscriber_of_the_older_calls(void **state)
{
    (void)state;
    in_child(play_subscriber);
}

static _Atomic int unsubscribed;

static int unsubscribe(void *subscriber)
{
    (void)subscriber;
    atomic_fetch_add(&unsubscribed, 1);
    return 0;
}

static int enable_callback(uint32_t on, void *subscriber, int domain, uint32_t cbid)
{
    (void)on;
    (void)subscriber;
    (void)domain;
    (void)cbid;
    return 0;
}

static int graph_id(void *graph, uint32_t *id)
{
    (void)graph;
    *id = 1;
    return 0;
}

static int node_id(void *node, uint64_t *id)
{
    (void)node;
    *id = 1;
    return 0;
}

/* There is one subscriber: it is not kept from others, also when nobody is watched any more. */
static void play_subscriber_of_ours(void)
{
    watch(0);
    api.fn = api.v1;
    api.fn.EnableCallback = enable_callback;
    api.fn.Unsubscribe = unsubscribe;
    api.fn.GetGraphId = graph_id;
    api.fn.GetGraphNodeId = node_id;
    CHECK(sl_graph_nodes_start(&api) == 0);
    sl_neighbour_stop();
    CHECK(client.subscribe() == 0 && client.subscribe() == 0);
    CHECK(atomic_load(&unsubscribed) == 1);
}

static void our_subscriber_makes_room_at_the_end_too(void **state)
{
    (void)state;
    in_child(play_subscriber_of_ours);
}

/* A collector that was started while the slots are looked for. */
static void *look_again(void *unused)
{
    while (!atomic_load(&is_over))
        sl_neighbour_rescan();
    return unused;
}

static void play_looks(void)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, look_again, NULL) == 0);
    watch(0);
    atomic_store(&is_over, 1);
    pthread_join(thread, NULL);
    atomic_store(&is_over, 0);
    start_collector();
    CHECK(client.enable(10) == 0);
    CHECK(sl_neighbour_state() == SL_NEIGHBOUR_THEIRS);
    stop_collector();
}

static void one_looks_for_slots_at_a_time(void **state)
{
    (void)state;
    in_child(play_looks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_begins_when_we_let_go_and_ends_with_its_buffers),
        cmocka_unit_test(one_that_began_before_is_seen_to_the_end),
        cmocka_unit_test(a_late_hand_over_forgets_nothing),
        cmocka_unit_test(calls_that_come_too_late_change_nothing_of_ours),
        cmocka_unit_test(results_are_cupti_s),
        cmocka_unit_test(a_client_may_say_when_it_begins_and_ends),
        cmocka_unit_test(clients_of_many_threads),
        cmocka_unit_test(at_the_end_nobody_waits),
        cmocka_unit_test(a_subscriber_of_the_older_calls),
        cmocka_unit_test(our_subscriber_makes_room_at_the_end_too),
        cmocka_unit_test(one_looks_for_slots_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
