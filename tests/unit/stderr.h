/*
 * stderr.h - captures the text that is written to stderr between two calls.
 *
 * Threads: one. The captured text is valid until the next capture.
 */
#ifndef TEST_STDERR_H
#define TEST_STDERR_H

#include "test.h"

#include <stdio.h>
#include <unistd.h>

static char said[16384];
static int stderr_kept, stderr_reader;

static inline void listen_to_stderr(void)
{
    int end[2];

    fflush(stderr);
    assert_int_equal(pipe(end), 0);
    stderr_kept = dup(STDERR_FILENO);
    stderr_reader = end[0];
    dup2(end[1], STDERR_FILENO);
    close(end[1]);
}

static inline const char *stop_listening(void)
{
    ssize_t got;

    dup2(stderr_kept, STDERR_FILENO);
    close(stderr_kept);
    got = read(stderr_reader, said, sizeof(said) - 1);
    close(stderr_reader);
    said[got > 0 ? got : 0] = '\0';
    return said;
}

#endif
