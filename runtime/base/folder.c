/*
 * folder.c - makes the folder of this process's traces, and reaches its files through a descriptor.
 *
 * Threads, memory: see folder.h.
 */
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define NAMES_MOST 9999 /* NAME-2 ... NAME-9999 */

void sl_folder_init(struct sl_folder *f, const char *output, const char *job, const char *name,
                    mode_t mode)
{
    struct stat root;

    memset(f, 0, sizeof(*f));
    snprintf(f->output, sizeof(f->output), "%s", output);
    snprintf(f->job, sizeof(f->job), "%s", job);
    snprintf(f->name, sizeof(f->name), "%s", name);
    snprintf(f->path, sizeof(f->path), "%s/%s/%s", f->output, f->job, f->name);
    f->mode = mode;
    f->own.fd = -1;
    if (stat("/", &root) == 0) {
        f->root_device = root.st_dev;
        f->root_inode = root.st_ino;
    }
}

int sl_folder_has_left(const struct sl_folder *f)
{
    struct stat root;

    return f->root_inode && stat("/", &root) == 0 &&
           (root.st_dev != f->root_device || root.st_ino != f->root_inode);
}

void sl_folder_close(struct sl_folder *f)
{
    if (sl_own_file_is_open(&f->own))
        sl_own_file_close(&f->own);
}

/* Call when a function is done. If the host's limit allows no high number, the host needs its few
 * numbers, so the descriptor is opened only for each use. Passes the result on. */
static int done(struct sl_folder *f, int error)
{
    if (f->own.fd >= 0 && f->own.fd < SL_OWN_FILE_FIRST_FD)
        sl_folder_close(f);
    return error;
}

/* ---- the folder that was made ---- */

/* Checks whether the path still leads to the folder. If the host has closed the descriptor, opens
 * the folder again. Returns 0, -ENOENT if the folder was removed, moved or replaced, or another
 * -errno. */
static int find(struct sl_folder *f)
{
    int error = sl_own_file_is_open(&f->own) ? 0 : -EBADF;
    struct sl_own_file again;
    struct stat st;

    if (stat(f->path, &st) != 0)
        return errno == ENOTDIR || errno == ENOENT ? -ENOENT : error ? -errno : 0;
    if (st.st_dev != f->own.device || st.st_ino != f->own.inode)
        return -ENOENT;
    if (!error)
        return 0;
    error = sl_own_file_open_folder(&again, AT_FDCWD, f->path, 0, 0);
    if (error)
        return error;
    if (again.device != f->own.device || again.inode != f->own.inode) {
        sl_own_file_close(&again);
        return -ENOENT;
    }
    f->own = again;
    return 0;
}

/* For files of the folder: the descriptor is enough, wherever the path leads by now. */
static int use(struct sl_folder *f)
{
    if (sl_own_file_is_open(&f->own))
        return 0;
    if (sl_folder_has_left(f))
        return -EXDEV;
    return f->is_made ? find(f) : -ENOENT;
}

/* ---- making it ---- */

static mode_t folder_mode(const struct sl_folder *f)
{
    return f->mode | (f->mode & 0444) >> 2;
}

/* Makes a folder with exactly the mode, whatever the umask is. Returns 0 or -errno. */
static int make(int at, const char *name, mode_t mode)
{
    struct sl_own_file made;

    if (mkdirat(at, name, mode) != 0)
        return -errno;
    if (sl_own_file_open_folder(&made, at, name, O_NOFOLLOW, mode) == 0)
        sl_own_file_close(&made);
    return 0;
}

/* Makes OUTPUT and the missing folders above it. */
static int make_output(const struct sl_folder *f)
{
    char path[sizeof(f->output)], *slash = path;
    struct stat st;

    memcpy(path, f->output, sizeof(path));
    while (slash) {
        int error;

        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        error = make(AT_FDCWD, path, folder_mode(f));
        /* Some file systems return another error than EEXIST for an existing folder, so the code
         * checks whether the folder exists. */
        if (error && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)))
            return error == -EEXIST ? -ENOTDIR : error;
        if (slash)
            *slash = '/';
    }
    return 0;
}

/* Makes NAME, or NAME-2 and so on. Writes the name to `name`. */
static int make_own(const struct sl_folder *f, struct sl_own_file *job, struct sl_own_file *own,
                    char *name, size_t size)
{
    int error = -EEXIST;

    for (unsigned n = 1; error == -EEXIST && n <= NAMES_MOST; n++) {
        snprintf(name, size, n > 1 ? "%s-%u" : "%s", f->name, n);
        if (!sl_own_file_is_open(job))
            return -EBADF;
        error = mkdirat(job->fd, name, folder_mode(f)) != 0 ? -errno : 0;
    }
    return error ? error : sl_own_file_open_folder(own, job->fd, name, O_NOFOLLOW, folder_mode(f));
}

/* Decides whether this process may use a job's folder. Its owner must be the user that owns what
 * this process makes there. This is this process's user, unless the file system changes owners (as
 * NFS does for root). */
static int may_share(const struct sl_own_file *job, const struct sl_own_file *own,
                     const struct sl_own_file *output)
{
    struct stat theirs, ours, chosen;

    return fstat(job->fd, &theirs) == 0 && fstat(own->fd, &ours) == 0 &&
           fstat(output->fd, &chosen) == 0 &&
           (theirs.st_uid == ours.st_uid || theirs.st_uid == 0 || theirs.st_uid == chosen.st_uid);
}

