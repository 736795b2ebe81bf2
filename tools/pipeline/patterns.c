/*
 * patterns.c - compiles patterns with regcomp(), and tries them in their order.
 *
 * Threads, memory: see patterns.h.
 */
#include "pipeline/patterns.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args/args.h"
#include "read/grow.h"

#define LINE_MOST   4096
#define NAME_MOST   1024 /* longer names match nothing, because regexec() may take long */
#define GROUPS      3
#define NUMBER_MOST 1000000000

struct pattern {
    regex_t regex;
    enum sl_phase_kind kind;
};

struct sl_patterns {
    struct pattern *pattern;
    size_t count, slots;
};

static const char *const names[SL_PHASE_KINDS] = {
    [SL_PHASE_F] = "F",
    [SL_PHASE_B] = "B",
    [SL_PHASE_W] = "W",
    [SL_PHASE_OPTIMIZER] = "optimizer",
    [SL_PHASE_COMMUNICATION] = "communication",
    [SL_PHASE_SEND_FORWARD] = "send_forward",
    [SL_PHASE_RECV_FORWARD] = "recv_forward",
    [SL_PHASE_SEND_BACKWARD] = "send_backward",
    [SL_PHASE_RECV_BACKWARD] = "recv_backward",
    [SL_PHASE_ITERATION] = "iteration",
    [SL_PHASE_NONE] = "none",
};

static const char *const built_in[] = {
    /* zero-bubble: PHASE micro-batch.chunk.sequence */
    "F F([0-9]+)\\.([0-9]+)\\.([0-9]+)",
    "B B([0-9]+)\\.([0-9]+)\\.([0-9]+)",
    "W W([0-9]+)\\.([0-9]+)\\.([0-9]+)",
    "W W_clear(\\.[0-9]+)(\\.[0-9]+)",
    "optimizer Optimizer",
    "send_forward SEND_FORWARD\\.([0-9]+)\\.([0-9]+)\\.([0-9]+)",
    "recv_forward RECV_FORWARD\\.([0-9]+)\\.([0-9]+)\\.([0-9]+)",
    "send_backward SEND_BACKWARD\\.([0-9]+)\\.([0-9]+)\\.([0-9]+)",
    "recv_backward RECV_BACKWARD\\.([0-9]+)\\.([0-9]+)\\.([0-9]+)",
    "communication (SEND|RECV)_(FORWARD|BACKWARD)[A-Z0-9_.]*",
    "communication (SEND|RECV)_POST_VALIDATION.*",
    "iteration iter_[0-9]+_([0-9]+)",
    /* Megatron-LM */
    "F F",
    "B B",
    "W W",
    "F forward[-_]step(_func)?",
    "B backward[-_]step(_func)?",
    "optimizer optimizer([-_]step)?",
    "send_forward send[-_]forward",
    "recv_forward recv[-_]forward",
    "send_backward send[-_]backward",
    "recv_backward recv[-_]backward",
    "communication (send|recv)[-_](forward|backward)[-_](send|recv)[-_].*",
    /* PyTorch's own */
    "none nccl:.*",
    "none Optimizer\\.(step|zero_grad)#.*",
};

const char *sl_phase_name(enum sl_phase_kind kind)
{
    return names[kind];
}

/* Adds a line. Returns 0, or -EINVAL with a reason in `why`, or -ENOMEM. */
static int add(struct sl_patterns *p, const char *line, char *why, size_t why_size)
{
    size_t word = strcspn(line, " \t"), kind = 0;
    const char *regex = line + word + strspn(line + word, " \t");
    char whole[LINE_MOST + 8];
    struct pattern *at;
    int rc;

    while (kind < SL_PHASE_KINDS &&
           (strlen(names[kind]) != word || memcmp(names[kind], line, word) != 0))
        kind++;
    if (kind == SL_PHASE_KINDS || !*regex) {
        snprintf(why, why_size,
                 "a line is `PHASE REGEX`, where PHASE is F, B, W, optimizer, communication, "
                 "send_forward, recv_forward, send_backward, recv_backward, iteration or none");
        return -EINVAL;
    }
    at = sl_grow((void **)&p->pattern, &p->count, &p->slots, sizeof(*at));
    if (!at)
        return -ENOMEM;
    at->kind = (enum sl_phase_kind)kind;
    snprintf(whole, sizeof(whole), "^(%s)$", regex);
    rc = regcomp(&at->regex, whole, REG_EXTENDED);
    if (rc == 0)
        return 0;
    regerror(rc, &at->regex, why, why_size);
    p->count--;
    return rc == REG_ESPACE ? -ENOMEM : -EINVAL;
}

