/*
 * groups.c - each rank of a job is converted on its own, and adds the groups it knows.
 *
 * A group has the same number on all its ranks (see collectives.h), so files of several ranks are
 * joined by adding what is not there yet, under a lock on the file. It is written anew beside the
 * old one and takes its name: a full disk leaves the old one as it was.
 *
 * Threads, memory: see groups.h.
 */
#include "convert/groups.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert/output.h"

#define FILE_MAX (64u << 20)

struct job {
    char *text; /* the file, without its last brace */
    off_t size; /* of the file */
    mode_t mode;
    int any; /* groups in it */
    FILE *out;
    int added;
    uint32_t other; /* a group that has other ranks in the file; 0: none */
};

static void cut_end(char *name, const char *end)
{
    size_t size = strlen(name), end_size = strlen(end);

    if (size > end_size && strcmp(name + size - end_size, end) == 0)
        name[size - end_size] = '\0';
}

/* 0 or -ENAMETOOLONG. */
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

/* ---- the file that is there ---- */

#define DIGITS "0123456789"
#define SPACE  " \t\r\n"

/* A group as it stands in the file: numbers of ranks with commas and spaces between them. */
struct there {
    const char *number, *ranks;
};

static const char *behind_space(const char *p)
{
    return p + strspn(p, SPACE);
}

/* The next of what is looked for, and space behind it; NULL: something else is there. */
static const char *behind(const char *p, char expected)
{
    return p && *p == expected ? behind_space(p + 1) : NULL;
}

static const char *behind_number(const char *p)
{
    size_t digits = p ? strspn(p, DIGITS) : 0;

    return digits ? behind_space(p + digits) : NULL;
}

/* Behind `"5": [0, 1]`; NULL: it is no such thing. */
static const char *read_group(const char *p, struct there *out)
{
    size_t digits;

    p = *p == '"' ? p + 1 : NULL;
    out->number = p;
    digits = p ? strspn(p, DIGITS) : 0;
    p = behind(behind(digits ? p + digits : NULL, '"'), ':');
    p = behind(p, '[');
    out->ranks = p;
    if (p && *p == ']')
        return behind(p, ']');
    p = behind_number(p);
    while (p && *p == ',')
        p = behind_number(behind(p, ','));
    return behind(p, ']');
}

/* Reads it to its end, and cuts off the last brace. 0, or -EBADMSG: another kind of file. */
static int check_old(struct job *j)
{
    const char *p = behind(behind_space(j->text), '{');
    struct there group;

    if (p && *p == '"') {
        j->any = 1;
        p = read_group(p, &group);
        while (p && *p == ',')
            p = read_group(behind(p, ','), &group);
    }
    if (!p || *p != '}' || *behind_space(p + 1))
        return -EBADMSG;
    while (strchr(SPACE, p[-1]))
        p--;
    j->text[p - j->text] = '\0';
    return 0;
}

/* 0, -EBADMSG: another kind of file. */
static int read_old(struct job *j, int fd)
{
    size_t size;

    j->size = lseek(fd, 0, SEEK_END);
    if (j->size < 0 || j->size > FILE_MAX)
        return -EBADMSG;
    size = (size_t)j->size;
    j->text = malloc(size + 1);
    if (!j->text)
        return -ENOMEM;
    if (pread(fd, j->text, size, 0) != j->size)
        return -EIO;
    j->text[size] = '\0';
    if (size == 0)
        return 0;
    return strlen(j->text) == size ? check_old(j) : -EBADMSG;
}

/* ---- what comes to it ---- */

static int has_ranks(const struct there *group, const uint32_t *rank, size_t ranks)
{
    const char *p = group->ranks;
    size_t i;

    for (i = 0; i < ranks && *p != ']'; i++) {
        if (strtoull(p, NULL, 10) != rank[i])
            return 0;
        p += strspn(p, DIGITS);
        p += strspn(p, SPACE ",");
    }
    return i == ranks && *p == ']';
}

static int find_group(const struct job *j, uint32_t number, struct there *out)
{
    const char *p = j->any ? strchr(j->text, '"') : NULL;

    while (p && *p) {
        p = read_group(p, out);
        if (strtoull(out->number, NULL, 10) == number)
            return 1;
        p = behind(p, ',');
    }
    return 0;
}

static void put_group(void *user, uint32_t number, const uint32_t *rank, size_t ranks)
{
    struct job *j = user;
    struct there old;

    if (find_group(j, number, &old)) {
        if (!has_ranks(&old, rank, ranks))
            j->other = number;
        return;
    }
    fprintf(j->out, "%s\"%u\": [", j->any || j->added ? ",\n " : "", number);
    for (size_t i = 0; i < ranks; i++)
        fprintf(j->out, i ? ", %u" : "%u", rank[i]);
    fputc(']', j->out);
    j->added = 1;
}

/* Who may read the old file may read the new one. */
static int replace(const struct job *j, const char *path, const char *text, size_t size)
{
    struct sl_output out;
    int rc = sl_output_open(&out, path, SL_COMPRESS_NONE, 0);

    if (rc)
        return rc;
    rc = out.sink->write(out.sink, text, size);
    if (rc) {
        sl_output_drop(&out);
        return rc;
    }
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

/* 0: the name is another file's, or nobody's. */
static int has_name(int fd, const char *path)
{
    struct stat opened, named;

    if (fstat(fd, &opened) != 0 || lstat(path, &named) != 0)
        return errno != ENOENT;
    return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* The file, locked; or -errno. While its lock was waited for another may have got its name. */
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

/* To the file there, if need be a new one. 0 or -errno, the file as it was. */
static int add_all(struct job *j, const char *path, const struct sl_row_collectives *collectives)
{
    int fd = open_locked(path), rc;
    struct stat old;

    if (fd < 0)
        return fd;
    j->mode = fstat(fd, &old) == 0 ? old.st_mode & 0777 : 0600;
    rc = read_old(j, fd);
    if (rc == 0)
        rc = write_new(j, path, collectives);
    if (rc && j->size == 0)
        unlink(path); /* the lock's, without a group */
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
        sl_args_complain(command,
                         "the process groups could not be added to %s: a file that an earlier run "
                         "left, %s.%ld or the same with .part, is in the way; remove it",
                         path, path, (long)getpid());
    else if (rc == -EEXIST)
        sl_args_complain(command,
                         "the process groups could not be added to %s: its group %u has other "
                         "ranks than here; it is another job's, so write to another folder or "
                         "prefix",
                         path, j.other);
    else
        sl_args_complain(command, "the process groups could not be added to %s: %s", path,
                         rc == -EBADMSG ? "it is no comm-group file" : strerror(-rc));
    return SL_EXIT_PROBLEM;
}
