/*
 * cupti_failures_test.c - each function of CUPTI that the library calls fails at its first call,
 * its second call and so on, or at every call. The host is not affected: no call hangs, and no
 * thread or open file is left. A message names what is missing from the trace.
 */
#include <sys/mman.h>

#include "life.h"
#include "unit/collect/cupti/graphs.h"

enum {
    LAUNCHES = 20,
    CALLS_MOST = 12, /* how many calls of each function are made to fail, one per run */
    LAUNCH_KERNEL = 211
};

/* ---- functions that the fake CUPTI of life.h lacks ---- */

static int fake_EnableRuntimeApi(uint32_t cbid, uint8_t on)
{
    if (cbid == LAUNCH_KERNEL)
        fake.on[SL_CUPTI_KIND_RUNTIME] = on;
    return 0;
}

static int fake_EnableDriverApi(uint32_t cbid, uint8_t on)
{
    (void)cbid;
    (void)on;
    return 0;
}

static int fake_EnableAllSyncRecords(uint8_t on)
{
    (void)on;
    return 0;
}

static int fake_GetAttribute(int attribute, size_t *size, void *value)
{
    memset(value, 0, *size);
    *(uint8_t *)value = fake.attribute[attribute];
    return 0;
}

/* ---- failures ---- */

static const char *function; /* the name of the function that fails */
static unsigned which;       /* number of the failing call; 0: every call fails */
static _Atomic unsigned calls, failures;

static struct {
    unsigned calls;
} * shared; /* with the child */

static int fails(const char *name)
{
    int is_it;

    if (strcmp(name, function) != 0)
        return 0;
    is_it = ++calls == which || which == 0;
    failures += (unsigned)is_it;
    return is_it;
}