/* Returns 0 or an exit status. */
static int add_file(struct sl_patterns *p, const struct sl_command *command, const char *path)
{
    char line[LINE_MOST], why[512];
    FILE *f = fopen(path, "re");
    int status = 0, rc;

    if (!f)
        return sl_args_complain(command, "cannot read %s: %s", path, strerror(errno));
    for (unsigned number = 1; status == 0 && fgets(line, sizeof(line), f); number++) {
        size_t size = strcspn(line, "\r\n"), begin = strspn(line, " \t");

        if (line[size] == '\0' && !feof(f)) {
            status = sl_args_complain(command, "%s:%u: the line is too long", path, number);
            continue;
        }
        while (size > begin && isspace((unsigned char)line[size - 1]))
            size--;
        line[size] = '\0';
        if (size <= begin || line[begin] == '#')
            continue;
        rc = add(p, line + begin, why, sizeof(why));
        if (rc == -ENOMEM)
            status = sl_args_complain(command, "not enough memory for the patterns");
        else if (rc)
            status = sl_args_complain(command, "%s:%u: %s", path, number, why);
    }
    if (status == 0 && ferror(f))
        status = sl_args_complain(command, "cannot read %s: %s", path, strerror(errno));
    (void)fclose(f);
    return status;
}

int sl_patterns_read(struct sl_patterns **out, const struct sl_command *command, const char *path)
{
    struct sl_patterns *p = calloc(1, sizeof(*p));
    char why[512] = "";
    int status = 0;

    if (!p)
        return sl_args_complain(command, "not enough memory for the patterns");
    if (path)
        status = add_file(p, command, path);
    for (size_t i = 0; status == 0 && i < sizeof(built_in) / sizeof(built_in[0]); i++)
        if (add(p, built_in[i], why, sizeof(why)) != 0)
            status = sl_args_complain(command, "not enough memory for the patterns");
    if (status) {
        sl_patterns_destroy(p);
        return status;
    }
    *out = p;
    return 0;
}

void sl_patterns_destroy(struct sl_patterns *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->count; i++)
        regfree(&p->pattern[i].regex);
    free(p->pattern);
    free(p);
}

static int32_t number_of(const char *name, const regmatch_t *match)
{
    int32_t number = 0;

    if (match->rm_so < 0 || match->rm_so == match->rm_eo)
        return -1;
    for (regoff_t i = match->rm_so; i < match->rm_eo; i++) {
        if (name[i] < '0' || name[i] > '9' || number > NUMBER_MOST / 10)
            return -1;
        number = number * 10 + (name[i] - '0');
    }
    return number;
}

int sl_patterns_find(const struct sl_patterns *p, const char *name, struct sl_phase_id *out)
{
    regmatch_t match[GROUPS + 2];

    if (strnlen(name, NAME_MOST) == NAME_MOST)
        return 0;
    for (size_t i = 0; i < p->count; i++) {
        if (regexec(&p->pattern[i].regex, name, GROUPS + 2, match, 0) != 0)
            continue;
        *out = (struct sl_phase_id){.kind = p->pattern[i].kind,
                                    .mb = number_of(name, &match[2]),
                                    .chunk = number_of(name, &match[3]),
                                    .sequence = number_of(name, &match[4])};
        return 1;
    }
    return 0;
}

/* Returns the phase that words in the name suggest, or NULL. */
static const char *guess(const char *name)
{
    static const struct {
        const char *word;
        enum sl_phase_kind kind;
    } words[] = {{"optim", SL_PHASE_OPTIMIZER},
                 {"send", SL_PHASE_COMMUNICATION},
                 {"recv", SL_PHASE_COMMUNICATION},
                 {"comm", SL_PHASE_COMMUNICATION},
                 {"p2p", SL_PHASE_COMMUNICATION},
                 {"reduce", SL_PHASE_COMMUNICATION},
                 {"wgrad", SL_PHASE_W},
                 {"weight", SL_PHASE_W},
                 {"fwd", SL_PHASE_F},
                 {"forward", SL_PHASE_F},
                 {"bwd", SL_PHASE_B},
                 {"backward", SL_PHASE_B},
                 {"dgrad", SL_PHASE_B},
                 {"iter", SL_PHASE_ITERATION}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasestr(name, words[i].word))
            return names[words[i].kind];
    return NULL;
}

size_t sl_patterns_suggest(char *to, size_t size, const char *name)
{
    const char *kind = guess(name);
    size_t at = (size_t)snprintf(to, size, "%s ", kind ? kind : "?");
    int groups = 0;

    while (*name) {
        char piece[16] = {*name, '\0'};
        size_t digits = strspn(name, "0123456789");

        if (digits)
            snprintf(piece, sizeof(piece), groups++ < GROUPS ? "([0-9]+)" : "[0-9]+");
        else if (strchr("\\^$.[]|()*+?{}", *name))
            snprintf(piece, sizeof(piece), "\\%c", *name);
        name += digits ? digits : 1;
        if (at < size)
            snprintf(to + at, size - at, "%s", piece);
        at += strlen(piece);
    }
    return at;
}
