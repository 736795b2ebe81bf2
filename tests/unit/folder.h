/* folder.h - makes a temporary folder, and a file beside the folder for a child's stderr. Threads:
 * one. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[64];

static inline int folder_make(void)
{
    strcpy(folder, "/tmp/sl_test_XXXXXX");
    return mkdtemp(folder) == NULL;
}

static inline int folder_remove(void)
{
    char command[192];

    snprintf(command, sizeof(command), "rm -rf %s %s.stderr", folder, folder);
    return system(command) != 0;
}

#endif
