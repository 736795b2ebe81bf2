/*
 * identity.h - who this process is in its job: job, rank, world size, host, and so where its
 * traces go.
 *
 * Read once, from the injection entry (launchers set the environment before the process starts).
 * The caller owns the struct; nothing is allocated.
 */
#ifndef SL_IDENTITY_H
#define SL_IDENTITY_H

#include <stdint.h>

#include "control/config.h"

struct sl_identity {
    uint32_t pid;
    int rank, world_size;    /* 0 of 1 without a launcher; a size that it does not tell: rank + 1 */
    const char *rank_source; /* variable the rank came from; NULL: none, rank is 0 */
    char host[65];           /* as the kernel says, for the trace */
    char job[65];            /* safe as a file name; "local" without a scheduler */
    char process_name[64];
    char folder[2304]; /* <output>/<job>/<host>-<rank>-<pid>, absolute where possible */
};

/* `environment` is `environ`-like text. A rank that is no number is reported and passed over. */
void sl_identity_read(struct sl_identity *out, const struct sl_config *config,
                      char *const *environment);

/* The rank alone; nothing is reported. */
int sl_identity_rank(char *const *environment);

/* Copies `text` as one component of a path: letters, digits, '.', '_', '-' stay, the rest becomes
 * '_', so does a leading '.'; cut to fit. "" stays "". */
void sl_identity_sanitise(char *out, size_t size, const char *text);

#endif
