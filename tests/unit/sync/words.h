/*
 * words.h - a line of a scenario, taken apart: words, numbers, times.
 *
 * Each function that finds a mistake writes FILE:LINE and the mistake to `why` and jumps to `out`.
 */
#ifndef SL_TEST_WORDS_H
#define SL_TEST_WORDS_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WORDS_MOST = 32,
    WORDS_LINE = 256
};

struct words {
    const char *file;
    unsigned line;
    char *word[WORDS_MOST];
    size_t count, next;
    char buffer[WORDS_LINE]; /* holds the words */
    uint64_t variable[26];   /* a to z: variables of loops */
    uint32_t known;          /* bit 0: a has a value */
    jmp_buf out;
    char *why;
    size_t why_size;
};

int words_equal(const char *a, const char *b);

/* Appends to `why`. */
void words_say(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void words_wrong(struct words *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes a line. A comment is no part of it. */
void words_split(struct words *w, const char *text);

/* The next word; `what` is missing if there is none. */
const char *words_take(struct words *w, const char *what);
/* 1: the next word was this one. */
int words_take_if(struct words *w, const char *word);
uint64_t words_take_number(struct words *w, const char *what);
uint64_t words_take_time(struct words *w); /* microseconds in, ns out */

/* Reads "10+4*i" at `*at` and moves behind it. */
uint64_t words_sum(struct words *w, const char **at);
void words_end(struct words *w, const char *at, const char *word);
/* "10..12", or "10" alone */
void words_range(struct words *w, const char *word, uint64_t *first, uint64_t *last);
/* "10..12" in microseconds, as ns */
void words_span(struct words *w, const char *word, uint64_t *from_ns, uint64_t *to_ns);

#endif
