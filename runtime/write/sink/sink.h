/*
 * sink.h - where bytes go: a chain of file and compressor.
 *
 * kineto (and later chakra) write text into a sink; the compressing sink writes frames into the
 * file sink. Errors are sticky: after the first failure every call returns the same -errno and
 * writes nothing; what was already on disk stays.
 *
 * Threads: one owner (the writer thread, or the tool).
 */
#ifndef SL_SINK_H
#define SL_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/choices.h"

/* A repetition that the writer of a text knows of: behind `literals` bytes as they are come
 * `length` bytes (4 or more) that are equal to those `offset` bytes before them. */
struct sl_match {
    uint32_t offset;
    uint32_t literals;
    uint32_t length;
    uint32_t reserved;
};

/* How far back a repetition may reach, and never past the last sync. */
#define SL_MATCH_REACH (1u << 21)

struct sl_sink {
    /* Takes all bytes or fails. 0 or -errno. */
    int (*write)(struct sl_sink *sink, const void *data, size_t size);
    /* The same for at most 128 KiB, with the repetitions in it, in order: saves the compressor the
     * search. A wrong one gives a file that does not decompress. NULL: of no use to this sink. */
    int (*write_matched)(struct sl_sink *sink, const void *data, size_t size,
                         const struct sl_match *match, size_t count);
    /* Makes everything written so far readable in the file (closes the frame, writes out). */
    int (*sync)(struct sl_sink *sink);
    /* Ends and frees the sink and those below it. `complete`: rename NAME.part to NAME; else leave
     * NAME.part. 0 or the sticky error. */
    int (*close)(struct sl_sink *sink, int complete);
};

/* `path` is the final name; bytes go to `path`.part, opened O_EXCL|O_CLOEXEC|O_NOFOLLOW mode 0600.
 * Missing parent folders are made (0700). -EEXIST if either name is taken. No signal is raised
 * (writes only to regular files), EINTR is retried, a short write on a full disk is -ENOSPC and
 * what fitted stays. */
int sl_sink_file_open(struct sl_sink **out, const char *path);

/* Path of the file now (with or without .part), for messages; owned by the sink. */
const char *sl_sink_file_path(const struct sl_sink *sink);

/* Bytes in memory: tests, bench. *data and *size may be read at any time; freed by close unless
 * taken with sl_sink_memory_take(). */
int sl_sink_memory_open(struct sl_sink **out);
void sl_sink_memory_get(const struct sl_sink *sink, const void **data, size_t *size);

/* Owns `below` from success on. level: zstd -7..19 (0 means 1: see config), gzip 1..9. */
int sl_sink_compress_open(struct sl_sink **out, struct sl_sink *below, enum sl_compression kind,
                          int level);

#endif
