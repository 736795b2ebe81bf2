/*
 * comms_id.c - computes Kineto's `Comms Id` (PyTorch's saveNcclMeta(), from 2.12 on).
 *
 * PyTorch computes c10::get_hash(group name, number, is P2P, start, stride, size). The hash of a
 * text is that of GNU's C++ library for PyTorch on Linux, which is MurmurHash64A. The hash of an
 * integer is the integer.
 *
 * Threads, memory: see comms_id.h.
 */
#include "event/comms_id.h"

#include <string.h>

#include "event/message.h"

#define MURMUR_FACTOR 0xc6a4a7935bd1e995u
#define MURMUR_SEED   0xc70f6907u

static uint64_t shift_mix(uint64_t value)
{
    return value ^ value >> 47;
}

static uint64_t hash_of_text(struct sl_collective_text text)
{
    uint64_t hash = MURMUR_SEED ^ text.size * MURMUR_FACTOR, word;
    size_t at = 0;

    for (; at + sizeof(word) <= text.size; at += sizeof(word)) {
        memcpy(&word, text.data + at, sizeof(word));
        hash = (hash ^ shift_mix(word * MURMUR_FACTOR) * MURMUR_FACTOR) * MURMUR_FACTOR;
    }
    if (at < text.size) {
        word = 0;
        memcpy(&word, text.data + at, text.size - at);
        hash = (hash ^ word) * MURMUR_FACTOR;
    }
    return shift_mix(shift_mix(hash) * MURMUR_FACTOR);
}

/* c10::hash_combine() */
static uint64_t combine(uint64_t seed, uint64_t value)
{
    return seed ^ (value + 0x9e3779b9 + (seed << 6) + (seed >> 2));
}

uint64_t sl_comms_id(const struct sl_collective_args *told, uint32_t seq)
{
    enum sl_collective_type type;
    uint64_t id;

    /* The texts are JSON. PyTorch hashes a name without escapes. */
    if (!told->collective.data || sl_collective_type(told->collective, &type) != 0 ||
        !told->group.data || told->group_size < 0 || !seq ||
        memchr(told->group.data, '\\', told->group.size))
        return 0;
    id = hash_of_text(told->group);
    id = combine(seq, id);
    id = combine((uint64_t)sl_message_is_p2p(type), id);
    id = combine((uint64_t)told->group_start, id);
    id = combine((uint64_t)told->group_stride, id);
    return combine((uint64_t)told->group_size, id);
}
