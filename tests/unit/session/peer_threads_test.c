/* peer_threads_test.c - several threads act at the same time: threads of clients, a thread that
 * searches for import slots, and a thread that waits for syncline when the process ends. */
#include <errno.h>

#include "unit/session/peer_rig.h"

static void *begin_and_end(void *unused)
{
    for (int i = 0; i < 200; i++) {
        CHECK(sl_peer_begin() == 0);
        int err = sl_peer_end();

        CHECK(err == 0 || err == -EBUSY); /* another thread has begun a session by then */
    }
    return unused;
}

static void clients_of_many_threads(void)
{
    pthread_t thread[4];

    watch(0);
    start_recorder();
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&thread[i], NULL, begin_and_end, NULL) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    until_ours();
    stop_recorder();
}

static void *enable_one(void *unused)
{
    CHECK(client.enable(10) == 0);
    return unused;
}

/* The process ends. A thread that waits for syncline continues, and calls of other clients go
 * directly to CUPTI. */
static void at_the_end_nobody_waits(void)
{
    pthread_t thread;

    watch(0);
    CHECK(pthread_create(&thread, NULL, enable_one, NULL) == 0);
    while (sl_peer_state() != SL_PEER_ASKED)
        usleep(100);
    CHECK(cupti->enabled == 0);
    sl_peer_stop();
    pthread_join(thread, NULL);
    CHECK(cupti->enabled == 1);
    CHECK(client.disable(10) == 0 && cupti->disabled == 1);
    CHECK(client.flush(1) == 0 && cupti->flag == 1);
    CHECK(client.enroll(its_request, its_complete) == 0);
    CHECK(cupti->request == its_request && cupti->complete == its_complete);
    CHECK(sl_peer_state() == SL_PEER_OFF);
    CHECK(sl_peer_begin() == -ENOTSUP);
}

/* Searches for import slots repeatedly, while another thread starts to watch clients. */
static void *look_again(void *unused)
{
    while (!atomic_load(&is_over))
        sl_peer_rescan();
    return unused;
}

static void one_looks_for_slots_at_a_time(void)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, look_again, NULL) == 0);
    watch(0);
    atomic_store(&is_over, 1);
    pthread_join(thread, NULL);
    atomic_store(&is_over, 0);
    start_recorder();
    CHECK(client.enable(10) == 0);
    CHECK(sl_peer_state() == SL_PEER_THEIRS);
    stop_recorder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD(clients_of_many_threads),
        CHILD(at_the_end_nobody_waits),
        CHILD(one_looks_for_slots_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
