/*
 * config.c - the table of options, and the functions that read them from the environment.
 *
 * Threads: the application thread that called cuInit, once. Memory: the caller's; nothing is
 * allocated.
 */
#include "control/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "control/config_value.h"
#include "control/identity.h"

#define PREFIX        "SYNCLINE_"
#define PREFIX_LENGTH (sizeof(PREFIX) - 1)
#define MIB           (1ull << 20)
#define GIB           (1ull << 30)
#define SECOND_NS     1000000000ull
#define NAME_MAX_EDIT 64 /* longest option name in messages; a longer name is truncated */

/* The last two columns of an option. NULL means that the default replaces an invalid value. */
#define INVALID_IS_DEFAULT NULL, NULL

/* Enum fields are stored through int pointers, because gcc and clang give an enum the size of an
 * int. */
_Static_assert(sizeof(enum sl_detail) == sizeof(int), "an enum field is an int");
_Static_assert(sizeof(enum sl_cupti_api_choice) == sizeof(int), "an enum field is an int");
_Static_assert(sizeof(enum sl_torch_ops_mode) == sizeof(int), "an enum field is an int");
_Static_assert(sizeof(enum sl_chakra_files) == sizeof(int), "an enum field is an int");
_Static_assert(sizeof(enum sl_nccl_level) == sizeof(int), "an enum field is an int");
_Static_assert(sizeof(enum sl_collective_scope) == sizeof(int), "an enum field is an int");

static const struct sl_option_word kind_words[] = {
    {"kernel", SL_CUPTI_KERNEL, "kernels"},
    {"memcpy", SL_CUPTI_MEMCPY, "copies, including copies between devices"},
    {"memset", SL_CUPTI_MEMSET, "memsets"},
    {"runtime", SL_CUPTI_RUNTIME, "runtime API calls (`cuda*`)"},
    {"driver", SL_CUPTI_DRIVER, "driver API calls (`cu*`)"},
    {"sync", SL_CUPTI_SYNC, "synchronization and CUDA events"},
    {"overhead", SL_CUPTI_OVERHEAD, "CUPTI's own overhead, full queues, loading of modules"},
    {"collectives", SL_KIND_COLLECTIVES,
     "each launch of collectives by NCCL as a row of its own (docs/nccl.md). Given alone, calls of "
     "torch.distributed, NCCL's ranges and steps are the only other rows"},
    {"none", 0, "given alone, without other words; neither GPU work nor CUDA calls are recorded"},
    {"off", 0, "the same"},
    {NULL, 0, NULL},
};

static const struct sl_option_word api_words[] = {
    {"default", 0,
     "calls that launch, copy, set, wait, order streams, call the host, allocate or load code, "
     "and calls that create and destroy graphs, streams, events and contexts; "
     "docs/trace-format-details.md has the list"},
    {"all", 1, "every call, including frequent ones such as `cudaGetDevice`"},
    {NULL, 0, NULL},
};

static const struct sl_option_word cupti_api_words[] = {
    {"auto", SL_CUPTI_API_AUTO,
     "`v1` if a loaded library (such as PyTorch) uses the older interface, because one process "
     "cannot use both interfaces; otherwise `v2` from CUPTI 13.3 on"},
    {"v1", SL_CUPTI_API_V1,
     "the older interface, which every CUPTI has, with one client for the whole process"},
    {"v2", SL_CUPTI_API_V2,
     "the newer interface, from CUPTI 13.2 on: a subscriber for each client, so that tools which "
     "use this interface do not disturb each other. CUPTI 13.2 hides dropped records from "
     "subscribers, so sync edges are turned off there. From 13.4 on, records have only the fields "
     "that syncline reads, half the bytes for a kernel"},
    {"v2-whole", SL_CUPTI_API_V2_WHOLE, "`v2` with whole records"},
    {NULL, 0, NULL},
};

static const struct sl_option_word detail_words[] = {
    {"lean", SL_DETAIL_LEAN,
     "no flow arrows, no occupancy and no bandwidth; about half the cost of `default`"},
    {"default", SL_DETAIL_DEFAULT, "everything that trace viewers and HTA read"},
    {"full", SL_DETAIL_FULL,
     "`default`, and also clusters, channels, kinds of shared memory and values of memsets"},
    {NULL, 0, NULL},
};

