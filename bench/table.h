/*
 * table.h - prints a bench program's results: one table, and JSON rows for bench/run.sh.
 *
 *   struct bench_table t;
 *   bench_begin(&t, "decode", argc, argv);
 *   bench_row(&t, (struct bench_row){"cpu per record", 41.2, "ns", .goal = 60});
 *   return bench_end(&t);
 *
 * `--json FILE` appends one line of JSON per row to FILE, so that several programs share a file:
 * {"bench","metric","value","unit","goal","met","against"}. A bench program is alone in its
 * process, so this header may use stdio and exit().
 */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench_table {
    const char *bench;
    FILE *json;
    int missed;
};

struct bench_row {
    const char *metric;
    double value;
    const char *unit;
    double goal;         /* the largest allowed value, or 0 if there is no goal */
    int at_least;        /* 1 if `goal` is the smallest allowed value */
    const char *against; /* the value to compare with, such as "libkineto 3.8 us", or NULL */
};

/* Returns the time of a clock in ns. The three functions below return the CPU time of the calling
 * thread, the CPU time of the whole process, and the wall time. */
static inline uint64_t bench_clock_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t bench_thread_cpu_ns(void)
{
    return bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t bench_process_cpu_ns(void)
{
    return bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static inline uint64_t bench_wall_ns(void)
{
    return bench_clock_ns(CLOCK_MONOTONIC);
}

/* Returns the argument that follows the option `name` (such as "--records"), or `fallback`. */
static inline const char *bench_option(int argc, char **argv, const char *name,
                                       const char *fallback)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return fallback;
}

static inline void bench_begin(struct bench_table *t, const char *bench, int argc, char **argv)
{
    const char *path = bench_option(argc, argv, "--json", NULL);

    *t = (struct bench_table){.bench = bench};
    if (path) {
        t->json = fopen(path, "a");
        if (!t->json) {
            fprintf(stderr, "%s: cannot open %s for writing\n", bench, path);
            exit(2);
        }
    }
    printf("%-44s %14s  %-10s %12s  %-4s  %s\n", bench, "value", "unit", "goal", "met", "against");
}

static inline void bench_row(struct bench_table *t, struct bench_row row)
{
    int met = row.at_least ? row.value >= row.goal : row.value <= row.goal;
    char goal[32] = "";

    if (row.goal != 0)
        snprintf(goal, sizeof goal, "%s %g", row.at_least ? ">=" : "<=", row.goal);
    else
        met = 1;
    t->missed += !met;
    printf("  %-42s %14.2f  %-10s %12s  %-4s  %s\n", row.metric, row.value, row.unit, goal,
           row.goal == 0 ? "" : (met ? "yes" : "NO"), row.against ? row.against : "");
    fflush(stdout);
    if (!t->json)
        return;
    fprintf(t->json, "{\"bench\": \"%s\", \"metric\": \"%s\", \"value\": %.4f, \"unit\": \"%s\", ",
            t->bench, row.metric, row.value, row.unit);
    if (row.goal != 0)
        fprintf(t->json, "\"goal\": %g, \"met\": %s, ", row.goal, met ? "true" : "false");
    else
        fprintf(t->json, "\"goal\": null, \"met\": null, ");
    if (row.against)
        fprintf(t->json, "\"against\": \"%s\"}\n", row.against);
    else
        fprintf(t->json, "\"against\": null}\n");
}

/* Returns the exit status. A missed goal is not a failure, because the machine may be busy. The
 * table shows missed goals. Returns 2 if the rows could not be written. */
static inline int bench_end(struct bench_table *t)
{
    if (t->missed)
        printf("  %d goal%s missed\n", t->missed, t->missed == 1 ? "" : "s");
    if (t->json && fclose(t->json) != 0) {
        fprintf(stderr, "%s: the JSON rows could not be written\n", t->bench);
        return 2;
    }
    return 0;
}

#endif
