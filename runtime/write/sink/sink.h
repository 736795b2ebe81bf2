/*
 * sink.h - byte sinks: a compressor that writes to a file, or to memory.
 *
 * The Kineto and Chakra outputs write their bytes to a sink. The compressing sink writes frames
 * into the file sink. Errors are sticky: after the first failure every call returns the same -errno
 * and writes nothing. After an error, data that is already on the disk stays there.
 *
 * Threads: one owner (the writer thread, or the tool).
 */
#ifndef SL_SINK_H
#define SL_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/choices.h"
#include "base/folder.h"

/* A repetition in a text that the writer of the text knows. First there are `literals` new bytes.
 * The following `length` bytes (4 or more) are equal to the bytes that are `offset` bytes before
 * them. */
struct sl_match {
    uint32_t offset;
    uint32_t literals;
    uint32_t length;
    uint32_t reserved;
};

/* Maximum `offset` of a repetition, in bytes. A repetition must never refer to text before the last
 * sync. */
#define SL_MATCH_REACH (1u << 21)

struct sl_sink {
    /* Accepts all bytes or fails. Returns 0 or -errno. */
    int (*write)(struct sl_sink *sink, const void *data, size_t size);
    /* Writes at most 128 KiB, like `write`, and passes a list of the repetitions in the data, in
     * order. So the compressor need not search for them. A wrong repetition makes the file
     * unreadable. The pointer is NULL if this sink does not use repetitions. */
    int (*write_matched)(struct sl_sink *sink, const void *data, size_t size,
                         const struct sl_match *match, size_t count);
    /* Ends the compressor's frame and writes all data to the file, so that everything written so
     * far can be read. */
    int (*sync)(struct sl_sink *sink);
    /* Ends and frees the sink and the sinks below it. If `complete` is set, renames NAME.part to
     * NAME. Returns 0 or the sticky error. */
    int (*close)(struct sl_sink *sink, int complete);
};

/* `name` is the final name of the file in the folder, which the caller must keep. Bytes are written
 * to `name`.part. This file is created with the first write, so it is never empty, unless the
 * program is killed just then. Existing files and links are never opened or replaced: the first
 * write, or close(), then returns -EEXIST. No signal is raised, because the sink writes only to
 * regular files, and EINTR is retried. A short write on a full disk returns -ENOSPC. After an
 * error, close() truncates the file to its size at the last sync, or removes the file if that size
 * is 0. A write returns -EBADF if the host closed or replaced the file (base/own_file.h). The sink
 * then never touches the file again. */
int sl_sink_file_open(struct sl_sink **out, struct sl_folder *folder, const char *name);

/* A sink in memory, for tests and benchmarks. sl_sink_memory_get() returns the bytes that were
 * written so far, at any time before close(). close() frees these bytes. */
int sl_sink_memory_open(struct sl_sink **out);
void sl_sink_memory_get(const struct sl_sink *sink, const void **data, size_t *size);

/* Opens a sink that compresses data and writes it to the sink `below`. If the call succeeds, the
 * new sink owns `below`. `level` is -7 to 19 for zstd (0 means 1), 1 to 9 for gzip. */
int sl_sink_compress_open(struct sl_sink **out, struct sl_sink *below, enum sl_compression kind,
                          int level);
/* Opens a file sink with a compressing sink above it. */
int sl_sink_open(struct sl_sink **out, struct sl_folder *folder, const char *name,
                 enum sl_compression kind, int level);

#endif