static int make_below(struct sl_folder *f, struct sl_own_file *output, const char *job_name)
{
    struct sl_own_file job, own;
    char name[sizeof(f->name) + 8];
    int error, opened;

    if (!sl_own_file_is_open(output))
        return -EBADF;
    error = make(output->fd, job_name, folder_mode(f));
    opened = sl_own_file_open_folder(&job, output->fd, job_name, O_NOFOLLOW, 0);
    if (opened)
        return error && error != -EEXIST ? error : opened;
    error = make_own(f, &job, &own, name, sizeof(name));
    if (!error && !may_share(&job, &own, output)) {
        sl_own_file_close(&own);
        if (sl_own_file_is_open(&job))
            unlinkat(job.fd, name, AT_REMOVEDIR);
        error = -EPERM;
    }
    sl_own_file_close(&job);
    if (error)
        return error;
    f->own = own;
    f->is_made = 1;
    snprintf(f->path, sizeof(f->path), "%s/%s/%s", f->output, job_name, name);
    if (strcmp(name, f->name) != 0)
        sl_log(SL_LOG_INFO,
               "%s/%s/%s exists already, from another process with this host name, rank and pid or "
               "from this program before an exec: this process writes to %s",
               f->output, job_name, f->name, f->path);
    return 0;
}

static int make_all(struct sl_folder *f)
{
    char job[sizeof(f->job) + 16];
    struct sl_own_file output;
    int error;

    if (!*f->job || f->output[0] != '/')
        return -ENOENT; /* the working directory was not known when the process began */
    error = make_output(f);
    if (!error)
        error = sl_own_file_open_folder(&output, AT_FDCWD, f->output, 0, 0);
    if (error)
        return error;
    error = make_below(f, &output, f->job);
    if (error == -EPERM || error == -EACCES) {
        snprintf(job, sizeof(job), "%s-%u", f->job, (unsigned)geteuid());
        error = make_below(f, &output, job);
        if (error) /* messages name the folder that could not be made either */
            snprintf(f->path, sizeof(f->path), "%s/%s/%s", f->output, job, f->name);
        else
            sl_log(SL_LOG_WARN,
                   "%s/%s belongs to another user, or this user cannot write to it: this process "
                   "writes to %s; to choose another folder, set SYNCLINE_OUTPUT or SYNCLINE_JOB",
                   f->output, f->job, f->path);
    }
    sl_own_file_close(&output);
    return error;
}

/* Like sl_folder_make(), and the descriptor is open afterwards. */
static int make_or_find(struct sl_folder *f)
{
    int error;

    if (sl_folder_has_left(f))
        return -EXDEV;
    error = f->is_made ? find(f) : -ENOENT;
    if (error != -ENOENT)
        return error;
    sl_folder_close(f);
    f->is_made = 0;
    return make_all(f);
}

int sl_folder_make(struct sl_folder *f)
{
    return done(f, make_or_find(f));
}

int sl_folder_open(struct sl_folder *f, const char *path, mode_t mode)
{
    int error;

    if (strlen(path) >= sizeof(f->output))
        return -ENAMETOOLONG;
    sl_folder_init(f, path, "", "", mode);
    snprintf(f->path, sizeof(f->path), "%s", path);
    error = make_output(f);
    if (!error)
        error = sl_own_file_open_folder(&f->own, AT_FDCWD, path, 0, 0);
    f->is_made = error == 0;
    return error;
}

/* ---- its files ---- */

int sl_folder_create(struct sl_folder *f, struct sl_own_file *file, const char *name)
{
    int error = make_or_find(f);

    file->fd = -1;
    if (error == -EXDEV)
        error = use(f); /* after a chroot, the descriptor still leads to the old place */
    if (!error)
        error = sl_own_file_open(file, f->own.fd, name, f->mode);
    return done(f, error);
}

int sl_folder_rename(struct sl_folder *f, const struct sl_own_file *file, const char *from,
                     const char *to)
{
    int error = use(f);

    if (!error)
        error = sl_own_file_rename(file, f->own.fd, from, to);
    return done(f, error);
}

void sl_folder_unlink(struct sl_folder *f, const struct sl_own_file *file, const char *name)
{
    if (use(f) == 0)
        sl_own_file_unlink(file, f->own.fd, name);
    done(f, 0);
}

int sl_folder_stat(struct sl_folder *f, const char *name, struct stat *st)
{
    int error = use(f);

    if (!error && fstatat(f->own.fd, name, st, AT_SYMLINK_NOFOLLOW) != 0)
        error = -errno;
    return done(f, error);
}

int sl_folder_space(struct sl_folder *f, struct statvfs *space)
{
    char path[sizeof(f->path)], *slash;

    if (use(f) == 0 && fstatvfs(f->own.fd, space) == 0)
        return done(f, 0);
    memcpy(path, f->path, sizeof(path));
    while (statvfs(path, space) != 0) {
        slash = strrchr(path, '/');
        if (errno != ENOENT || !slash || slash == path)
            return done(f, -errno);
        *slash = '\0';
    }
    return done(f, 0);
}
