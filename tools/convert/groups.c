/*
 * groups.c - adds the process groups of one rank to the job's comm-group file.
 *
 * Each rank of a job is converted separately. A group has the same number on all its ranks (see
 * collectives.h), so each conversion adds the missing groups, under a lock on the file. A new file
 * is written beside the old file and then renamed, so a full disk leaves the old file unchanged.
 *
 * Threads: main only. Memory: the whole comm-group file is loaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/store.h"
#include "convert/output.h"
#include "convert/request.h"
#include "read/json_event.h"
#include "read/number.h"
#include "read/row_collectives.h"
#include "read/split.h"

#define FILE_MAX  (64u << 20)
#define TABLE_MAX (512u << 20) /* memory for the largest number of groups in a comm-group file */

struct job {
    char *text; /* content of the file, without its last brace */
    off_t size; /* size of the file */
    size_t read;
    mode_t mode;
    struct sl_json *json;
    struct sl_store store;
    struct sl_map groups; /* maps the number of a group, plus 1, to (offset of its ranks in the text
                             << 32 | size of the ranks) */
    FILE *out;
    int added;
    uint32_t other; /* number of a group that has other ranks in the file than in this conversion,
                       or 0 */
};

static void cut_end(char *name, const char *end)
{
    size_t size = strlen(name), end_size = strlen(end);

    if (size > end_size && strcmp(name + size - end_size, end) == 0)
        name[size - end_size] = '\0';
}

/* Returns 0 or -ENAMETOOLONG. */
static int name_of(char *out, size_t room, const char *et)
{
    char prefix[PATH_MAX];
    char *dot;

    if (snprintf(prefix, sizeof(prefix), "%s", et) >= (int)sizeof(prefix))
        return -ENAMETOOLONG;
    cut_end(prefix, ".gz");
    cut_end(prefix, ".zst");
    cut_end(prefix, ".et");
    dot = strrchr(prefix, '.');
    if (dot && dot != prefix && dot[-1] != '/' && dot[1] &&
        strspn(dot + 1, "0123456789") == strlen(dot + 1))
        *dot = '\0';
    return snprintf(out, room, "%s.comm_groups.json", prefix) < (int)room ? 0 : -ENAMETOOLONG;
}

/* ---- reading of the existing comm-group file ---- */

/* Compares the ranks of a group in the file with the expected ranks (`wanted`). */
struct ranks {
    const uint32_t *wanted;
    size_t count, seen;
    int is_other, is_bad;
};

static void take_rank(void *user, const char *path, enum sl_json_type type, struct sl_text value)
{
    struct ranks *r = user;
    int64_t rank = -1;
    int exact = 0;

    if (path[0] || type != SL_JSON_NUMBER ||
        sl_number_scaled(value.data, value.size, 0, &rank, &exact) != 0 || !exact || rank < 0)
        r->is_bad = 1;
    r->is_other |= r->seen >= r->count || r->wanted[r->seen] != rank;
    r->seen++;
}

/* Returns 1 if the array has exactly these ranks, 0 if it has other ranks, or -EBADMSG if it is not
 * an array of ranks. */
static int has_ranks(struct job *j, const char *array, size_t size, const uint32_t *rank,
                     size_t count)
{
    struct ranks r = {.wanted = rank, .count = count};
    struct sl_json_error error;

    if (array[0] != '[' || sl_json_visit(j->json, "", array, size, take_rank, &r, &error) != 0 ||
        r.is_bad)
        return -EBADMSG;
    return !r.is_other && r.seen == count;
}

/* Reads a group, which is a member of the file such as "5": [0, 1]. */
static int take_group(struct job *j, const struct sl_span *span)
{
    uint64_t number = strtoull(span->key, NULL, 10), *place;

    if (span->key_size == 0 || strspn(span->key, "0123456789") != span->key_size ||
        has_ranks(j, span->text, span->size, NULL, 0) < 0)
        return -EBADMSG;
    place = sl_map_put(&j->groups, number + 1);
    if (!place)
        return -ENOMEM;
    *place = span->offset << 32 | span->size;
    return 0;
}

static size_t read_text(void *user, void *data, size_t size)
{
    struct job *j = user;
    size_t left = (size_t)j->size - j->read;

    size = size < left ? size : left;
    memcpy(data, j->text + j->read, size);
    j->read += size;
    return size;
}

/* Puts the file's groups into the map, and removes the last brace of the text so that groups can be
 * appended. Returns 0, or -EBADMSG if the file is not a comm-group file. */
static int read_groups(struct job *j)
{
    struct sl_split *split;
    struct sl_span span;
    char *end;
    int rc = sl_split_create(&split, read_text, j);

    if (rc)
        return rc;
    do {
        sl_split_next(split, &span);
        if (span.kind == SL_SPAN_FIELD)
            rc = take_group(j, &span);
        else if (span.kind != SL_SPAN_OPEN && span.kind != SL_SPAN_CLOSE)
            rc = span.kind == SL_SPAN_END ? 0 : -EBADMSG;
    } while (rc == 0 && span.kind < SL_SPAN_END);
    sl_split_destroy(split);
    if (rc)
        return rc;
    end = strrchr(j->text, '}');
    while (strchr(" \t\r\n", end[-1]))
        end--;
    *end = '\0';
    return 0;
}

