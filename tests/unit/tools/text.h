/*
 * text.h - a trace in memory, for unit tests of the command-line tool, with a reader that returns a
 * few bytes at a time.
 *
 * Threads: one. The test owns the memory of the text.
 */
#ifndef TEST_TEXT_H
#define TEST_TEXT_H

#include <stddef.h>
#include <string.h>

struct text_reader {
    const char *text;
    size_t size, at;
    size_t piece; /* bytes that a call returns; 0: as many as fit */
};

static inline struct text_reader text_reader(const char *text, size_t piece)
{
    return (struct text_reader){text, strlen(text), 0, piece};
}

/* A reader for sl_split_create(). */
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