static const struct sl_option_word chakra_words[] = {
    {"off", SL_CHAKRA_OFF, "no execution trace"},
    {"none", SL_CHAKRA_OFF, "the same"},
    {"raw", SL_CHAKRA_RAW,
     "`.et`, not compressed, which is the only form that simulators read; 7 to 17 times as large "
     "as the trace"},
    {"gzip", SL_CHAKRA_GZIP, "`.et.gz` at gzip's level 1, for Chakra's Python tools"},
    {"zstd", SL_CHAKRA_ZSTD,
     "`.et.zst` at zstd's level -3, whatever SYNCLINE_COMPRESSION says; `syncline convert X.et.zst "
     "--to chakra -o X.et` decompresses it"},
    {NULL, 0, NULL},
};

static const struct sl_option_word nccl_words[] = {
    {"off", SL_NCCL_OFF, "NCCL does not load syncline's profiler plugin"},
    {"calls", SL_NCCL_CALLS,
     "NCCL's calls, and what each of its kernels does: communicator, size, algorithm, protocol"},
    {"channels", SL_NCCL_CHANNELS,
     "`calls`, and a row for each channel of a kernel. It can slow down NCCL, and crash it before "
     "2.31 (docs/nccl.md)"},
    {"network", SL_NCCL_NETWORK,
     "`channels`, and what NCCL's proxy threads send and receive over the network"},
    {NULL, 0, NULL},
};

static const struct sl_option_word collectives_words[] = {
    {"all", SL_COLLECTIVES_ALL, "all calls"},
    {"crossnode", SL_COLLECTIVES_CROSSNODE,
     "calls of groups whose ranks are on several nodes, and sends and receives whose other rank is "
     "on another node"},
    {"none", SL_COLLECTIVES_NONE, "no calls"},
    {NULL, 0, NULL},
};

static const struct sl_option_word ops_words[] = {
    {"off", SL_TORCH_OPS_OFF, "no operators, and no source lines of waits"},
    {"none", SL_TORCH_OPS_OFF, "the same"},
    {"lean", SL_TORCH_OPS_LEAN,
     "names, threads and sequence numbers; about 0.3 us for each operator"},
    {"full", SL_TORCH_OPS_FULL, "`lean`, and also shapes, types, strides and values of inputs"},
    {NULL, 0, NULL},
};

static const struct sl_option_word log_words[] = {
    {"off", SL_LOG_OFF, "nothing"},
    {"error", SL_LOG_ERROR, "problems that stop recording"},
    {"warn", SL_LOG_WARN, "problems that lose something"},
    {"info", SL_LOG_INFO, "where the traces go, and at the end of rank 0 how many there are"},
    {"debug", SL_LOG_DEBUG, "each completed trace, and details for developers of syncline"},
    {NULL, 0, NULL},
};

#define FIELD(name) offsetof(struct sl_config, name), sizeof(((struct sl_config *)0)->name)

