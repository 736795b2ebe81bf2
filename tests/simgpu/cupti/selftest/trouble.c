/* trouble.c - tests the options that drop, shuffle, delay or duplicate records, deliver them to
 * another client, or remove their times. Also tests clients that provide no buffer. */
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

static void drops(void)
{
    size_t dropped = 9;

    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    give_null = true;
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 2, 0);
    CHECK(F(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 2);
    CHECK(F(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 0);
    CHECK(fake_log_count("\"dropped\",\"kind\":\"runtime\"") == 2);
    give_null = false;
    buffer_bytes = 16; /* smaller than any record */
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 3, 0);
    flush(0);
    CHECK(F(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 1);
    CHECK(buffers_back == buffers_out && seen_count == 0);
    buffer_bytes = 65536;
    max_records = 3;
    for (uint32_t i = 10; i < 20; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i, 0);
    }
    flush(0);
    /* The small buffer, then four buffers with 3, 3, 3 and 1 records. */
    CHECK(seen_count == 10 && buffers_out == 1 + 4);
    for (uint32_t i = 0; i < 10; i++) {
        CHECK(seen[i].correlation == 10 + i); /* the order is kept, because no option asked for
                                               * disorder */
    }
}

static void drop_some(void)
{
    size_t dropped;

    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    for (uint32_t i = 0; i < 1000; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i, 0);
    }
    flush(0);
    CHECK(F(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped) == CUPTI_SUCCESS);
    CHECK(dropped > 50 && dropped < 500 && seen_count == 1000 - dropped);
    CHECK((size_t)fake_log_count("\"dropped\"") == dropped);
}

static void steal(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    for (uint32_t i = 1; i <= 20; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i, 0);
    }
    flush(0);
    CHECK(seen_count == 0 && fake_log_count("\"given\"") == 20); /* our buffer was delivered to the
                                                                  * other client */
    CHECK(fake_log_count("\"steal\"") == 1);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 21, 0); /* this record goes into a buffer of the other
                                                 * client */
    CHECK(F(cuptiActivityRegisterCallbacks)(request, complete) == CUPTI_SUCCESS);
    /* CUPTI would deliver the other client's buffer to this client. So this client's callback only
     * counts buffers and does not free them. */
    CHECK(buffers_out == 1 && buffers_back == 0);
    free(latest); /* no other code frees this buffer */
}

/* The clock changes at the tenth record, so one buffer has times of both clocks. */
static void mixed_clocks(void)
{
    uint64_t real_ns, ticks;

    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    CHECK(F(cuptiGetTimestamp)(&real_ns) == CUPTI_SUCCESS);
    for (uint32_t i = 1; i < 10; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i, 0);
    }
    CHECK(fake_log_count("\"clock\"") == 0);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 10, 0);
    CHECK(fake_log_count("\"clock\"") == 1);
    CHECK(F(cuptiGetTimestamp)(&ticks) == CUPTI_SUCCESS && ticks < real_ns);
    flush(0);
    CHECK(seen_count == 10);
}

static uint8_t shown[4096];

static void *call_of_another(void *unused)
{
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 3, 0);
    return NULL;
}

/* The client is at its memory limit and gives a dummy buffer. Before the client's callback returns,
 * another library registers its callbacks, and CUPTI requests a buffer from that library. */
static void request_for_show(uint8_t **buffer, size_t *size, size_t *records)
{
    pthread_t other;

    CHECK(F(cuptiActivityRegisterCallbacks)(request, complete) == CUPTI_SUCCESS);
    CHECK(pthread_create(&other, NULL, call_of_another, NULL) == 0);
    CHECK(pthread_join(other, NULL) == 0);
    *buffer = memset(shown, 1, sizeof shown);
    *size = sizeof shown;
    *records = 0;
}

static void request_large(uint8_t **buffer, size_t *size, size_t *records)
{
    static bool gave;

    if (gave) {
        request_for_show(buffer, size, records);
    } else {
        request(buffer, size, records);
        *records = 1;
        gave = true;
    }
}

static void for_show(void)
{
    uint8_t zeroed = 1;
    size_t bytes = sizeof zeroed;

    CHECK(F(cuptiActivitySetAttribute)(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes,
                                       &zeroed) == CUPTI_SUCCESS);
    CHECK(F(cuptiActivityRegisterCallbacks)(request_large, complete) == CUPTI_SUCCESS);
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 2, 0);
    CHECK(buffers_out == 2); /* a buffer of the first library, and the dummy buffer of the second */
    CHECK(fake_log_count("misuse") == 0);
}

