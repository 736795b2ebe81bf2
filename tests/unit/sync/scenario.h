/*
 * scenario.h - scenarios: a job as text, and the edges that the engine must find.
 *
 * The files scenarios/NAME.txt contain scenarios. scenarios/README.md describes the format. Each
 * scenario is run line by line with a new engine.
 */
#ifndef SL_TEST_SCENARIO_H
#define SL_TEST_SCENARIO_H

#include <stddef.h>

struct scenario_script;

struct scenario {
    const struct scenario_script *script;
    char name[100];
    unsigned first, last; /* numbers of the first and last line in the text, from 1 */
};

/* Splits a copy of `text` into scenarios. Messages call the text `name`. Returns NULL and writes
 * the reason to `why` if a scenario is wrong. */
struct scenario_script *scenario_read(const char *name, const char *text, char *why, size_t size);
void scenario_close(struct scenario_script *script);

size_t scenario_count(const struct scenario_script *script);
const struct scenario *scenario_at(const struct scenario_script *script, size_t i);

/* Returns 0 if all edges and counters are as expected. Returns -1 if they are not, or if the script
 * is wrong; `why` contains the line number. */
int scenario_run(const struct scenario *scenario, char *why, size_t size);

#endif
