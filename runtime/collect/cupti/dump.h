/*
 * dump.h - writes raw CUPTI buffers to a file, as input for replay and fixtures.
 *
 * The dump is for developers, and is off unless SYNCLINE_DUMP_CUPTI names a file.
 * docs/cupti-dump.md describes the format. The structs below are the file's content, little-endian
 * like all machines with CUDA.
 *
 * Threads: the recorder thread, and after the end of the recorder thread the exiting thread. Every
 * call accepts a NULL dump and then does nothing.
 */
#ifndef SL_CUPTI_DUMP_H
#define SL_CUPTI_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include "collect/cupti/foreign_text.h"
#include "event/device.h"

#define SL_CUPTI_DUMP_MAGIC  "SLCUPTI\n"
#define SL_CUPTI_DUMP_FORMAT 1u

struct sl_cupti_dump_header {
    char magic[8];
    uint32_t format, header_bytes;
    uint32_t cupti_version; /* CUPTI's version, from cuptiGetVersion() */
    uint32_t pid;
    uint64_t realtime_ns, monotonic_ns; /* time at which the dump began */
    uint64_t reserved[3];
};

enum sl_cupti_dump_type {
    SL_CUPTI_DUMP_KINDS = 1,
    SL_CUPTI_DUMP_DEVICE = 2,
    SL_CUPTI_DUMP_CLOCK = 3,
    SL_CUPTI_DUMP_BUFFER = 4,
    SL_CUPTI_DUMP_DROPPED = 5,
    SL_CUPTI_DUMP_END = 6,
    SL_CUPTI_DUMP_TICKS = 7,
};

/* This header precedes each chunk. The header is followed by `bytes` bytes, and then by zeros up to
 * a multiple of 8. */
struct sl_cupti_dump_chunk {
    uint32_t type, reserved;
    uint64_t bytes;
};

/* The chunk holds one entry per kind. A reader uses the sizes to find the next record. */
struct sl_cupti_dump_kind {
    uint32_t kind, record_bytes;
};

struct sl_cupti_dump_device { /* the same fields as in event/device.h */
    uint32_t id, compute_major, compute_minor, multiprocessors;
    uint32_t max_threads_per_block, max_threads_per_sm, max_blocks_per_sm, max_warps_per_sm;
    uint32_t max_registers_per_block, max_registers_per_sm;
    uint32_t max_shared_per_block, max_shared_per_sm, warp_size, core_clock_khz;
    uint64_t memory_bytes, memory_bandwidth_kbps;
    uint8_t uuid[16];
    char name[256];
};

struct sl_cupti_dump_clock { /* readings of three clocks at one moment */
    uint64_t realtime_ns, monotonic_ns;
    uint64_t cupti_ns; /* result of cuptiGetTimestamp(), with an error of up to uncertainty_ns */
    uint64_t uncertainty_ns;
};

/* How to convert a stamp of the tick counter to CLOCK_REALTIME: ns + ((stamp - ticks) * rate >>
 * 32), where the difference is signed. */
struct sl_cupti_dump_ticks {
    uint64_t ticks, ns;
    uint64_t rate; /* ns per tick, 32.32 fixed point; 0: not known */
};

/* A completed buffer consists of this struct, `refs` entries of sl_cupti_dump_ref, `text_bytes`
 * bytes of texts, and `valid` bytes of records. Each part is padded to a multiple of 8 bytes. */
struct sl_cupti_dump_buffer {
    uint64_t number;                    /* number of the buffer, counted from 1 */
    uint64_t realtime_ns, monotonic_ns; /* CLOCK_REALTIME ns when the recorder thread took the
                                         * buffer */
    uint32_t stream;                    /* the stream that CUPTI passed to the callback */
    uint32_t valid;
    uint32_t records, known; /* `records`: number of records whose kind is in the dump's size table;
                              * `known`: bytes of these records */
    uint32_t refs, text_bytes;
};

#define SL_CUPTI_DUMP_NO_TEXT UINT32_MAX /* the text could not be read, or did not fit */

/* The 8 bytes at `offset` in the buffer are the address of a text. */
struct sl_cupti_dump_ref {
    uint32_t offset; /* offset of the address within the records */
    uint32_t text;   /* offset of the NUL-terminated text in the texts; or SL_CUPTI_DUMP_NO_TEXT */
};

struct sl_cupti_dump_dropped { /* result of cuptiActivityGetNumDroppedRecords after CUPTI returned
                                * the buffer */
    uint64_t buffer, records;
};

enum sl_cupti_dump_end_reason {
    SL_CUPTI_DUMP_ENDED = 0, /* the dump ended with the process */
    SL_CUPTI_DUMP_FULL = 1,  /* the dump ended because the file reached its size limit */
};

struct sl_cupti_dump_end {
    uint64_t buffers, records;
    uint64_t texts_missing; /* number of addresses whose text was unreadable or beyond the limit */
    uint32_t reason, reserved;
};

struct sl_cupti_dump;

struct sl_cupti_dump_options {
    const char *path; /* path of the file, in which "%p" becomes the process id */
    uint32_t version; /* cuptiGetVersion */
    uint32_t pid;
    uint64_t cap_bytes; /* size limit of the file in bytes; the last chunk may exceed the limit */
    const struct sl_device_table *devices; /* borrowed table of devices; each device is written once
                                            * it is known */
    /* checks the address of a text; NULL: sl_foreign_text_can_read() */
    sl_foreign_text_can_read_fn can_read;
};

/* Creates a file with mode 0600; never overwrites an existing file. If creating the file fails,
 * logs one line. Returns 0, -EEXIST, -ENOTSUP (CUPTI version), -ENOMEM or another -errno. */
int sl_cupti_dump_open(struct sl_cupti_dump **out, const struct sl_cupti_dump_options *opt);

/* Writes a completed buffer. The caller guarantees that the texts to which the buffer's records
 * point are still valid. If writing fails or the file is full, the dump logs a line and closes the
 * file; recording continues. */
void sl_cupti_dump_buffer(struct sl_cupti_dump *d, const uint8_t *data, size_t valid,
                          uint32_t stream);

void sl_cupti_dump_dropped(struct sl_cupti_dump *d, uint64_t records);

/* `offset_ns` is CUPTI's clock minus CLOCK_REALTIME. `uncertainty_ns` is UINT64_MAX if CUPTI's
 * clock cannot be read. */
void sl_cupti_dump_clock(struct sl_cupti_dump *d, int64_t offset_ns, uint64_t uncertainty_ns);

/* Call if CUPTI has used the tick counter. If the conversion of ticks has changed, writes the new
 * conversion for the buffers that follow. */
void sl_cupti_dump_ticks(struct sl_cupti_dump *d);

/* Writes the end mark. The memory is not freed, because the process ends. */
void sl_cupti_dump_end(struct sl_cupti_dump *d);

#endif
