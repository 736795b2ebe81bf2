/*
 * broken_row.c - finds the end and the name of an event that is not valid JSON.
 *
 * Threads, memory: see broken_row.h.
 */
#include "read/broken_row.h"

#include "read/scan.h"

static size_t skip_space(const char *text, size_t size, size_t at)
{
    while (at < size && sl_text_is_space(text[at]))
        at++;
    return at;
}

/* Returns the position after `c` and the white space before `c`, or 0 if something else is
 * there. */
static size_t after(const char *text, size_t size, size_t at, char c)
{
    at = skip_space(text, size, at);
    return at < size && text[at] == c ? at + 1 : 0;
}

/* Returns whether an event may begin with this key. */
static int is_first_key(struct sl_text rest, int only_phase)
{
    static const char *const keys[] = {"ph\"",  "cat\"", "name\"", "pid\"",
                                       "tid\"", "ts\"",  "dur\"",  "args\""};

    for (size_t i = 0; i < (only_phase ? 1 : sizeof(keys) / sizeof(keys[0])); i++)
        if (sl_text_begins(rest, keys[i]))
            return 1;
    return 0;
}

static int is_event(const char *text, size_t size, size_t at, int only_phase)
{
    at = after(text, size, at, ',');
    at = at ? after(text, size, at, '{') : 0;
    at = at ? after(text, size, at, '"') : 0;
    return at && is_first_key((struct sl_text){text + at, size - at}, only_phase);
}

size_t sl_broken_row_end(const char *text, size_t size, int may_be_valid)
{
    const char *at = text;

    while ((at = memchr(at, '}', size - (size_t)(at - text)))) {
        at++;
        if (is_event(text, size, (size_t)(at - text), may_be_valid))
            return (size_t)(at - text);
    }
    return 0;
}

/* Returns whether the trace ends here with valid brackets: `], "traceName": "..."}`. */
static int is_ending(const char *text, size_t size, size_t at)
{
    struct sl_scan scan = {.depth = 1};
    size_t end;

    at = after(text, size, at, ']');
    if (!at || at >= size)
        return 0;
    end = sl_scan_end(&scan, text + at, size - at, 1);
    return end && skip_space(text, size, at + end) == size;
}

size_t sl_broken_row_last_end(const char *text, size_t size)
{
    const char *at = text;

    while ((at = memchr(at, '}', size - (size_t)(at - text)))) {
        at++;
        if (is_ending(text, size, (size_t)(at - text)))
            return (size_t)(at - text);
    }
    return 0;
}

struct sl_text sl_broken_row_name(const char *text, size_t size)
{
    static const char key[] = "\"name\"";
    const char *at = memmem(text, size, key, sizeof(key) - 1);
    size_t from = at ? (size_t)(at - text) + sizeof(key) - 1 : 0, end;

    from = from ? after(text, size, from, ':') : 0;
    from = from ? after(text, size, from, '"') : 0;
    if (!from)
        return (struct sl_text){"", 0};
    for (end = from; end < size && text[end] != '\n'; end++)
        if (text[end] == '"' && after(text, size, end + 1, ','))
            break;
    return (struct sl_text){text + from, end - from};
}
