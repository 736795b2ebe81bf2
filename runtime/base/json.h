/*
 * json.h - the text of JSON: numbers and strings, appended to a buffer of the caller.
 *
 * Each function writes at `at` and returns the end of what it wrote; the caller has made sure of
 * the room. Numbers go by a table of three digits each: formatting runs once or more per record
 * and printf would cost more than everything else together.
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

/* Most bytes that a number takes. */
#define SL_JSON_NUMBER_MAX 24

/* The last three digits of v < 1000, zeros kept. */
static inline char *sl_json_three(char *at, uint32_t v)
{
    memcpy(at, sl_json_digits3[v], 4); /* the fourth byte is overwritten by what follows */
    return at + 3;
}

/* Decimal, no sign, no leading zeros. */
char *sl_json_u64(char *at, uint64_t v);
char *sl_json_i64(char *at, int64_t v);

/* Small numbers dominate (devices, streams, cbids). */
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

/* Nanoseconds as microseconds with exactly three decimals: 1234 -> 1.234 */
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

/* `thousandths` / 1000 with up to three decimals, zeros at the end left out: 1500 -> 1.5 */
char *sl_json_millis(char *at, uint64_t thousandths);

/* The same with six decimals: 1185185 -> 1.185185 */
char *sl_json_millionths(char *at, uint64_t millionths);

/* `digits` significant ones, whatever the locale; what is no number becomes a string. At most 32
 * bytes. */
char *sl_json_double(char *at, double v, int digits);

/* A number with that many significant digits, as C's %g has them, whatever the locale. */
char *sl_json_digits(char *at, double v, int digits);

/* Text without NUL at its end. */
static inline char *sl_json_raw(char *at, const char *text, size_t length)
{
    memcpy(at, text, length);
    return at + length;
}

#define SL_JSON_LITERAL(at, literal) sl_json_raw(at, literal, sizeof(literal) - 1)

/*
 * The inside of a JSON string for any bytes: what comes out is valid UTF-8 and can be turned back
 * into the same bytes.
 *   - well-formed UTF-8 stays; quote, backslash and control bytes get JSON's own escapes;
 *   - a byte that belongs to no well-formed UTF-8 sequence becomes the four characters \xNN;
 *   - a backslash followed by 'x' becomes \x5c, so that \xNN in a decoded string always means a
 *     byte.
 * Takes at most SL_JSON_ESCAPE_MAX times `length` bytes.
 */
#define SL_JSON_ESCAPE_MAX 6
char *sl_json_escape(char *at, const char *text, size_t length);

/* A whole string, quotes included; NULL text gives "". */
char *sl_json_string(char *at, const char *text);

#endif
