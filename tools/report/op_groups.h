/*
 * op_groups.h - the GPU operations of a recording in groups, such as those of each stream.
 *
 * Threads: one owner. Memory: 8 bytes for each operation and 24 for each group, and about twice as
 * much while the groups are made.
 */
#ifndef SL_REPORT_OP_GROUPS_H
#define SL_REPORT_OP_GROUPS_H

#include "report/recording.h"

/* The operations [first, end) of sl_op_groups.op, by start. */
struct sl_op_group {
    size_t first, end;
    uint32_t key;
    uint8_t device;
};

struct sl_op_groups {
    const struct sl_report_op **op;
    struct sl_op_group *group; /* by device and key */
    size_t groups;
};

#define SL_OP_GROUPS_NONE UINT32_MAX /* the key of an operation that is left out */

typedef uint32_t (*sl_op_key_fn)(void *user, const struct sl_report_op *op);

/* Groups the operations by device and key. Returns 0 or -ENOMEM. */
int sl_op_groups_make(struct sl_op_groups *out, const struct sl_recording *r, sl_op_key_fn key,
                      void *user);
void sl_op_groups_free(struct sl_op_groups *g);

#endif
