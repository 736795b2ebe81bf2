/*
 * scan.c - computes the depth of brackets, 64 bytes at a time.
 *
 * For each block the scan computes four bit masks: quotes, backslashes, opening brackets and
 * closing brackets. A byte is inside a string if the number of unescaped quotes before it is odd.
 * The scan reads about 5 GB/s with SSE2, which takes little time compared with the parser.
 *
 * Threads, memory: see scan.h.
 */
#include "read/scan.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

struct masks {
    uint64_t quote, backslash, open, close;
};

#ifdef __SSE2__
static uint64_t match(const __m128i v[4], char c)
{
    const __m128i want = _mm_set1_epi8(c);
    uint64_t mask = 0;

    for (int i = 0; i < 4; i++)
        mask |= (uint64_t)(uint16_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[i], want)) << (16 * i);
    return mask;
}

static struct masks classify(const char *text)
{
    const __m128i bit = _mm_set1_epi8(0x20);
    __m128i v[4], lower[4];
    struct masks m;

    for (int i = 0; i < 4; i++) {
        v[i] = _mm_loadu_si128((const __m128i *)(const void *)(text + 16 * i));
        /* Sets a bit that changes '[' to '{' and ']' to '}'. No other byte becomes '{' or '}'. */
        lower[i] = _mm_or_si128(v[i], bit);
    }
    m.quote = match(v, '"');
    m.backslash = match(v, '\\');
    m.open = match(lower, '{');
    m.close = match(lower, '}');
    return m;
}
#else
static struct masks classify(const char *text)
{
    struct masks m = {0, 0, 0, 0};

    for (int i = 0; i < 64; i++) {
        uint64_t bit = 1ull << i;

        m.quote |= text[i] == '"' ? bit : 0;
        m.backslash |= text[i] == '\\' ? bit : 0;
        m.open |= (text[i] | 0x20) == '{' ? bit : 0;
        m.close |= (text[i] | 0x20) == '}' ? bit : 0;
    }
    return m;
}
#endif

/* Returns a bit for each byte that a backslash escapes. Backslashes are rare, so a loop is fast
 * enough. */
static uint64_t escaped_bytes(struct sl_scan *s, uint64_t backslash)
{
    uint64_t escaped = s->escaped;

    backslash &= ~escaped;
    s->escaped = 0;
    while (backslash) {
        int i = __builtin_ctzll(backslash);

        if (i == 63) {
            s->escaped = 1;
            break;
        }
        escaped |= 2ull << i;
        backslash &= ~(3ull << i);
    }
    return escaped;
}

/* Bit i of the result is the parity of bits 0 to i of `x`. */
static uint64_t running_parity(uint64_t x)
{
    x ^= x << 1;
    x ^= x << 2;
    x ^= x << 4;
    x ^= x << 8;
    x ^= x << 16;
    return x ^ (x << 32);
}

/* Scans a block of 64 bytes. Bytes whose bit in `valid` is 0 are ignored. Returns the position
 * after the value's end, or 0 if the value does not end in this block. */
static size_t scan_block(struct sl_scan *s, const char *text, uint64_t valid, int is_string)
{
    struct masks m = classify(text);
    uint64_t quote, string, open, close, both;

    quote = m.quote & valid;
    if (m.backslash || s->escaped)
        quote &= ~escaped_bytes(s, m.backslash & valid);
    string = running_parity(quote) ^ s->in_string; /* the opening quote counts as inside the string,
                                                      the closing quote does not */
    s->in_string = (uint64_t)((int64_t)string >> 63);
    if (is_string) {
        uint64_t closing = quote & ~string;

        return closing ? (size_t)__builtin_ctzll(closing) + 1 : 0;
    }
    open = m.open & valid & ~string;
    close = m.close & valid & ~string;
    both = open | close;
    if (!both) /* the usual case; without the instruction, counting bits is slow */
        return 0;
    if (s->depth > (uint64_t)__builtin_popcountll(close)) {
        s->depth += (uint64_t)__builtin_popcountll(open) - (uint64_t)__builtin_popcountll(close);
        return 0;
    }
    for (; both; both &= both - 1) {
        uint64_t bit = both & -both;

        if (open & bit)
            s->depth++;
        else if (--s->depth == 0)
            return (size_t)__builtin_ctzll(bit) + 1;
    }
    return 0;
}

size_t sl_scan_end(struct sl_scan *s, const char *text, size_t size, int last)
{
    while (s->done < size) {
        size_t left = size - s->done;
        size_t end;

        if (left < 64 && !last)
            return 0; /* the next call scans this block when it is complete */
        end = scan_block(s, text + s->done, left < 64 ? (1ull << left) - 1 : ~0ull, text[0] == '"');
        if (end)
            return s->done + end;
        s->done += left < 64 ? left : 64;
    }
    return 0;
}