const struct sl_option sl_config_table[] = {
    {"SYNCLINE_ENABLED", SL_OPTION_BOOL, "1", "0 or 1",
     "With 0 the library is loaded and does nothing.", FIELD(enabled), 0, 0, NULL, "0",
     "recording is off"},
    {"SYNCLINE_OUTPUT", SL_OPTION_TEXT, "./syncline-out", "a folder",
     "The folder for traces: `OUTPUT/JOB/HOST-RANK-PID/WINDOW.pt.trace.json.zst`. syncline "
     "creates a missing folder. A relative path starts at the working directory that the process "
     "has when CUDA is initialised.\n"
     "\n"
     "- If `HOST-RANK-PID` exists already, it belongs to another process, or to the program before "
     "an `exec`. Then the folder is `HOST-RANK-PID-2`, `-3` and so on.\n"
     "- If `JOB` belongs to another user, the folder is `JOB-UID`, with the id of this user. "
     "Root's "
     "folders are shared, and those of the user that owns `OUTPUT`.\n"
     "- `OUTPUT` may be a symbolic link. Below it, syncline follows no link and writes nothing "
     "through one.\n"
     "- If the program changes its root folder (`chroot`), recording ends.",
     FIELD(output), 0, 0, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_JOB", SL_OPTION_TEXT, "", "a name",
     "The job's name in the path. If the value is empty, the name is the scheduler's job id "
     "(torchrun, Slurm, PBS, LSF, Grid Engine, Ray, JobSet, Volcano, PMIx), or `local` without a "
     "scheduler. Characters other than letters, digits, `.`, `_` and `-` become `_`.",
     FIELD(job), 0, 0, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_RUN", SL_OPTION_TEXT, "", "a name",
     "The id of this run of the job, which all ranks must share and which the next run must not "
     "have. `syncline` commands use the id to separate the runs in a job's folder. If the value is "
     "empty, syncline makes an id from what the launcher and the scheduler set; "
     "docs/pytorch-details.md says when that cannot separate runs or ranks.",
     FIELD(run), 0, 0, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_MODE", SL_OPTION_MODE, "0600", "an octal file mode, 0600 to 0666, without x bits",
     "The mode of trace files, for example 0644 in a container whose traces another user reads. "
     "Folders that syncline creates also have `x` where files have `r`. The umask does not change "
     "these modes, and existing folders keep theirs.",
     FIELD(mode), 0600, 0666, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_WINDOW", SL_OPTION_WINDOW, "run",
     "run, time:LENGTH/PERIOD, steps:COUNT/PERIOD, demand, off",
     "When to record. Each window is a complete file.\n"
     "\n"
     "- `run`: the whole run, from the first CUDA call to the end of the process.\n"
     "- `time:2s/60s`: two seconds of every minute. The first window begins with the process. The "
     "others begin at the multiples of the period since 1970-01-01 UTC, so ranks on hosts with "
     "synchronised clocks record the same seconds. A window has at least 10 ms. A window without "
     "any event leaves no file.\n"
     "- `steps:3/500`: steps 1 to 3, 501 to 503, 1001 to 1003 and so on, the same on every rank. "
     "The step before the first step's end has number 0 and is left out. docs/pytorch.md says what "
     "a step is.\n"
     "- `demand`: from `sl_start()` to `sl_stop()`.\n"
     "- `off`: never. `sl_start()` fails.\n"
     "\n"
     "`sl_start()` and `sl_stop()` work in every other mode.\n"
     "\n"
     "Files are named `step-000000501` after the window's first step, `20261125T183701.250Z` after "
     "the time (UTC) at which a window of `time` begins, and by the window's number otherwise. The "
     "counter `windows_missed` in a file says how many due windows were missed since the previous "
     "file, because the previous window was not complete, or because turning CUPTI on took too "
     "long. A window of steps is recorded with exactly its steps or is missed; a window of `time` "
     "may begin late.",
     FIELD(window_mode), 10000000, 365ull * 86400 * SECOND_NS, NULL, "demand",
     "recording waits for start()"},
    {"SYNCLINE_LEAD_IN", SL_OPTION_DURATION, "1s", "0 to 1min",
     "How long before a window syncline collects records without writing them. From these records "
     "syncline knows which work is pending when the window opens. A window that is requested by "
     "`sl_start()` opens only after this time. If `sl_stop()` comes earlier, the window's file has "
     "what was recorded so far, and says `\"lead_in\":\"short\"`. Windows of steps have a lead-in "
     "of "
     "one step or more instead. A window that is open from the start of the process has no "
     "lead-in.",
     FIELD(lead_in_ns), 0, 60 * SECOND_NS, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_KINDS", SL_OPTION_SET, "kernel,memcpy,memset,runtime,driver,sync,overhead",
     "any of kernel, memcpy, memset, runtime, driver, sync, overhead, collectives, joined by "
     "commas; or none, "
     "off",
     "What to record. Names of devices, contexts and streams are always recorded. Without "
     "`runtime` or `driver`, GPU work that the program launches through that API depends on no "
     "call in the execution trace, and a replay begins this work too early. `syncline check X.et` "
     "counts such work.",
     FIELD(kinds), 0, 0, kind_words, "none", "no GPU work and no CUDA calls are recorded"},
    {"SYNCLINE_API", SL_OPTION_CHOICE, "default", "default, all",
     "Which runtime and driver calls to record.", FIELD(api_all), 0, 0, api_words,
     INVALID_IS_DEFAULT},
    {"SYNCLINE_DETAIL", SL_OPTION_CHOICE, "default", "lean, default, full",
     "How much is written about each event.", FIELD(detail), 0, 0, detail_words,
     INVALID_IS_DEFAULT},
    {"SYNCLINE_COMPRESSION", SL_OPTION_COMPRESSION, "zstd:1", "zstd[:LEVEL], gzip[:LEVEL], none",
     "How files are compressed. The level is -7 to 19 without 0 for zstd, 1 to 9 for gzip; the "
     "default level is 1. zstd is the fastest. Perfetto and HTA read gzip files, and `syncline "
     "convert` turns a zstd file into a gzip file.",
     FIELD(compression), 0, 0, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_CHAKRA", SL_OPTION_CHOICE, "zstd", "off, none, raw, gzip, zstd",
     "The Chakra execution trace of each window, `WINDOW.RANK.et.zst` beside the Kineto file. The "
     "execution trace takes three sixteenths of SYNCLINE_MEMORY and needs 12 MiB. With less than "
     "64MiB of SYNCLINE_MEMORY there is no execution trace.",
     FIELD(chakra), 0, 0, chakra_words, "off", "no execution trace is written"},
    {"SYNCLINE_GRAPH_EDGES", SL_OPTION_BOOL, "0", "0 or 1",
     "With 1 syncline also finds the edges between the nodes of a CUDA graph, and the PyTorch "
     "operator that captured each kernel of a replay. CUPTI reports graph nodes only to its "
     "subscriber, and a process can have only one subscriber. torch.profiler, nsys and other "
     "tools subscribe too, and record no GPU work if they cannot subscribe.\n"
     "\n"
     "- If another tool has subscribed already, syncline finds neither edges nor operators of "
     "graph nodes, and counts the missing edges.\n"
     "- If a library that is linked with CUPTI subscribes later, syncline unsubscribes first. "
     "From then on syncline finds neither edges nor operators of graph nodes. (torch.profiler's "
     "library subscribes before its first session.) With SYNCLINE_HANDOVER=0 syncline stays "
     "subscribed.",
     FIELD(graph_edges), 0, 0, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_DISK", SL_OPTION_SIZE, "10GiB", "1MiB to 1024GiB",
     "Maximum size of the files of this process. In addition syncline keeps 5 % of the file "
     "system free, at most 10 GiB.\n"
     "\n"
     "- With `SYNCLINE_WINDOW=run` the window ends at a limit, and nothing more is recorded.\n"
     "- In the other modes the oldest windows are deleted, but never the first. syncline deletes "
     "only files that this process wrote and that nobody has changed since.\n"
     "\n"
     "A log line reports the first time that a limit is reached. The counter `windows_deleted` in "
     "the trace counts deleted windows.",
     FIELD(disk_bytes), MIB, 1024 * GIB, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_MEMORY", SL_OPTION_SIZE, "64MiB", "16MiB to 64GiB",
     "Maximum host memory for names and for events on their way to the file. Past this limit, "
     "events are dropped and counted; the trace has the count.\n"
     "\n"
     "All memory options together take at most an eighth of what the host's limits leave (the "
     "memory of its container or cgroup divided by the ranks of the machine, `ulimit -v`, `ulimit "
     "-d`). If the options ask for more, syncline lowers them and logs this. If not even the "
     "minimum of each option fits, nothing is recorded. If less memory is left later, "
     "SYNCLINE_CUPTI_MEMORY is lowered again. If three quarters of the minima do not fit any more, "
     "recording pauses until the minima fit.",
     FIELD(memory_bytes), 16 * MIB, 64 * GIB, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_CUPTI_MEMORY", SL_OPTION_SIZE, "128MiB", "4MiB to 64GiB",
     "Maximum host memory for CUPTI buffers. Each thread that calls CUDA holds one buffer of 512 "
     "KiB. Past the limit, records are dropped and counted.",
     FIELD(cupti_memory_bytes), 4 * MIB, 64 * GIB, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_CUPTI_API", SL_OPTION_CHOICE, "auto", "auto, v1, v2, v2-whole",
     "Which CUPTI interface is used.", FIELD(cupti_api), 0, 0, cupti_api_words, INVALID_IS_DEFAULT},
    {"SYNCLINE_HANDOVER", SL_OPTION_BOOL, "1", "0 or 1",
     "CUPTI serves one profiler at a time.\n"
     "\n"
     "- 1: when torch.profiler, or another library that is linked with CUPTI, begins to record, "
     "syncline first hands CUPTI over to the other profiler, and takes CUPTI back afterwards. The "
     "trace shows the gap. To notice such a library, syncline redirects the library's calls of "
     "CUPTI to itself.\n"
     "- 0: syncline changes no library. Then the other profiler misses all records until "
     "syncline's CUPTI buffers are empty, and syncline misses the records after that.",
     FIELD(handover), 0, 0, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_NVTX", SL_OPTION_BOOL, "1", "0 or 1",
     "With 1 syncline records the ranges, marks and names that the program gives to NVTX; this "
     "costs about 30 ns a range. With 0 syncline leaves NVTX alone.",
     FIELD(nvtx), 0, 0, NULL, "0", "NVTX is left alone"},
    {"SYNCLINE_NVTX_MEMORY", SL_OPTION_SIZE, "24MiB", "1MiB to 1GiB",
     "Maximum host memory for ranges. Two thirds are for the ranges and operators that threads "
     "record: 64 KiB to 1 MiB for each recording thread. The rest is for ranges whose GPU work is "
     "not known yet. Past the limit, ranges and operators are dropped and counted.",
     FIELD(nvtx_memory_bytes), MIB, GIB, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_PYTHON", SL_OPTION_BOOL, "1", "0 or 1",
     "With 1 a Python interpreter in the process loads syncline's package, which finds the job's "
     "steps and hands CUPTI over to torch.profiler (docs/pytorch.md). With 0 syncline leaves "
     "Python alone. (Under `syncline run`, `import syncline` still works.)",
     FIELD(python), 0, 0, NULL, "0", "Python is left alone"},
    {"SYNCLINE_MODULES", SL_OPTION_BOOL, "0", "0 or 1",
     "With 1 each forward pass of an `nn.Module` is a range with the module's name.",
     FIELD(modules), 0, 0, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_HOME", SL_OPTION_TEXT, "", "a folder",
     "The folder of syncline's Python package and PyTorch observers, an absolute path. If the "
     "value is empty, the folder is `syncline/` beside the library. Code is loaded only from files "
     "and folders that belong to root, to the job's user or to the owner of the library, and that "
     "nobody else can write.",
     FIELD(home), 0, 0, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_SOURCE_DEPTH", SL_OPTION_NUMBER, "1", "0 to 8",
     "How many lines of Python code are recorded for each wait for the GPU, from the innermost "
     "outwards. Lines of Python's own library and of PyTorch are left out. With 0 no lines are "
     "recorded.",
     FIELD(source_depth), 0, SL_SOURCE_DEPTH_MAX, NULL, "0", "waits have no source lines"},
    {"SYNCLINE_OPS", SL_OPTION_CHOICE, "lean", "off, none, lean, full",
     "PyTorch operators, and scopes of `record_function()`. A small library, the observer, "
     "records the operators and scopes. It is compiled for your PyTorch version "
     "(`python_hook/build_observers.sh`).",
     FIELD(ops), 0, 0, ops_words, "off", "no operators of PyTorch are recorded"},
    {"SYNCLINE_OPS_MEMORY", SL_OPTION_SIZE, "16MiB", "4MiB to 4GiB",
     "Maximum host memory for operators. Three quarters are for operators whose CUDA calls have "
     "not all arrived, the rest for shapes and values of inputs. Past the limit, some calls have "
     "no operator, and some operators have no inputs; both losses are counted.",
     FIELD(ops_memory_bytes), 4 * MIB, 4 * GIB, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_NCCL", SL_OPTION_CHOICE, "calls", "off, calls, channels, network",
     "What NCCL 2.27 and later report about collectives, through NCCL's profiler plugin interface "
     "(docs/nccl.md). A profiler plugin of your own (`NCCL_PROFILER_PLUGIN`) takes precedence.",
     FIELD(nccl), 0, 0, nccl_words, INVALID_IS_DEFAULT},
    {"SYNCLINE_NCCL_SAMPLE", SL_OPTION_NUMBER, "1", "1 to 1000000",
     "With N, NCCL describes only every N-th collective of each function of a communicator, by "
     "NCCL's number, which is equal on all ranks. So all ranks keep the same collectives. Messages "
     "are counted for each pair of ranks (docs/nccl.md). `syncline collectives` scales its totals. "
     "The sample does not change what CUPTI and PyTorch record.",
     FIELD(nccl_sample), 1, 1000000, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_COLLECTIVES", SL_OPTION_CHOICE, "all", "all, crossnode, none",
     "Which calls of torch.distributed are printed by SYNCLINE_COLLECTIVES_PRINT, and listed by "
     "`syncline collectives`. Traces always have all calls. Each node has as many ranks as the "
     "launcher says (`LOCAL_WORLD_SIZE`); `syncline collectives` knows the hosts of the ranks. If "
     "this is not set, TORCH_DISTRIBUTED_TRACING counts.",
     FIELD(collectives), 0, 0, collectives_words, INVALID_IS_DEFAULT},
    {"SYNCLINE_COLLECTIVES_PRINT", SL_OPTION_BOOL, "0", "0 or 1",
     "With 1, each recorded call of torch.distributed is printed on stdout as a line of JSON, like "
     "by Google's monitor_collectives.py (docs/from-monitor-collectives.md). Lines that the reader "
     "of stdout does not take in time are dropped and counted. If this is not set, "
     "TORCH_DISTRIBUTED_TRACING_PRINT counts.",
     FIELD(collectives_print), 0, 0, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_DUMP_CUPTI", SL_OPTION_TEXT, "", "a new file",
     "For developers. syncline also writes the unchanged CUPTI buffers to this file, so that the "
     "run can be replayed (docs/cupti-dump.md). `%p` becomes the process id. The file has at most "
     "1 GiB and mode 0600. The thread that empties CUPTI buffers writes the file, so records are "
     "lost if the disk is slow.",
     FIELD(dump_cupti), 0, 0, NULL, INVALID_IS_DEFAULT},
    {"SYNCLINE_LOG", SL_OPTION_CHOICE, "info", "off, error, warn, info, debug",
     "Which messages syncline writes to stderr. Each level includes the messages of the levels "
     "above it.",
     FIELD(log_level), 0, 0, log_words, INVALID_IS_DEFAULT},
    {NULL, SL_OPTION_BOOL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, INVALID_IS_DEFAULT},
};

