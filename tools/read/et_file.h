/*
 * et_file.h - a Chakra execution trace, message by message.
 *
 *   sl_et_open(&et, path, why, sizeof(why));
 *   while (sl_et_next(et, &node)) ...
 *
 * Reads what any writer of Chakra's schema makes; the field numbers are those of docs/chakra.md.
 * What a message holds beyond what is asked for here is passed over.
 *
 * Threads: one owner. Memory: one message, at most SL_ET_MESSAGE_MAX bytes, and its dependencies.
 */
#ifndef SL_ET_FILE_H
#define SL_ET_FILE_H

#include "read/input_file.h"
#include "read/text.h"

/* Longer messages are taken for damage. */
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

/* Attributes that readers ask for. */
enum sl_et_has {
    SL_ET_HAS_IS_CPU = 1 << 0,
    SL_ET_HAS_COMM_TYPE = 1 << 1,
    SL_ET_HAS_COMM_SIZE = 1 << 2,
    SL_ET_HAS_COMM_SRC = 1 << 3,
    SL_ET_HAS_COMM_DST = 1 << 4,
    SL_ET_HAS_COMM_TAG = 1 << 5,
    SL_ET_HAS_DURATION_NS = 1 << 6,
    SL_ET_HAS_NO_LAUNCH = 1 << 7 /* ours: the call of a GPU operation is not in the file */
};

struct sl_et_node {
    uint64_t at; /* byte of the message in the text */
    uint64_t id, start_us, duration_us, duration_ns;
    uint32_t type;
    uint32_t has; /* enum sl_et_has: present, and of the type that feeders take */
    int is_cpu;
    const char *misplaced; /* an attribute whose value is in another member of the oneof than
                            * feeders take; NULL: none */
    const char *twice;     /* an attribute that it has twice; NULL: none */
    const char *refused; /* "attribute", "inputs" or "outputs": has a text that is not UTF-8, which
                          * protobuf's readers refuse the node for; NULL: none. The name is not
                          * looked at. */
    struct sl_text refused_attribute; /* its name, which may be that text */
    uint64_t comm_type, comm_size;
    int32_t comm_src, comm_dst; /* as readers take them: the lower half of what is longer */
    struct sl_text name, pg_name;
    const uint64_t *dep; /* control and data dependencies */
    size_t deps;
};

enum sl_et_end {
    SL_ET_OPEN,
    SL_ET_WHOLE,  /* ended behind a message */
    SL_ET_CUT,    /* ended inside one */
    SL_ET_DAMAGED /* what follows is no message */
};

struct sl_et_state {
    enum sl_et_end end;
    uint64_t position; /* bytes of text read as whole messages */
    int has_metadata;  /* the first message is GlobalMetadata... */
    char version[32];  /* ...and the version that it tells, of digits and dots; "": none */
    char refused[96];  /* what of the metadata is not UTF-8: "attribute host"; "": nothing */
};

struct sl_et;

/* Does this text begin as a trace with its GlobalMetadata does? `size` may be small. */
int sl_et_looks_like(const char *text, size_t size);

/* Is this one? Before the first read; of a damaged one the name tells. */
int sl_et_is_input(struct sl_input *input, const char *path);
/* The same for what can be opened again: pipes cannot, and are none. */
int sl_et_is_file(const char *path);

/* Reads the metadata. The input is the trace's from then on. 0 or -ENOMEM: then it is still the
 * caller's. */
int sl_et_open_input(struct sl_et **out, struct sl_input *input);
/* As sl_input_open(). */
int sl_et_open(struct sl_et **out, const char *path, char *why, size_t why_size);
void sl_et_close(struct sl_et *et); /* NULL is fine */

/* 1: a node, valid until the next call. 0: no more. */
int sl_et_next(struct sl_et *et, struct sl_et_node *out);

/* How the reading stands; goes on changing with it. */
const struct sl_et_state *sl_et_state(const struct sl_et *et);
void sl_et_get_status(const struct sl_et *et, struct sl_input_status *out);

#endif
