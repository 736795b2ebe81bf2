/*
 * links.h - checks that related rows refer to each other correctly.
 *
 * It matches calls and GPU operations by correlation id, flow arrows by id, and stream waits with
 * the calls that recorded their events.
 *
 * Threads: one owner. Memory: at most 64 MiB for any file.
 */
#ifndef SL_CHECK_LINKS_H
#define SL_CHECK_LINKS_H

#include "check/finding.h"
#include "check/id_flags.h"
#include "read/json_event.h"

#define SL_LINKS_WAITS 65536u

/* A stream wait. The row of the call that recorded the awaited event has not been read yet. */
struct sl_links_wait {
    uint64_t record; /* correlation id of the call that recorded the event; 0: free entry */
    int64_t start_ns;
    uint64_t at;
};

struct sl_links {
    struct sl_findings *findings;
    struct sl_id_flags calls;  /* by correlation id */
    struct sl_id_flags arrows; /* ac2g flows */
    struct sl_id_flags others; /* flows of other categories */
    struct sl_links_wait waiting[SL_LINKS_WAITS];
    uint64_t unchecked;
};

/* The caller has zeroed `l`. A zeroed `l` may be freed. `findings` is borrowed. Returns 0 or
 * -ENOMEM. */
int sl_links_init(struct sl_links *l, struct sl_findings *findings);
void sl_links_free(struct sl_links *l);

void sl_links_row(struct sl_links *l, const struct sl_trace_row *row, uint64_t at);

/* Reports the rows without a partner. Call it after the last row. */
void sl_links_end(struct sl_links *l);

#endif