const char *sl_config_lookup(char *const *environment, const char *name)
{
    size_t length = strlen(name);

    for (; *environment; environment++) {
        if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
            return *environment + length + 1;
    }
    return NULL;
}

const char *sl_config_nearest(const char *name)
{
    unsigned best = ~0u;
    const char *nearest = NULL;

    for (const struct sl_option *o = sl_config_table; o->name; o++) {
        unsigned distance = sl_nearest_distance(name, o->name);

        if (distance < best) {
            best = distance;
            nearest = o->name;
        }
    }
    return nearest;
}

static int is_known(const char *name, size_t length)
{
    for (const struct sl_option *o = sl_config_table; o->name; o++) {
        if (strlen(o->name) == length && !strncmp(o->name, name, length))
            return 1;
    }
    return 0;
}

char *const *sl_config_unknown(char *const *environment)
{
    for (; *environment; environment++) {
        if (!strncmp(*environment, PREFIX, PREFIX_LENGTH) &&
            !is_known(*environment, strcspn(*environment, "=")))
            return environment;
    }
    return NULL;
}

static void say_unknown(char *const *environment)
{
    unsigned count = 0;

    for (char *const *at = environment; (at = sl_config_unknown(at)); at++) {
        char name[NAME_MAX_EDIT];

        if (++count > SL_CONFIG_UNKNOWN_SHOWN)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*at, "="), *at);
        sl_log(SL_LOG_WARN, "%s is not an option of syncline and is ignored; did you mean %s?",
               name, sl_config_nearest(name));
    }
    if (count > SL_CONFIG_UNKNOWN_SHOWN)
        sl_log(SL_LOG_WARN, "%u more SYNCLINE_* variables are not options and are ignored",
               count - SL_CONFIG_UNKNOWN_SHOWN);
}