#define FAILING(name, real, parameters, arguments)                                                 \
    static int failing_##name parameters                                                           \
    {                                                                                              \
        return fails(#name) ? SL_CUPTI_ERROR_UNKNOWN : real arguments;                             \
    }

FAILING(GetVersion, fake_GetVersion, (uint32_t * version), (version))
FAILING(ActivityRegisterCallbacks, fake_RegisterCallbacks,
        (sl_cupti_request_fn request, sl_cupti_complete_fn complete), (request, complete))
FAILING(ActivityEnable, fake_Enable, (int kind), (kind))
FAILING(ActivityDisable, fake_Disable, (int kind), (kind))
FAILING(ActivityEnableRuntimeApi, fake_EnableRuntimeApi, (uint32_t cbid, uint8_t on), (cbid, on))
FAILING(ActivityEnableDriverApi, fake_EnableDriverApi, (uint32_t cbid, uint8_t on), (cbid, on))
FAILING(ActivityEnableAllSyncRecords, fake_EnableAllSyncRecords, (uint8_t on), (on))
FAILING(ActivityFlushAll, fake_FlushAll, (uint32_t flag), (flag))
FAILING(ActivityGetNextRecord, fake_GetNextRecord, (uint8_t * buffer, size_t valid, void **record),
        (buffer, valid, record))
FAILING(ActivityGetNumDroppedRecords, fake_GetNumDroppedRecords,
        (void *context, uint32_t stream, size_t *dropped), (context, stream, dropped))
FAILING(ActivitySetAttribute, fake_SetAttribute, (int attribute, size_t *size, void *value),
        (attribute, size, value))
FAILING(ActivityGetAttribute, fake_GetAttribute, (int attribute, size_t *size, void *value),
        (attribute, size, value))
FAILING(SetThreadIdType, fake_SetThreadIdType, (int type), (type))
FAILING(GetTimestamp, fake_GetTimestamp, (uint64_t * ns), (ns))
FAILING(GetResultString, fake_GetResultString, (int result, const char **text), (result, text))
FAILING(Subscribe, graphs_Subscribe, (void **subscriber, void *callback, void *user),
        (subscriber, callback, user))
FAILING(Unsubscribe, graphs_Unsubscribe, (void *subscriber), (subscriber))
FAILING(EnableCallback, graphs_EnableCallback,
        (uint32_t on, void *subscriber, int domain, uint32_t cbid), (on, subscriber, domain, cbid))
FAILING(GetGraphId, graphs_GetGraphId, (void *graph, uint32_t *id), (graph, id))
FAILING(GetGraphNodeId, graphs_GetGraphNodeId, (void *node, uint64_t *id), (node, id))

#define ENTRY(name) .name = failing_##name
static const struct sl_cupti_functions failing = {
    ENTRY(GetVersion),
    ENTRY(ActivityRegisterCallbacks),
    ENTRY(ActivityEnable),
    ENTRY(ActivityDisable),
    ENTRY(ActivityEnableRuntimeApi),
    ENTRY(ActivityEnableDriverApi),
    ENTRY(ActivityEnableAllSyncRecords),
    ENTRY(ActivityFlushAll),
    ENTRY(ActivityGetNextRecord),
    ENTRY(ActivityGetNumDroppedRecords),
    ENTRY(ActivitySetAttribute),
    ENTRY(ActivityGetAttribute),
    ENTRY(SetThreadIdType),
    ENTRY(GetTimestamp),
    ENTRY(GetResultString),
    ENTRY(Subscribe),
    ENTRY(Unsubscribe),
    ENTRY(EnableCallback),
    ENTRY(GetGraphId),
    ENTRY(GetGraphNodeId),
};

static const struct {
    const char *name;
    enum {
        NEEDED = 1, /* nothing is recorded without this function */
        SILENT = 2, /* a failure prints nothing */
        MANY = 4,   /* a failure prints a line for each kind, attribute or domain of calls */
    } how;
} functions[] = {
    {"GetVersion", NEEDED},
    {"ActivityRegisterCallbacks", NEEDED},
    {"ActivityEnable", MANY},
    {"ActivityDisable", 0},
    {"ActivityEnableRuntimeApi", 0},
    {"ActivityEnableDriverApi", 0},
    {"ActivityEnableAllSyncRecords", 0},
    {"ActivityFlushAll", 0},
    {"ActivityGetNextRecord", SILENT},
    {"ActivityGetNumDroppedRecords", 0},
    {"ActivitySetAttribute", MANY},
    {"ActivityGetAttribute", 0},
    {"SetThreadIdType", 0},
    {"GetTimestamp", SILENT},
    {"GetResultString", SILENT},
    {"Subscribe", 0},
    {"Unsubscribe", SILENT},
    {"EnableCallback", 0},
    {"GetGraphId", SILENT},
    {"GetGraphNodeId", SILENT},
};
/* Three functions are not in the table: ActivityEnableCalls is a function of v2.c, and only other
 * clients call RegisterTimestampCallback and Finalize. */
_Static_assert(sizeof(functions) / sizeof(*functions) + 3 ==
                   sizeof(struct sl_cupti_functions) / sizeof(void (*)(void)),
               "every function that the library calls has a row");

/* ---- the child ---- */

static int how;

/* Returns the number of lines that the library printed about failures of the function. */
static int lines_of_failures(void)
{
    char wanted[64], line[1024];
    FILE *f = fopen(said, "r");
    int lines = 0;

    CHECK(f);
    snprintf(wanted, sizeof(wanted), "cupti%s failed", function);
    while (fgets(line, sizeof(line), f))
        lines += strstr(line, wanted) != NULL;
    fclose(f);
    return lines;
}

static void play_failure(void)
{
    int is_armed = inject_cupti(&failing, "SYNCLINE_GRAPH_EDGES=1"), kernels = 0;

    if (graphs.callback)
        graphs_tell(GRAPHS_CREATED, (struct graph_data){.graph = (void *)1, .node = (void *)2});
    for (int i = 0; i < LAUNCHES; i++)
        fake_launch("k", 1);
    sl_process_exit();
    shared->calls = calls;
    CHECK(status_now().state == SL_STATE_PASSIVE);
    UNTIL(threads() == 0);
    CHECK(files("*.part") == 0);
    if (!is_armed)
        for (int kind = 0; kind < FAKE_KINDS; kind++)
            CHECK(!fake.on[kind] || strcmp(function, "ActivityDisable") == 0);
    if (!failures)
        return;
    if (files("1.pt.trace.json"))
        kernels = in_file("1.pt.trace.json", KERNEL);
    CHECK(kernels == LAUNCHES || stderr_has("syncline: "));
    CHECK(stderr_has("syncline: ") || how & SILENT);
    CHECK(lines_of_failures() <= 1 || how & MANY);
    if (how & NEEDED)
        CHECK(!is_armed && files("*") == 0 && stderr_has("nothing is recorded"));
}

static void whatever_fails_the_host_goes_on(void **state)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        function = functions[i].name;
        how = functions[i].how;
        for (which = 0, shared->calls = 0; which <= CALLS_MOST; which++) {
            if (which > 1 && shared->calls < which - 1)
                break; /* the library calls the function less often */
            in_child(play_failure);
            remove_folder(state);
            make_folder(state);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(whatever_fails_the_host_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
