/*
 * option.c - reads options from the environment variables SIMGPU_*, which tests/simgpu/run sets.
 *
 * Threads: any. Only the clock's scale is cached (clock.c).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/sim.h"

const char *sim_option(const char *name)
{
    char variable[64] = "SIMGPU_";
    size_t at = strlen(variable);

    for (; *name && at + 1 < sizeof variable; name++) {
        variable[at++] = *name == '-' ? '_' : (char)toupper((unsigned char)*name);
    }
    variable[at] = 0;
    const char *value = getenv(variable);

    return value && *value ? value : NULL;
}

uint64_t sim_option_u64(const char *name, uint64_t fallback)
{
    const char *text = sim_option(name);

    return text ? strtoull(text, NULL, 0) : fallback;
}

double sim_option_double(const char *name, double fallback)
{
    const char *text = sim_option(name);

    return text ? strtod(text, NULL) : fallback;
}

bool sim_option_duration(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    double value = strtod(text, &end);

    for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) == 0) {
            *ns = (uint64_t)(value * units[i].ns);
            return true;
        }
    }
    return false;
}
