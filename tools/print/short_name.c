/*
 * short_name.c - shortens a kernel's name.
 *
 * Threads, memory: see short_name.h.
 */
#include "print/short_name.h"

#include <string.h>

#define LONGEST 4096u /* longer names are truncated but not simplified */

static const char *const dropped[] = {"at::native::",
                                      "(anonymous namespace)::",
                                      "(ncclDevKernelArgsStorage<4096ul>)",
                                      ", std::array<char*, 1ul>",
                                      ", std::array<char*, 2ul>",
                                      ", std::array<char*, 3ul>",
                                      ", std::array<char*, 4ul>"};

/* Returns how many bytes at `at` belong to a part that is dropped, or 0. */
static size_t skip(const char *at, size_t left)
{
    for (size_t i = 0; i < sizeof(dropped) / sizeof(*dropped); i++) {
        size_t length = strlen(dropped[i]);

        if (length <= left && memcmp(at, dropped[i], length) == 0)
            return length;
    }
    return 0;
}

/* Returns the length of the name without its parameters, if template arguments precede the
 * parameters. */
static size_t without_parameters(const char *name, size_t length)
{
    size_t at = length, open = 0;

    if (length == 0 || name[length - 1] != ')')
        return length;
    do {
        at--;
        open += name[at] == ')';
        open -= name[at] == '(';
    } while (at && open);
    return at && name[at - 1] == '>' ? at : length;
}

static int is_inside(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Keeps equal parts of the beginning and of the end, because similar kernels may differ at the
 * beginning or at the end. */
static void cut(char *to, size_t width, const char *name, size_t length)
{
    size_t head = (width - 3) / 2, tail = length - (width - 3 - head);

    while (head && is_inside(name[head]))
        head--;
    while (tail < length && is_inside(name[tail]))
        tail++;
    memcpy(to, name, head);
    memcpy(to + head, "...", 3);
    memcpy(to + head + 3, name + tail, length - tail);
    to[head + 3 + length - tail] = '\0';
}

char *sl_short_name(char *to, size_t width, const char *name, size_t length)
{
    char plain[LONGEST];
    size_t size = 0, gone;

    if (length > width && length <= sizeof(plain)) {
        length = without_parameters(name, length);
        for (size_t i = length > 5 && memcmp(name, "void ", 5) == 0 ? 5 : 0; i < length;) {
            gone = skip(name + i, length - i);
            i += gone;
            if (!gone)
                plain[size++] = name[i++];
        }
        name = plain;
        length = size;
    }
    if (length > width) {
        cut(to, width, name, length);
    } else {
        memcpy(to, name, length);
        to[length] = '\0';
    }
    for (char *c = to; *c; c++) /* a name may not break the line of a table */
        *c = *c == '\n' || *c == '\t' || *c == '\r' ? ' ' : *c;
    return to;
}
