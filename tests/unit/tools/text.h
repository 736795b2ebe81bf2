/*
 * text.h - traces in memory for the tool's unit tests: a reader that gives a few bytes at a time.
 *
 * Threads: one. Memory: the text is the test's.
 */
#ifndef TEST_TEXT_H
#define TEST_TEXT_H

#include <stddef.h>
#include <string.h>

struct text_reader {
    const char *text;
    size_t size, at;
    size_t piece; /* bytes a call; 0 = all there is room for */
};

static inline struct text_reader text_reader(const char *text, size_t piece)
{
    return (struct text_reader){text, strlen(text), 0, piece};
}

/* Fits sl_split_create(). */
static inline size_t text_read(void *user, void *data, size_t size)
{
    struct text_reader *r = user;
    size_t n = r->size - r->at;

    if (n > size)
        n = size;
    if (r->piece && n > r->piece)
        n = r->piece;
    memcpy(data, r->text + r->at, n);
    r->at += n;
    return n;
}

#endif
