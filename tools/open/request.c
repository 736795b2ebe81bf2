/*
 * request.c - reads the first line of a request, and the header Host.
 *
 * Pure; any thread.
 */
#include "open/request.h"

#include <string.h>
#include <strings.h>

struct span {
    const char *at;
    size_t size;
};

static int is_text(struct span s, const char *text)
{
    return s.size == strlen(text) && memcmp(s.at, text, s.size) == 0;
}

/* Takes the text up to the separator from the beginning of `rest`. */
static struct span take(struct span *rest, const char *separator)
{
    const char *end = memmem(rest->at, rest->size, separator, strlen(separator));
    struct span taken = {rest->at, end ? (size_t)(end - rest->at) : rest->size};
    size_t skipped = end ? taken.size + strlen(separator) : rest->size;

    rest->at += skipped;
    rest->size -= skipped;
    return taken;
}

/* NAME or NAME:PORT */
static int is_this_machine(struct span host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t size = strlen(names[i]);

        if (host.size >= size && strncasecmp(host.at, names[i], size) == 0 &&
            (host.size == size || host.at[size] == ':'))
            return 1;
    }
    return 0;
}

static struct span trimmed(struct span s)
{
    while (s.size && (*s.at == ' ' || *s.at == '\t')) {
        s.at++;
        s.size--;
    }
    while (s.size && (s.at[s.size - 1] == ' ' || s.at[s.size - 1] == '\t'))
        s.size--;
    return s;
}

/* Returns 1 if each Host among the headers is this machine. */
static int is_meant_for_us(struct span headers)
{
    while (headers.size) {
        struct span value = take(&headers, "\r\n"), key = take(&value, ":");

        if (key.size == 4 && strncasecmp(key.at, "Host", 4) == 0 &&
            !is_this_machine(trimmed(value)))
            return 0;
    }
    return 1;
}

struct sl_open_request sl_open_request_parse(const char *text, size_t size, const char *name)
{
    static const char *const methods[] = {
        [SL_OPEN_GET] = "GET", [SL_OPEN_HEAD] = "HEAD", [SL_OPEN_OPTIONS] = "OPTIONS"};
    struct sl_open_request request = {.method = SL_OPEN_UNKNOWN};
    struct span rest = {text, size}, line, method, path;

    if (!memmem(text, size, "\r\n\r\n", 4))
        return (struct sl_open_request){.method = SL_OPEN_UNFINISHED};
    line = take(&rest, "\r\n");
    method = take(&line, " ");
    path = take(&line, " ");
    request.is_old = is_text(line, "HTTP/1.0");
    if ((!request.is_old && !is_text(line, "HTTP/1.1")) || !path.size || *path.at != '/')
        return request;
    path.at++;
    path.size--;
    if (!is_text(path, name) || !is_meant_for_us(rest))
        return request;
    for (int i = SL_OPEN_GET; i <= SL_OPEN_OPTIONS; i++)
        if (is_text(method, methods[i]))
            request.method = (enum sl_open_method)i;
    return request;
}
