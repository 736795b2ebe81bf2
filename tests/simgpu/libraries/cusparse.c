/*
 * cusparse.c - the stand-in for cuSPARSE: none of it is simulated, but PyTorch makes a string of
 * what it is told of an error.
 *
 * Application threads.
 */
#include "libraries/library.h"

LIBRARY(const char *, cusparseGetErrorString, (int status))
{
    return status == 0 ? "CUSPARSE_STATUS_SUCCESS" : "CUSPARSE_STATUS_NOT_SUPPORTED";
}
