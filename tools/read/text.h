/*
 * text.h - a piece of a longer text, borrowed.
 *
 * Threads: any. The functions are inline and have no state.
 */
#ifndef SL_TEXT_H
#define SL_TEXT_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A piece is valid as long as the text that contains the piece. */
struct sl_text {
    const char *data; /* NULL: absent */
    size_t size;
};

/* Returns the length for "%.*s": at most `most` bytes of a text. The text may be absent. */
#define SL_TEXT_ARGS(text, most)                                                                   \
    (int)((text).size < (most) ? (text).size : (most)), (text).data ? (text).data : ""

/* Copies the part of the text that fits, and adds a NUL. */
static inline void sl_text_copy(char *to, size_t to_size, struct sl_text text)
{
    snprintf(to, to_size, "%.*s", SL_TEXT_ARGS(text, to_size - 1));
}

/* Returns whether JSON allows this character between values. */
static inline int sl_text_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline int sl_text_begins(struct sl_text text, const char *with)
{
    size_t size = strlen(with);

    return text.data && text.size >= size && memcmp(text.data, with, size) == 0;
}

static inline int sl_text_is(struct sl_text text, const char *word)
{
    return text.size == strlen(word) && sl_text_begins(text, word);
}

#endif
