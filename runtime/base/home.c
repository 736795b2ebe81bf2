/*
 * home.c - finds the files that belong to this library. Any thread; no state.
 */
#include "base/home.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loader.h"
#include "base/log.h"

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
    static int said;
    int saved = errno, err = 0, length;

    if (!*instead) {
        err = find_library(folder);
    } else if (*instead != '/') {
        sl_log_once(&said, SL_LOG_WARN,
                    "SYNCLINE_HOME=%s is a relative path and is not used, because anybody could "
                    "have put files there: give an absolute path",
                    instead);
        err = -EINVAL;
    } else if (!realpath(instead, folder)) {
        err = -ENOENT;
    }
    errno = saved;
    if (err)
        return err;
    length = snprintf(out, size, "%s%s/%s", folder, *instead ? "" : "/syncline", below);
    return length > 0 && (size_t)length < size ? 0 : -ENAMETOOLONG;
}

/* ---- trust ---- */

/* Returns NULL if the owner and the mode of a file can be trusted, otherwise a text for the log
 * that says what is wrong. */
static const char *fault_of(const struct stat *st, uid_t library_owner)
{
    int is_sticky = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX);

    if (st->st_uid != 0 && st->st_uid != geteuid() && st->st_uid != library_owner)
        return "belongs to another user";
    if (is_sticky)
        return NULL;
    if (st->st_mode & S_IWOTH)
        return "can be written by every user";
    if ((st->st_mode & S_IWGRP) && st->st_gid != 0 && st->st_gid != st->st_uid)
        return "can be written by a group";
    return NULL;
}

static int accept(const char *path, const char *file, uid_t library_owner)
{
    const char *fault = "cannot be read";
    static int said;
    struct stat st;

    if (lstat(path, &st) == 0)
        fault = fault_of(&st, library_owner);
    if (!fault)
        return 1;
    sl_log_once(&said, SL_LOG_WARN,
                "%s is not loaded, because %s %s: let it belong to root or to the user of the job, "
                "and remove the write access of others (chmod go-w)",
                file, path, fault);
    return 0;
}

/* Checks all files of the folder, because the file to be loaded may itself load them. */
static int accept_folder(const char *folder, const char *file, uid_t library_owner)
{
    char path[PATH_MAX];
    struct dirent *entry;
    int good = 1;
    DIR *d = opendir(folder);

    if (!d)
        return 0;
    while (good && (entry = readdir(d)) != NULL) {
        if (strcmp(entry->d_name, "..") != 0 &&
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < (int)sizeof(path))
            good = accept(path, file, library_owner);
    }
    closedir(d);
    return good;
}

int sl_home_is_trusted(const char *path)
{
    char real[PATH_MAX], library[PATH_MAX], *slash;
    uid_t library_owner = 0;
    int saved = errno, good;
    struct stat st;

    if (find_library(library) == 0 && lstat(library, &st) == 0)
        library_owner = st.st_uid;
    good = realpath(path, real) && accept(real, path, library_owner);
    slash = good ? strrchr(real, '/') : NULL;
    if (slash && slash != real) {
        *slash = '\0';
        good = accept_folder(real, path, library_owner);
    }
    while (good && (slash = strrchr(real, '/')) != NULL && slash != real) {
        *slash = '\0';
        good = accept(real, path, library_owner);
    }
    errno = saved;
    return good && accept("/", path, library_owner);
}
