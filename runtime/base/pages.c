/*
 * pages.c - mmap, mremap, madvise and munmap, rounded to pages. Any thread; no state.
 */
#include "base/pages.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

size_t sl_pages_round(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (bytes > SIZE_MAX - (page - 1))
        return 0;
    return (bytes + page - 1) & ~(page - 1);
}

void *sl_pages_map(size_t bytes)
{
    size_t rounded = sl_pages_round(bytes);
    int saved = errno;
    void *memory;

    if (!rounded)
        return NULL;
    memory = mmap(NULL, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    return memory == MAP_FAILED ? NULL : memory;
}

void *sl_pages_grow(void *memory, size_t bytes, size_t to_bytes)
{
    size_t rounded = sl_pages_round(to_bytes);
    int saved = errno;

    if (!rounded)
        return NULL;
    memory = mremap(memory, sl_pages_round(bytes), rounded, MREMAP_MAYMOVE);
    errno = saved;
    return memory == MAP_FAILED ? NULL : memory;
}

void sl_pages_clear(void *memory, size_t bytes)
{
    int saved = errno;

    /* madvise fails on memory that the job has locked (mlockall). */
    if (bytes && madvise(memory, sl_pages_round(bytes), MADV_DONTNEED) != 0)
        memset(memory, 0, bytes);
    errno = saved;
}

void sl_pages_unmap(void *memory, size_t bytes)
{
    int saved = errno;

    if (memory)
        munmap(memory, sl_pages_round(bytes));
    errno = saved;
}

/* The size of each block is stored in front of the block. */
#define HEAD_BYTES 64

void *sl_pages_alloc(size_t bytes)
{
    char *memory = bytes <= SIZE_MAX - HEAD_BYTES ? sl_pages_map(bytes + HEAD_BYTES) : NULL;

    if (!memory)
        return NULL;
    *(size_t *)(void *)memory = bytes + HEAD_BYTES;
    return memory + HEAD_BYTES;
}

void sl_pages_free(void *memory)
{
    char *start = memory ? (char *)memory - HEAD_BYTES : NULL;

    if (start)
        sl_pages_unmap(start, *(size_t *)(void *)start);
}
