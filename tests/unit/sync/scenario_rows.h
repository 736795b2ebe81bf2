/*
 * scenario_rows.h - converts a row in a scenario (scenario.h) to events for the engine.
 *
 * Only this file and scenario_rows.c use the members of struct sl_event.
 */
#ifndef SL_TEST_SCENARIO_ROWS_H
#define SL_TEST_SCENARIO_ROWS_H

#include "event/event.h"
#include "event/shape.h"

/* The records of a word: a call, and the record that CUPTI makes beside the call. */
struct scenario_verb {
    const char *word;
    uint32_t cbid; /* callback id of the CUDA runtime; 0: no call */
    uint8_t kind;  /* enum sl_event_kind of the record beside the call; 0: none */
    uint8_t sync;  /* enum sl_sync_type */
};

/* A line's description of a call and of the record beside the call. */
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
    int pending; /* the query found pending work */
};

/* Returns NULL if the word is unknown. */
const struct scenario_verb *scenario_verb_find(const char *word);

/* Returns the kind of memory: "pageable", "device" and so on; -1 if the word is unknown. */
int scenario_memory_find(const char *word);

/* Writes the row's events, the call first. Returns their number. */
size_t scenario_row_events(const struct scenario_verb *verb, const struct scenario_row *row,
                           struct sl_shape_table *shapes, struct sl_event out[2]);

/* Returns 0, or -1 if the word is unknown. The flags are "blocking", "non_blocking" and
 * "legacy". */
int scenario_stream_event(const struct scenario_row *row, const char *flag, struct sl_event *out);

/* Returns 0, or -1 if the word is unknown. The facts are "created", "graph", "copied", "depends",
 * "depends_no_more" and "lost". */
int scenario_node_event(const char *fact, uint64_t node, uint64_t other, struct sl_event *out);

#endif
