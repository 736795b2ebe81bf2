/*
 * ranges.c - does with NVTX and CUDA what its arguments say, one after the other:
 *
 *     ranges context push:forward kernel:2 pop sync
 *
 * Steps (`:N` may be left out):
 *     context          the primary context of device 0; NVTX before it is NVTX before CUDA
 *     push:NAME pop    a range; `wide:NAME` with wide characters, `string:NAME` registered
 *     start:NAME       the newest range that is started and not ended is ended by `end`
 *     mark:NAME
 *     domain:NAME      ranges are this domain's from here on; `domain:` the default one's
 *     full:NAME        a range with category 7, a color and a payload; `category:NAME` names 7
 *     payload:TYPE     a mark with a payload: u64 i64 f64 u32 i32 f32
 *     schema           a range with payloads of the extension, by registered schemas
 *     deferred:CLOCK   an event that was over before it was told (ranges_deferred.c)
 *     lock:NAME        waits for a lock, holds it, gives it back
 *     hold:NAME        gets one and keeps it, until `destroy` or for ever
 *     thread:NAME stream:NAME device:NAME event:NAME        names
 *     worker:STEPS     these steps, joined by +, on a thread of their own
 *     many:N           N ranges "step 0", "step 1", ...; `churn:N` N threads with a range each
 *     threads          starts a thread that lives on (before CUDA)
 *     loading:MS       loads and unloads a library all that time, on a thread of its own
 *     kernel:N sync sleep:MS; begin stop: a window; windows:N are over
 *     fork             a child that makes ranges and ends
 *
 * The last thing printed is `done`.
 */
#include <cuda.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>

#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "cuda_load.h"
#include "ranges.h"
#include "spin_kernel.h"
#include "syncline/syncline.h"

#define KERNEL_NS 50000

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("plain_spin_ns");

static struct {
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
} s;

static _Thread_local CUstream stream;
static _Thread_local nvtxDomainHandle_t domain;
static _Thread_local nvtxRangeId_t started[16];
static _Thread_local int starts;

static void run_steps(char **step, int steps);

static void sleep_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&left, &left))
        ;
}

static void do_context(void)
{
    cuda_open();
    s.context = cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&s.module, ptx));
    CHECK(cu.ModuleGetFunction(&s.kernel, s.module, "plain_spin_ns"));
}

static void do_kernels(long n)
{
    if (!stream) {
        CHECK(cu.CtxSetCurrent(s.context));
        CHECK(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    }
    for (long i = 0; i < n; i++)
        spin_launch(s.kernel, stream, 1, 32, KERNEL_NS);
}

static nvtxEventAttributes_t attributes(const char *name)
{
    nvtxEventAttributes_t a = {0};

    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = name;
    return a;
}

static void do_push(const char *name)
{
    const nvtxEventAttributes_t a = attributes(name);

    printf("push %d\n", domain ? nvtxDomainRangePushEx(domain, &a) : nvtxRangePushA(name));
}

static void do_wide(const char *name)
{
    wchar_t wide[256];

    mbstowcs(wide, name, 256);
    nvtxRangePushW(wide);
}

static void do_string(const char *name)
{
    nvtxEventAttributes_t a = attributes(NULL);

    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = nvtxDomainRegisterStringA(domain, name);
    nvtxDomainRangePushEx(domain, &a);
}

static void do_full(const char *name)
{
    nvtxEventAttributes_t a = attributes(name);

    a.category = 7;
    a.colorType = NVTX_COLOR_ARGB;
    a.color = 0xff00aa11;
    a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    a.payload.llValue = -42;
    nvtxDomainRangePushEx(domain, &a);
}

static void do_payload(const char *type)
{
    nvtxEventAttributes_t a = attributes(type);

    if (!strcmp(type, "u64")) {
        a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        a.payload.ullValue = UINT64_MAX;
    } else if (!strcmp(type, "i64")) {
        a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
        a.payload.llValue = INT64_MIN;
    } else if (!strcmp(type, "f64")) {
        a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
        a.payload.dValue = 0.1;
    } else if (!strcmp(type, "u32")) {
        a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
        a.payload.uiValue = UINT32_MAX;
    } else if (!strcmp(type, "i32")) {
        a.payloadType = NVTX_PAYLOAD_TYPE_INT32;
        a.payload.iValue = -7;
    } else {
        a.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
        a.payload.fValue = 1.5f;
    }
    nvtxDomainMarkEx(domain, &a);
}

/* ---- the extension ---- */

struct inner {
    int32_t x, y;
};

struct outer {
    uint64_t bytes;
    int32_t op; /* an enum */
    float scale;
    struct inner inner;
    uint16_t dims[3];
    char tag[8];
    const char *note;
    nvtxStringHandle_t string;
    uint32_t which; /* of the union */
    union {
        uint32_t number;
        float real;
    } choice;
    uint32_t items; /* of the array */
    const int32_t *item;
};

#define FIELD(member, kind, label)                                                                 \
    {                                                                                              \
        .type = (kind), .name = (label), .offset = offsetof(struct outer, member)                  \
    }

uint64_t ranges_schema(nvtxDomainHandle_t in, const nvtxPayloadSchemaEntry_t *entry, size_t count,
                       uint64_t type, size_t size)
{
    const nvtxPayloadSchemaAttr_t a = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                                                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                                                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
                                       .type = type,
                                       .entries = entry,
                                       .numEntries = count,
                                       .payloadStaticSize = size};

    return nvtxPayloadSchemaRegister(in, &a);
}

