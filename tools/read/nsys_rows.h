/*
 * nsys_rows.h - writes the rows of an export of nsys as events of a Kineto trace.
 *
 * Used by nsys_file.c only. Threads: one owner. Memory: the state of the reader, see nsys_file.h.
 */
#ifndef SL_NSYS_ROWS_H
#define SL_NSYS_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "sqlite3.h"

#define SL_NSYS_COLUMNS   20
#define SL_NSYS_PROCESSES 16u
#define SL_NSYS_DEVICES   256u
#define SL_NSYS_NAMES     8192u
#define SL_NSYS_CONTEXTS  4096u
#define SL_NSYS_NAME_MAX  (64u << 10) /* longer names are cut */
/* Room for the texts of one row: two names, each byte escaped, and the members. */
#define SL_NSYS_ROW_BYTES (1u << 20)

/* Order of a table without times. */
#define SL_NSYS_AT_END INT64_MAX

struct sl_nsys;

struct sl_nsys_table {
    const char *name;
    /* The first column is the start of the row, or NULL for a table that comes after all times. */
    const char *column[SL_NSYS_COLUMNS];
    const char *needed; /* NULL, or a column without which the table is left out */
    void (*put)(struct sl_nsys *n, sqlite3_stmt *row);
};

extern const struct sl_nsys_table sl_nsys_tables[];
extern const size_t sl_nsys_table_count;

/* A string of the file, escaped. */
struct sl_nsys_name {
    int64_t id; /* -1: the entry is free */
    char *text;
    size_t size;
    const char *call; /* the name of a call without its version, or NULL */
    uint32_t cbid;
    int domain; /* kind of event for which `call` was sought; 0: none */
};

/* Where an event was recorded. */
struct sl_nsys_record {
    uint64_t key; /* process, and event or id of the record */
    uint32_t correlation, stream, context;
};

struct sl_nsys_context {
    uint32_t process, context, device;
};

/* The facts that the rows need besides themselves. */
struct sl_nsys {
    sqlite3 *db;
    sqlite3_stmt *string; /* the text of a string id */
    struct sl_nsys_name *names;
    struct sl_nsys_record *record; /* sorted */
    size_t records;
    struct sl_nsys_context *context;
    size_t contexts;
    uint32_t process[SL_NSYS_PROCESSES]; /* in the order in which they appear */
    unsigned processes;
    uint8_t device_seen[SL_NSYS_DEVICES], migrated[SL_NSYS_DEVICES];
    int64_t shift_ns; /* added to the times of the file */
    int64_t stop_ns;  /* the end of the recording, in times of the file; INT64_MIN: not known */
    struct sl_nsys_cursor *cursor;
    size_t cursors;
    uint64_t rows, rows_read;
    char *text, *at; /* the text of the last row */
    size_t taken;    /* bytes of it that were read */
    int has_event;
    int has_ended;
    int error; /* of SQLite */
    char what[120];
};

/* Writes the beginning of the trace up to the first event. */
void sl_nsys_put_header(struct sl_nsys *n);

/* Loads what rows refer to: contexts and records of events. Returns 0, -ENOMEM, or -EBADMSG. */
int sl_nsys_load(struct sl_nsys *n);

/* Prepares the reading of columns of a table; missing columns are NULL. Returns NULL if the table
 * is missing or the database is damaged. */
sqlite3_stmt *sl_nsys_select(struct sl_nsys *n, const char *table, const char *const *columns);

/* Steps to the next row. Returns 1, or 0 at the end or on an error, which is kept. */
int sl_nsys_step(struct sl_nsys *n, sqlite3_stmt *row);

#endif
