/* words.c - splits lines of scenarios into words, numbers and times. Only the test's thread uses
 * this file. */
#include "sync/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US 1000u

int words_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

void words_say(struct words *w, const char *format, ...)
{
    size_t used = strlen(w->why);
    va_list args;

    va_start(args, format);
    vsnprintf(w->why + used, w->why_size - used, format, args);
    va_end(args);
}

_Noreturn void words_wrong(struct words *w, const char *format, ...)
{
    int used = snprintf(w->why, w->why_size, "%s:%u: ", w->file, w->line);
    va_list args;

    va_start(args, format);
    vsnprintf(w->why + used, w->why_size - (size_t)used, format, args);
    va_end(args);
    longjmp(w->out, 1);
}

/* ---- words ---- */

void words_split(struct words *w, const char *text)
{
    char *save, *word;

    if (strlen(text) >= sizeof w->buffer)
        words_wrong(w, "more than %d characters", WORDS_LINE - 1);
    memcpy(w->buffer, text, strlen(text) + 1);
    w->buffer[strcspn(w->buffer, "#")] = '\0';
    w->count = w->next = 0;
    for (word = strtok_r(w->buffer, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        if (w->count == WORDS_MOST)
            words_wrong(w, "more than %d words", WORDS_MOST);
        w->word[w->count++] = word;
    }
}

const char *words_take(struct words *w, const char *what)
{
    if (w->next == w->count)
        words_wrong(w, "%s is missing", what);
    return w->word[w->next++];
}

int words_take_if(struct words *w, const char *word)
{
    if (w->next == w->count || !words_equal(w->word[w->next], word))
        return 0;
    w->next++;
    return 1;
}

/* ---- numbers ---- */

static uint64_t factor(struct words *w, const char **at)
{
    char *end;
    uint64_t value;

    if (**at >= 'a' && **at <= 'z' && w->known >> (**at - 'a') & 1)
        return w->variable[*(*at)++ - 'a'];
    value = strtoull(*at, &end, 0);
    if (end == *at || **at == '-')
        words_wrong(w, "'%s' is not a number", *at);
    *at = end;
    return value;
}

static uint64_t product(struct words *w, const char **at)
{
    uint64_t value = factor(w, at);

    while (**at == '*' || **at == '%') {
        int times = *(*at)++ == '*';
        uint64_t by = factor(w, at);

        if (!times && by == 0)
            words_wrong(w, "modulo 0");
        value = times ? value * by : value % by;
    }
    return value;
}

uint64_t words_sum(struct words *w, const char **at)
{
    uint64_t value = product(w, at);

    while (**at == '+' || **at == '-') {
        int plus = *(*at)++ == '+';
        uint64_t by = product(w, at);

        value = plus ? value + by : value - by;
    }
    return value;
}

void words_end(struct words *w, const char *at, const char *word)
{
    if (*at)
        words_wrong(w, "'%s' has '%s' at its end", word, at);
}

uint64_t words_take_number(struct words *w, const char *what)
{
    const char *word = words_take(w, what), *at = word;
    uint64_t value = words_sum(w, &at);

    words_end(w, at, word);
    return value;
}

/* Reads microseconds with up to three decimals. */
static uint64_t time_ns(struct words *w, const char **at)
{
    uint64_t ns = words_sum(w, at) * US;

    if (**at == '.' && (*at)[1] != '.') {
        ++*at;
        for (unsigned unit = US / 10; **at >= '0' && **at <= '9'; unit /= 10)
            ns += unit * (uint64_t)(*(*at)++ - '0');
    }
    return ns;
}

uint64_t words_take_time(struct words *w)
{
    const char *word = words_take(w, "a time"), *at = word;
    uint64_t ns = time_ns(w, &at);

    words_end(w, at, word);
    return ns;
}

static void read_two(struct words *w, const char *word,
                     uint64_t (*read)(struct words *w, const char **at), uint64_t *first,
                     uint64_t *last)
{
    const char *at = word;

    *first = read(w, &at);
    if (strncmp(at, "..", 2) != 0)
        words_wrong(w, "'%s' is not of the form FROM..TO", word);
    at += 2;
    *last = read(w, &at);
    words_end(w, at, word);
}

void words_range(struct words *w, const char *word, uint64_t *first, uint64_t *last)
{
    const char *at = word;

    if (strstr(word, "..")) {
        read_two(w, word, words_sum, first, last);
        return;
    }
    *first = *last = words_sum(w, &at);
    words_end(w, at, word);
}

void words_span(struct words *w, const char *word, uint64_t *from_ns, uint64_t *to_ns)
{
    read_two(w, word, time_ns, from_ns, to_ns);
}