int sl_config_read_option(const struct sl_option *o, const char *text, struct sl_config *out)
{
    int err;

    sl_config_value_read(o, o->fallback, out);
    if (!text || !*text) /* in a shell, VARIABLE= means "not set" */
        return 0;
    err = sl_config_value_read(o, text, out);
    if (err && o->invalid)
        sl_config_value_read(o, o->invalid, out);
    return err;
}

/* Writes the valid values, for a message. If the text begins like one of the valid forms, writes
 * only that form. For "steps:3", this is "steps:COUNT/PERIOD". */
static void name_expected(const struct sl_option *o, const char *text, char *out, size_t size)
{
    const char *colon = strchr(text, ':'), *form = NULL;
    char start[16];

    if (colon && (size_t)(colon - text) < sizeof(start) - 1) {
        snprintf(start, sizeof(start), "%.*s", (int)(colon + 1 - text), text);
        form = strstr(o->values, start);
    }
    if (form)
        snprintf(out, size, "%.*s", (int)strcspn(form, ","), form);
    else
        snprintf(out, size, "%s", o->values);
}

void sl_config_explain(const struct sl_option *o, const char *text, int err, char *out, size_t size)
{
    char expected[256];
    const char *wrong = "is not valid";

    if (err == -ERANGE)
        wrong = o->type == SL_OPTION_TEXT ? "is too long" : "is out of range";
    name_expected(o, text, expected, sizeof(expected));
    if (o->invalid)
        snprintf(out, size, "%s=%.200s %s (expected %s); %s", o->name, text, wrong, expected,
                 o->invalid_means);
    else
        snprintf(out, size, "%s=%.200s %s (expected %s); the default %s is used", o->name, text,
                 wrong, expected, *o->fallback ? o->fallback : "(empty)");
}

