/*
 * et_file.h - reads a Chakra execution trace, message by message.
 *
 *   sl_et_open(&et, path, why, sizeof(why));
 *   while (sl_et_next(et, &node)) ...
 *
 * Accepts files from any writer of the Chakra schema; docs/chakra.md lists the field numbers.
 * Fields of a message that are not listed here are skipped.
 *
 * Threads: one owner. Memory: one message, at most SL_ET_MESSAGE_MAX bytes, and its dependencies.
 */
#ifndef SL_ET_FILE_H
#define SL_ET_FILE_H

#include "read/input_file.h"
#include "read/text.h"

/* Longer messages are treated as damage. */
#define SL_ET_MESSAGE_MAX (4u << 20)

/* Chakra's NodeType */
enum sl_et_type {
    SL_ET_INVALID,
    SL_ET_METADATA,
    SL_ET_MEM_LOAD,
    SL_ET_MEM_STORE,
    SL_ET_COMP,
    SL_ET_COMM_SEND,
    SL_ET_COMM_RECV,
    SL_ET_COMM_COLL,
    SL_ET_TYPES
};

/* Attributes that the callers of this file use. */
enum sl_et_has {
    SL_ET_HAS_IS_CPU = 1 << 0,
    SL_ET_HAS_COMM_TYPE = 1 << 1,
    SL_ET_HAS_COMM_SIZE = 1 << 2,
    SL_ET_HAS_COMM_SRC = 1 << 3,
    SL_ET_HAS_COMM_DST = 1 << 4,
    SL_ET_HAS_COMM_TAG = 1 << 5,
    SL_ET_HAS_DURATION_NS = 1 << 6,
    SL_ET_HAS_NO_LAUNCH = 1 << 7 /* an attribute that only syncline writes: the launching call is
                                    not in the file */
};

struct sl_et_node {
    uint64_t at; /* offset of the message in the decoded text, in bytes */
    uint64_t id, start_us, duration_us, duration_ns;
    uint32_t type;
    uint32_t has; /* flags of enum sl_et_has: the attributes that are present and have the type that
                     feeders read */
    const char *misplaced; /* name of an attribute whose value has a protobuf type that Chakra's
                              feeders do not read; NULL if there is none */
    const char *twice;     /* name of an attribute that appears twice; NULL if there is none */
    const char *refused;   /* the part whose text is not UTF-8, so that protobuf readers refuse the
                              file: "attribute", "inputs" or "outputs"; NULL if there is none. The
                              node's name is not checked. */
    struct sl_text refused_attribute; /* name of the refused attribute, itself perhaps not UTF-8 */
    uint64_t is_cpu, comm_type, comm_size;
    uint64_t comm_src, comm_dst; /* ranks; readers use only the low 32 bits */
    struct sl_text name, pg_name;
    const uint64_t *dep; /* control dependencies, then data dependencies */
    size_t deps, ctrl_deps;
};

enum sl_et_end {
    SL_ET_OPEN,
    SL_ET_WHOLE,  /* ended after a complete message */
    SL_ET_CUT,    /* ended inside a message */
    SL_ET_DAMAGED /* the bytes after `position` are not a message */
};

struct sl_et_state {
    enum sl_et_end end;
    uint64_t position; /* number of bytes of text that were read as complete messages */
    int has_metadata;  /* not 0 if the first message is GlobalMetadata */
    char version[32];  /* version in GlobalMetadata, digits and dots; "" if there is none */
    /* attributes of GlobalMetadata in syncline's files; "" and 0 if there is none */
    char job[128], run[65];
    int64_t run_start_ns; /* start of the run on this rank, in ns since the epoch */
    char refused[96]; /* the part of the metadata that is not UTF-8, such as "attribute host"; "" if
                         there is none */
};

struct sl_et {
    struct sl_input *input;
    struct sl_et_state state; /* changes with each sl_et_next() */
    char *text; /* room for SL_ET_MESSAGE_MAX bytes and for the length before a message */
    size_t used, have;
    uint64_t *dep; /* dependencies of the last node */
    size_t dep_room;
};

/* Returns whether the text begins with a GlobalMetadata message. `size` may be less than the
 * message. */
int sl_et_looks_like(const char *text, size_t size);

/* Returns whether the input is a Chakra trace. Call before the first read. If the first bytes are
 * damaged, the file name decides. */
int sl_et_is_input(struct sl_input *input, const char *path);
/* Opens the file at a path and returns whether it is a Chakra trace. Returns 0 for pipes, because a
 * pipe cannot be opened a second time. */
int sl_et_is_file(const char *path);

/* Reads the metadata. On success the trace owns `input`. Returns 0. Returns -ENOMEM if there is no
 * memory; the caller then still owns `input`. */
int sl_et_open_input(struct sl_et **out, struct sl_input *input);
/* Opens a trace by its path. Returns 0, or a negative errno with a message in `why`, as
 * sl_input_open() does. */
int sl_et_open(struct sl_et **out, const char *path, char *why, size_t why_size);
void sl_et_close(struct sl_et *et); /* NULL is fine */

/* Returns 1 and a node that is valid until the next call, or 0 at the end. */
int sl_et_next(struct sl_et *et, struct sl_et_node *out);

#endif
