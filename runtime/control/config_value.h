/*
 * config_value.h - option values: text to number, and back for messages.
 *
 * Pure functions; any thread.
 */
#ifndef SL_CONFIG_VALUE_H
#define SL_CONFIG_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "control/config.h"

/* Reads `text` as the option's type and stores it into its field of `out`. 0; -EINVAL: not
 * readable; -ERANGE: outside min..max. `out` is written only on success. */
int sl_config_value_read(const struct sl_option *option, const char *text, struct sl_config *out);

/* "64MiB", "64M", "100000": bytes. 0 or -EINVAL (also past 64 bits). */
int sl_config_value_size(const char *text, size_t length, uint64_t *bytes);

/* "2s", "500ms", "1.5h", "2" (seconds): nanoseconds. 0 or -EINVAL. */
int sl_config_value_duration(const char *text, size_t length, uint64_t *ns);

#endif
