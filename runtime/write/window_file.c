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
 * first data of a file, which includes the header. The last value is for all later data. So a
 * killed process loses at most the data of the last value, and a young process loses less. */
static const uint64_t wait_ns[] = {0, 50000000, 200000000, 1000000000};

#define BILLION   1000000000u
#define STEM_SIZE 96 /* more than any name needs */
#define WAITS     (sizeof(wait_ns) / sizeof(wait_ns[0]))

static int open_chain(struct sl_window_file *f, const struct sl_window_file_options *opt)
{
    static const char *const suffix[] = {
        [SL_COMPRESS_NONE] = "", [SL_COMPRESS_ZSTD] = ".zst", [SL_COMPRESS_GZIP] = ".gz"};
    int error;

    if (f->stem < sizeof(f->path))
        snprintf(f->path + f->stem, sizeof(f->path) - f->stem, "%s%s", opt->ending,
                 suffix[opt->compression]);
    error = sl_sink_open(&f->sink, f->path, opt->compression, opt->level);
    if (error)
        f->sink = NULL;
    return error;
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
    char stem[STEM_SIZE];
    int error;

    put_stem(stem, sizeof(stem), meta);
    f->is_unsynced = 0;
    f->syncs = 0;
    f->disk = opt->disk;
    f->window = meta->window;
    f->stem = (size_t)snprintf(f->path, sizeof(f->path), "%s/%s", opt->folder, stem);
    error = open_chain(f, opt);
    if (error != -EEXIST)
        return error;
    f->stem = (size_t)snprintf(f->path, sizeof(f->path), "%s/%s-%llu", opt->folder, stem,
                               (unsigned long long)meta->opened_ns);
    return open_chain(f, opt);
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
    char part[PATH_MAX + 8];

    snprintf(part, sizeof(part), "%s.part", f->path);
    return lstat(part, st) == 0;
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
        sl_disk_add(f->disk, f->window, f->path);
    f->sink = NULL;
    return error;
}
