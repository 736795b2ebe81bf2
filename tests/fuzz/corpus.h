/*
 * corpus.h - the files of corpus/read as seeds.
 */
#ifndef TEST_FUZZ_CORPUS_H
#define TEST_FUZZ_CORPUS_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline int is_seed(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static inline size_t corpus_seed(uint32_t seed, uint8_t *data, size_t cap)
{
    struct dirent **entry;
    int count = scandir(FUZZ_CORPUS "/read", &entry, is_seed, alphasort);
    char path[1024];
    size_t size;
    FILE *f;

    if (count <= 0)
        abort();
    snprintf(path, sizeof(path), FUZZ_CORPUS "/read/%s", entry[seed % (uint32_t)count]->d_name);
    for (int i = 0; i < count; i++)
        free(entry[i]);
    free(entry);
    f = fopen(path, "rb");
    if (!f)
        abort();
    size = fread(data, 1, cap, f);
    fclose(f);
    return size;
}

#endif
