/* threads.c - tests many threads at once, and the threads of a replayed recording. */
#include <stdatomic.h>
#include <unistd.h>

#include "client.h"

enum {
    THREADS = 4,
    PER_THREAD = 20000
};
static atomic_bool stop;

static void *launcher(void *unused)
{
    for (int i = 0; i < PER_THREAD; i++) {
        struct sim_op *op = launch(i % 2 ? "_Z3oddv" : "_Z4evenv");

        fake_finish(op);
    }
    return unused;
}

static void *flusher(void *unused)
{
    while (!stop) {
        flush(0);
        usleep(500);
    }
    return unused;
}

static void threads(void)
{
    pthread_t thread[THREADS], flushing;

    attach();
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    pthread_create(&flushing, NULL, flusher, NULL);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread[i], NULL, launcher, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    stop = true;
    pthread_join(flushing, NULL);
    flush(0);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); /* only a forced flush returns empty buffers */
    CHECK(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == THREADS * PER_THREAD);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == THREADS * PER_THREAD);
    CHECK(buffers_out == buffers_back && fake_ops_alive() == 0);
}

/* Replays records of several recorded threads. Each recorded thread must have its own buffer, and
 * its records must name the thread. CUPTI's own work in the replaying process is not reported. */
static void guises(void)
{
    fake_replaying = true;
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    enable(CUPTI_ACTIVITY_KIND_OVERHEAD);
    for (uint32_t i = 0; i < 30; i++) {
        fake_probe->guise(&(struct sim_guise){.process = 4000, .thread = 100 + i % 3});
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i + 1, 0);
    }
    fake_probe->guise(&(struct sim_guise){0, 0});
    /* 12.0 (version 18) has one buffer for all threads, and lacks the attribute for buffers per
     * thread */
    CHECK(buffers_out == (version == 18 ? 1 : 3) && fake_probe->flushes() == 0);
    flush(0);
    CHECK(fake_probe->flushes() == 1);
    CHECK(buffers_back == buffers_out && count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 30);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_OVERHEAD) == 0);
    CUpti_ActivityAPI *a = (void *)last_record[CUPTI_ACTIVITY_KIND_RUNTIME];
    CHECK(a->processId == 4000 && a->threadId >= 100 && a->threadId < 103);
}

static void play_raw(uint32_t kind, const void *bytes, uint32_t size, const char *text)
{
    fake_probe->raw(&(struct sim_raw_record){
        .bytes = bytes,
        .kind = kind,
        .size = size,
        .has_text = text,
        .text = text,
        .text_offset = (uint32_t)offsetof(CUpti_ActivityName, name),
    });
}

/* Replays records as unchanged copies. The client must receive the kinds that it enabled, including
 * kinds that this stand-in never makes itself. The records must be divided among buffers as in the
 * recording, and have their texts. */
static void raw(void)
{
    CUpti_ActivityAPI call = {.kind = CUPTI_ACTIVITY_KIND_RUNTIME, .cbid = CBID_LAUNCH};
    CUpti_ActivityName name = {.kind = CUPTI_ACTIVITY_KIND_NAME, .name = (const char *)1};
    char text[] = "a thread";
    size_t dropped = 0;

    fake_replaying = true;
    attach();
    enable(CUPTI_ACTIVITY_KIND_NAME);
    if (version >= 23) {
        CHECK(F(cuptiActivityEnableRuntimeApi)(CBID_LAUNCH, 1) == CUPTI_SUCCESS);
    } else {
        enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    }
    for (int i = 0; i < 2; i++) {
        play_raw(CUPTI_ACTIVITY_KIND_RUNTIME, &call, sizeof call, NULL);
        play_raw(CUPTI_ACTIVITY_KIND_NAME, &name, sizeof name, text);
        call.kind = CUPTI_ACTIVITY_KIND_DRIVER; /* not enabled */
        play_raw(CUPTI_ACTIVITY_KIND_DRIVER, &call, sizeof call, NULL);
        call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
        fake_probe->hand_over(3);
    }
    call.cbid = CBID_GET_DEVICE;
    if (version >= 23) { /* older versions cannot filter single calls */
        play_raw(CUPTI_ACTIVITY_KIND_RUNTIME, &call, sizeof call, NULL);
    }
    memset(text, '!', sizeof text - 1); /* the stand-in has copied the text */
    flush(0);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_DRIVER) == 0 && count_of(CUPTI_ACTIVITY_KIND_NAME) == 2);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 2 && buffers_back == 2);
    CUpti_ActivityName *n = (void *)last_record[CUPTI_ACTIVITY_KIND_NAME];
    CHECK(strcmp(n->name, "a thread") == 0);
    CHECK(F(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 6);
}

/* After its first buffer is full, the client gives small buffers, then no buffer, then normal
 * buffers again. */
static void scant_request(uint8_t **buffer, size_t *size, size_t *records)
{
    static int asked;

    asked++;
    buffer_bytes = asked > 1 && asked < 4 ? 512 : 65536;
    give_null = asked == 4;
    request(buffer, size, records);
}

/* When the client gives no buffer, a replay must wait and lose no record. */
static void patience(void)
{
    size_t dropped = 1;

    fake_replaying = true;
    CHECK(F(cuptiActivityRegisterCallbacks)(scant_request, complete) == CUPTI_SUCCESS);
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    for (uint32_t i = 0; i < 3000; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i + 1, 0);
    }
    flush(0);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 3000);
    CHECK(F(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 0);
    CHECK(buffers_out == buffers_back && bytes_back == 3000 * sizeof(CUpti_ActivityAPI));
}

/* Prints the time per record. Checks only that all records arrive. */
static void speed(void)
{
    enum {
        N = 150000
    };

    buffer_bytes = 1 << 20;
    recycle = true; /* imitates a client with a pool of buffers */
    attach();
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    uint64_t start = sim_now_ns();
    for (int i = 0; i < N; i++) {
        fake_finish(launch("_Z6kernelPf"));
    }
    double seconds = (double)(sim_now_ns() - start) * 1e-9;
    flush(0);
    CHECK(seen_count == 2 * N);
    printf("%.0f records a second, the fake core's own work included\n", 2 * N / seconds);
}

static const struct scenario scenarios[] = {
    {"threads", NULL, NULL, threads},
    {"threads_one_buffer", "SIMGPU_CUPTI_PER_THREAD_BUFFERS", "0", threads},
    {"threads_own_buffers", "SIMGPU_CUPTI_PER_THREAD_BUFFERS", "1", threads},
    {"guises", "SIMGPU_CUPTI_PER_THREAD_BUFFERS", "1", guises},
    {"raw", NULL, NULL, raw},
    {"patience", NULL, NULL, patience},
    {"speed", NULL, NULL, speed},
};

int main(int argc, char **argv)
{
    return run_scenario(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios);
}
