/*
 * home.c - finds the files that belong to this library. Any thread; no state.
 */
#include "base/home.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loader.h"

/* Finds the folder of this library. Resolves symbolic links, because the loader may have opened a
 * link in another folder. */
static int find_library(char *folder)
{
    Dl_info self;
    char *slash;

    if (!sl_loader_find((void *)(uintptr_t)find_library, &self) || !self.dli_fname ||
        !realpath(self.dli_fname, folder))
        return -ENOENT;
    slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    return slash ? 0 : -ENOENT;
}

int sl_home_path(char *out, size_t size, const char *instead, const char *below)
{
    char folder[PATH_MAX];
    int saved = errno, err = 0, length;

    if (!*instead)
        err = find_library(folder);
    else if (!realpath(instead, folder))
        err = -ENOENT;
    errno = saved;
    if (err)
        return err;
    length = snprintf(out, size, "%s%s/%s", folder, *instead ? "" : "/syncline", below);
    return length > 0 && (size_t)length < size ? 0 : -ENAMETOOLONG;
}
