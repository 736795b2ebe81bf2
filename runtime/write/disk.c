/*
 * disk.c - limits how much of the disk the traces of this process use.
 *
 * Threads, memory: see disk.h. Only the newest FILES files are in the table. Older files are never
 * deleted.
 */
#include "write/disk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/pages.h"
#include "base/stats.h"

#define FILES      8192u
#define NAME_BYTES 96
#define FREE_MOST  (10ull << 30)
#define FREE_PART  20 /* 1/FREE_PART of the file system, that is, 5 %, stays free */
#define LOOK_PART  8  /* 1/LOOK_PART of the room may be written before the next check */

struct file {
    struct sl_own_file own; /* closed; only for device and inode */
    uint64_t bytes;
    struct timespec changed;
    uint32_t window;
    char name[NAME_BYTES];
};

struct sl_disk {
    struct sl_disk_options opt;
    uint64_t bytes;          /* total size of the complete files */
    uint32_t first_window;   /* number of the first window; 0 if no file is complete */
    uint64_t oldest, newest; /* file[n % FILES] is valid for n in [oldest, newest) */
    int is_said;
    /* bytes written and held at the last check, and how many more make the next check due */
    uint64_t checked_bytes, spare_bytes;
    struct file file[FILES];
};

int sl_disk_create(struct sl_disk **out, const struct sl_disk_options *opt)
{
    struct sl_disk *d = sl_pages_map(sizeof(*d));

    if (!d)
        return -ENOMEM;
    d->opt = *opt;
    *out = d;
    return 0;
}

void sl_disk_destroy(struct sl_disk *d)
{
    sl_pages_unmap(d, sizeof(*d));
}

void sl_disk_add(struct sl_disk *d, uint32_t window, const char *name)
{
    struct file *f;
    struct stat st;

    if (!d || sl_folder_stat(d->opt.folder, name, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    d->bytes += (uint64_t)st.st_size;
    if (!d->first_window)
        d->first_window = window;
    if (window == d->first_window || strlen(name) >= NAME_BYTES)
        return;
    if (d->newest - d->oldest == FILES)
        d->oldest++;
    f = &d->file[d->newest++ % FILES];
    *f = (struct file){.own = {.fd = -1, .device = st.st_dev, .inode = st.st_ino},
                       .bytes = (uint64_t)st.st_size,
                       .changed = st.st_mtim,
                       .window = window};
    snprintf(f->name, sizeof(f->name), "%s", name);
}

/* Deletes the file, unless somebody has changed or replaced it. In both cases the file does not
 * count towards the limit any more. */
static void delete_file(struct sl_disk *d, const struct file *f)
{
    struct stat st;

    d->bytes -= f->bytes;
    if (sl_folder_stat(d->opt.folder, f->name, &st) == 0 && st.st_dev == f->own.device &&
        st.st_ino == f->own.inode && (uint64_t)st.st_size == f->bytes &&
        st.st_mtim.tv_sec == f->changed.tv_sec && st.st_mtim.tv_nsec == f->changed.tv_nsec)
        sl_folder_unlink(d->opt.folder, &f->own, f->name);
}

/* Deletes the files of the oldest window. Returns the number of freed bytes, or 0 if there is no
 * window to delete. */
static uint64_t delete_oldest_window(struct sl_disk *d)
{
    uint64_t before = d->bytes;
    uint32_t window;

    if (d->opt.keeps_all || d->oldest == d->newest)
        return 0;
    window = d->file[d->oldest % FILES].window;
    while (d->oldest < d->newest && d->file[d->oldest % FILES].window == window)
        delete_file(d, &d->file[d->oldest++ % FILES]);
    sl_stats_add(SL_STAT_WINDOWS_DELETED, 1);
    return before - d->bytes;
}

struct space {
    /* `left`: number of free bytes. `stays`: number of bytes that must stay free. Both are 0 if
     * they are not known. */
    uint64_t left, stays;
};

static struct space look_at_space(const struct sl_disk *d)
{
    struct statvfs vfs;
    struct space s = {0, 0};

    if (sl_folder_space(d->opt.folder, &vfs) != 0)
        return s;
    s.left = (uint64_t)vfs.f_bavail * vfs.f_frsize;
    s.stays = (uint64_t)vfs.f_blocks * vfs.f_frsize / FREE_PART;
    if (s.stays > FREE_MOST)
        s.stays = FREE_MOST;
    return s;
}

int sl_disk_keeps_all(const struct sl_disk *d)
{
    return d->opt.keeps_all;
}

/* Logs which limit is reached. If `space` is NULL, it is the limit of the folder. */
static void say(struct sl_disk *d, const struct space *space, uint64_t held_bytes)
{
    char which[192];

    if (space)
        snprintf(
            which, sizeof(which),
            "only %.1f MB of the file system are free, the open files need about %.1f MB more, "
            "and %.1f MB (5 %%, at most 10 GiB) must stay free",
            (double)space->left / 1e6, (double)held_bytes / 1e6, (double)space->stays / 1e6);
    else
        snprintf(which, sizeof(which),
                 "the traces of this process reached the limit SYNCLINE_DISK, %.1f MB",
                 (double)d->opt.limit_bytes / 1e6);
    sl_log_once(&d->is_said, SL_LOG_WARN, "%s: %s, in %s; the job is not affected; %s", which,
                d->opt.keeps_all ? "the window ends here, and nothing more is recorded"
                                 : "the oldest windows are deleted, but never the first window",
                d->opt.folder->path,
                space ? "free some space, or set SYNCLINE_OUTPUT to a folder on another disk"
                      : "raise SYNCLINE_DISK, or record less (SYNCLINE_WINDOW)");
}

int sl_disk_is_due(const struct sl_disk *d, uint64_t held_bytes)
{
    return d && d->opt.folder->written_bytes + held_bytes > d->checked_bytes + d->spare_bytes;
}

int sl_disk_check(struct sl_disk *d, uint64_t open_bytes, uint64_t held_bytes)
{
    struct space space;
    uint64_t needed;

    if (!d)
        return 0;
    space = look_at_space(d);
    needed = space.stays ? space.stays + held_bytes : 0;
    open_bytes += held_bytes;
    d->checked_bytes = d->opt.folder->written_bytes + held_bytes;
    d->spare_bytes = 0;
    for (;;) {
        uint64_t used = d->bytes + open_bytes, limit = d->opt.limit_bytes, freed;

        if ((!limit || used <= limit) && space.left >= needed) {
            uint64_t of_folder = limit ? limit - used : UINT64_MAX;
            uint64_t of_system = needed ? space.left - needed : UINT64_MAX;

            d->spare_bytes = (of_folder < of_system ? of_folder : of_system) / LOOK_PART;
            return 0;
        }
        say(d, limit && used > limit ? NULL : &space, held_bytes);
        freed = delete_oldest_window(d);
        if (!freed)
            return limit && used > limit ? -EDQUOT : -ENOSPC;
        space.left += freed;
    }
}
