/*
 * nsys_file.c - opens an export of nsys and reads its tables in order of start.
 *
 * Threads, memory: see nsys_file.h.
 */
#include "read/nsys_file.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "read/nsys_rows.h"

/* Longest text or blob of a row. SQLite refuses longer ones. */
#define VALUE_BYTES (16 << 20)

/* The next row of a table. */
struct sl_nsys_cursor {
    const struct sl_nsys_table *table;
    sqlite3_stmt *row;
    int64_t start;
};

int sl_nsys_is_database(const void *first, size_t size)
{
    static const char magic[] = "SQLite format 3";

    return size >= sizeof(magic) && memcmp(first, magic, sizeof(magic)) == 0;
}

static int ends_in(const char *path, const char *end)
{
    size_t size = strlen(path), end_size = strlen(end);

    return size > end_size && strcmp(path + size - end_size, end) == 0;
}

int sl_nsys_is_recording(const char *path)
{
    return ends_in(path, ".nsys-rep") || ends_in(path, ".qdrep");
}

/* ---- statements ---- */

int sl_nsys_step(struct sl_nsys *n, sqlite3_stmt *row)
{
    int rc;

    if (n->error || !row)
        return 0;
    rc = sqlite3_step(row);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        n->error = rc;
        snprintf(n->what, sizeof(n->what), "the database is damaged: %s", sqlite3_errmsg(n->db));
    }
    return rc == SQLITE_ROW;
}

static sqlite3_stmt *prepare(struct sl_nsys *n, const char *sql)
{
    sqlite3_stmt *row = NULL;
    int rc = n->error ? n->error : sqlite3_prepare_v2(n->db, sql, -1, &row, NULL);

    if (rc && !n->error) {
        n->error = rc;
        snprintf(n->what, sizeof(n->what), "the database is damaged: %s", sqlite3_errmsg(n->db));
    }
    return row;
}

static int has_table(struct sl_nsys *n, const char *name)
{
    sqlite3_stmt *row = prepare(n, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
                                   " COLLATE NOCASE AND sql NOT LIKE 'CREATE VIRTUAL%'");
    int has;

    sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
    has = sl_nsys_step(n, row);
    sqlite3_finalize(row);
    return has;
}

/* Returns whether the database has the tables by which an export of nsys is recognised. */
static int is_export(struct sl_nsys *n)
{
    static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_RUNTIME", "TARGET_INFO_GPU",
                                         "TARGET_INFO_SESSION_START_TIME",
                                         "TARGET_INFO_SYSTEM_ENV"};

    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        if (has_table(n, tables[i]))
            return has_table(n, "StringIds");
    return 0;
}

/* Returns whether the table has the column. */
static int has_column(struct sl_nsys *n, const char *table, const char *column)
{
    sqlite3_stmt *row = prepare(n, "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"
                                   " COLLATE NOCASE");
    int has;

    sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 2, column, -1, SQLITE_STATIC);
    has = sl_nsys_step(n, row);
    sqlite3_finalize(row);
    return has;
}

sqlite3_stmt *sl_nsys_select(struct sl_nsys *n, const char *table, const char *const *columns)
{
    char sql[1024] = "SELECT ";
    size_t used = strlen(sql);

    if (!has_table(n, table))
        return NULL;
    for (int i = 0; i < SL_NSYS_COLUMNS && (i == 0 || columns[i]); i++) {
        int is_there = columns[i] && has_column(n, table, columns[i]);

        used += (size_t)snprintf(sql + used, sizeof(sql) - used, is_there ? "%s\"%s\"" : "%sNULL",
                                 i ? "," : "", columns[i]);
    }
    snprintf(sql + used, sizeof(sql) - used, " FROM \"%s\"", table);
    return prepare(n, sql);
}

/* ---- opening ---- */

/* Writes the path as a URI that SQLite understands. Returns 0 or -ENAMETOOLONG. */
static int put_uri(char *out, size_t size, const char *path)
{
    static const char options[] = "?mode=ro&immutable=1";
    size_t used = (size_t)snprintf(out, size, path[0] == '/' ? "file://" : "file:");

    for (; *path; path++) {
        if (used + sizeof(options) + 4 > size)
            return -ENAMETOOLONG;
        if (isalnum((unsigned char)*path) || strchr("/._-", *path))
            out[used++] = *path;
        else
            used += (size_t)snprintf(out + used, 4, "%%%02X", (unsigned char)*path);
    }
    memcpy(out + used, options, sizeof(options));
    return 0;
}

