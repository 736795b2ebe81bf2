/*
 * child.h - runs a test case in a child process, because the tested state exists once per process.
 *
 * If a CHECK fails, the child prints the source line on stderr and exits with status 1, and the
 * case fails.
 *
 * Threads: the test has one thread. Any thread of the child may use CHECK. No memory is allocated.
 */
#ifndef TEST_CHILD_H
#define TEST_CHILD_H

#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* Path of a file that gets the child's stderr, for cases that read it. The file is printed if the
 * child fails. If the path is NULL, the child uses the test's stderr. */
static const char *child_stderr;

/* Waits for a child and returns its exit status; -1 if it did not exit normally. */
static inline int result_of(pid_t child)
{
    int status;

    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void show_child_stderr(void)
{
    char text[4096] = "";
    int fd = child_stderr ? open(child_stderr, O_RDONLY) : -1;

    if (fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0)
        print_error("%s", text);
    if (fd >= 0)
        close(fd);
}

static inline void in_child(void (*play)(void))
{
    pid_t child = fork();
    int result;

    if (child == 0) {
        if (child_stderr)
            dup2(open(child_stderr, O_RDWR | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
        play();
        exit(0); /* not _exit(), because sanitizers report in exit handlers */
    }
    result = result_of(child);
    if (result)
        show_child_stderr();
    assert_int_equal(result, 0);
}

/* Runs the function to which `state` points in a child process. CHILD() uses this function. */
static inline void play_in_child(void **state)
{
    in_child(*(void (**)(void))state);
}

/* An entry in a list of tests: runs a function without arguments in a child process. */
#define CHILD_WITH(play, set_up, tear_down)                                                        \
    ((struct CMUnitTest){#play, play_in_child, set_up, tear_down, (void *)(play)})
#define CHILD(play) CHILD_WITH(play, NULL, NULL)

#endif
