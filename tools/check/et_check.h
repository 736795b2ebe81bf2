/*
 * et_check.h - checks that Chakra readers accept a trace.
 *
 * docs/chakra.md states the rules. A problem is an error if it makes ASTRA-sim abort or silently
 * drop nodes.
 *
 * Threads: one owner. Memory: three bits per id slot, at most 192 MiB, plus that of et_ids.h and
 * et_order.h. Nodes that do not fit there are counted as not checked.
 */
#ifndef SL_CHECK_ET_CHECK_H
#define SL_CHECK_ET_CHECK_H

#include "check/et_ids.h"
#include "check/et_order.h"
#include "check/finding.h"
#include "read/et_file.h"

enum sl_et_rule {
    SL_ET_RULE_METADATA, /* GlobalMetadata is not first */
    SL_ET_RULE_CUT,      /* the file ends inside a message */
    SL_ET_RULE_DAMAGED,  /* bytes that are not a message */
    SL_ET_RULE_INPUT,    /* the compressed file is cut or damaged */
    SL_ET_RULE_EMPTY,    /* no node */
    SL_ET_RULE_ID_TWICE,
    SL_ET_RULE_DEP_MISSING, /* a dependency on a node that is not in the file */
    SL_ET_RULE_DEP_LATER,   /* a parent after its child */
    SL_ET_RULE_DEP_SELF,
    SL_ET_RULE_CYCLE,    /* nodes in a cycle, or after a cycle */
    SL_ET_RULE_TYPE,     /* INVALID or METADATA */
    SL_ET_RULE_NAME,     /* not UTF-8 */
    SL_ET_RULE_TEXT,     /* other text of a node or of the metadata is not UTF-8 */
    SL_ET_RULE_DURATION, /* negative, or above int64 in nanoseconds */
    SL_ET_RULE_NO_IS_CPU,
    SL_ET_RULE_COMM_ON_CPU,
    SL_ET_RULE_MEMBER,      /* a value in a different oneof member from the one feeders read */
    SL_ET_RULE_COMM_FIELDS, /* comm_type and comm_size, or peer and tag, are incomplete */
    SL_ET_RULE_TWICE,       /* an attribute appears twice in a node */
    SL_ET_RULE_COMM_SIZE,   /* below 0 */
    SL_ET_RULE_COMM_PEER,   /* a rank below 0 */
    SL_ET_RULE_COMM_TYPE,   /* ASTRA-sim has no algorithm for this type */
    SL_ET_RULE_GROUP,       /* pg_name is not a number of 31 bits */
    SL_ET_RULE_NO_LAUNCH,   /* GPU operations without their call */
    SL_ET_RULE_NOT_CHECKED, /* no room to check: validity unknown */
    SL_ET_RULES
};

struct sl_et_check {
    uint64_t nodes, deps;
    uint64_t of_type[SL_ET_TYPES];
    uint64_t cpu_nodes, wait_nodes, gap_nodes;
    uint64_t cpu_ns, gpu_ns; /* sums of the valid durations */
    struct sl_finding found[SL_ET_RULES];
    struct sl_et_ids ids;
    uint64_t *seen, *wanted; /* one bit per slot */
    struct sl_et_order order;
};

/* 0 or -ENOMEM. */
int sl_et_check_create(struct sl_et_check **out);
void sl_et_check_destroy(struct sl_et_check *c); /* NULL is fine */

void sl_et_check_node(struct sl_et_check *c, const struct sl_et_node *n);

/* After the last node. */
void sl_et_check_end(struct sl_et_check *c, const struct sl_et *et);

enum sl_severity sl_et_check_worst(const struct sl_et_check *c);
enum sl_severity sl_et_rule_severity(enum sl_et_rule rule);
const char *sl_et_rule_name(enum sl_et_rule rule); /* "dep_missing" */
const char *sl_et_rule_text(enum sl_et_rule rule);
const char *sl_et_type_name(enum sl_et_type type); /* "COMP" */

#endif
