/* facts.h - edges as text: the edges that a scenario expects, and the edges that the engine
 * found. */
#ifndef SL_TEST_FACTS_H
#define SL_TEST_FACTS_H

#include "sync/edge.h"
#include "sync/words.h"

/* A call to which the scenario gives a name. */
struct facts_call {
    char name[32];
    uint64_t id;
    uint32_t thread, device;
    unsigned plain; /* number of the call's operations that are not graph nodes */
};

/* A list of expected or found edges. An expected edge also has the number of its line in the
 * scenario. */
struct facts_list {
    struct facts_edge *at;
    size_t count, slots;
};

struct facts {
    struct facts_call *call;
    size_t calls, slots;
    struct facts_list expected, found;
};

void facts_free(struct facts *f);

/* Gives the call with the correlation id `id` a name. If a loop gives the same name again, the name
 * then means the later call. In "kernel[i]" the value of i is part of the name. */
void facts_name(struct facts *f, struct words *w, const char *name, uint64_t id);
/* Returns the named call with this correlation id, or NULL if the call has no name. */
struct facts_call *facts_call_of(const struct facts *f, uint64_t id);
/* Returns the id of the call that the next word names. */
uint64_t facts_take_id(struct facts *f, struct words *w);

void facts_found(struct facts *f, const struct sl_edge *edges, size_t count);

/* Reads the rest of a line `expect FROM -> TO KIND [inferred|overlapping] [unreleased] wait US wake
 * US`. */
void facts_expect(struct facts *f, struct words *w);
/* Reads the rest of a line `never FROM -> TO`. Fails if there is an exact edge from FROM to TO that
 * is marked as released. */
void facts_never(const struct facts *f, struct words *w);

/* Compares the expected and the found edges. If they differ, writes both lists side by side and
 * returns 1. Otherwise empties both lists and returns 0. */
int facts_differ(struct facts *f, struct words *w);

/* Returns the array. If `count` members fill the array, makes it longer first. */
void *facts_grow(void *array, size_t count, size_t *slots, size_t size);

#endif
