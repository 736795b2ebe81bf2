/*
 * phases.h - the phases of one recording, and which kernels belong to which phase.
 *
 * A kernel belongs to the innermost range with a pattern that was open on the thread of its launch.
 * If none was, it belongs to that of the thread which waits for the launching thread, as in
 * autograd's backward pass: the only other thread of the device with an open range, or that whose
 * forward operator has the sequence number of the operator around the launch.
 *
 * The phase of a kernel of communication is one of communication, if there is one. Other kernels
 * belong to F, B, W or the optimizer; they also lengthen the phases around it. Of ranges of one
 * kind inside each other, one is the phase: the outer one, unless it has several inside.
 *
 * Threads: one owner. Memory: 96 bytes for each phase, and 4 for each GPU operation, or
 * 12 if PyTorch describes sends and receives.
 */
#ifndef SL_PIPELINE_PHASES_H
#define SL_PIPELINE_PHASES_H

#include "pipeline/patterns.h"
#include "report/recording.h"

/* Times are those of the recording. */
struct sl_phase {
    uint64_t start_ns, end_ns;  /* of the range, on the CPU */
    uint64_t begin_ns, done_ns; /* from the start of its first kernel to the end of its last; of a
                                   phase without kernels a guess (schedule.h) */
    uint64_t kernel_ns;         /* time in which a kernel of it ran; see sl_phases_make() */
    uint64_t ready_ns;          /* of communication: when the peer began, if that is later */
    struct sl_phase_id id;
    uint32_t thread, name;
    uint32_t kernels;   /* also those of phases inside */
    uint32_t around;    /* index + 1 of the next outer one on the thread; 0: none */
    uint32_t owner;     /* index + 1 of the phase that this range is a part of; 0: itself */
    uint32_t children;  /* ranges of the same kind directly inside */
    uint8_t device;     /* of its first kernel; SL_DEVICE_NONE: it has none */
    uint8_t is_dropped; /* 1: it has several phases of its kind inside, so it is none */
};

/* Names that no pattern matches. Numbers in them may differ. */
struct sl_phase_stranger {
    uint32_t name; /* one of them */
    uint64_t count;
};

struct sl_phases {
    struct sl_phase *phase; /* by thread and start; those with an owner, too */
    size_t count;
    uint32_t *of_op; /* for each operation the index + 1 of its phase; 0: none */
    /* For each operation that receives: when its sender began, if that is later; 0: not known.
     * NULL: none is known (facts.c). */
    uint64_t *ready_ns;
};

/* What all recordings share. */
struct sl_phase_names {
    const struct sl_patterns *patterns;
    struct sl_intern *names; /* borrowed: sl_recordings.names */
    struct sl_phase_id *id;  /* by name */
    uint8_t *state;          /* by name: 0 not looked up, 1 matches, 2 does not */
    size_t slots;
    struct sl_phase_stranger *stranger;
    size_t strangers, stranger_slots;
    /* Kernels that were launched in no range with a pattern. */
    uint64_t loose, loose_ns;
    uint64_t *loose_name_ns; /* by name */
};

int sl_phase_names_init(struct sl_phase_names *n, const struct sl_patterns *patterns,
                        struct sl_intern *names); /* 0 or -ENOMEM */
void sl_phase_names_free(struct sl_phase_names *n);

/* Finds the phases of a recording. Returns 0 or -ENOMEM. The caller frees them, also after an
 * error. */
int sl_phases_make(struct sl_phases *out, const struct sl_recording *r, struct sl_phase_names *n);
void sl_phases_free(struct sl_phases *p);

/* Returns 1 for a phase that counts, and not a part of another one. */
static inline int sl_phase_is_own(const struct sl_phase *p)
{
    return !p->owner && !p->is_dropped && p->id.kind < SL_PHASE_ITERATION;
}

#endif
