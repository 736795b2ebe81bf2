/*
 * subscriber.c - another subscriber of CUPTI 13.3 or later. This subscriber chooses the fields of
 * its records, like newer collectors of torch.profiler. The program is not linked with CUPTI.
 *
 * Its arguments are steps, which run one after the other:
 *
 *     subscribe        Subscribes, chooses a kernel's fields, and allows other subscribers.
 *     alone            Subscribes in the same way, but does not allow other subscribers.
 *     clock            Makes the tick counter CUPTI's clock.
 *     noclock          Restores the wall clock as CUPTI's clock.
 *     fewer            Chooses only the end and the name of kernels. Prints whether CUPTI agrees.
 *     enable           Enables kernels.
 *     disable          Disables kernels.
 *     flush            Flushes CUPTI by force.
 *     unsubscribe      Ends the subscription.
 *     until:N          Waits until N kernels were received, for a limited time.
 *     told             Prints the number of received kernels and the last kernel's name. Also
 *                      prints how many kernels have times of the tick counter, and how many have
 *                      no start.
 *
 * The steps of kernels.h are allowed, too. The step `context` loads an injected profiler.
 *
 * Threads: one, and the threads on which CUPTI runs the callbacks.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "kernels.h"

#define BUFFER_BYTES 65536
#define KERNEL       10           /* CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL */
#define FIELDS_ON    11           /* CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS */
#define CLOCK        22           /* CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK */
#define TICKS_MOST   (1ull << 60) /* ns; later times are CLOCK_REALTIME, earlier times are ticks */

/* `fields`: KERNEL_FIELD_KIND, _START, _END and _NAME. `fewer`: these fields without _START. */
static int fields[] = {0, 7, 8, 24}, fewer[] = {0, 8, 24};

/* The layout of the struct in NVIDIA's header of CUPTI 13.3. */
struct params {
    size_t size;
    const char *name;
    char *holder;
    size_t holder_size;
    uint8_t allow_multiple, padding[7];
};
struct config {
    size_t size;
    struct {
        size_t size, count;
        int *ids;
    } fields;
};
struct place {
    size_t size;
    int id;
    size_t offset, bytes, alignment;
};
struct layout {
    size_t size;
    struct place *place;
    size_t count, record_bytes;
};
struct info {
    size_t size;
    uint64_t thread;
    struct layout **kind;
    size_t count;
};
typedef void (*request_fn)(uint8_t **buffer, size_t *size, size_t *max_records, void *info);
typedef void (*complete_fn)(uint8_t *buffer, size_t size, size_t valid, struct info *info);

static struct {
    int (*Subscribe)(void **out, void *callback, void *user, struct params *params);
    int (*Unsubscribe)(void *subscriber);
    int (*SetAttribute)(void *subscriber, int attribute, size_t *size, void *value);
    int (*RegisterCallbacks)(void *subscriber, request_fn request, complete_fn complete);
    int (*Enable)(void *subscriber, int kind, struct config *config);
    int (*Disable)(void *subscriber, int kind, struct config *config);
    int (*FlushAll)(uint32_t flag);
} cupti;
static void *subscriber;
static char name[256]; /* the last kernel's name, guarded by name_lock */
static pthread_mutex_t name_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int kernels, odd, by_ticks, startless;

static void callback(void *user, int domain, uint32_t cbid, const void *data)
{
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *max_records = 0;
}

static uint64_t field(const uint8_t *record, const struct layout *layout, int id)
{
    uint64_t value = 0;

    for (size_t i = 0; i < layout->count; i++)
        if (layout->place[i].id == id)
            memcpy(&value, record + layout->place[i].offset, layout->place[i].bytes);
    return value;
}

