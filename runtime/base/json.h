/*
 * json.h - writes JSON numbers and strings into a buffer of the caller.
 *
 * Each function writes to `at` and returns the end of the written bytes. The caller guarantees that
 * there is room. Numbers are formatted by a table of all three-digit numbers. Each record has
 * several numbers, and printf would take more time than all other work together.
 *
 * Threads: any; the table is constant.
 */
#ifndef SL_BASE_JSON_H
#define SL_BASE_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* "000", "001", ... "999", four bytes apart. */
extern const char sl_json_digits3[1000][4];

/* The most bytes that a number takes. */
#define SL_JSON_NUMBER_MAX 24

/* Writes the three digits of v < 1000, with leading zeros. */
static inline char *sl_json_three(char *at, uint32_t v)
{
    memcpy(at, sl_json_digits3[v], 4); /* four bytes are copied at once; the next write overwrites
                                        * the fourth byte */
    return at + 3;
}

/* Write the number in decimal, without leading zeros. */
char *sl_json_u64(char *at, uint64_t v);
char *sl_json_i64(char *at, int64_t v);

/* Has a fast path because most numbers are small (devices, streams, cbids). */
static inline char *sl_json_u32(char *at, uint32_t v)
{
    if (v < 1000) {
        const char *digits = sl_json_digits3[v];

        if (v >= 100) {
            memcpy(at, digits, 4);
            return at + 3;
        }
        if (v >= 10) {
            memcpy(at, digits + 1, 2);
            return at + 2;
        }
        *at = digits[2];
        return at + 1;
    }
    return sl_json_u64(at, v);
}

/* Writes nanoseconds as microseconds with exactly three decimals. For 1234, writes 1.234. */
static inline char *sl_json_micros(char *at, uint64_t ns)
{
    if (ns < 1000000) {
        at = sl_json_u32(at, (uint32_t)(ns / 1000));
    } else if (ns < 1000000000) {
        at = sl_json_u32(at, (uint32_t)(ns / 1000000));
        at = sl_json_three(at, (uint32_t)(ns / 1000 % 1000));
    } else {
        at = sl_json_u64(at, ns / 1000);
    }
    *at++ = '.';
    return sl_json_three(at, (uint32_t)(ns % 1000));
}

/* Writes `thousandths` / 1000 with up to three decimals, without trailing zeros: 1500 gives 1.5. */
char *sl_json_millis(char *at, uint64_t thousandths);

/* Writes `millionths` / 1000000 with up to six decimals: 1185185 gives 1.185185. */
char *sl_json_millionths(char *at, uint64_t millionths);

/* Writes `digits` significant digits. The output is the same in every locale. A value that is not
 * finite is written as a string. At most 32 bytes. */
char *sl_json_double(char *at, double v, int digits);

/* Writes the last `digits` hexadecimal digits of the number. */
char *sl_json_hex(char *at, uint64_t v, unsigned digits);

/* Formats like C's %g with `digits` significant digits, in every locale. */
char *sl_json_digits(char *at, double v, int digits);

/* Copies `length` bytes, without adding a NUL. */
static inline char *sl_json_raw(char *at, const char *text, size_t length)
{
    memcpy(at, text, length);
    return at + length;
}

#define SL_JSON_LITERAL(at, literal) sl_json_raw(at, literal, sizeof(literal) - 1)

/*
 * Escapes any bytes for the inside of a JSON string. The output is valid UTF-8 and can be converted
 * back to the same bytes.
 *   - Well-formed UTF-8 is copied; quotes, backslashes and control bytes get JSON escapes.
 *   - A byte outside of any well-formed UTF-8 sequence becomes the four characters \xNN.
 *   - A backslash before 'x' becomes \x5c, so \xNN in a decoded string always means a byte.
 *
 * Writes at most SL_JSON_ESCAPE_MAX times `length` bytes.
 */
#define SL_JSON_ESCAPE_MAX 6
char *sl_json_escape(char *at, const char *text, size_t length);

/* Writes a whole string with its quotes. Writes "" for NULL. */
char *sl_json_string(char *at, const char *text);

#endif
