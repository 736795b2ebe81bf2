/*
 * line_table.c - finds the source line of a CPython instruction.
 *
 * Threads, memory: see line_table.h.
 */
#include "collect/python/line_table.h"

/* The line difference of an entry whose instructions have no line, in 3.10. */
#define NO_LINE (-128)
/* A flag in the first byte of an entry, from 3.11 on. */
#define ENTRY_BEGINS 0x80u
#define UNIT_BYTES   2u

enum entry_code {
    ONE_LINE_0 = 10, /* code of an entry on the same line, with columns; 11 and 12 mean one and two
                      * lines further */
    ONE_LINE_2 = 12,
    NO_COLUMNS = 13, /* code of an entry with a line difference only */
    LONG = 14,       /* code of an entry with a line difference and more data */
};

static int as_signed(uint8_t byte)
{
    return byte < 128 ? byte : byte - 256;
}

/* Returns the line, which is a sum of differences from the table, or 0 if the sum is out of
 * range. */
static int checked(long long line)
{
    return line > 0 && line <= INT32_MAX ? (int)line : 0;
}

static int find_lnotab(const uint8_t *table, size_t length, int first, size_t offset)
{
    long long line = first;
    size_t at = 0;

    for (size_t i = 0; i + 1 < length; i += 2) {
        at += table[i];
        if (at > offset)
            break;
        line += as_signed(table[i + 1]);
    }
    return checked(line);
}

static int find_linetable(const uint8_t *table, size_t length, int first, size_t offset)
{
    long long line = first;
    size_t end = 0;

    for (size_t i = 0; i + 1 < length; i += 2) {
        int step = as_signed(table[i + 1]);

        end += table[i];
        if (step != NO_LINE)
            line += step;
        if (end > offset)
            return checked(line);
    }
    return 0;
}

/* Reads a signed number, which is stored with six bits in each byte, the lowest bits first. The
 * lowest bit of the number is its sign. */
static long long read_difference(const uint8_t *at, const uint8_t *end)
{
    uint64_t value = 0;
    unsigned shift = 0;

    for (; at < end && shift < 60; at++, shift += 6) {
        value |= (uint64_t)(*at & 63) << shift;
        if (!(*at & 64))
            break;
    }
    return value & 1 ? -(long long)(value >> 1) : (long long)(value >> 1);
}

static int find_location(const uint8_t *table, size_t length, int first, size_t offset)
{
    const uint8_t *at = table, *limit = table + length;
    long long line = first;
    size_t end = 0;

    while (at < limit) {
        unsigned code = (unsigned)*at >> 3 & 15;

        end += ((*at & 7u) + 1) * UNIT_BYTES;
        at++;
        if (code == NO_COLUMNS || code == LONG)
            line += read_difference(at, limit);
        else if (code >= ONE_LINE_0 && code <= ONE_LINE_2)
            line += (int)code - ONE_LINE_0;
        if (end > offset)
            return checked(line);
        while (at < limit && !(*at & ENTRY_BEGINS))
            at++;
    }
    return 0;
}

int sl_python_line_find(enum sl_python_table form, const uint8_t *table, size_t length, int first,
                        size_t offset)
{
    switch (form) {
    case SL_PYTHON_LNOTAB:
        return find_lnotab(table, length, first, offset);
    case SL_PYTHON_LINETABLE:
        return find_linetable(table, length, first, offset);
    default:
        return find_location(table, length, first, offset);
    }
}
