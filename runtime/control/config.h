/*
 * config.h - the table of options, with a row for each SYNCLINE_* variable.
 *
 * The reader of the environment, `syncline doctor`, `syncline run` and docs/configuration.md all
 * use the table in config.c. An invalid value is reported in one line and never makes syncline
 * record more than by default. If the option says when or what to record, an invalid value turns
 * the recording off. (For SYNCLINE_WINDOW, recording waits for start().) For any other option, an
 * invalid or empty value means the default. Unknown SYNCLINE_* names, up to
 * SL_CONFIG_UNKNOWN_SHOWN, are reported with the nearest known name. Only rank 0 reports.
 */
#ifndef SL_CONFIG_H
#define SL_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "base/choices.h"
#include "base/log.h"

enum sl_window_mode {
    SL_WINDOW_RUN,
    SL_WINDOW_TIME,
    SL_WINDOW_DEMAND,
    SL_WINDOW_STEPS,
    SL_WINDOW_OFF /* the process is passive from the start, so no struct sl_window has this mode */
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
    uint32_t mode;                   /* SYNCLINE_MODE */
    char job[128];                   /* SYNCLINE_JOB; "" means the job's name in the scheduler's
                                      * variables */
    char run[65];                    /* SYNCLINE_RUN; "" means an id from the launcher's facts */
    uint32_t kinds;                  /* SYNCLINE_KINDS: enum sl_cupti_set bits */
    int api_all;                     /* SYNCLINE_API=all */
    enum sl_compression compression; /* SYNCLINE_COMPRESSION: zstd[:LEVEL], gzip[:LEVEL], none */
    int level;
    enum sl_chakra_files chakra;     /* SYNCLINE_CHAKRA */
    int graph_edges;                 /* SYNCLINE_GRAPH_EDGES */
    uint64_t disk_bytes;             /* SYNCLINE_DISK */
    uint64_t memory_bytes;           /* SYNCLINE_MEMORY */
    uint64_t cupti_memory_bytes;     /* SYNCLINE_CUPTI_MEMORY */
    enum sl_detail detail;           /* SYNCLINE_DETAIL */
    enum sl_log_level log_level;     /* SYNCLINE_LOG */
    enum sl_window_mode window_mode; /* SYNCLINE_WINDOW: run, time:2s/60s, steps:3/500... */
    uint64_t window_ns, period_ns;   /* time mode */
    uint64_t window_steps, period_steps;
    uint64_t lead_in_ns;                  /* SYNCLINE_LEAD_IN */
    enum sl_cupti_api_choice cupti_api;   /* SYNCLINE_CUPTI_API */
    int handover;                         /* SYNCLINE_HANDOVER */
    int nvtx;                             /* SYNCLINE_NVTX */
    uint64_t nvtx_memory_bytes;           /* SYNCLINE_NVTX_MEMORY */
    int python;                           /* SYNCLINE_PYTHON */
    int modules;                          /* SYNCLINE_MODULES; only the Python package reads it */
    char home[1024];                      /* SYNCLINE_HOME; "" means the folder syncline/ beside the
                                           * library */
    uint64_t source_depth;                /* SYNCLINE_SOURCE_DEPTH */
    enum sl_torch_ops_mode ops;           /* SYNCLINE_OPS */
    uint64_t ops_memory_bytes;            /* SYNCLINE_OPS_MEMORY */
    enum sl_nccl_level nccl;              /* SYNCLINE_NCCL */
    enum sl_collective_scope collectives; /* SYNCLINE_COLLECTIVES */
    int collectives_print;                /* SYNCLINE_COLLECTIVES_PRINT */
    uint64_t nccl_sample;                 /* SYNCLINE_NCCL_SAMPLE */
    char dump_cupti[1024];                /* SYNCLINE_DUMP_CUPTI; "" means no dump */

    /* not options */
    int is_window_invalid; /* 1: window_mode replaces a value that is not valid */
    int is_memory_lowered; /* 1: the host's limits have lowered the memory options */
};

/* The form of a value. config_value.c parses each type. */
enum sl_option_type {
    SL_OPTION_BOOL,
    SL_OPTION_TEXT,
    SL_OPTION_SIZE,
    SL_OPTION_DURATION,
    SL_OPTION_NUMBER,
    SL_OPTION_CHOICE, /* one of `words` */
    SL_OPTION_SET,    /* several of `words`, joined by commas, or one word whose value is 0 */
    SL_OPTION_COMPRESSION,
    SL_OPTION_WINDOW,
    SL_OPTION_MODE, /* octal, at least `min`, and no bits that `max` lacks */
};

struct sl_option_word {
    const char *word;
    int value; /* SET: bits */
    const char *help;
};

struct sl_option {
    const char *name;
    enum sl_option_type type;
    const char *fallback; /* the default, in the form in which a user writes it */
    const char *values;   /* the valid values, for messages and pages */
    const char *help;
    size_t offset, size;                /* offset and size of the field in struct sl_config */
    uint64_t min, max;                  /* limits of the value: SIZE in bytes, DURATION in ns */
    const struct sl_option_word *words; /* ends with a NULL word */
    const char *invalid;                /* value that replaces an invalid value; NULL: the
                                         * default */
    const char *invalid_means;          /* for messages, for example "recording is off"; NULL if
                                         * `invalid` is NULL */
};

#define SL_CONFIG_UNKNOWN_SHOWN 8 /* most unknown names that are reported singly */

/* The table; ends with a NULL name. */
extern const struct sl_option sl_config_table[];

/* Reads all options from `environ`-like text and sets the log level to SYNCLINE_LOG. Logs problems
 * at that level; never fails. Called once, at the injection. No other thread may change the
 * environment meanwhile. */
void sl_config_read(struct sl_config *out, char *const *environment);

/* Reads one option into its field of `out`. If `text` is NULL or "", the field gets the default.
 * Returns 0, or -EINVAL or -ERANGE if the text is not valid. Then the field gets the value that the
 * table has for invalid text. */
int sl_config_read_option(const struct sl_option *o, const char *text, struct sl_config *out);
/* Like sl_config_read_option(), but takes the option's name. */
int sl_config_read_one(struct sl_config *out, const char *name, const char *text);

/* Writes the message for an error of sl_config_read_option(): "SYNCLINE_X=Y is not valid (expected
 * Z); ...". */
void sl_config_explain(const struct sl_option *o, const char *text, int err, char *out,
                       size_t size);

/* Returns the first entry of `environment` that has an unknown SYNCLINE_* name, or NULL if all
 * names are known. */
char *const *sl_config_unknown(char *const *environment);

/* Returns the known name with the smallest edit distance to `name`. */
const char *sl_config_nearest(const char *name);

/* Returns the value of `name` in `environ`-like text, or NULL if `name` is not set. */
const char *sl_config_lookup(char *const *environment, const char *name);

#endif
