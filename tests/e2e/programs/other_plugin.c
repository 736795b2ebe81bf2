/* other_plugin.c - a profiler plugin for NCCL of another tool, which says that NCCL has loaded it.
 */
#include <stdint.h>
#include <stdio.h>

static int init(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks,
                int rank, void *log)
{
    *context = NULL;
    *mask = 0;
    fprintf(stderr, "other plugin\n");
    return 0;
}

static int start(void *context, void **handle, void *descriptor)
{
    *handle = NULL;
    return 0;
}

static int stop(void *handle)
{
    return 0;
}

static int state(void *handle, int what, void *args)
{
    return 0;
}

static int finalize(void *context)
{
    return 0;
}

extern const struct table {
    const char *name;
    int (*init)(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks,
                int rank, void *log);
    int (*start)(void *context, void **handle, void *descriptor);
    int (*stop)(void *handle);
    int (*state)(void *handle, int what, void *args);
    int (*finalize)(void *context);
} ncclProfiler_v5;

__attribute__((visibility("default")))
const struct table ncclProfiler_v5 = {"other", init, start, stop, state, finalize};
