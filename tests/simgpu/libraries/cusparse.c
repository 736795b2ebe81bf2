/*
 * cusparse.c - the stand-in for cuSPARSE. Nothing is simulated except error strings, which PyTorch
 * formats.
 *
 * Application threads.
 */
#include "libraries/library.h"

LIBRARY(const char *, cusparseGetErrorString, (int status))
{
    return status == 0 ? "CUSPARSE_STATUS_SUCCESS" : "CUSPARSE_STATUS_NOT_SUPPORTED";
}
