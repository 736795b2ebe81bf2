/*
 * python_probe.c - calls sl_python_line() for Python programs through ctypes, which releases
 * Python's lock during the call as PyTorch's bindings do.
 *
 * Threads: any. Memory: the library owns the texts.
 */
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "base/text_table.h"
#include "collect/python/frames.h"
#include "collect/python/line_table.h"

__attribute__((visibility("default"))) int probe_begin(unsigned depth);
__attribute__((visibility("default"))) const char *probe_line(void);
__attribute__((visibility("default"))) const char *probe_elsewhere(void);
__attribute__((visibility("default"))) double probe_cost(unsigned calls);
__attribute__((visibility("default"))) int probe_find(int form, const uint8_t *table, size_t length,
                                                      int first, size_t offset);

int probe_begin(unsigned depth)
{
    return sl_python_lines_init(depth);
}

/* Returns NULL if there is no line. */
const char *probe_line(void)
{
    return sl_text_table_get(sl_python_line(sl_python_frame(), NULL), NULL);
}

static void *ask(void *unused)
{
    return (void *)(uintptr_t)probe_line();
}

/* Calls probe_line() on a thread that Python does not know. */
const char *probe_elsewhere(void)
{
    pthread_t thread;
    void *line = NULL;

    if (pthread_create(&thread, NULL, ask, NULL) == 0)
        pthread_join(thread, &line);
    return line;
}

/* Returns the nanoseconds of a call: the best of many short rounds. */
double probe_cost(unsigned calls)
{
    double best = 1e9;

    for (unsigned round = 0; round < calls / 100; round++) {
        struct timespec from, to;
        double ns;

        clock_gettime(CLOCK_MONOTONIC, &from);
        for (int i = 0; i < 100; i++)
            sl_python_line(sl_python_frame(), NULL);
        clock_gettime(CLOCK_MONOTONIC, &to);
        ns = ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / 100;
        best = ns < best ? ns : best;
    }
    return best;
}

int probe_find(int form, const uint8_t *table, size_t length, int first, size_t offset)
{
    return sl_python_line_find((enum sl_python_table)form, table, length, first, offset);
}
