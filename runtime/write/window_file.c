/*
 * window_file.c - opens, syncs and closes a file that an output writes for a window.
 *
 * Threads, memory: see window_file.h.
 */
#include "write/window_file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"

/* Longest times, in nanoseconds, between writing data and its sync. The first values are for the
 * first data of a file, which includes the header. The last value is for all later data. A killed
 * process must lose less than a second: a record waits up to 250 ms for CUPTI's delivery, an
 * execution trace's node up to 250 ms more for the next delivery, and then for the sync. */
static const uint64_t wait_ns[] = {0, 50000000, 200000000, 400000000};

#define BILLION   1000000000u
#define STEM_SIZE 64 /* more than any name needs */
#define WAITS     (sizeof(wait_ns) / sizeof(wait_ns[0]))

/* Returns 0, -EEXIST if a file has the name already, or another -errno. */
static int check_free(struct sl_folder *folder, const char *name)
{
    char part[NAME_MAX + 1];
    struct stat st;
    int error = sl_folder_stat(folder, name, &st);

    if (error == -ENOENT && snprintf(part, sizeof(part), "%s.part", name) < (int)sizeof(part))
        error = sl_folder_stat(folder, part, &st);
    return error == -ENOENT ? 0 : error ? error : -EEXIST;
}

/* Converts days since the epoch to a date of the Gregorian calendar. gmtime_r() takes a lock of the
 * C library and reads the time zone's file, which a library inside a program should not do. */
static void put_date(char out[32], uint64_t days)
{
    uint64_t shifted = days + 719468; /* days since March 1 of the year 0 */
    uint64_t era = shifted / 146097, of_era = shifted % 146097;
    uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * year + year / 4 - year / 100); /* from March 1 */
    uint64_t month = (5 * of_year + 2) / 153;                         /* 0: March */
    uint64_t day = of_year - (153 * month + 2) / 5 + 1;

    year += 400 * era + (month >= 10);
    snprintf(out, 32, "%04u%02u%02u", (unsigned)year % 10000,
             (unsigned)(month < 10 ? month + 3 : month - 9), (unsigned)day);
}

/* The name of a window says what the window holds, and names sort by time. The name of a window of
 * steps is the same on every rank. */
static void put_stem(char *out, size_t size, const struct sl_trace_meta *meta)
{
    uint64_t seconds = meta->opened_ns / BILLION, of_day = seconds % 86400;
    char date[32];

    if (meta->step) {
        snprintf(out, size, "step-%09llu", (unsigned long long)meta->step);
        return;
    }
    if (!meta->is_timed) {
        snprintf(out, size, "%u", meta->window);
        return;
    }
    put_date(date, seconds / 86400);
    snprintf(out, size, "%sT%02u%02u%02u.%03uZ", date, (unsigned)(of_day / 3600),
             (unsigned)(of_day / 60 % 60), (unsigned)(of_day % 60),
             (unsigned)(meta->opened_ns % BILLION / 1000000));
}

int sl_window_file_open(struct sl_window_file *f, const struct sl_window_file_options *opt,
                        const struct sl_trace_meta *meta)
{
    static const char *const suffix[] = {
        [SL_COMPRESS_NONE] = "", [SL_COMPRESS_ZSTD] = ".zst", [SL_COMPRESS_GZIP] = ".gz"};
    int error = sl_folder_make(opt->folder), made = error;
    size_t at = (size_t)snprintf(f->path, sizeof(f->path), "%s/", opt->folder->path);
    char stem[STEM_SIZE], of_rank[16] = "", again[16] = "";

    put_stem(stem, sizeof(stem), meta);
    if (opt->has_rank)
        snprintf(of_rank, sizeof(of_rank), ".%d", meta->rank);
    f->is_unsynced = 0;
    f->syncs = 0;
    f->folder = opt->folder;
    f->disk = opt->disk;
    f->window = meta->window;
    f->name = f->path + at;
    for (unsigned number = 1; number == 1 || error == -EEXIST; number++) {
        if (number > 1)
            snprintf(again, sizeof(again), "-%u", number);
        f->stem = at + (size_t)snprintf(f->path + at, sizeof(f->path) - at, "%s%s", stem, again);
        snprintf(f->path + f->stem, sizeof(f->path) - f->stem, "%s%s%s", of_rank, opt->ending,
                 suffix[opt->compression]);
        error = made ? made : check_free(f->folder, f->name);
    }
    if (!error)
        error = sl_sink_open(&f->sink, f->folder, f->name, opt->compression, opt->level);
    if (error)
        f->sink = NULL;
    return error;
}

void sl_window_file_touch(struct sl_window_file *f)
{
    if (!f->sink || f->is_unsynced)
        return;
    f->is_unsynced = 1;
    f->unsynced_ns = sl_clock_monotonic();
}

int sl_window_file_is_due(struct sl_window_file *f, uint64_t *due_ns)
{
    uint64_t age = f->is_unsynced ? sl_clock_monotonic() - f->unsynced_ns : 0;

    *due_ns = UINT64_MAX;
    if (!f->sink || !f->is_unsynced)
        return 0;
    if (age < wait_ns[f->syncs]) {
        *due_ns = wait_ns[f->syncs] - age;
        return 0;
    }
    f->is_unsynced = 0;
    if (f->syncs > 0 || sl_window_file_bytes(f) > 0) /* an output may write its header later */
        f->syncs += f->syncs + 1 < WAITS;
    return 1;
}

static int look_at_part(const struct sl_window_file *f, struct stat *st)
{
    char part[NAME_MAX + 8];

    snprintf(part, sizeof(part), "%s.part", f->name);
    return sl_folder_stat(f->folder, part, st) == 0;
}

uint64_t sl_window_file_bytes(const struct sl_window_file *f)
{
    struct stat st;

    return f->sink && look_at_part(f, &st) ? (uint64_t)st.st_size : 0;
}

int sl_window_file_has_part(const struct sl_window_file *f)
{
    struct stat st;

    return look_at_part(f, &st);
}

int sl_window_file_close(struct sl_window_file *f, int complete)
{
    int error = f->sink ? f->sink->close(f->sink, complete) : 0;

    if (f->sink && complete && !error)
        sl_disk_add(f->disk, f->window, f->name);
    f->sink = NULL;
    return error;
}
