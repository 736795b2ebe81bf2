/*
 * patterns.h - which phase of a pipeline the name of a range means.
 *
 * A pattern is a line `PHASE REGEX`: a POSIX extended expression that matches the whole name. Its
 * groups are the micro-batch, the chunk and the sequence number, in this order; a group that is no
 * number is not known. The first pattern that matches decides. The user's patterns come before the
 * built-in ones, which are those of Megatron-LM and of zero-bubble.
 *
 * Threads: one owner. Memory: the compiled patterns.
 */
#ifndef SL_PIPELINE_PATTERNS_H
#define SL_PIPELINE_PATTERNS_H

#include <stddef.h>
#include <stdint.h>

struct sl_command;

enum sl_phase_kind {
    SL_PHASE_F,         /* forward */
    SL_PHASE_B,         /* backward; of zero-bubble the gradient of the input */
    SL_PHASE_W,         /* the gradient of the weights */
    SL_PHASE_OPTIMIZER, /* the end of an iteration */
    SL_PHASE_COMPUTES,  /* the number of kinds above, which are work */
    SL_PHASE_COMMUNICATION = SL_PHASE_COMPUTES,
    SL_PHASE_SEND_FORWARD,
    SL_PHASE_RECV_FORWARD,
    SL_PHASE_SEND_BACKWARD,
    SL_PHASE_RECV_BACKWARD,
    SL_PHASE_ITERATION, /* its first group is the number of the iteration */
    SL_PHASE_NONE,      /* no phase, although a later pattern may match */
    SL_PHASE_KINDS
};

static inline int sl_phase_is_communication(enum sl_phase_kind kind)
{
    return kind >= SL_PHASE_COMMUNICATION && kind <= SL_PHASE_RECV_BACKWARD;
}

/* The word of a pattern's line, such as "optimizer". */
const char *sl_phase_name(enum sl_phase_kind kind);

struct sl_phase_id {
    enum sl_phase_kind kind;
    int32_t mb, chunk, sequence; /* -1: not known */
};

struct sl_patterns;

/* Compiles the patterns of the file at `path` (NULL: none) and the built-in ones. Returns 0, or an
 * exit status after a line on stderr. */
int sl_patterns_read(struct sl_patterns **out, const struct sl_command *command, const char *path);
void sl_patterns_destroy(struct sl_patterns *p); /* NULL is fine */

/* Finds the phase of a name. Returns 1, or 0 if no pattern matches. */
int sl_patterns_find(const struct sl_patterns *p, const char *name, struct sl_phase_id *out);

/* Writes the line of a pattern that would match `name` and the names that differ from it only in
 * numbers, without a line end; the phase is guessed, "?" if nothing in the name tells it. Returns
 * the length that the line has without the limit of `size` bytes. */
size_t sl_patterns_suggest(char *to, size_t size, const char *name);

#endif
