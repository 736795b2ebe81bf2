/*
 * name.c - kernel and device names that records point to, and their lifetime.
 *
 * A record's name pointer is valid as long as the client holds the record's buffer. The bytes of
 * the name are overwritten when the client gives the same memory for a new buffer, or when the
 * lifetime (--cupti-name-life) is over. A client with an old pointer then reads garbage. The
 * overwritten bytes are freed only some time later, because a client under test must fail on
 * content, not crash.
 *
 * Threads: the caller of sim_name_copy() holds the lock of the buffer's lane. Any thread may call
 * the other functions, which acquire this file's lock.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/fork.h"
#include "cupti/simcupti.h"

#define CHUNK_BYTES 4096
#define GRAVES      4096 /* number of retired sets of names whose memory is not freed yet */

struct sim_name_chunk {
    struct sim_name_chunk *next;
    size_t used, size;
    char text[];
};

static struct grave {
    struct sim_name_chunk *chunks;
    const uint8_t *memory;
    uint64_t over_ns; /* end of the names' lifetime; 0 if they are already overwritten */
} graves[GRAVES];
static size_t next_grave;
/* Number of sets that are not yet overwritten; written under the lock. */
static atomic_size_t waiting;
SIM_MUTEX(lock);

const char *sim_name_copy(struct sim_names *names, const char *text)
{
    size_t slot = ((uintptr_t)text >> 3) % (sizeof names->seen / sizeof *names->seen);

    if (!text || names->seen[slot].key == text) {
        return text ? names->seen[slot].copy : NULL;
    }
    size_t need = strlen(text) + 1;
    struct sim_name_chunk *chunk = names->chunks;

    if (!chunk || chunk->size - chunk->used < need) {
        size_t size = need > CHUNK_BYTES ? need : CHUNK_BYTES;

        chunk = malloc(sizeof *chunk + size);
        if (!chunk) {
            return NULL;
        }
        *chunk = (struct sim_name_chunk){.next = names->chunks, .size = size};
        names->chunks = chunk;
    }
    char *copy = memcpy(chunk->text + chunk->used, text, need);

    chunk->used += need;
    names->seen[slot].key = text;
    names->seen[slot].copy = copy;
    return copy;
}

static void overwrite(struct grave *g)
{
    for (struct sim_name_chunk *c = g->chunks; c; c = c->next) {
        memset(c->text, '!', c->used);
        c->text[c->used - 1] = 0;
    }
    if (g->over_ns) {
        g->over_ns = 0;
        waiting--;
    }
}

static void bury(struct grave *g)
{
    overwrite(g);
    for (struct sim_name_chunk *c = g->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    g->chunks = NULL;
}

void sim_name_retire(struct sim_names *names, const uint8_t *memory)
{
    if (!names->chunks) {
        return;
    }
    pthread_mutex_lock(&lock);
    struct grave *g = &graves[next_grave++ % GRAVES];

    bury(g);
    *g = (struct grave){.chunks = names->chunks,
                        .memory = memory,
                        .over_ns = sim_monotonic_ns() + sim_trouble.name_life_ns};
    waiting++;
    pthread_mutex_unlock(&lock);
    names->chunks = NULL;
}

void sim_name_spoil(const uint8_t *memory)
{
    if (!sim_name_waiting()) {
        return;
    }
    uint64_t now = sim_monotonic_ns();

    pthread_mutex_lock(&lock);
    size_t count = next_grave < GRAVES ? next_grave : GRAVES;

    for (size_t i = 0; i < count; i++) {
        struct grave *g = &graves[i];

        if (g->over_ns && (memory ? g->memory == memory : g->over_ns <= now)) {
            overwrite(g);
        }
    }
    pthread_mutex_unlock(&lock);
}

bool sim_name_waiting(void)
{
    return atomic_load_explicit(&waiting, memory_order_relaxed) != 0;
}
