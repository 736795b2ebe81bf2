/*
 * python_row.h - rows of Python functions, as torch.profiler writes them with `with_stack`.
 *
 * Threads: any; pure functions. Memory: the caller's.
 */
#ifndef SL_PYTHON_ROW_H
#define SL_PYTHON_ROW_H

#include "read/json_event.h"

/* Whether a row's name, "FILE(LINE): FUNCTION", is that of code outside PyTorch and Python's own
 * library. Files that lie in a folder of sys.path have lost that part of their path. */
int sl_python_row_is_users(struct sl_text name);

#endif
