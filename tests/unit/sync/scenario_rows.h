/*
 * scenario_rows.h - converts a row in a scenario (scenario.h) to events for the engine.
 *
 * Only this file and scenario_rows.c use the members of struct sl_event.
 */
#ifndef SL_TEST_SCENARIO_ROWS_H
#define SL_TEST_SCENARIO_ROWS_H

#include "event/event.h"
#include "event/shape.h"

/* The records that a word such as `kernel` stands for: an API call, and the other record that CUPTI
 * makes for the call. */
struct scenario_verb {
    const char *word;
    uint32_t cbid; /* callback id of the runtime call; 0 if there is no call */
    uint8_t kind;  /* enum sl_event_kind of the other record; 0 if there is none */
    uint8_t sync;  /* enum sl_sync_type, or enum sl_overhead_type */
};

/* What a line says about a call and about the call's other record. */
struct scenario_row {
    uint64_t id; /* correlation id */
    uint64_t from_ns, to_ns;
    uint64_t ran_from_ns, ran_to_ns;
    uint64_t sync_id, node;
    uint32_t thread, context, stream, device, event;
    uint32_t name;                   /* number of a kernel's name; 0: none */
    uint32_t src_memory, dst_memory; /* CUpti_ActivityMemoryKind */
    int ran;                         /* true if the operation has a record */
    int call_only, record_only;
    int peer;    /* true if the copy is between devices */
    int failed;  /* true if the call returned an error */
    int pending; /* true if the query found pending work */
};

/* Returns the records for a word, or NULL if the word is unknown. */
const struct scenario_verb *scenario_verb_find(const char *word);

/* Returns the kind of memory: "pageable", "device" and so on; -1 if the word is unknown. */
int scenario_memory_find(const char *word);

/* Writes the row's events, the call first. Returns their number. */
size_t scenario_row_events(const struct scenario_verb *verb, const struct scenario_row *row,
                           struct sl_shape_table *shapes, struct sl_event out[2]);

/* Makes the event that describes a stream. `flag` is "blocking", "non_blocking" or "legacy".
 * Returns 0, or -1 if the word is unknown. */
int scenario_stream_event(const struct scenario_row *row, const char *flag, struct sl_event *out);

/* Makes the event for a fact about a graph node. `fact` is "created", "graph", "copied", "depends",
 * "depends_no_more" or "lost". Returns 0, or -1 if the word is unknown. */
int scenario_node_event(const char *fact, uint64_t node, uint64_t other, struct sl_event *out);

#endif