static void read_option(const struct sl_option *o, struct sl_config *out, char *const *environment,
                        int may_speak)
{
    const char *text = sl_config_lookup(environment, o->name);
    int err = sl_config_read_option(o, text, out);
    char line[768];

    if (o->type == SL_OPTION_WINDOW)
        out->is_window_invalid = err != 0;
    if (!err || !may_speak)
        return;
    sl_config_explain(o, text, err, line, sizeof(line));
    sl_log(SL_LOG_WARN, "%s. Fix the value or unset it.", line);
}

static const struct sl_option *find_option(const char *name)
{
    const struct sl_option *o = sl_config_table;

    while (strcmp(o->name, name))
        o++;
    return o;
}

int sl_config_read_one(struct sl_config *out, const char *name, const char *text)
{
    return sl_config_read_option(find_option(name), text, out);
}

/* Reads the variables of Google's monitor_collectives.py that count where ours are not set. That
 * program writes its values in upper case. */
static void read_monitors(struct sl_config *out, char *const *environment, int may_speak)
{
    static const char *const names[][2] = {
        {"SYNCLINE_COLLECTIVES", "TORCH_DISTRIBUTED_TRACING"},
        {"SYNCLINE_COLLECTIVES_PRINT", "TORCH_DISTRIBUTED_TRACING_PRINT"},
    };
    char used[160] = "", value[16];
    size_t length = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *ours = sl_config_lookup(environment, names[i][0]);
        const char *theirs = sl_config_lookup(environment, names[i][1]);
        size_t size = theirs ? strlen(theirs) : 0;

        if ((ours && *ours) || !size || size >= sizeof(value))
            continue;
        for (size_t j = 0; j <= size; j++)
            value[j] = (char)tolower((unsigned char)theirs[j]);
        if (sl_config_read_option(find_option(names[i][0]), value, out) == 0)
            length += (size_t)snprintf(used + length, sizeof(used) - length, "%s%s is used as %s",
                                       length ? ", " : "", names[i][1], names[i][0]);
    }
    if (length && may_speak)
        sl_log(SL_LOG_INFO, "%s", used);
}

void sl_config_read(struct sl_config *out, char *const *environment)
{
    const struct sl_option *log = find_option("SYNCLINE_LOG"),
                           *enabled = find_option("SYNCLINE_ENABLED");
    /* All ranks of a job have the same options, so only rank 0 reports problems. */
    int may_speak = sl_identity_rank(environment) == 0;

    memset(out, 0, sizeof(*out));
    /* These two options are read first, because they decide whether problems of other options are
     * reported. The log level is set before problems of these two options are reported. */
    sl_config_read_option(log, sl_config_lookup(environment, log->name), out);
    sl_log_set_level(out->log_level);
    read_option(log, out, environment, may_speak);
    read_option(enabled, out, environment, may_speak);
    for (const struct sl_option *o = sl_config_table; o->name; o++) {
        if (o != log && o != enabled)
            read_option(o, out, out->enabled ? environment : (char *const[]){NULL}, may_speak);
    }
    if (out->enabled)
        read_monitors(out, environment, may_speak);
    if (out->enabled && may_speak)
        say_unknown(environment);
}
