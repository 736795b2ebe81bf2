/*
 * words.h - splits a line of a scenario into words, numbers and times.
 *
 * If a function finds a mistake, it writes FILE:LINE and the mistake to `why`, and calls longjmp()
 * with `out`.
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
    char buffer[WORDS_LINE]; /* copy of the line; the words point into this copy */
    uint64_t variable[26];   /* values of the loop variables a to z */
    uint32_t known;          /* bit 0 is set if variable a has a value, and so on */
    jmp_buf out;
    char *why;
    size_t why_size;
};

int words_equal(const char *a, const char *b);

/* Appends a text to the message `why`. */
void words_say(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void words_wrong(struct words *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Splits a line into words, without its comment. */
void words_split(struct words *w, const char *text);

/* Returns the next word. If there is no next word, reports the mistake that `what` is missing. */
const char *words_take(struct words *w, const char *what);
/* If the next word is `word`, skips it and returns 1. Otherwise returns 0. */
int words_take_if(struct words *w, const char *word);
uint64_t words_take_number(struct words *w, const char *what);
uint64_t words_take_time(struct words *w); /* reads microseconds, returns ns */

/* Reads a sum such as "10+4*i" at `*at`, and moves `*at` to its end. */
uint64_t words_sum(struct words *w, const char **at);
void words_end(struct words *w, const char *at, const char *word);
/* Reads a range such as "10..12", or a single number. */
void words_range(struct words *w, const char *word, uint64_t *first, uint64_t *last);
/* Reads "10..12" in microseconds, and converts both to ns. */
void words_span(struct words *w, const char *word, uint64_t *from_ns, uint64_t *to_ns);

#endif
