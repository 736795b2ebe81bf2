/*
 * command.h - declares the subcommands. Each subcommand has its own cmd_NAME.c.
 */
#ifndef SL_COMMAND_H
#define SL_COMMAND_H

#include "args/args.h"

extern const struct sl_command sl_cmd_check;
extern const struct sl_command sl_cmd_collectives;
extern const struct sl_command sl_cmd_convert;
extern const struct sl_command sl_cmd_critical_path;
extern const struct sl_command sl_cmd_diff;
extern const struct sl_command sl_cmd_doctor;
extern const struct sl_command sl_cmd_edges;
extern const struct sl_command sl_cmd_open;
extern const struct sl_command sl_cmd_pipeline;
extern const struct sl_command sl_cmd_recover;
extern const struct sl_command sl_cmd_report;
extern const struct sl_command sl_cmd_run;

/* The help texts, which the build makes from help/NAME.txt. */
extern const char sl_help_check[], sl_help_collectives[], sl_help_convert[], sl_help_diff[];
extern const char sl_help_critical_path[], sl_help_doctor[];
extern const char sl_help_edges[], sl_help_open[], sl_help_pipeline[];
extern const char sl_help_recover[], sl_help_report[], sl_help_run[], sl_help_syncline[];

#endif
