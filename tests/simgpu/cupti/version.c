/*
 * version.c - states the CUPTI version of this library. Only this file is compiled once per
 * version.
 *
 * The constructor runs in the thread that loads the library. Afterwards the data is read-only.
 */
#include <string.h>

#include "cupti/simcupti.h"

static const struct sim_version *found;

const struct sim_version *sim_version(void)
{
    return found;
}

__attribute__((constructor)) static void load(void)
{
    for (size_t i = 0; i < sizeof sim_versions / sizeof *sim_versions; i++) {
        if (strcmp(sim_versions[i].name, SIM_CUPTI_VERSION) == 0) {
            found = &sim_versions[i];
        }
    }
    sim_trouble_read();
    sim_probe_start();
}