static void complete(uint8_t *buffer, size_t size, size_t valid, struct info *info)
{
    const struct layout *layout = info->kind ? info->kind[KERNEL] : NULL;

    odd += size != BUFFER_BYTES || (valid && !layout);
    for (size_t at = 0; layout && at < valid; at += layout->record_bytes) {
        uint64_t start = field(buffer + at, layout, 7), end = field(buffer + at, layout, 8);

        kernels++;
        by_ticks += end < TICKS_MOST;
        startless += !start;
        odd += field(buffer + at, layout, 0) != KERNEL;
        odd += start && end > TICKS_MOST && end - start < KERNEL_NS;
        pthread_mutex_lock(&name_lock);
        snprintf(name, sizeof(name), "%s", (const char *)(uintptr_t)field(buffer + at, layout, 24));
        pthread_mutex_unlock(&name_lock);
    }
    free(buffer);
}

static void must(int result, const char *what)
{
    if (result) {
        fprintf(stderr, "subscriber: %s: %d\n", what, result);
        exit(1);
    }
}

static void find(void *library, const char *function, void *slot)
{
    *(void **)slot = dlsym(library, function);
    must(!*(void **)slot, function);
}

static void subscribe(int others)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW);
    char holder[64] = "";
    struct params params = {sizeof(params), "columns",       holder,
                            sizeof(holder), (uint8_t)others, {0}};
    uint8_t on = 1;
    size_t size = sizeof(on);
    int result;

    must(!library, "dlopen");
    find(library, "cuptiSubscribe_v2", &cupti.Subscribe);
    find(library, "cuptiUnsubscribe", &cupti.Unsubscribe);
    find(library, "cuptiActivitySetAttribute_v2", &cupti.SetAttribute);
    find(library, "cuptiActivityRegisterCallbacks_v2", &cupti.RegisterCallbacks);
    find(library, "cuptiActivityEnable_v2", &cupti.Enable);
    find(library, "cuptiActivityDisable_v2", &cupti.Disable);
    find(library, "cuptiActivityFlushAll", &cupti.FlushAll);
    result = cupti.Subscribe(&subscriber, (void *)callback, NULL, &params);
    printf("%s beside '%s'\n", result ? "refused" : "subscribed", holder);
    if (result)
        return;
    must(cupti.SetAttribute(subscriber, FIELDS_ON, &size, &on), "fields");
    must(cupti.RegisterCallbacks(subscriber, request, complete), "callbacks");
}

static uint64_t ticks(void)
{
    return __rdtsc();
}

static void set_clock(uint64_t (*clock)(void))
{
    size_t size = sizeof(clock);

    must(cupti.SetAttribute(subscriber, CLOCK, &size, &clock), "clock");
}

static int enable(int *ids, size_t count)
{
    struct config config = {sizeof(config), {sizeof(config.fields), count, ids}};

    return cupti.Enable(subscriber, KERNEL, &config);
}

static void tell(void)
{
    pthread_mutex_lock(&name_lock);
    printf("kernels %d odd %d called '%s'", kernels, odd, name);
    pthread_mutex_unlock(&name_lock);
    if (by_ticks)
        printf(" by ticks %d", by_ticks);
    if (startless)
        printf(" without start %d", startless);
    printf("\n");
}

static int step(const char *what, long n)
{
    if (!strcmp(what, "subscribe") || !strcmp(what, "alone"))
        subscribe(*what == 's');
    else if (!strcmp(what, "clock") || !strcmp(what, "noclock"))
        set_clock(*what == 'c' ? ticks : NULL);
    else if (!strcmp(what, "fewer"))
        printf("%s\n", enable(fewer, sizeof(fewer) / sizeof(*fewer)) ? "not now" : "fewer");
    else if (!strcmp(what, "enable"))
        must(enable(fields, sizeof(fields) / sizeof(*fields)), "enable");
    else if (!strcmp(what, "disable"))
        must(cupti.Disable(subscriber, KERNEL, NULL), "disable");
    else if (!strcmp(what, "flush"))
        must(cupti.FlushAll(1), "flush");
    else if (!strcmp(what, "unsubscribe"))
        must(cupti.Unsubscribe(subscriber), "unsubscribe");
    else if (!strcmp(what, "until"))
        for (int i = 0; i < 1000 && kernels < n; i++)
            do_sleep(10);
    else if (!strcmp(what, "told"))
        tell();
    else
        return 0;
    return 1;
}

int main(int argc, char **argv)
{
    do_steps(argc, argv, step);
    return 0;
}
