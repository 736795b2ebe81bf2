/*
 * cusparse.c - the stand-in for cuSPARSE. Only the error strings are simulated, because PyTorch
 * puts them into its exceptions.
 *
 * Application threads.
 */
#include "libraries/library.h"

LIBRARY(const char *, cusparseGetErrorString, (int status))
{
    return status == 0 ? "CUSPARSE_STATUS_SUCCESS" : "CUSPARSE_STATUS_NOT_SUPPORTED";
}
