/*
 * subscriber.c - another subscriber of CUPTI 13.3 or later, with records of the fields that it has
 * chosen, as torch.profiler's newer collectors are. Not linked with CUPTI. Does what its arguments
 * say, one after the other:
 *
 *     subscribe        and chooses a kernel's fields; allows others beside it
 *     alone            the same, and does not allow others
 *     enable disable   kernels
 *     flush            by force
 *     unsubscribe
 *     context          CUDA begins: an injected profiler is there from now on
 *     kernel[:N]       N kernels, then waits for them
 *     sleep:MS
 *     told             prints the kernels that it was given so far, and what they are called
 *
 * One thread, and CUPTI's in the callbacks.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#define BUFFER_BYTES 65536
#define KERNEL       10 /* CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL */
#define FIELDS_ON    11 /* CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS */

/* KERNEL_FIELD_KIND, _START, _END, _NAME */
static int fields[] = {0, 7, 8, 24};

/* As in NVIDIA's header of 13.3. */
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
static char name[256];
static atomic_int kernels, odd;

static void callback(void *user, int domain, uint32_t cbid, const void *data)
{
    (void)user;
    (void)domain;
    (void)cbid;
    (void)data;
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
    (void)info;
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
        uint64_t took = field(buffer + at, layout, 8) - field(buffer + at, layout, 7);

        kernels++;
        odd += field(buffer + at, layout, 0) != KERNEL || took < KERNEL_NS;
        snprintf(name, sizeof(name), "%s", (const char *)(uintptr_t)field(buffer + at, layout, 24));
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

static void enable(void)
{
    struct config config = {sizeof(config),
                            {sizeof(config.fields), sizeof(fields) / sizeof(*fields), fields}};

    must(cupti.Enable(subscriber, KERNEL, &config), "enable");
}

static void step(const char *what, long n)
{
    if (!strcmp(what, "subscribe") || !strcmp(what, "alone"))
        subscribe(*what == 's');
    else if (!strcmp(what, "enable"))
        enable();
    else if (!strcmp(what, "disable"))
        must(cupti.Disable(subscriber, KERNEL, NULL), "disable");
    else if (!strcmp(what, "flush"))
        must(cupti.FlushAll(1), "flush");
    else if (!strcmp(what, "unsubscribe"))
        must(cupti.Unsubscribe(subscriber), "unsubscribe");
    else if (!strcmp(what, "context"))
        do_context();
    else if (!strcmp(what, "kernel"))
        do_kernels(n ? n : 1);
    else if (!strcmp(what, "sleep"))
        do_sleep(n);
    else if (!strcmp(what, "told"))
        printf("kernels %d odd %d called '%s'\n", kernels, odd, name);
    else
        exit(2);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *number = strchr(argv[i], ':');

        if (number)
            *number++ = '\0';
        step(argv[i], number ? atol(number) : 0);
    }
    printf("done\n");
    return 0;
}
