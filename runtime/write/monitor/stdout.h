/*
 * stdout.h - writes whole lines to the job's stdout, and never waits for its reader.
 *
 * stdout is the job's. So it is written only if it is what the process was started with: descriptor
 * 1 is then not closed at exec, and stays the same file. Lines that the reader of a pipe or
 * terminal does not take wait in a buffer. When the buffer is full, lines are dropped and counted.
 *
 * Threads: one owner, which must block SIGPIPE. Memory: the caller's.
 */
#ifndef SL_MONITOR_STDOUT_H
#define SL_MONITOR_STDOUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sl_stdout {
    dev_t device; /* of the file that descriptor 1 was at the start */
    ino_t inode;
    mode_t type;
    int is_shut;      /* 1: nothing can be written any more, and a line in the log has said so */
    uint64_t dropped; /* number of lines for which there was no room */
    size_t used;
    char text[256 << 10]; /* lines that are not written yet */
};

/* `out` is all zeros. If stdout is not usable, logs a line, and all lines are dropped. */
void sl_stdout_open(struct sl_stdout *out);

/* Adds a line, which ends with a newline. */
void sl_stdout_put(struct sl_stdout *out, const char *line, size_t length);

/* Writes as much as can be written without waiting. */
void sl_stdout_flush(struct sl_stdout *out);

/* Writes as much as can be written without waiting, and logs how many lines were lost. */
void sl_stdout_close(struct sl_stdout *out);

#endif