static uint64_t register_outer(void)
{
    static const nvtxPayloadEnum_t ops[] = {{"sum", 0, 0}, {"max", 3, 0}};
    const nvtxPayloadEnumAttr_t op = {.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                                                   NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                                                   NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
                                      .entries = ops,
                                      .numEntries = 2,
                                      .sizeOfEnum = sizeof(int32_t)};
    static const nvtxPayloadSchemaEntry_t inner[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "x"},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "y"}};
    static const nvtxPayloadSchemaEntry_t choice[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT32, .name = "number"},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, .name = "real"}};
    nvtxPayloadSchemaEntry_t outer[] = {
        FIELD(bytes, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes"),
        FIELD(op, 0, "op"),
        FIELD(scale, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "scale"),
        FIELD(inner, 0, "inner"),
        FIELD(dims, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "dims"),
        FIELD(tag, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "tag"),
        FIELD(note, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "note"),
        FIELD(string, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "string"),
        FIELD(which, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "which"),
        FIELD(choice, 0, "choice"),
        FIELD(items, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "items"),
        FIELD(item, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "item"),
    };

    outer[1].type = nvtxPayloadEnumRegister(domain, &op);
    outer[3].type =
        ranges_schema(domain, inner, 2, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, sizeof(struct inner));
    outer[4].flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE;
    outer[4].arrayOrUnionDetail = 3;
    outer[5].arrayOrUnionDetail = 8;
    outer[9].type = ranges_schema(domain, choice, 2, NVTX_PAYLOAD_SCHEMA_TYPE_UNION, 4);
    outer[9].arrayOrUnionDetail = 8;
    outer[11].flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX;
    outer[11].arrayOrUnionDetail = 10;
    return ranges_schema(domain, outer, 12, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, sizeof(struct outer));
}

static void do_schema(void)
{
    static const int32_t items[] = {5, -6, 7};
    uint64_t schema = register_outer();
    struct outer o = {.bytes = 1ull << 40,
                      .op = 3,
                      .scale = 0.25f,
                      .inner = {-1, 2},
                      .dims = {3, 4, 5},
                      .tag = "tag\"",
                      .note = "a note",
                      .string = nvtxDomainRegisterStringA(domain, "registered"),
                      .which = 1,
                      .choice = {.real = 2.5f},
                      .items = 3,
                      .item = items};
    nvtxPayloadData_t data[] = {{schema, sizeof(o), &o}};
    nvtxEventAttributes_t a = attributes("with schema");

    /* NVTX's macro for it does not compile as C. */
    a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    a.reserved0 = 1;
    a.payload.ullValue = (uintptr_t)data;
    nvtxDomainRangePushEx(domain, &a);
    memset(&o, 0xff, sizeof(o)); /* it was copied */
    nvtxRangePopPayload(domain, &(nvtxPayloadData_t){NVTX_PAYLOAD_ENTRY_TYPE_INT32, 4, &items[1]},
                        1);
}

/* ---- threads, locks, names ---- */

static nvtxSyncUser_t held;

static nvtxSyncUser_t create_lock(const char *name)
{
    nvtxSyncUserAttributes_t a = {0};

    a.version = NVTX_VERSION;
    a.size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = name;
    return nvtxDomainSyncUserCreate(domain, &a);
}

static void do_hold(const char *name)
{
    held = create_lock(name);
    nvtxDomainSyncUserAcquireStart(held);
    nvtxDomainSyncUserAcquireSuccess(held);
}

static void do_lock(const char *name)
{
    nvtxSyncUser_t lock = create_lock(name);

    nvtxDomainSyncUserAcquireStart(lock);
    sleep_ms(1);
    nvtxDomainSyncUserAcquireFailed(lock);
    nvtxDomainSyncUserAcquireStart(lock);
    nvtxDomainSyncUserAcquireSuccess(lock);
    sleep_ms(1);
    nvtxDomainSyncUserReleasing(lock);
    nvtxDomainSyncUserDestroy(lock);
}

static void *work(void *user)
{
    char *steps = user, *step[32], *rest = NULL;
    int count = 0;

    printf("worker %ld\n", (long)syscall(SYS_gettid));
    for (char *one = strtok_r(steps, "+", &rest); one; one = strtok_r(NULL, "+", &rest))
        step[count++] = one;
    run_steps(step, count);
    return NULL;
}

