/* fixture_boot.h - what fixture_boot.c, an interpreter that only counts, was called with. */
#ifndef SL_PYTHON_FIXTURE_BOOT_H
#define SL_PYTHON_FIXTURE_BOOT_H

struct fixture_boot {
    const char *version;
    int is_initialized, is_full, is_sub; /* its queue; a sub-interpreter runs the call */
    int (*call)(void *argument);
    void *argument;
    int queued;
    /* What goes wrong. */
    int no_dict, no_text, no_item, no_code, raises;
    int references; /* made and not dropped */
    int cleared, evaluated;
    char path[4096]; /* what the script is to execute */
};

#endif
