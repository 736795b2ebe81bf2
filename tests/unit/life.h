/*
 * life.h - runs the whole library in a child process with a fake CUPTI. Tests check the files and
 * their contents, the child's stderr, and the results of the public API.
 *
 * The library can be started only once per process, so every case runs in a child (child.h).
 *
 * Threads: the test has only one.
 */
#ifndef TEST_LIFE_H
#define TEST_LIFE_H

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "fake_cupti.h"
#include "folder.h"
#include "process/process.h"

/* Waits until the condition is true. If it never becomes true, ctest's time limit ends the test. */
#define UNTIL(condition)                                                                           \
    while (!(condition))                                                                           \
    usleep(1000)

static char said[96]; /* path of the file with the child's stderr */

static inline int make_folder(void **state)
{
    int err = folder_make();

    (void)state;
    snprintf(said, sizeof(said), "%s.stderr", folder);
    child_stderr = said;
    return err;
}

static inline int remove_folder(void **state)
{
    (void)state;
    return folder_remove();
}

/* Starts the library like the CUDA driver, with one additional environment variable. */
static inline int inject_cupti(const struct sl_cupti_functions *cupti, const char *variable)
{
    static char output[128], option[256];
    char *environment[] = {output, (char[]){"SYNCLINE_COMPRESSION=none"},
                           (char[]){"SYNCLINE_LEAD_IN=10ms"}, option, NULL};

    snprintf(output, sizeof(output), "SYNCLINE_OUTPUT=%s", folder);
    snprintf(option, sizeof(option), "%s", variable);
    return sl_process_inject_with(cupti, environment);
}

static inline int inject(const char *variable)
{
    return inject_cupti(&fake_functions, variable);
}

/* Returns the number of files that match the pattern. Each window has two files: the Kineto file
 * and the Chakra file. */
static inline int files(const char *pattern)
{
    char path[256];
    glob_t found;
    int count;

    snprintf(path, sizeof(path), "%s/*/*/%s", folder, pattern);
    count = glob(path, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
    globfree(&found);
    return count;
}

/* Returns how often `text` occurs in the only file that matches the pattern. */
static inline int in_file(const char *pattern, const char *text)
{
    static char content[4 << 20];
    char path[256];
    glob_t found;
    size_t got;
    int count = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/*/*/%s", folder, pattern);
    CHECK(glob(path, 0, NULL, &found) == 0 && found.gl_pathc == 1);
    f = fopen(found.gl_pathv[0], "r");
    globfree(&found);
    CHECK(f);
    got = fread(content, 1, sizeof(content) - 1, f);
    fclose(f);
    content[got] = '\0';
    for (const char *at = content; (at = strstr(at, text)); at++)
        count++;
    return count;
}

static inline int stderr_has(const char *text)
{
    static char content[16384];
    int fd = open(said, O_RDONLY);
    ssize_t got = read(fd, content, sizeof(content) - 1);

    close(fd);
    content[got > 0 ? got : 0] = '\0';
    return strstr(content, text) != NULL;
}

static inline struct sl_status status_now(void)
{
    struct sl_status s = {.size = sizeof(s)};

    CHECK(sl_status(&s) == 0);
    return s;
}

/* Returns the number of syncline's threads. Stores the signals that all of these threads block in
 * *blocked. syncline's threads are recognized by their names, because a sanitizer may have threads,
 * too. */
static inline int our_threads(unsigned long long *blocked)
{
    char line[256], name[64] = "";
    unsigned long long mask = 0;
    glob_t found;
    int ours = 0;

    *blocked = ~0ull;
    CHECK(glob("/proc/self/task/*/status", 0, NULL, &found) == 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *f = fopen(found.gl_pathv[i], "r");

        while (f && fgets(line, sizeof(line), f)) {
            sscanf(line, "Name: %63s", name);
            sscanf(line, "SigBlk: %llx", &mask);
        }
        if (f)
            fclose(f);
        if (strncmp(name, "syncline-", 9))
            continue;
        ours++;
        *blocked &= mask;
    }
    globfree(&found);
    return ours;
}

static inline int threads(void)
{
    unsigned long long blocked;

    return our_threads(&blocked);
}

#define KERNEL "\"cat\":\"kernel\""

static inline void record_window(const char *name, int launches)
{
    uint64_t completed = status_now().windows_completed;

    CHECK(sl_start() == 0);
    UNTIL(status_now().state == SL_STATE_RECORDING);
    CHECK(sl_start() == -EALREADY);
    for (int i = 0; i < launches; i++)
        fake_launch(name, 1);
    CHECK(sl_stop() == 0);
    UNTIL(status_now().windows_completed == completed + 1);
    UNTIL(status_now().state == SL_STATE_ARMED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
#define LIFE(play) CHILD_WITH(play, make_folder, remove_folder)

#endif
