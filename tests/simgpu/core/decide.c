/*
 * decide.c - injected decisions: random numbers from the seed, and errors on the n-th call of a
 * function.
 *
 * Any thread. A random number depends only on (seed, point, key). It does not depend on the number
 * of earlier draws, which would vary with timing. The option --fail, a list of functions that must
 * fail, is parsed once. If the list is empty, sim_fail() costs one load from memory.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sim.h"

struct failure {
    char *function;
    unsigned long nth; /* number of the call that fails; 0: every call fails */
    int code;
    atomic_ulong calls;
};

enum {
    MAX_FAILURES = 64
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct failure failures[MAX_FAILURES];
static int failure_count;
static uint64_t seed;

/* Parses the option --fail: entries F:N:CODE, separated by commas. Invalid entries are reported and
 * ignored. */
static void read_options(void)
{
    const char *text = sim_option("FAIL");
    char *copy = text ? strdup(text) : NULL, *rest = NULL;

    seed = sim_option_u64("SEED", 1);
    for (char *item = copy ? strtok_r(copy, ",", &rest) : NULL; item;
         item = strtok_r(NULL, ",", &rest)) {
        char function[128];
        unsigned long nth;
        int code;

        if (failure_count == MAX_FAILURES ||
            sscanf(item, "%127[^:]:%lu:%d", function, &nth, &code) != 3) {
            fprintf(stderr, "simgpu: --fail %s: expected FUNCTION:N:CODE\n", item);
            continue;
        }
        failures[failure_count].function = strdup(function);
        failures[failure_count].nth = nth;
        failures[failure_count++].code = code;
    }
    free(copy);
}

/* If several entries name one function, each entry counts every call, even a call that another
 * entry makes fail. */
static int failure_of(const char *function)
{
    int code = 0;

    for (int i = 0; i < failure_count; i++) {
        struct failure *f = &failures[i];

        if (!f->function || strcmp(f->function, function) != 0) {
            continue;
        }
        unsigned long n = atomic_fetch_add_explicit(&f->calls, 1, memory_order_relaxed) + 1;

        if (!code && (f->nth == 0 || f->nth == n)) {
            sim_log("{\"what\":\"failed\",\"function\":\"%s\",\"call\":%lu,\"code\":%d}", function,
                    n, f->code);
            code = f->code;
        }
    }
    return code;
}

int sim_fail(const char *function)
{
    pthread_once(&once, read_options);
    return failure_count ? failure_of(function) : 0;
}

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

double sim_random(const char *point, uint64_t key)
{
    uint64_t name = 14695981039346656037u;

    pthread_once(&once, read_options);
    for (const char *c = point; *c; c++) {
        name = (name ^ (unsigned char)*c) * 1099511628211u;
    }
    return (double)(mix(mix(mix(seed) ^ name) ^ key) >> 11) * 0x1p-53;
}