static void shuffle(void)
{
    size_t out_of_order = 0;

    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    for (uint32_t i = 0; i < 5000; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i, 0);
    }
    flush(0);
    CHECK(seen_count == 5000);
    bool *got = calloc(5000, 1);
    for (size_t i = 0; i < 5000; i++) {
        CHECK(seen[i].correlation < 5000 && !got[seen[i].correlation]); /* each once */
        got[seen[i].correlation] = true;
        out_of_order += seen[i].correlation != i;
    }
    free(got);
    CHECK(out_of_order > 4000);
}

static void twice(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    for (uint32_t i = 0; i < 100; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i, 0);
    }
    flush(0);
    CHECK(seen_count > 110 && (int)seen_count == 100 + fake_log_count("\"twice\""));
}

static void no_time(void)
{
    size_t without = 0;

    attach();
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    for (int i = 0; i < 100; i++) {
        fake_finish(launch("k"));
    }
    flush(0);
    for (size_t i = 0; i < seen_count; i++) {
        without += seen[i].start == 0 && seen[i].end == 0;
    }
    CHECK(seen_count == 100 && without > 10 && without < 90);
    CHECK((size_t)fake_log_count("\"no-time\"") == without);
}

static void late(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
    flush(0);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 0); /* the flush returned before the delivery */
    while (count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 0) {
        usleep(1000);
    }
}

static void held(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
    flush(0);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 0);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 1);
}

static void call_without_buffer(void)
{
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    _exit(0);
}

/* Runs `body` in a child. Returns its exit status; -1 if a signal ended it. */
static int status_of_child(void (*body)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        body();
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void attach_and_call(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    call_without_buffer();
}

static void null_crash(void)
{
    give_null = true;
    int status = status_of_child(attach_and_call);
    CHECK(version < 27 ? status != 0 : status == 0);

    /* A forked child of an attached process has no worker thread. It makes no record and requests
     * no buffer. */
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    CHECK(status_of_child(call_without_buffer) == 0);
}

/* The clock is slow, so registering it takes long. The conversion between the clocks is locked
 * meanwhile. */
static uint64_t slow_clock(void)
{
    usleep(5000);
    return sim_now_ns();
}

static void *register_slow_clock(void *begun)
{
    *(_Atomic bool *)begun = true;
    CHECK(F(cuptiActivityRegisterTimestampCallback)(slow_clock) == CUPTI_SUCCESS);
    return NULL;
}

/* Makes the CUPTI calls that torch.profiler makes. Runs in a child process. */
static void profile(void)
{
    alarm(10);
    CHECK(F(cuptiActivityRegisterTimestampCallback)(sim_now_ns) == CUPTI_SUCCESS);
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    _exit(0);
}

static void fork_in_the_middle(void)
{
    _Atomic bool begun = false;
    pthread_t thread;

    attach();
    CHECK(pthread_create(&thread, NULL, register_slow_clock, (void *)&begun) == 0);
    while (!begun) {
    }
    usleep(20000);
    CHECK(status_of_child(profile) == 0);
    pthread_join(thread, NULL);
}

static void undelivered(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    struct sim_op *op = launch("never");

    fake_probe->at_exit();
    CHECK(fake_log_count("\"undelivered\",\"kind\":\"kernel\"") == 1);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    CHECK(seen_count == 0); /* as the log says, the record is not delivered */
    fake_finish(op);
}

static const struct scenario scenarios[] = {
    {"drops", "SIMGPU_CUPTI_PER_THREAD_BUFFERS", "0", drops},
    {"drop_some", "SIMGPU_CUPTI_DROP", "0.2", drop_some},
    {"steal", "SIMGPU_CUPTI_STEAL", "10", steal},
    {"mixed_clocks", "SIMGPU_CUPTI_CLOCK", "10", mixed_clocks},
    {"for_show", NULL, NULL, for_show},
    {"shuffle", "SIMGPU_CUPTI_SHUFFLE", "1", shuffle},
    {"twice", "SIMGPU_CUPTI_TWICE", "0.5", twice},
    {"no_time", "SIMGPU_CUPTI_NO_TIME", "0.5", no_time},
    {"late", "SIMGPU_CUPTI_LATE", "0.3", late},
    {"held", "SIMGPU_CUPTI_HOLD", "1000", held},
    {"null_crash", "SIMGPU_CUPTI_NULL_CRASH", "1", null_crash},
    {"fork_in_the_middle", NULL, NULL, fork_in_the_middle},
    {"undelivered", NULL, NULL, undelivered},
};

int main(int argc, char **argv)
{
    return run_scenario(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios);
}
