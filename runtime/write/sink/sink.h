/*
 * sink.h - byte sinks: a compressor that writes to a file, or to memory.
 *
 * The Kineto and Chakra outputs write into a sink. The compressing sink writes frames into the file
 * sink. Errors are sticky: after the first failure every call returns the same -errno and writes
 * nothing. Data already on the disk stays.
 *
 * Threads: one owner (the writer thread, or the tool).
 */
#ifndef SL_SINK_H
#define SL_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/choices.h"

/* A repetition that the writer of a text knows: after `literals` new bytes, `length` bytes (4 or
 * more) follow that are equal to the bytes `offset` before them. */
struct sl_match {
    uint32_t offset;
    uint32_t literals;
    uint32_t length;
    uint32_t reserved;
};

/* How far back a repetition may reach. It must never reach past the last sync. */
#define SL_MATCH_REACH (1u << 21)

struct sl_sink {
    /* Accepts all bytes or fails. Returns 0 or -errno. */
    int (*write)(struct sl_sink *sink, const void *data, size_t size);
    /* The same for at most 128 KiB, with a list of the repetitions in it, in order, so that the
     * compressor need not search. A wrong repetition makes the file unreadable. NULL: this sink
     * does not use repetitions. */
    int (*write_matched)(struct sl_sink *sink, const void *data, size_t size,
                         const struct sl_match *match, size_t count);
    /* Ends the compressor's frame and writes all data to the file, so that everything written so
     * far can be read. */
    int (*sync)(struct sl_sink *sink);
    /* Ends and frees the sink and the sinks below it. If `complete` is set, renames NAME.part to
     * NAME. Returns 0 or the sticky error. */
    int (*close)(struct sl_sink *sink, int complete);
};

/* `path` is the final name. Bytes are written to `path`.part, opened O_EXCL|O_CLOEXEC|O_NOFOLLOW
 * with mode 0600. Missing parent folders are created (0700). -EEXIST: either name is taken. No
 * signal is raised (writes go only to regular files), and EINTR is retried. A short write on a full
 * disk returns -ENOSPC. After an error, close() cuts the file to what was there at the last sync,
 * or removes it if that is nothing. -EBADF: the host closed or replaced the file
 * (base/own_file.h). The sink never touches the file again. */
int sl_sink_file_open(struct sl_sink **out, const char *path);

/* A sink in memory, for tests and benchmarks. *data and *size may be read at any time. Close frees
 * them unless sl_sink_memory_take() took them. */
int sl_sink_memory_open(struct sl_sink **out);
void sl_sink_memory_get(const struct sl_sink *sink, const void **data, size_t *size);

/* Opens a sink that compresses into `below`, which it owns if the call succeeds. `level` is -7 to
 * 19 for zstd (0 means 1), 1 to 9 for gzip. */
int sl_sink_compress_open(struct sl_sink **out, struct sl_sink *below, enum sl_compression kind,
                          int level);
/* Both: a compressed file. If the compressor cannot start, an empty `path`.part may stay. */
int sl_sink_open(struct sl_sink **out, const char *path, enum sl_compression kind, int level);

#endif
