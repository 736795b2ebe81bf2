/*
 * scenario_rows.h - a line's row of a scenario (scenario.h) as events of the engine.
 *
 * The only file of the scenarios that knows struct sl_event.
 */
#ifndef SL_TEST_SCENARIO_ROWS_H
#define SL_TEST_SCENARIO_ROWS_H

#include "event/event.h"
#include "event/shape.h"

/* The records that a word stands for: a call, and what CUPTI reports beside it. */
struct scenario_verb {
    const char *word;
    uint32_t cbid; /* of the CUDA runtime; 0: no call */
    uint8_t kind;  /* enum sl_event_kind of the record beside it; 0: none */
    uint8_t sync;  /* enum sl_sync_type */
};

/* A call and the record beside it, as a line describes them. */
struct scenario_row {
    uint64_t id; /* correlation id */
    uint64_t from_ns, to_ns;
    uint64_t ran_from_ns, ran_to_ns;
    uint64_t sync_id, node;
    uint32_t thread, context, stream, device, event;
    uint32_t src_memory, dst_memory; /* CUpti_ActivityMemoryKind */
    int ran;                         /* the operation has a record */
    int call_only, record_only;
    int peer;    /* a copy between devices */
    int failed;  /* the call returned an error */
    int pending; /* the query found work pending */
};

/* NULL: no such word. */
const struct scenario_verb *scenario_verb_find(const char *word);

/* "pageable", "device"...; -1: no such word. */
int scenario_memory_find(const char *word);

/* Returns how many events the row is, the call first. */
size_t scenario_row_events(const struct scenario_verb *verb, const struct scenario_row *row,
                           struct sl_shape_table *shapes, struct sl_event out[2]);

/* 0, or -1: no such word. Flags: "blocking", "non_blocking", "legacy". */
int scenario_stream_event(const struct scenario_row *row, const char *flag, struct sl_event *out);

/* 0, or -1: no such word. Facts: "created", "graph", "copied", "depends", "depends_no_more",
 * "lost". */
int scenario_node_event(const char *fact, uint64_t node, uint64_t other, struct sl_event *out);

#endif
