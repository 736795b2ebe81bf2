/*
 * dump_file.h - a dump as a file: a header, then whole chunks, one after the other.
 *
 * Threads: one owner. A write that fails is said in one line and closes the file; a closed one
 * takes nothing more.
 */
#ifndef SL_CUPTI_DUMP_FILE_H
#define SL_CUPTI_DUMP_FILE_H

#include <limits.h>
#include <stdint.h>
#include <sys/uio.h>

#include "collect/cupti/dump.h"

#define SL_CUPTI_DUMP_PIECES 4

struct sl_cupti_dump_file {
    int fd; /* -1: closed */
    uint64_t bytes;
    char path[PATH_MAX];
};

/* A new file with this header; "%p" in the path becomes `pid`. 0 or -errno. */
int sl_cupti_dump_file_open(struct sl_cupti_dump_file *f, const char *path, uint32_t pid,
                            const struct sl_cupti_dump_header *header);

/* One chunk of up to SL_CUPTI_DUMP_PIECES pieces, each padded to a multiple of 8. */
void sl_cupti_dump_file_write(struct sl_cupti_dump_file *f, enum sl_cupti_dump_type type,
                              const struct iovec *piece, int pieces);

void sl_cupti_dump_file_close(struct sl_cupti_dump_file *f);

#endif
