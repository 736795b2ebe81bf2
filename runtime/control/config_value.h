/*
 * config_value.h - parses option values.
 *
 * Pure functions; any thread.
 */
#ifndef SL_CONFIG_VALUE_H
#define SL_CONFIG_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "control/config.h"

/* Parses `text` as the option's type into its field of `out`, which is written only on success.
 * Returns 0, -EINVAL if the text does not have that form, or -ERANGE if the value is outside
 * min..max. */
int sl_config_value_read(const struct sl_option *option, const char *text, struct sl_config *out);

/* Parses digits to a number of at most `most`. Returns 0 or -EINVAL. */
int sl_config_value_digits(const char *text, size_t length, uint64_t most, uint64_t *out);

/* Parses "64MiB", "64M" or "100000" to bytes. Returns 0, or -EINVAL, which also means that the
 * number needs more than 64 bits. */
int sl_config_value_size(const char *text, size_t length, uint64_t *bytes);

/* Converts "2s", "500ms", "1.5h" or "2" (seconds) to nanoseconds. Returns 0 or -EINVAL. */
int sl_config_value_duration(const char *text, size_t length, uint64_t *ns);

#endif
