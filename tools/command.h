/*
 * command.h - the subcommands, one file each.
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
