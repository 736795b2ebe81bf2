/*
 * collectives_fuzz.c - lists the collectives of two damaged traces.
 *
 * For any input, `syncline collectives` must end without a crash or a sanitizer report, as JSON and
 * as text. The JSON must be valid, which excludes NaN. The input is the traces of two ranks with a
 * NUL byte between them; without a NUL byte it is one trace. The seeds are small traces made here.
 * With libFuzzer: build/fuzz/tests/fuzz/collectives_fuzz /tmp/found
 *
 * Threads: one, and the helpers that read. Memory: the input, and the command's.
 */
#undef NDEBUG /* assertions are needed in release builds, too, because they are the test */
#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command.h"
#include "fuzz.h"
#include "read/json_event.h"

static void check_json(const char *text, size_t size)
{
    struct sl_json_error error;
    struct sl_json *j;

    if (sl_json_create(&j) != 0)
        abort();
    if (size <= SL_JSON_TEXT_MAX)
        assert(sl_json_visit(j, "", text, size, NULL, NULL, &error) == 0);
    sl_json_destroy(j);
}

/* Runs `syncline collectives`. Its output goes to memory. */
static void list(int argc, const char **argv, int is_json)
{
    FILE *out = stdout, *err = stderr;
    char *text = NULL, *padded;
    size_t size = 0;
    int status;

    stdout = open_memstream(&text, &size);
    stderr = fopen("/dev/null", "w");
    if (!stdout || !stderr)
        abort();
    status = sl_args_run(&sl_cmd_collectives, argc, (char **)(uintptr_t)argv);
    fclose(stdout);
    fclose(stderr);
    stdout = out;
    stderr = err;
    assert(status >= 0 && status <= 2);
    padded = realloc(text, size + SL_JSON_PADDING);
    if (!padded)
        abort();
    if (size && is_json)
        check_json(padded, size);
    free(padded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *middle = memchr(data, '\0', size);
    size_t first = middle ? (size_t)(middle - data) : size;
    char path[2][64];
    const char *argv[] = {"collectives", path[0], path[1], NULL, NULL};
    int fd[2], files = 0;

    for (size_t at = 0, part = first; files < 2 && at < size; at = first + 1, part = size - at) {
        fd[files] = memfd_create("fuzz", MFD_CLOEXEC);
        if (fd[files] < 0 || write(fd[files], data + at, part) != (ssize_t)part)
            abort();
        snprintf(path[files], sizeof(path[files]), "/proc/self/fd/%d", fd[files]);
        files++;
        if (!middle)
            break;
    }
    if (files == 0)
        return 0;
    argv[1 + files] = NULL;
    if (size % 4 == 0)
        list(1 + files, argv, 0);
    argv[1 + files] = "--json";
    argv[2 + files] = NULL;
    list(2 + files, argv, 1);
    while (files)
        close(fd[--files]);
    return 0;
}

/* ---- seeds ---- */

struct text {
    char *at, *end;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list values;
    int length;

    va_start(values, format);
    length = vsnprintf(t->at, (size_t)(t->end - t->at), format, values);
    va_end(values);
    if (length < 0 || length >= t->end - t->at)
        abort();
    t->at += length;
}

/* The collectives of a rank. Half of the seeds have PyTorch's args, and half have NCCL's. */
static void add_rank(struct text *t, unsigned rank, uint32_t seed)
{
    static const char *const calls[] = {
        "allreduce", "_allgather_base", "_reduce_scatter_base", "broadcast", "send", "barrier"};

    add(t,
        "{\"schemaVersion\":1,\"baseTimeNanoseconds\":1000000000000000000,\"host_name\":\"%s\","
        "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%u,\"world_size\":2,\"pg_config\":"
        "[{\"pg_name\":\"0\",\"pg_desc\":\"default_pg\",\"ranks\":[0,1]}]},\"traceEvents\":[",
        seed & 2 && rank ? "b" : "a", rank);
    for (unsigned i = 0; i < 5; i++) {
        unsigned at = 100 * i + 40 * rank * (seed >> 2 & 1), call = (seed + i) % 6;

        add(t,
            "%s\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
            "\"tid\":1,\"ts\":%u.000,\"dur\":5.000,\"args\":{\"correlation\":%u}},"
            "\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_"
            "LL\","
            "\"pid\":0,\"tid\":7,\"ts\":%u.500,\"dur\":%u.000,\"args\":{\"correlation\":%u,"
            "\"device\":0,\"stream\":7,",
            i ? "," : "", at, i + 1, at + 6, 60 - 40 * rank * (seed >> 2 & 1), i + 1);
        if (seed & 1)
            add(t,
                "\"NCCL call\":\"AllReduce\",\"NCCL count\":250,\"NCCL dtype\":\"ncclFloat32\","
                "\"NCCL bytes\":1000,\"Comm\":\"0x00000000000000ab\",\"Comm ranks\":2,"
                "\"Comm rank\":%u,\"NCCL number\":%u}}",
                rank, i);
        else
            add(t,
                "\"Collective name\":\"%s\",\"In msg nelems\":250,\"Out msg nelems\":%u,"
                "\"Group size\":2,\"dtype\":\"Float\",\"Process Group Name\":\"0\","
                "\"Process Group Description\":\"default_pg\",\"Process Group Ranks\":\"[0, 1]\","
                "\"Dst Rank\":1,\"Seq\":%u%s}}",
                calls[call], call == 1 ? 500 : 250, i, seed & 8 ? ",\"Batch\":\"3\"" : "");
    }
    add(t, "\n]}\n");
}

size_t fuzz_seed(uint32_t seed, uint8_t *data, size_t cap)
{
    struct text t = {(char *)data, (char *)data + cap};

    add_rank(&t, 0, seed);
    if (seed % 5) {
        *t.at++ = '\0';
        add_rank(&t, 1, seed % 7 ? seed : seed + 2);
    }
    return (size_t)(t.at - (char *)data);
}
