/*
 * config.h - the option table: one row per SYNCLINE_* variable.
 *
 * Environment, `syncline doctor`, `--help` and docs/configuration.md all come from the table in
 * config.c. A wrong value is reported in one line and the default used; an unknown SYNCLINE_* name
 * is reported once, with the nearest known one.
 */
#ifndef SL_CONFIG_H
#define SL_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/choices.h"
#include "base/log.h"

enum sl_window_mode {
    SL_WINDOW_RUN,
    SL_WINDOW_TIME,
    SL_WINDOW_DEMAND,
    SL_WINDOW_STEPS
};

enum sl_chakra_files {
    SL_CHAKRA_OFF,
    SL_CHAKRA_RAW,
    SL_CHAKRA_GZIP,
    SL_CHAKRA_ZSTD
};

enum sl_cupti_api_choice {
    SL_CUPTI_API_AUTO,
    SL_CUPTI_API_V1,
    SL_CUPTI_API_V2,
    SL_CUPTI_API_V2_WHOLE
};

struct sl_config {
    int enabled;                     /* SYNCLINE_ENABLED */
    char output[1024];               /* SYNCLINE_OUTPUT */
    char job[128];                   /* SYNCLINE_JOB; "" = from the scheduler's variables */
    uint32_t kinds;                  /* SYNCLINE_KINDS: enum sl_cupti_set bits */
    int api_all;                     /* SYNCLINE_API=all */
    enum sl_compression compression; /* SYNCLINE_COMPRESSION: zstd[:LEVEL], gzip[:LEVEL], none */
    int level;
    enum sl_chakra_files chakra;     /* SYNCLINE_CHAKRA */
    int graph_edges;                 /* SYNCLINE_GRAPH_EDGES */
    uint64_t memory_bytes;           /* SYNCLINE_MEMORY */
    uint64_t cupti_memory_bytes;     /* SYNCLINE_CUPTI_MEMORY */
    enum sl_detail detail;           /* SYNCLINE_DETAIL */
    enum sl_log_level log_level;     /* SYNCLINE_LOG */
    enum sl_window_mode window_mode; /* SYNCLINE_WINDOW: run, time:2s/60s, steps:3/500, demand */
    uint64_t window_ns, period_ns;   /* time mode */
    uint64_t window_steps, period_steps;
    uint64_t lead_in_ns;                /* SYNCLINE_LEAD_IN */
    enum sl_cupti_api_choice cupti_api; /* SYNCLINE_CUPTI_API */
    int handover;                       /* SYNCLINE_HANDOVER */
    int nvtx;                           /* SYNCLINE_NVTX */
    uint64_t nvtx_memory_bytes;         /* SYNCLINE_NVTX_MEMORY */
    int python;                         /* SYNCLINE_PYTHON */
    int modules;                        /* SYNCLINE_MODULES: the package reads it itself */
    char home[1024];                    /* SYNCLINE_HOME; "" = beside the library */
    uint64_t source_depth;              /* SYNCLINE_SOURCE_DEPTH */
    enum sl_torch_ops_mode ops;         /* SYNCLINE_OPS */
    uint64_t ops_memory_bytes;          /* SYNCLINE_OPS_MEMORY */
    char dump_cupti[1024];              /* SYNCLINE_DUMP_CUPTI; "" = no dump */
};

/* How a value is spelled. config_value.c reads each of them. */
enum sl_option_type {
    SL_OPTION_BOOL,
    SL_OPTION_TEXT,
    SL_OPTION_SIZE,
    SL_OPTION_DURATION,
    SL_OPTION_NUMBER,
    SL_OPTION_CHOICE, /* one of `words` */
    SL_OPTION_SET,    /* several of `words`, comma-separated */
    SL_OPTION_COMPRESSION,
    SL_OPTION_WINDOW,
};

struct sl_option_word {
    const char *word;
    int value; /* SET: bits */
    const char *help;
};

struct sl_option {
    const char *name;
    enum sl_option_type type;
    const char *fallback; /* the default, spelled as a user would */
    const char *values;   /* what may be written, for a person */
    const char *help;
    size_t offset, size;                /* of the field in struct sl_config */
    uint64_t min, max;                  /* SIZE in bytes, DURATION in ns, NUMBER */
    const struct sl_option_word *words; /* ended by a NULL word */
};

/* The table, ended by a NULL name. */
extern const struct sl_option sl_config_table[];

/* From `environ`-like text. Reports problems through sl_log(), at the level that SYNCLINE_LOG asks
 * for, which it sets. Never fails: what is wrong keeps its default. Not thread-safe against setenv:
 * called once, from the injection entry. */
void sl_config_read(struct sl_config *out, char *const *environment);

/* One option alone, into its field of `out`. 0; -EINVAL: not readable; -ERANGE. `name` is one of
 * the table's. */
int sl_config_read_one(struct sl_config *out, const char *name, const char *text);

/* Known name with the smallest edit distance to `name`. */
const char *sl_config_nearest(const char *name);

/* Value of `name` in `environ`-like text; NULL if not there. */
const char *sl_config_lookup(char *const *environment, const char *name);

/* docs/configuration.md */
void sl_config_print_markdown(FILE *f);

#endif
