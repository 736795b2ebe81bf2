/*
 * output.c - writes NAME.PID.part, and then renames it to NAME.PID and to NAME. On failure no file
 * remains.
 *
 * Threads, memory: see output.h.
 */
#include "convert/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int sl_output_check(const struct sl_command *command, const char *input, const char *output,
                    int force)
{
    struct stat st, source;

    if (strcmp(output, "-") == 0)
        return sl_args_complain(command, "the output must be a file, not -: output to a pipe "
                                         "cannot be undone if the conversion fails");
    if (lstat(output, &st) != 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return sl_args_complain(command, "%s is a directory: name a file in it", output);
    if (!S_ISREG(st.st_mode))
        return sl_args_complain(
            command, "%s is not a regular file and is not replaced: choose another name", output);
    if (stat(input, &source) == 0 && source.st_dev == st.st_dev && source.st_ino == st.st_ino)
        return sl_args_complain(command, "%s is the input: choose another name", output);
    if (!force)
        return sl_args_complain(command, "%s exists: use --force to replace it", output);
    return 0;
}

static void folder_of(char folder[PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');

    /* "/x" is in "/", and "x" in "." */
    snprintf(folder, PATH_MAX, "%.*s", slash > path ? (int)(slash - path) : 1, slash ? path : ".");
}

int sl_output_check_folder(const struct sl_command *command, const char *output)
{
    char folder[PATH_MAX];
    struct stat st;

    folder_of(folder, output);
    if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return sl_args_complain(command, "cannot write %s: there is no folder %s", output, folder);
}

static int open_folder(struct sl_folder *f, const char *path)
{
    char folder[PATH_MAX];
    int rc;

    folder_of(folder, path);
    rc = sl_folder_open(f, folder, 0600);
    if (!rc && access(folder, W_OK | X_OK) != 0)
        rc = -errno; /* otherwise only the first write would fail */
    return rc;
}

int sl_output_open(struct sl_output *o, const char *output, enum sl_compression compression,
                   int level)
{
    const char *slash;
    int rc;

    o->error = 0;
    o->fill = 0;
    if (snprintf(o->temporary, sizeof(o->temporary), "%s.%ld", output, (long)getpid()) >=
        (int)sizeof(o->temporary))
        return -ENAMETOOLONG;
    snprintf(o->part, sizeof(o->part), "%s.part", o->temporary);
    rc = open_folder(&o->folder, o->temporary);
    slash = strrchr(o->temporary, '/');
    if (!rc)
        rc = sl_sink_open(&o->sink, &o->folder, slash ? slash + 1 : o->temporary, compression,
                          level);
    if (rc)
        sl_folder_close(&o->folder);
    return rc;
}

static void pass_on(struct sl_output *o, const void *data, size_t size)
{
    if (!o->error)
        o->error = o->sink->write(o->sink, data, size);
}

void sl_output_write(struct sl_output *o, const void *data, size_t size)
{
    if (o->fill + size > SL_OUTPUT_BLOCK) {
        pass_on(o, o->block, o->fill);
        o->fill = 0;
    }
    if (size > SL_OUTPUT_BLOCK) {
        pass_on(o, data, size);
        return;
    }
    memcpy(o->block + o->fill, data, size);
    o->fill += size;
}

void sl_output_drop(struct sl_output *o)
{
    o->sink->close(o->sink, 0);
    sl_folder_close(&o->folder);
    if (o->error != -EEXIST) /* another run's file */
        unlink(o->part);
}

int sl_output_keep(struct sl_output *o, const char *output, int force)
{
    int rc;

    pass_on(o, o->block, o->fill);
    rc = o->error ? o->error : o->sink->sync(o->sink);
    if (rc) {
        o->error = rc;
        sl_output_drop(o);
        return rc;
    }
    rc = o->sink->close(o->sink, 1);
    sl_folder_close(&o->folder);
    if (!rc && !force && link(o->temporary, output) == 0)
        unlink(o->temporary);
    else if (!rc && !force && errno == EEXIST)
        rc = -EEXIST;
    else if (!rc && rename(o->temporary, output) != 0)
        rc = -errno;
    if (rc) {
        unlink(o->part);
        unlink(o->temporary);
    }
    return rc;
}

int sl_output_complain(const struct sl_command *command, const char *output, int rc)
{
    return sl_args_complain(command, "cannot write %s: %s%s; nothing is left behind", output,
                            strerror(-rc),
                            rc == -ENOSPC   ? ": free some space, or choose another place with -o"
                            : rc == -EACCES ? ": choose a folder that you can write to"
                                            : "");
}