/* Returns 0, or -EBADMSG if the file is not a comm-group file. */
static int read_old(struct job *j, int fd)
{
    j->size = lseek(fd, 0, SEEK_END);
    if (j->size < 0 || j->size > FILE_MAX)
        return -EBADMSG;
    j->text = calloc(1, (size_t)j->size + SL_JSON_PADDING);
    if (!j->text || sl_json_create(&j->json) != 0)
        return -ENOMEM;
    if (pread(fd, j->text, (size_t)j->size, 0) != j->size)
        return -EIO;
    return j->size ? read_groups(j) : 0;
}

/* ---- adding of groups and writing of the file ---- */

static void put_group(void *user, uint32_t number, const uint32_t *rank, size_t ranks)
{
    struct job *j = user;
    const uint64_t *place = sl_map_find(&j->groups, (uint64_t)number + 1);

    if (place) {
        if (has_ranks(j, j->text + (*place >> 32), (uint32_t)*place, rank, ranks) != 1)
            j->other = number;
        return;
    }
    fprintf(j->out, "%s\"%u\": [", j->groups.used || j->added ? ",\n " : "", number);
    for (size_t i = 0; i < ranks; i++)
        fprintf(j->out, i ? ", %u" : "%u", rank[i]);
    fputc(']', j->out);
    j->added = 1;
}

/* Replaces the file by a new file with this text. The new file gets the permissions of the old
 * file. */
static int replace(const struct job *j, const char *path, const char *text, size_t size)
{
    static struct sl_output out;
    int rc = sl_output_open(&out, path, SL_COMPRESS_NONE, 0);

    if (rc)
        return rc;
    sl_output_write(&out, text, size);
    rc = sl_output_keep(&out, path, 1);
    if (rc == 0)
        (void)chmod(path, j->mode);
    return rc;
}

static int write_new(struct job *j, const char *path, const struct sl_row_collectives *collectives)
{
    char *text = NULL;
    size_t size = 0;
    int rc = 0;

    j->out = open_memstream(&text, &size);
    if (!j->out)
        return -ENOMEM;
    fputs(j->text[0] ? j->text : "{", j->out);
    sl_row_collectives_groups(collectives, put_group, j);
    fputs("}\n", j->out);
    if (fclose(j->out) != 0)
        rc = -ENOMEM;
    else if (j->other)
        rc = -EEXIST;
    else if (j->added)
        rc = replace(j, path, text, size);
    free(text);
    return rc;
}

/* Returns 1 if the open file still has this name, or 0 if the name belongs to another file or to no
 * file. */
static int has_name(int fd, const char *path)
{
    struct stat opened, named;

    if (fstat(fd, &opened) != 0 || lstat(path, &named) != 0)
        return errno != ENOENT;
    return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* Opens and locks the file. Returns the descriptor or -errno. While this process waits for the
 * lock, another process may replace the file; the new file is then opened instead. */
static int open_locked(const char *path)
{
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

        if (fd < 0)
            return -errno;
        flock(fd, LOCK_EX);
        if (has_name(fd, path))
            return fd;
        close(fd);
    }
}

/* Adds the groups to the file, and creates a missing file. Returns 0, or -errno with an unchanged
 * file. */
static int add_all(struct job *j, const char *path, const struct sl_row_collectives *collectives)
{
    int fd = open_locked(path), rc;
    struct stat old;

    if (fd < 0)
        return fd;
    j->store.cap_bytes = TABLE_MAX;
    sl_map_init(&j->groups, &j->store);
    j->mode = fstat(fd, &old) == 0 ? old.st_mode & 0777 : 0600;
    rc = read_old(j, fd);
    if (rc == 0)
        rc = write_new(j, path, collectives);
    if (rc && j->size == 0)
        unlink(path); /* the file was created only for the lock and has no group */
    sl_map_free(&j->groups);
    sl_json_destroy(j->json);
    free(j->text);
    close(fd);
    return rc;
}

static void count(void *user, uint32_t number, const uint32_t *rank, size_t ranks)
{
    (void)number;
    (void)rank;
    (void)ranks;
    (*(size_t *)user)++;
}

int sl_groups_add(const struct sl_command *command, const char *et,
                  const struct sl_row_collectives *collectives)
{
    struct job j = {0};
    char path[PATH_MAX];
    size_t groups = 0;
    int rc;

    sl_row_collectives_groups(collectives, count, &groups);
    if (groups == 0)
        return SL_EXIT_OK;
    rc = name_of(path, sizeof(path), et);
    if (rc == 0)
        rc = add_all(&j, path, collectives);
    if (rc == 0)
        return SL_EXIT_OK;
    if (rc == -EEXIST && !j.other)
        return sl_args_problem(
            command,
            "the process groups could not be added to %s: a file that an earlier run "
            "left, %s.%ld or the same with .part, is in the way; remove it",
            path, path, (long)getpid());
    if (rc == -EEXIST)
        return sl_args_problem(
            command,
            "the process groups could not be added to %s: its group %u has other ranks, so it "
            "belongs to another job; write to another folder or prefix",
            path, j.other);
    return sl_args_problem(command, "the process groups could not be added to %s: %s", path,
                           rc == -EBADMSG ? "it is not a comm-group file" : strerror(-rc));
}
