/*
 * replay.c - a fuzzer without libFuzzer. Runs the given files, to reproduce findings. Without
 * arguments, runs well-formed inputs with some damaged bytes. The damage is the same in each run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum {
    CAP = 1 << 16,
    ROUNDS = 4000
};

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * n) >> 32);
}

/* Changes bytes, writes words that are often special, fills runs, and truncates the end. */
static size_t damage(uint8_t *data, size_t size)
{
    static const uint32_t special[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 8, 216, 4096};
    uint32_t times = random_below(8);

    for (uint32_t i = 0; i < times && size >= 8; i++) {
        size_t at = random_below((uint32_t)(size - 7));

        switch (random_below(4)) {
        case 0:
            data[at] ^= (uint8_t)(1u << random_below(8));
            break;
        case 1:
            memcpy(data + at, &special[random_below(8)], sizeof special[0]);
            break;
        case 2:
            memset(data + at, (int)random_below(256), random_below(8));
            break;
        default:
            if (random_below(4) == 0)
                size = at;
        }
    }
    return size;
}

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(CAP);
    size_t size;

    if (!f || !data) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        exit(1);
    }
    size = fread(data, 1, CAP, f);
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    printf("%s: %zu bytes, no finding\n", path, size);
    return 0;
}

int main(int argc, char **argv)
{
    uint8_t *data;

    for (int i = 1; i < argc; i++)
        run_file(argv[i]);
    if (argc > 1)
        return 0;
    data = malloc(CAP);
    if (!data)
        return 1;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        size_t size = fuzz_seed(i, data, CAP);

        size = damage(data, size);
        /* its own block, so that a sanitizer notices a read of one byte too many */
        uint8_t *exact = malloc(size ? size : 1);

        if (!exact)
            return 1;
        memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    free(data);
    printf("%d damaged inputs, no finding\n", ROUNDS);
    return 0;
}
