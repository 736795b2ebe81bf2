/*
 * scenario.h - a job in words, and the edges that come of it.
 *
 * Files scenarios/NAME.txt hold them; README.md there describes the words. A scenario is run line
 * by line against an engine of its own.
 */
#ifndef SL_TEST_SCENARIO_H
#define SL_TEST_SCENARIO_H

#include <stddef.h>

struct scenario_script;

struct scenario {
    const struct scenario_script *script;
    char name[100];
    unsigned first, last; /* line numbers, from 1: `scenario NAME`, and the last one */
};

/* Reads scenarios from `text`, which `name` names in messages. NULL, and the reason in `why`. The
 * text is copied. */
struct scenario_script *scenario_read(const char *name, const char *text, char *why, size_t size);
void scenario_close(struct scenario_script *script);

size_t scenario_count(const struct scenario_script *script);
const struct scenario *scenario_at(const struct scenario_script *script, size_t i);

/* 0: as expected. -1: not so, or the script is wrong; `why` says in which line. */
int scenario_run(const struct scenario *scenario, char *why, size_t size);

#endif
