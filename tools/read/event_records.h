/*
 * event_records.h - finds the record that a wait for an event means, if the wait does not name it.
 *
 * PyTorch's CUPTI monitor writes a `cuda_event` row for each cudaEventRecord. In such a file, a
 * wait means the last record of its event before the wait. In other files, no row says what a
 * cudaEventRecord recorded. If one thread makes all calls, and all work is on one stream, the last
 * cudaEventRecord before the wait is the most likely one.
 *
 *   while (rows) sl_event_records_see(r, &event, is_row);
 *   while (events in order of enqueue) ...
 *       sl_event_records_record(r, &record); sl_event_records_call(r, &call, &made);
 *       sl_event_records_wait(r, &wait, has_first_call);
 *
 * Threads: plain data of one owner. Memory: none beyond the struct, which begins as zero.
 */
#ifndef SL_EVENT_RECORDS_H
#define SL_EVENT_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

#define SL_EVENT_RECORDS 4096u

struct sl_event_records {
    int has_rows, has_named; /* the file has rows of records; waits that name their record */
    int has_thread, has_operation;
    int several;               /* there are several threads, or streams */
    uint32_t thread;           /* the thread of the calls */
    struct sl_event operation; /* the first operation; all are on its stream */
    uint64_t last;             /* correlation id of the last cudaEventRecord, or 0 */
    struct {
        uint64_t event, correlation; /* context and event id; the last record */
    } recent[SL_EVENT_RECORDS];
};

/* Notes a call, operation or record while the file is read. `is_row` is not 0 for a record that has
 * a row, and 0 for a record that a wait names. */
void sl_event_records_see(struct sl_event_records *r, const struct sl_event *ev, int is_row);

/* Notes a record that is about to be returned. */
void sl_event_records_record(struct sl_event_records *r, const struct sl_event *ev);

/* If the call is a cudaEventRecord without any record, and its stream is known, makes the record
 * and returns 1. */
int sl_event_records_call(struct sl_event_records *r, const struct sl_event *call,
                          struct sl_event *made);

/* Sets the record of a wait for an event. `has_all` is not 0 if the file has all calls of its
 * process. Then an event without a record is complete, and the wait is marked as one that waited
 * for nothing. */
void sl_event_records_wait(struct sl_event_records *r, struct sl_event *wait, int has_all);

#endif
