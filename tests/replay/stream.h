/*
 * stream.h - a replay stream: lines of text, one per record. README.md describes the format.
 *
 * One thread. Lines are valid as long as the text is.
 */
#ifndef REPLAY_STREAM_H
#define REPLAY_STREAM_H

#include <stddef.h>
#include <stdint.h>

#define REPLAY_STREAM_FIRST_LINE "syncline-replay 1\n"

enum replay_word {
    REPLAY_DEVICE,
    REPLAY_CONTEXT,
    REPLAY_STREAM,
    REPLAY_RUNTIME,
    REPLAY_DRIVER,
    REPLAY_KERNEL,
    REPLAY_MEMCPY,
    REPLAY_MEMSET,
    REPLAY_SYNC,
    REPLAY_EVENT,
    REPLAY_WORDS
};

enum replay_field {
    F_AT,
    F_PID,
    F_TID,
    F_CORR,
    F_START,
    F_END,
    F_CBID,
    F_RESULT,
    F_DEVICE,
    F_CONTEXT,
    F_STREAM,
    F_GRID,
    F_BLOCK,
    F_CLUSTER,
    F_REGS,
    F_STATIC,
    F_DYNAMIC,
    F_LOCAL,
    F_QUEUED,
    F_SUBMITTED,
    F_PRIORITY,
    F_GRAPH,
    F_NODE,
    F_CHANNEL,
    F_KIND,
    F_SRC,
    F_DST,
    F_BYTES,
    F_VALUE,
    F_MEMORY,
    F_FLAGS,
    F_FROM,
    F_TO,
    F_TYPE,
    F_EVENT,
    F_SYNC_ID,
    F_DEVICE_NS,
    F_NULL_STREAM,
    F_CAPABILITY,
    F_SMS,
    F_WARP,
    F_THREADS,
    F_BLOCKS,
    F_REGISTERS,
    F_SHARED,
    F_CLOCK,
    F_BANDWIDTH,
    REPLAY_FIELDS
};

struct replay_line {
    enum replay_word word;
    unsigned number;                  /* number of the line in the file, from 1 */
    uint64_t value[REPLAY_FIELDS][3]; /* up to three numbers each; 0 if the line lacks the field */
    const char *name;                 /* NULL if the line has no name */
};

/* Passes every line to `take`, which returns 0, or an error that stops the reading. Returns 0;
 * -EINVAL after printing the unreadable line to stderr; -ENOMEM; or the error of `take`. */
int replay_stream_read(const char *text, size_t size,
                       int (*take)(void *user, const struct replay_line *line), void *user);

#endif
