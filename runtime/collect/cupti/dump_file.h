/*
 * dump_file.h - writes a dump file: a header, then whole chunks, one after the other.
 *
 * Threads: one owner. A failed write is logged in one line and closes the file. Later writes do
 * nothing.
 */
#ifndef SL_CUPTI_DUMP_FILE_H
#define SL_CUPTI_DUMP_FILE_H

#include <limits.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/own_file.h"
#include "collect/cupti/dump.h"

#define SL_CUPTI_DUMP_PIECES 4

struct sl_cupti_dump_file {
    struct sl_own_file own;
    uint64_t bytes; /* bytes written: the header and whole chunks */
    char path[PATH_MAX];
};

/* Creates a file with this header; "%p" in the path is replaced by `pid`. Returns 0 or -errno. */
int sl_cupti_dump_file_open(struct sl_cupti_dump_file *f, const char *path, uint32_t pid,
                            const struct sl_cupti_dump_header *header);

/* Writes one chunk of up to SL_CUPTI_DUMP_PIECES pieces, each padded to a multiple of 8 bytes. */
void sl_cupti_dump_file_write(struct sl_cupti_dump_file *f, enum sl_cupti_dump_type type,
                              const struct iovec *piece, int pieces);

void sl_cupti_dump_file_close(struct sl_cupti_dump_file *f);

#endif
