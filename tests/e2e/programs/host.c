/*
 * host.c - a hostile host process. Each mode does what real programs do around a profiler:
 *
 *     host MODE [N]      The tables in host_*.c list the modes and what N is; `host` prints them.
 *
 * The test runs each mode without and with the library and compares everything that the program
 * prints, the files that it writes, and how it ends. Normal modes end with the line `host ok`.
 *
 * One thread, except in the modes about threads.
 */
#include "host.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

FILE *host_out;

int64_t host_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void host_sleep_ms(int ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000l};

    while (nanosleep(&left, &left))
        ;
}

static void run_view(int n)
{
    (void)n;
    host_view("view");
}

static const struct host_mode own_modes[] = {
    {"view", run_view, "prints the process's view of itself; does not use the GPU"},
    {0},
};

static const struct host_mode *const tables[] = {own_modes, host_load_modes, host_process_modes,
                                                 host_change_modes, host_stamps_modes};

#define TABLES (sizeof(tables) / sizeof(tables[0]))

static const struct host_mode *find(const char *name)
{
    for (size_t i = 0; i < TABLES; i++) {
        for (const struct host_mode *mode = tables[i]; mode->name; mode++) {
            if (strcmp(mode->name, name) == 0)
                return mode;
        }
    }
    return NULL;
}

static int usage(void)
{
    fprintf(stderr, "usage: host MODE [N]\n");
    for (size_t i = 0; i < TABLES; i++) {
        for (const struct host_mode *mode = tables[i]; mode->name; mode++)
            fprintf(stderr, "  %-12s %s\n", mode->name, mode->help);
    }
    return 2;
}

int main(int argc, char **argv)
{
    const struct host_mode *mode = argc > 1 ? find(argv[1]) : NULL;

    if (!mode)
        return usage();
    host_out = stdout;
    /* Whole lines are written at once, because a forked child must not print them again. */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    mode->run(argc > 2 ? atoi(argv[2]) : 0);
    fprintf(host_out, "host ok\n");
    fflush(host_out);
    return 0;
}
