/*
 * python_row.h - recognises the Python function rows that torch.profiler writes with `with_stack`.
 *
 * Threads: any; pure functions. Memory: the caller's.
 */
#ifndef SL_PYTHON_ROW_H
#define SL_PYTHON_ROW_H

#include "read/json_event.h"

/* Returns whether a row's name, "FILE(LINE): FUNCTION", belongs to code outside PyTorch and the
 * Python standard library. torch.profiler removes the sys.path folder from the paths of files
 * inside it. */
int sl_python_row_is_users(struct sl_text name);

#endif
