/* fixture_boot.h - the state of fixture_boot.c: the calls that the fake interpreter received. */
#ifndef SL_PYTHON_FIXTURE_BOOT_H
#define SL_PYTHON_FIXTURE_BOOT_H

struct fixture_boot {
    const char *version;
    /* If `is_full` is set, the queue of calls is full. If `is_sub` is set, a sub-interpreter runs
     * the call. */
    int is_initialized, is_full, is_sub;
    int (*call)(void *argument);
    void *argument;
    int queued;
    /* If set, the matching call fails or raises. */
    int no_dict, no_text, no_item, no_code, raises;
    int references; /* number of references that are not released */
    int cleared, evaluated;
    char path[4096]; /* the file that the script executes */
};

#endif
