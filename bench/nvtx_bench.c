/*
 * nvtx_bench.c - measures the cost of an NVTX push and the matching pop for the calling thread.
 *
 * The program calls NVTX through its header, whose function table points to syncline's functions.
 * The same run also measures a table of empty functions, and NVTX without a tool. The lane (the
 * thread's queue of ranges) is emptied between the measured times, because a push into a full lane
 * costs less. In a job the collector empties it on another processor. The fastest of many short
 * rounds counts, because other rounds were disturbed. Then 10^5 threads make one range each, which
 * shows how much memory syncline keeps for threads.
 *
 *   nvtx_bench [--json FILE] [--threads N]
 */
#include <nvtx3/nvToolsExtPayload.h>

#include <pthread.h>
#include <stdatomic.h>

#include "collect/lane/lane_read.h"
#include "collect/nvtx/calls.h"
#include "collect/nvtx/nvtx.h"
#include "collect/nvtx/read.h"
#include "table.h"

enum {
    PAIRS = 400, /* pushes per round, fewer than a lane holds */
    ROUNDS = 4000,
};

/* ---- attaching to this program's own copy of NVTX ---- */

static int empty_push(const nvtxEventAttributes_t *a)
{
    (void)a;
    return 0;
}

static int empty_domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    (void)domain;
    (void)a;
    return 0;
}

static int empty_push_a(const char *text)
{
    (void)text;
    return 0;
}

static int empty_pop(void)
{
    return 0;
}

static int empty_domain_pop(nvtxDomainHandle_t domain)
{
    (void)domain;
    return 0;
}

struct functions {
    sl_nvtx_function push_ex, push_a, pop, domain_push_ex, domain_pop;
};

static const void *(*export_table)(uint32_t id);

/* The NVTX header calls this function when the program first uses NVTX. The function stores the
 * header's function table. */
static int note_table(const void *(*get)(uint32_t id))
{
    export_table = get;
    return 1;
}

NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr;

static void set(const struct functions *f)
{
    const NvtxExportTableCallbacks *callbacks = export_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable core, core2;
    unsigned size;

    callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &size);
    callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &size);
    *core[NVTX_CBID_CORE_RangePushEx] = (NvtxFunctionPointer)f->push_ex;
    *core[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)f->push_a;
    *core[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)f->pop;
    *core2[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)f->domain_push_ex;
    *core2[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)f->domain_pop;
}

/* ---- the cost of a push and a pop ---- */

static struct {
    nvtxDomainHandle_t domain;
    nvtxEventAttributes_t string, text;
} with;

static void push_strings(void)
{
    for (int i = 0; i < PAIRS; i++) {
        nvtxDomainRangePushEx(with.domain, &with.string);
        nvtxDomainRangePop(with.domain);
    }
}

static void push_texts(void)
{
    for (int i = 0; i < PAIRS; i++) {
        nvtxRangePushA("a range of the program's");
        nvtxRangePop();
    }
}

static struct sl_nvtx_read *reader;
static struct sl_lane_reader all_lanes;

static void take_record(void *user, uint32_t thread, const struct sl_lane_record *record,
                        uint64_t ns)
{
    (void)user;
    sl_nvtx_read_record(reader, thread, record, ns);
}

/* Returns the time for a push and a pop, in ns. */
static double cost(void (*run)(void), int read)
{
    double best = 1e9;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t from = bench_wall_ns();
        double ns;

        run();
        ns = (double)(bench_wall_ns() - from) / PAIRS;
        best = ns < best ? ns : best;
        if (read)
            sl_lane_reader_read(&all_lanes, UINT64_MAX);
    }
    return best;
}

/* ---- the memory for threads that make one range ---- */

static void *one_range(void *user)
{
    nvtxRangePushA("short life");
    nvtxRangePop();
    return user;
}

static void churn(long threads)
{
    pthread_t id[8];

    for (long i = 0; i < threads; i += 8) {
        for (int j = 0; j < 8; j++)
            pthread_create(&id[j], NULL, one_range, NULL);
        for (int j = 0; j < 8; j++)
            pthread_join(id[j], NULL);
        sl_lane_reader_read(&all_lanes, UINT64_MAX);
    }
}

/* ---- the cost of a range in the recorder and the writer ---- */

static void take(void *user, const struct sl_event *ev)
{
    (void)user;
    (void)ev;
}

static void name(void *user, const struct sl_named *what, uint32_t id)
{
    (void)user;
    (void)what;
    (void)id;
}

static void open_reader(void)
{
    static struct sl_ranges *ranges;
    static struct sl_intern *texts;
    const struct sl_ranges_options opt = {.sink = take};
    const struct sl_lane_reader_options lane = {.record = take_record};
    struct sl_nvtx_read_options read = {.texts_bytes = 1 << 20, .sink = take, .named = name};

    if (sl_ranges_create(&ranges, &opt) || sl_intern_create(&texts, 4 << 20))
        exit(2);
    read.ranges = ranges;
    read.intern = texts;
    if (sl_nvtx_read_create(&reader, &read))
        exit(2);
    sl_lane_reader_init(&all_lanes, &lane);
}

int main(int argc, char **argv)
{
    static const struct functions empty = {
        (sl_nvtx_function)empty_push, (sl_nvtx_function)empty_push_a, (sl_nvtx_function)empty_pop,
        (sl_nvtx_function)empty_domain_push, (sl_nvtx_function)empty_domain_pop};
    static const struct functions none;
    struct bench_table t;
    long threads = strtol(bench_option(argc, argv, "--threads", "100000"), NULL, 10);
    double empty_string, empty_text;
    uint64_t lanes;

    bench_begin(&t, "nvtx", argc, argv);
    InitializeInjectionNvtx2_fnptr = note_table;
    nvtxRangePushA("the first call");
    if (sl_nvtx_init(16 << 20) || !export_table)
        return 2;
    open_reader();
    set(&empty);
    empty_string = cost(push_strings, 0);
    empty_text = cost(push_texts, 0);
    sl_nvtx_attach(export_table);
    with.domain = nvtxDomainCreateA("a domain");
    with.string.version = NVTX_VERSION;
    with.string.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    with.string.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    with.string.message.registered = nvtxDomainRegisterStringA(with.domain, "registered");
    bench_row(&t, (struct bench_row){"empty functions, a pair", empty_string, "ns", .goal = 0});
    bench_row(&t, (struct bench_row){"push and pop, registered string", cost(push_strings, 1), "ns",
                                     .goal = 35});
    bench_row(&t,
              (struct bench_row){"empty functions, a pair with text", empty_text, "ns", .goal = 0});
    bench_row(&t, (struct bench_row){"push and pop, text", cost(push_texts, 1), "ns", .goal = 60});
    bench_row(&t, (struct bench_row){"records lost", (double)sl_lanes_lost(), "", .goal = 0});
    one_range(NULL);
    churn(8);
    lanes = sl_lanes_bytes();
    churn(threads);
    bench_row(&t, (struct bench_row){"bytes of lanes, before threads came and went", (double)lanes,
                                     "B", .goal = 0});
    bench_row(&t, (struct bench_row){"more behind them", (double)(sl_lanes_bytes() - lanes), "B",
                                     .goal = 8 * 66 << 10});
    set(&none);
    bench_row(&t,
              (struct bench_row){"push and pop, detached", cost(push_texts, 0), "ns", .goal = 1.5});
    return bench_end(&t);
}
