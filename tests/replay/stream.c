/*
 * stream.c - reads a replay stream: lines of text, one per record.
 *
 * One thread. The caller owns the text. Each line is parsed in a copy, so the text can be read
 * several times.
 */
#include "stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[REPLAY_WORDS] = {
    [REPLAY_DEVICE] = "device",   [REPLAY_CONTEXT] = "context", [REPLAY_STREAM] = "stream",
    [REPLAY_RUNTIME] = "runtime", [REPLAY_DRIVER] = "driver",   [REPLAY_KERNEL] = "kernel",
    [REPLAY_MEMCPY] = "memcpy",   [REPLAY_MEMSET] = "memset",   [REPLAY_SYNC] = "sync",
    [REPLAY_EVENT] = "event",
};

static const char *const fields[REPLAY_FIELDS] = {
    [F_AT] = "at",
    [F_PID] = "pid",
    [F_TID] = "tid",
    [F_CORR] = "corr",
    [F_START] = "start",
    [F_END] = "end",
    [F_CBID] = "cbid",
    [F_RESULT] = "result",
    [F_DEVICE] = "device",
    [F_CONTEXT] = "context",
    [F_STREAM] = "stream",
    [F_GRID] = "grid",
    [F_BLOCK] = "block",
    [F_CLUSTER] = "cluster",
    [F_REGS] = "regs",
    [F_STATIC] = "static",
    [F_DYNAMIC] = "dynamic",
    [F_LOCAL] = "local",
    [F_QUEUED] = "queued",
    [F_SUBMITTED] = "submitted",
    [F_PRIORITY] = "priority",
    [F_GRAPH] = "graph",
    [F_NODE] = "node",
    [F_CHANNEL] = "channel",
    [F_KIND] = "kind",
    [F_SRC] = "src",
    [F_DST] = "dst",
    [F_BYTES] = "bytes",
    [F_VALUE] = "value",
    [F_MEMORY] = "memory",
    [F_FLAGS] = "flags",
    [F_FROM] = "from",
    [F_TO] = "to",
    [F_TYPE] = "type",
    [F_EVENT] = "event",
    [F_SYNC_ID] = "sync_id",
    [F_DEVICE_NS] = "device_ns",
    [F_NULL_STREAM] = "null_stream",
    [F_CAPABILITY] = "capability",
    [F_SMS] = "sms",
    [F_WARP] = "warp",
    [F_THREADS] = "threads",
    [F_BLOCKS] = "blocks",
    [F_REGISTERS] = "registers",
    [F_SHARED] = "shared",
    [F_CLOCK] = "clock",
    [F_BANDWIDTH] = "bandwidth",
};

static int find(const char *const *table, int n, const char *text)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(table[i], text) == 0) {
            return i;
        }
    }
    return -1;
}

/* Replaces "\n" by a line break and "\\" by a backslash. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++) {
        if (*from == '\\' && from[1]) {
            from++;
            *to++ = *from == 'n' ? '\n' : *from;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
}

/* Reads one to three numbers, separated by commas. A negative number is stored as its two's
 * complement. */
static int read_numbers(const char *text, uint64_t value[3])
{
    char *end;

    for (int i = 0; i < 3; i++, text = end + 1) {
        errno = 0;
        value[i] = *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
        if (end == text || errno) {
            return -EINVAL;
        }
        if (*end == 0) {
            return 0;
        }
        if (*end != ',') {
            return -EINVAL;
        }
    }
    return -EINVAL;
}

/* `name=` extends to the end of the line, including spaces. */
static int read_line(char *text, struct replay_line *line)
{
    char *rest = text, *token = strsep(&rest, " ");
    int word = find(words, REPLAY_WORDS, token);

    if (word < 0) {
        return -EINVAL;
    }
    line->word = (enum replay_word)word;
    while (rest) {
        if (strncmp(rest, "name=", 5) == 0) {
            unescape(rest + 5);
            line->name = rest + 5;
            return 0;
        }
        token = strsep(&rest, " ");
        char *value = strchr(token, '=');

        if (!value) {
            return -EINVAL;
        }
        *value++ = 0;
        int field = find(fields, REPLAY_FIELDS, token);

        if (field < 0 || read_numbers(value, line->value[field])) {
            return -EINVAL;
        }
    }
    return 0;
}

/* Copies the line into a terminated buffer that may be modified. */
static int take_line(const char *text, size_t length, unsigned number,
                     int (*take)(void *user, const struct replay_line *line), void *user)
{
    struct replay_line line = {.number = number};
    char *copy;
    int err;

    if (!length || *text == '#') {
        return 0;
    }
    copy = malloc(length + 1);
    if (!copy) {
        return -ENOMEM;
    }
    memcpy(copy, text, length);
    copy[length] = 0;
    err = read_line(copy, &line);
    if (err) {
        fprintf(stderr, "replay: line %u cannot be read: %.*s\n", number,
                length < 200 ? (int)length : 200, text);
    } else {
        err = take(user, &line);
    }
    free(copy);
    return err;
}

int replay_stream_read(const char *text, size_t size,
                       int (*take)(void *user, const struct replay_line *line), void *user)
{
    size_t at = strlen(REPLAY_STREAM_FIRST_LINE);
    unsigned number = 2;
    int err = 0;

    if (size < at || memcmp(text, REPLAY_STREAM_FIRST_LINE, at) != 0) {
        fprintf(stderr, "replay: this is no replay stream of version 1\n");
        return -EINVAL;
    }
    for (; at < size && !err; number++) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;

        err = take_line(text + at, length, number, take, user);
        at += length + 1;
    }
    return err;
}
