/*
 * groups.c - each rank of a job is converted on its own, and adds the groups it knows.
 *
 * A group has the same number on all its ranks (see collectives.h), so files of several ranks are
 * joined by adding what is not there yet, under a lock on the file.
 *
 * Threads, memory: see groups.h.
 */
#include "convert/groups.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FILE_MAX (64u << 20)

struct job {
    char *text; /* the file, without its last brace */
    FILE *out;
    int any;
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

static void put_group(void *user, uint32_t number, const uint32_t *rank, size_t ranks)
{
    struct job *j = user;
    char key[24];

    snprintf(key, sizeof(key), "\"%u\":", number);
    if (strstr(j->text, key))
        return;
    fprintf(j->out, "%s%s [", j->any ? ",\n " : "", key);
    for (size_t i = 0; i < ranks; i++)
        fprintf(j->out, i ? ", %u" : "%u", rank[i]);
    fputc(']', j->out);
    j->any = 1;
}

/* The groups that are there, up to the last of them. 0, or -EBADMSG: another kind of file. */
static int read_old(struct job *j, int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *end;

    if (size < 0 || size > FILE_MAX)
        return -EBADMSG;
    j->text = malloc((size_t)size + 1);
    if (!j->text)
        return -ENOMEM;
    if (pread(fd, j->text, (size_t)size, 0) != size)
        return -EIO;
    j->text[size] = '\0';
    if (size == 0)
        return 0;
    end = strrchr(j->text, '}');
    if (j->text[0] != '{' || !end || end[1 + strspn(end + 1, " \n")])
        return -EBADMSG;
    while (end > j->text + 1 && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    j->any = strchr(j->text, ']') != NULL;
    return 0;
}

static int write_new(struct job *j, int fd, const struct sl_collectives *collectives)
{
    char *text = NULL;
    size_t size = 0;
    int rc = 0;

    j->out = open_memstream(&text, &size);
    if (!j->out)
        return -ENOMEM;
    fputs(j->text[0] ? j->text : "{", j->out);
    sl_collectives_groups(collectives, put_group, j);
    fputs("}\n", j->out);
    if (fclose(j->out) != 0)
        rc = -ENOMEM;
    else if (pwrite(fd, text, size, 0) != (ssize_t)size || ftruncate(fd, (off_t)size) != 0)
        rc = errno ? -errno : -ENOSPC;
    free(text);
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
                  const struct sl_collectives *collectives)
{
    struct job j = {0};
    char path[PATH_MAX];
    size_t groups = 0;
    int fd, rc;

    sl_collectives_groups(collectives, count, &groups);
    if (groups == 0)
        return SL_EXIT_OK;
    rc = name_of(path, sizeof(path), et);
    fd = rc ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        rc = rc ? rc : -errno;
    } else {
        flock(fd, LOCK_EX);
        rc = read_old(&j, fd);
        if (rc == 0)
            rc = write_new(&j, fd, collectives);
        free(j.text);
        close(fd);
    }
    if (rc == 0)
        return SL_EXIT_OK;
    sl_args_complain(command, "the process groups could not be added to %s: %s", path,
                     rc == -EBADMSG ? "it is no comm-group file" : strerror(-rc));
    return SL_EXIT_PROBLEM;
}