/* Opens the database so that nothing but plain tables can be read. Returns an error of SQLite. */
static int open_database(struct sl_nsys *n, const char *path)
{
    char uri[3 * PATH_MAX + 64];
    int rc;

    if (put_uri(uri, sizeof(uri), path) != 0)
        return SQLITE_CANTOPEN;
    rc = sqlite3_open_v2(uri, &n->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    if (rc)
        return rc;
    sqlite3_limit(n->db, SQLITE_LIMIT_LENGTH, VALUE_BYTES);
    sqlite3_db_config(n->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(n->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(n->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(n->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return sqlite3_exec(n->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
}

/* Opens the tables of rows and reads the first row of each. */
static void open_cursors(struct sl_nsys *n)
{
    for (size_t i = 0; i < sl_nsys_table_count && !n->error; i++) {
        const struct sl_nsys_table *table = &sl_nsys_tables[i];
        struct sl_nsys_cursor *c = &n->cursor[n->cursors];
        char sql[128];
        sqlite3_stmt *count;

        if (!has_table(n, table->name) ||
            (table->needed && !has_column(n, table->name, table->needed)))
            continue;
        *c = (struct sl_nsys_cursor){table, sl_nsys_select(n, table->name, table->column), 0};
        n->cursors++;
        if (!sl_nsys_step(n, c->row)) {
            sqlite3_finalize(c->row);
            n->cursors--;
            continue;
        }
        c->start = table->column[0] ? sqlite3_column_int64(c->row, 0) : SL_NSYS_AT_END;
        snprintf(sql, sizeof(sql), "SELECT max(rowid) FROM \"%s\"", table->name);
        count = prepare(n, sql);
        if (sl_nsys_step(n, count) && sqlite3_column_int64(count, 0) > 0)
            n->rows += (uint64_t)sqlite3_column_int64(count, 0);
        sqlite3_finalize(count);
    }
}

static int fail(struct sl_nsys *n, const char *path, int rc, char *why, size_t why_size)
{
    if (rc == SQLITE_NOMEM || rc == -ENOMEM)
        snprintf(why, why_size, "cannot read %s: not enough memory", path);
    else if (rc == -EBADMSG)
        snprintf(why, why_size,
                 "%s is an SQLite database of another program, not an export of nsys (nsys export "
                 "--type sqlite)",
                 path);
    else
        snprintf(why, why_size, "cannot read %s: the database is damaged or incomplete: %s", path,
                 n && n->db ? sqlite3_errmsg(n->db) : sqlite3_errstr(rc));
    sl_nsys_close(n);
    return rc == SQLITE_NOMEM || rc == -ENOMEM ? -ENOMEM : -EBADMSG;
}

int sl_nsys_open(struct sl_nsys **out, const char *path, char *why, size_t why_size)
{
    struct sl_nsys *n = calloc(1, sizeof(*n));
    int rc;

    if (!n)
        return fail(n, path, -ENOMEM, why, why_size);
    n->stop_ns = INT64_MIN;
    n->names = calloc(SL_NSYS_NAMES, sizeof(*n->names));
    n->context = calloc(SL_NSYS_CONTEXTS, sizeof(*n->context));
    n->cursor = calloc(sl_nsys_table_count, sizeof(*n->cursor));
    n->at = n->text = malloc(SL_NSYS_ROW_BYTES);
    if (!n->names || !n->context || !n->cursor || !n->text)
        return fail(n, path, -ENOMEM, why, why_size);
    for (size_t i = 0; i < SL_NSYS_NAMES; i++)
        n->names[i].id = -1;
    rc = open_database(n, path);
    if (rc)
        return fail(n, path, rc, why, why_size);
    if (!is_export(n))
        return fail(n, path, n->error ? n->error : -EBADMSG, why, why_size);
    n->string = prepare(n, "SELECT value FROM StringIds WHERE id = ?");
    rc = sl_nsys_load(n);
    open_cursors(n);
    if (rc || n->error)
        return fail(n, path, rc ? rc : n->error, why, why_size);
    sl_nsys_put_header(n);
    *out = n;
    return 0;
}

void sl_nsys_close(struct sl_nsys *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->cursors; i++)
        sqlite3_finalize(n->cursor[i].row);
    sqlite3_finalize(n->string);
    sqlite3_close(n->db);
    for (size_t i = 0; n->names && i < SL_NSYS_NAMES; i++)
        free(n->names[i].text);
    free(n->names);
    free(n->record);
    free(n->context);
    free(n->cursor);
    free(n->text);
    free(n);
}

/* ---- reading ---- */

/* Writes the row that starts first, and steps its table. Returns 0 after the last row. */
static int put_next(struct sl_nsys *n)
{
    struct sl_nsys_cursor *first = NULL;

    for (size_t i = 0; i < n->cursors; i++)
        if (!first || n->cursor[i].start < first->start)
            first = &n->cursor[i];
    if (!first)
        return 0;
    first->table->put(n, first->row);
    n->rows_read++;
    if (sl_nsys_step(n, first->row)) {
        if (first->table->column[0])
            first->start = sqlite3_column_int64(first->row, 0);
    } else {
        sqlite3_finalize(first->row);
        memmove(first, first + 1, (size_t)(n->cursor + n->cursors - (first + 1)) * sizeof(*first));
        n->cursors--;
    }
    return 1;
}

size_t sl_nsys_read(struct sl_nsys *n, void *data, size_t size)
{
    size_t left = (size_t)(n->at - n->text) - n->taken;

    while (left == 0) {
        if (n->has_ended || n->error)
            return 0;
        n->at = n->text;
        n->taken = 0;
        if (!put_next(n) && !n->error) {
            n->at = SL_JSON_LITERAL(n->at, "\n]}\n");
            n->has_ended = 1;
        }
        left = (size_t)(n->at - n->text);
    }
    if (size > left)
        size = left;
    memcpy(data, n->text + n->taken, size);
    n->taken += size;
    return size;
}

const char *sl_nsys_error(const struct sl_nsys *n)
{
    return n->error ? n->what : NULL;
}

uint64_t sl_nsys_done(const struct sl_nsys *n, uint64_t whole)
{
    if (n->has_ended || n->rows_read >= n->rows)
        return whole;
    return (uint64_t)((double)whole * (double)n->rows_read / (double)n->rows);
}
