/*
 * et_check.h - is this a Chakra trace that its readers take?
 *
 * The rules are those of docs/chakra.md: what makes ASTRA-sim abort, or drop nodes in silence, is
 * an error.
 *
 * Threads: one owner. Memory: three bits per slot of an id, 192 MiB at the very most, and what
 * et_ids.h and et_order.h say. What they have no room for is counted as not checked.
 */
#ifndef SL_CHECK_ET_CHECK_H
#define SL_CHECK_ET_CHECK_H

#include "check/et_ids.h"
#include "check/et_order.h"
#include "check/finding.h"
#include "read/et_file.h"

enum sl_et_rule {
    SL_ET_RULE_METADATA, /* GlobalMetadata does not come first */
    SL_ET_RULE_CUT,      /* ends inside a message */
    SL_ET_RULE_DAMAGED,  /* holds what is no message */
    SL_ET_RULE_INPUT,    /* its compression is cut or damaged */
    SL_ET_RULE_EMPTY,    /* no node */
    SL_ET_RULE_ID_TWICE,
    SL_ET_RULE_DEP_MISSING, /* a dependency that is no node of the file */
    SL_ET_RULE_DEP_LATER,   /* a parent behind its child */
    SL_ET_RULE_DEP_SELF,
    SL_ET_RULE_CYCLE,    /* nodes in one, or behind one */
    SL_ET_RULE_TYPE,     /* INVALID or METADATA */
    SL_ET_RULE_NAME,     /* not UTF-8 */
    SL_ET_RULE_TEXT,     /* another text of a node's, or of the metadata's, not UTF-8 */
    SL_ET_RULE_DURATION, /* negative, or of more nanoseconds than int64 holds */
    SL_ET_RULE_NO_IS_CPU,
    SL_ET_RULE_COMM_ON_CPU,
    SL_ET_RULE_MEMBER,      /* a value in another member of the oneof than feeders take */
    SL_ET_RULE_COMM_FIELDS, /* comm_type and comm_size, or peer and tag, are not all there */
    SL_ET_RULE_TWICE,       /* an attribute that a node has twice */
    SL_ET_RULE_COMM_SIZE,   /* below 0 */
    SL_ET_RULE_COMM_PEER,   /* a rank below 0 */
    SL_ET_RULE_COMM_TYPE,   /* one that ASTRA-sim has no algorithm for */
    SL_ET_RULE_GROUP,       /* pg_name is no number of 31 bits */
    SL_ET_RULE_NO_LAUNCH,   /* GPU operations whose call is not there */
    SL_ET_RULE_NOT_CHECKED, /* for want of room: nobody knows whether it is valid */
    SL_ET_RULES
};

struct sl_et_check {
    uint64_t nodes, deps;
    uint64_t of_type[SL_ET_TYPES];
    uint64_t cpu_nodes, wait_nodes, gap_nodes;
    uint64_t cpu_ns, gpu_ns; /* sums of durations that can be */
    struct sl_finding found[SL_ET_RULES];
    struct sl_et_ids ids;
    uint64_t *seen, *wanted; /* a bit per slot */
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
