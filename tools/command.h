/*
 * command.h - the subcommands; each has its own file.
 */
#ifndef SL_COMMAND_H
#define SL_COMMAND_H

#include "args/args.h"

extern const struct sl_command sl_cmd_check;
extern const struct sl_command sl_cmd_convert;
extern const struct sl_command sl_cmd_doctor;
extern const struct sl_command sl_cmd_edges;
extern const struct sl_command sl_cmd_run;

#endif
