/*
 * safe_stream.c - keeps names in traces and paths from controlling the reader's terminal.
 *
 * Threads, memory: see safe_stream.h.
 */
#include "print/safe_stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

struct safe {
    FILE *below;
    int is_json;
    unsigned char held[4]; /* the first bytes of a UTF-8 character whose other bytes have not been
                              written yet */
    size_t held_size;
    struct safe *next; /* links all streams into a list, so that leak checkers see their memory as
                          reachable */
};

/* Returns the code point of a whole character in UTF-8. For a byte that begins no character,
 * returns the byte. */
static unsigned code_of(const unsigned char *at, size_t size)
{
    unsigned code = size == 1 ? at[0] : at[0] & (0x7fu >> size);

    for (size_t i = 1; i < size; i++)
        code = code << 6 | (at[i] & 0x3fu);
    return code;
}

static int is_unsafe(unsigned code)
{
    return code != '\n' && code != '\t' && sl_utf8_is_control(code);
}

/* Returns the number of bytes of the character that begins with this byte. */
static size_t size_of(unsigned char first)
{
    return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Writes the character whose bytes are in `held`. Returns 0 or -1. */
static int put_held(struct safe *s)
{
    size_t size = s->held_size;
    unsigned code = code_of(s->held, size);
    int result;

    s->held_size = 0;
    if (size != size_of(s->held[0]) || !is_unsafe(code))
        return fwrite(s->held, 1, size, s->below) == size ? 0 : -1;
    result = s->is_json ? fprintf(s->below, "\\u%04x", code) : fputc('?', s->below);
    return result < 0 ? -1 : 0;
}

/* Returns how many bytes, from `data` on, are plain text. */
static size_t plain_size(const char *data, size_t size)
{
    size_t i = 0;

    while (i < size && ((data[i] >= ' ' && data[i] <= '~') || data[i] == '\n'))
        i++;
    return i;
}

static ssize_t safe_write(void *cookie, const char *data, size_t size)
{
    struct safe *s = cookie;

    for (size_t i = 0; i < size; i++) {
        unsigned char byte;

        if (!s->held_size) {
            size_t plain = plain_size(data + i, size - i);

            if (fwrite(data + i, 1, plain, s->below) != plain)
                return 0;
            i += plain;
            if (i == size)
                break;
        }
        byte = (unsigned char)data[i];
        /* If the byte does not continue the character in `held`, that character ends here and is
         * written. */
        if (s->held_size && (byte & 0xc0) != 0x80 && put_held(s))
            return 0;
        s->held[s->held_size++] = byte;
        if (s->held_size == size_of(s->held[0]) && put_held(s))
            return 0;
    }
    return fflush(s->below) == 0 ? (ssize_t)size : 0;
}

FILE *sl_safe_stream(FILE *below, int is_json)
{
    static const cookie_io_functions_t functions = {.write = safe_write};
    static struct safe *all;
    struct safe *s = calloc(1, sizeof(*s));
    FILE *f;

    if (!s)
        return below;
    s->below = below;
    s->is_json = is_json;
    f = fopencookie(s, "w", functions);
    if (!f) {
        free(s);
        return below;
    }
    s->next = all;
    all = s;
    if (isatty(fileno(below)) || below == stderr)
        setvbuf(f, NULL, _IOLBF, 0);
    return f;
}
