/*
 * memory_limit.c - how much memory syncline may take in this process. Any thread; no state.
 */
#include "control/memory_limit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/own_file.h"

#define PATH_BYTES 1024
#define TEXT_BYTES 4096
/* cgroup v1 has no word for "no limit", but shows the largest number of pages, in bytes. A larger
 * number than this means "no limit". */
#define NO_LIMIT (1ull << 62)

/* A version of cgroups, with the places of its folders and the names and keys of its files. */
struct cgroup {
    const char *mark;    /* beginning of the version's line in /proc/self/cgroup; the cgroup's path
                          * follows */
    const char *mounted; /* usual mount point of this version */
    const char *limit_file;
    const char *const *used_keys; /* keys of the lines of memory.stat to add up; ends with NULL */
    const char *used_file;        /* file with a further number to add; NULL: none */
};

static const char *const v2_keys[] = {"anon", "shmem", "kernel", "slab_unreclaimable", NULL};
/* These numbers include the cgroups below this cgroup. */
static const char *const v1_keys[] = {"total_rss", "total_shmem", NULL};

static const struct cgroup cgroups[] = {
    {"0::/", "/sys/fs/cgroup", "memory.max", v2_keys, NULL},
    {"0::/", "/sys/fs/cgroup/unified", "memory.max", v2_keys, NULL},
    {":memory:/", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", v1_keys,
     "memory.kmem.usage_in_bytes"},
};

/* Reads a file. Returns the length of the text, or 0 if the file is missing or empty. */
static size_t read_text(char *text, size_t size, const char *path)
{
    ssize_t got = sl_own_file_read(path, text, size - 1);

    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* Returns the number in a file, or UINT64_MAX if the file contains "max" or is missing. */
static uint64_t read_number(const char *folder, const char *name)
{
    char path[PATH_BYTES + 64], text[64], *end;
    uint64_t value;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (!read_text(text, sizeof(text), path))
        return UINT64_MAX;
    errno = 0;
    value = strtoull(text, &end, 10);
    return end == text || errno ? UINT64_MAX : value;
}

/* Returns the number in the line "KEY NUMBER", or 0 if there is no such line. */
static uint64_t value_of(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, length) && line[length] == ' ')
            return strtoull(line + length, NULL, 10);
    }
    return 0;
}

/* How many ranks share a limit, and how much memory syncline has in each. */
struct who {
    uint64_t sharers, own_bytes;
};

/* Makes this limit the result if it leaves a smaller share than all limits before it. */
static void offer(struct sl_memory_limit *out, uint64_t limit, uint64_t used, struct who who,
                  const char *source)
{
    uint64_t own = who.own_bytes * who.sharers, share;

    used -= own < used ? own : used;
    share = (limit > used ? limit - used : 0) / SL_MEMORY_PART / who.sharers;
    if (share < out->share_bytes)
        *out = (struct sl_memory_limit){share, limit, used, source};
}

static void look_at(struct sl_memory_limit *out, const struct cgroup *version, const char *folder,
                    struct who who)
{
    uint64_t limit = read_number(folder, version->limit_file), used = 0, more;
    char path[PATH_BYTES + 64], text[TEXT_BYTES];

    if (limit >= NO_LIMIT)
        return;
    snprintf(path, sizeof(path), "%s/memory.stat", folder);
    if (!read_text(text, sizeof(text), path))
        return;
    for (const char *const *key = version->used_keys; *key; key++)
        used += value_of(text, *key);
    if (version->used_file) {
        more = read_number(folder, version->used_file);
        used += more == UINT64_MAX ? 0 : more;
    }
    offer(out, limit, used, who, "the memory limit of its container or cgroup");
}

/* Reads the limits of the process's cgroup and of each cgroup above it. In a container, the cgroup
 * may be mounted at the top although the path begins at the machine's root. Then the folders of the
 * path do not exist, and the top folder has the limit. */
