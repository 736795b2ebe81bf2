/*
 * peer_rig.h - a fake CUPTI, another profiler that is linked with CUPTI, and a recorder that
 * releases CUPTI and takes it back.
 *
 * The tested state exists once per process, so every case runs in a child (child.h).
 *
 * Threads: the test uses the child's first thread, and the recorder has a thread of its own.
 */
#ifndef SL_SESSION_PEER_RIG_H
#define SL_SESSION_PEER_RIG_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "session/peer.h"
#include "unit/session/fixture_calls.h"

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

static inline void tell(void)
{
    atomic_fetch_add(&told, 1);
}

static inline void find(void *function, void *library, const char *name)
{
    void *found = dlsym(library, name);

    CHECK(found);
    memcpy(function, &found, sizeof(found));
}

static inline void load(void)
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

static inline void watch(int is_here)
{
    const struct sl_peer_options opt = {&api, tell};

    load();
    CHECK(sl_peer_imports("cuptiActivityEnable"));
    CHECK(!sl_peer_imports("cuptiNobodyImportsThis"));
    sl_peer_watch(&opt, is_here);
}

static uint8_t room[8][64]; /* the profiler's buffers */
static unsigned lent, back;

static inline void its_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = room[lent++ % 8];
    *size = sizeof(*room);
    *max_records = 0;
}

static inline void its_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                size_t valid)
{
    (void)context;
    (void)stream;
    (void)valid;
    CHECK(buffer && size == sizeof(*room));
    back++;
}

/* Requests a buffer from the client, as CUPTI does. Returns the buffer. */
static inline uint8_t *ask(void)
{
    uint8_t *buffer;
    size_t size, max_records;

    cupti->request(&buffer, &size, &max_records);
    CHECK(buffer);
    return buffer;
}

static inline void give_back(uint8_t *buffer)
{
    unsigned before = back;

    cupti->complete(NULL, 0, buffer, sizeof(*room), 8);
    CHECK(back == before + 1);
}

/* ---- the recorder ---- */

static _Atomic int is_over;
static _Atomic int handovers, returns;

static inline void *collect(void *unused)
{
    while (!atomic_load(&is_over)) {
        switch (sl_peer_state()) {
        case SL_PEER_ASKED:
            atomic_fetch_add(&handovers, 1);
            sl_peer_let_go();
            break;
        case SL_PEER_LEFT:
            if (sl_peer_take() == 0) {
                atomic_fetch_add(&returns, 1);
                sl_peer_back();
            }
            break;
        default:
            usleep(100);
            break;
        }
    }
    return unused;
}

static pthread_t recorder;

static inline void start_recorder(void)
{
    CHECK(pthread_create(&recorder, NULL, collect, NULL) == 0);
}

static inline void stop_recorder(void)
{
    atomic_store(&is_over, 1);
    pthread_join(recorder, NULL);
}

#define UNTIL_TRIES 200000 /* each try takes 0.1 ms, so the limit is at least 20 s */

static inline void until_ours(void)
{
    for (int i = 0; i < UNTIL_TRIES && sl_peer_state() != SL_PEER_OURS; i++)
        usleep(100);
    CHECK(sl_peer_state() == SL_PEER_OURS);
}

/* Waits until the recorder has taken CUPTI back `count` times. The recorder increments the count
 * after it has CUPTI. */
static inline void until_back(int count)
{
    until_ours();
    while (atomic_load(&returns) < count)
        usleep(100);
    CHECK(atomic_load(&returns) == count);
}

#endif
