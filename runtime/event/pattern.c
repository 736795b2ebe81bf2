/*
 * pattern.c - splits a text into a pattern and the numbers in it.
 *
 * Pure functions; any thread.
 */
#include "event/pattern.h"

#include <string.h>

#include "base/json.h"

#define DIGITS_MAX 9 /* any number of nine digits fits into 32 bits */

struct run {
    size_t at, length;
};

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns 1 if printing the parsed number gives the same digits again. A number with leading zeros,
 * for example, is printed without them. */
static int is_plain(const char *text, const struct run *run)
{
    return run->length && run->length <= DIGITS_MAX && (run->length == 1 || text[run->at] != '0');
}

/* Finds the last SL_PATTERN_NUMBERS runs of digits of the text, and stores them in the order of the
 * text. If the text has fewer runs of digits, the first entries have length 0. */
static void find_runs(const char *text, size_t length, struct run run[SL_PATTERN_NUMBERS])
{
    unsigned left = SL_PATTERN_NUMBERS;
    size_t end = length, at;

    memset(run, 0, SL_PATTERN_NUMBERS * sizeof(*run));
    while (end > 0 && left > 0) {
        if (!is_digit(text[end - 1])) {
            end--;
            continue;
        }
        for (at = end; at > 0 && is_digit(text[at - 1]); at--)
            ;
        run[left - 1] = (struct run){at, end - at};
        if (is_plain(text, &run[left - 1]))
            left--;
        else
            run[left - 1] = (struct run){0, 0};
        end = at;
    }
}

static uint32_t value_of(const char *text, const struct run *run)
{
    uint32_t value = 0;

    for (size_t i = 0; i < run->length; i++)
        value = value * 10 + (uint32_t)(text[run->at + i] - '0');
    return value;
}

size_t sl_pattern_make(char *out, const char *text, size_t length,
                       uint32_t number[SL_PATTERN_NUMBERS])
{
    struct run run[SL_PATTERN_NUMBERS];
    size_t from = 0, used = 0;
    unsigned numbers = 0;

    memset(number, 0, SL_PATTERN_NUMBERS * sizeof(*number));
    find_runs(text, length, run);
    for (unsigned i = 0; i < SL_PATTERN_NUMBERS; i++) {
        if (!run[i].length)
            continue;
        memcpy(out + used, text + from, run[i].at - from);
        used += run[i].at - from;
        out[used++] = '\0';
        number[numbers++] = value_of(text, &run[i]);
        from = run[i].at + run[i].length;
    }
    memcpy(out + used, text + from, length - from);
    return used + length - from;
}

int sl_pattern_varies(const char *pattern, size_t length)
{
    return memchr(pattern, '\0', length) != NULL;
}

char *sl_pattern_expand(char *at, const char *pattern, size_t length, uint64_t numbers,
                        char *(*put)(char *at, const char *text, size_t length))
{
    const char *end = pattern + length, *mark;
    char digits[SL_JSON_NUMBER_MAX], *digits_end;

    while ((mark = memchr(pattern, '\0', (size_t)(end - pattern)))) {
        at = put(at, pattern, (size_t)(mark - pattern));
        digits_end = sl_json_u32(digits, (uint32_t)numbers);
        at = put(at, digits, (size_t)(digits_end - digits));
        numbers >>= 32;
        pattern = mark + 1;
    }
    return put(at, pattern, (size_t)(end - pattern));
}