static void read_cgroup(struct sl_memory_limit *out, const struct cgroup *version, const char *root,
                        const char *own, struct who who)
{
    const char *line = strstr(own, version->mark);
    char folder[PATH_BYTES];
    size_t top, path;
    int length;

    if (!line || (version->mark[0] == '0' && line != own && line[-1] != '\n'))
        return;
    line += strlen(version->mark) - 1;
    path = strcspn(line, "\n");
    top = strlen(root) + strlen(version->mounted);
    length = snprintf(folder, sizeof(folder), "%s%s%.*s", root, version->mounted, (int)path, line);
    if (length < 0 || (size_t)length >= sizeof(folder))
        return;
    for (size_t end = (size_t)length;; end = (size_t)(strrchr(folder, '/') - folder)) {
        folder[end] = '\0';
        look_at(out, version, folder, who);
        if (end <= top)
            return;
    }
}

/* /proc/self/statm counts pages: size, resident, shared, text, library, data and stack. */
static void read_rlimits(struct sl_memory_limit *out, const char *root, struct who who)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = 0, data = 0;
    char path[PATH_BYTES], text[256];
    struct rlimit limit;

    snprintf(path, sizeof(path), "%s/proc/self/statm", root);
    if (!read_text(text, sizeof(text), path) ||
        sscanf(text, "%" SCNu64 " %*u %*u %*u %*u %" SCNu64, &size, &data) != 2)
        return;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        offer(out, limit.rlim_cur, size * page, who, "the limit on its address space (ulimit -v)");
    if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        offer(out, limit.rlim_cur, data * page, who, "the limit on its data (ulimit -d)");
}

void sl_memory_limit_read(struct sl_memory_limit *out, const char *root, int local_ranks,
                          const struct sl_memory_own *own_memory)
{
    const struct who ranks = {local_ranks > 0 ? (uint64_t)local_ranks : 1,
                              own_memory ? own_memory->touched_bytes : 0};
    const struct who process = {1, own_memory ? own_memory->mapped_bytes : 0};
    char path[PATH_BYTES], own[TEXT_BYTES];
    int saved = errno;

    *out = (struct sl_memory_limit){.share_bytes = UINT64_MAX};
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    if (read_text(own, sizeof(own), path)) {
        for (size_t i = 0; i < sizeof(cgroups) / sizeof(cgroups[0]); i++)
            read_cgroup(out, &cgroups[i], root, own, ranks);
    }
    read_rlimits(out, root, process);
    errno = saved;
}

/* The options whose values are bytes of memory: SYNCLINE_MEMORY, SYNCLINE_X_MEMORY. */
static uint64_t *field_of(const struct sl_option *o, struct sl_config *config)
{
    return o->type == SL_OPTION_SIZE && strstr(o->name, "MEMORY")
               ? (uint64_t *)(void *)((char *)config + o->offset)
               : NULL;
}

uint64_t sl_memory_limit_total(const struct sl_config *config)
{
    struct sl_config copy = *config;
    uint64_t total = 0, *field;

    for (const struct sl_option *o = sl_config_table; o->name; o++) {
        field = field_of(o, &copy);
        total += field ? *field : 0;
    }
    return total;
}

int sl_memory_limit_apply(struct sl_config *config, uint64_t share_bytes, uint64_t *need_bytes)
{
    uint64_t total = sl_memory_limit_total(config), need = 0, *field;
    double part;

    for (const struct sl_option *o = sl_config_table; o->name; o++)
        need += field_of(o, config) ? o->min : 0;
    *need_bytes = need;
    if (total <= share_bytes)
        return 0;
    if (need > share_bytes)
        return -ENOMEM;
    config->is_memory_lowered = 1;
    part = (double)(share_bytes - need) / (double)(total - need);
    for (const struct sl_option *o = sl_config_table; o->name; o++) {
        field = field_of(o, config);
        if (field)
            *field = o->min + (uint64_t)((double)(*field - o->min) * part);
    }
    return 1;
}