static void do_worker(const char *steps)
{
    char *own = strdup(steps);
    pthread_t thread;

    pthread_create(&thread, NULL, work, own);
    pthread_join(thread, NULL);
    free(own);
}

static void *one_range(void *user)
{
    (void)user;
    nvtxRangePushA("short life");
    nvtxRangePop();
    return NULL;
}

static void do_churn(long n)
{
    pthread_t thread[4];

    for (long i = 0; i < n; i += 4) {
        for (int j = 0; j < 4; j++)
            pthread_create(&thread[j], NULL, one_range, NULL);
        for (int j = 0; j < 4; j++)
            pthread_join(thread[j], NULL);
    }
}

static void do_many(long n)
{
    char name[32];

    for (long i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "step %ld", i);
        nvtxRangePushA(name);
        nvtxRangePop();
    }
}

static void *wait_for_ever(void *user)
{
    pause();
    return user;
}

static void do_threads(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, wait_for_ever, NULL);
    pthread_detach(thread);
}

static _Atomic int is_loading;

static void *load(void *user)
{
    while (atomic_load(&is_loading)) {
        void *library = dlopen("libutil.so.1", RTLD_NOW);

        if (library)
            dlclose(library);
    }
    return user;
}

static void do_loading(int ms)
{
    pthread_t thread;

    atomic_store(&is_loading, 1);
    pthread_create(&thread, NULL, load, NULL);
    sleep_ms(ms);
    atomic_store(&is_loading, 0);
    pthread_join(thread, NULL);
}

static void do_fork(void)
{
    pid_t child = fork();

    if (child == 0) {
        nvtxRangePushA("in the child");
        printf("child %d\n", nvtxRangePop());
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static int is_recording(const struct sl_status *status, uint64_t n)
{
    (void)n;
    return status->state == SL_STATE_RECORDING;
}

static int are_complete(const struct sl_status *status, uint64_t n)
{
    return status->windows_completed >= n;
}

static void wait_until(int (*is_so)(const struct sl_status *status, uint64_t n), uint64_t n)
{
    struct sl_status status = {.size = sizeof(status)};

    for (int i = 0; i < 10000; i++) {
        if (sl_status(&status) == 0 && is_so(&status, n))
            return;
        sleep_ms(1);
    }
}

static void run_step(char *step)
{
    char *colon = strchr(step, ':'), *argument = colon ? colon + 1 : step + strlen(step);
    long n;

    if (colon)
        *colon = '\0';
    n = *argument ? strtol(argument, NULL, 10) : 1;
#define STEP(name, action)                                                                         \
    if (!strcmp(step, name)) {                                                                     \
        action;                                                                                    \
        return;                                                                                    \
    }
    STEP("context", do_context())
    STEP("push", do_push(argument))
    STEP("wide", do_wide(argument))
    STEP("string", do_string(argument))
    STEP("full", do_full(argument))
    STEP("pop", printf("pop %d\n", nvtxDomainRangePop(domain)))
    STEP("start", started[starts++] = nvtxRangeStartA(argument))
    STEP("end", nvtxRangeEnd(started[--starts]))
    STEP("mark", nvtxMarkA(argument))
    STEP("domain", domain = *argument ? nvtxDomainCreateA(argument) : NULL)
    STEP("category", nvtxDomainNameCategoryA(domain, 7, argument))
    STEP("payload", do_payload(argument))
    STEP("schema", do_schema())
    STEP("deferred", ranges_deferred(domain, argument))
    STEP("lock", do_lock(argument))
    STEP("hold", do_hold(argument))
    STEP("destroy", nvtxDomainSyncUserDestroy(held))
    STEP("thread", nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), argument))
    STEP("stream", nvtxNameCuStreamA(stream, argument))
    STEP("event", nvtxNameCuEventA((CUevent)(uintptr_t)0xe0e0, argument))
    STEP("device", nvtxNameCuDeviceA(0, argument))
    STEP("worker", do_worker(argument))
    STEP("many", do_many(n))
    STEP("churn", do_churn(n))
    STEP("threads", do_threads())
    STEP("loading", do_loading(n))
    STEP("kernel", do_kernels(n))
    STEP("sync", CHECK(cu.StreamSynchronize(stream)))
    STEP("sleep", sleep_ms(n))
    STEP("begin", (sl_start(), wait_until(is_recording, 0)))
    STEP("stop", sl_stop())
    STEP("windows", wait_until(are_complete, (uint64_t)n))
    STEP("fork", do_fork())
#undef STEP
    fprintf(stderr, "ranges: unknown step '%s'\n", step);
    exit(2);
}

static void run_steps(char **step, int steps)
{
    for (int i = 0; i < steps; i++)
        run_step(step[i]);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("main %ld\n", (long)syscall(SYS_gettid));
    run_steps(argv + 1, argc - 1);
    puts("done");
    return 0;
}
