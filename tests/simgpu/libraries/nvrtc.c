/*
 * nvrtc.c - the stand-in for NVRTC, with which PyTorch compiles some kernels at run time. The
 * result of compiling a program is PTX text that the driver stand-in can load. The text has an
 * empty kernel for each requested name, or for each __global__ function of the source.
 *
 * Application threads; one thread at a time uses a program.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libraries/library.h"

enum {
    SUCCESS = 0,
    OUT_OF_MEMORY = 1,
    INVALID_PROGRAM = 4,
    NO_NAME_EXPRESSIONS = 10,
    MAX_NAMES = 16
};

struct program {
    char *source, *ptx;
    char *expression[MAX_NAMES], *lowered[MAX_NAMES];
    int names;
};

LIBRARY(int, nvrtcVersion, (int *major, int *minor))
{
    *major = SIM_CUDA;
    *minor = SIM_CUDA == 12 ? 8 : 0;
    return SUCCESS;
}

LIBRARY(const char *, nvrtcGetErrorString, (int status))
{
    return status == SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR";
}

LIBRARY(int, nvrtcCreateProgram,
        (struct program * *out, const char *source, const char *name, int headers,
         const char *const *texts, const char *const *names))
{
    *out = calloc(1, sizeof **out);
    if (*out) {
        (*out)->source = strdup(source);
    }
    return *out && (*out)->source ? SUCCESS : OUT_OF_MEMORY;
}

LIBRARY(int, nvrtcDestroyProgram, (struct program * *p))
{
    for (int i = 0; i < (*p)->names; i++) {
        free((*p)->expression[i]);
        free((*p)->lowered[i]);
    }
    free((*p)->source);
    free((*p)->ptx);
    free(*p);
    *p = NULL;
    return SUCCESS;
}

/* The lowered name of `f<float>` is f_float_, which is unique and valid in PTX. */
static bool add_name(struct program *p, const char *text, size_t length)
{
    if (p->names == MAX_NAMES || !(p->expression[p->names] = strndup(text, length))) {
        return false;
    }
    char *lowered = strdup(p->expression[p->names]);

    for (char *at = lowered; at && *at; at++) {
        *at = (char)(isalnum((unsigned char)*at) ? *at : '_');
    }
    p->lowered[p->names++] = lowered;
    return lowered != NULL;
}

LIBRARY(int, nvrtcAddNameExpression, (struct program * p, const char *expression))
{
    return add_name(p, expression, strlen(expression)) ? SUCCESS : OUT_OF_MEMORY;
}

/* Finds the name of each __global__ function: the word before the next parenthesis. */
static void find_kernels(struct program *p)
{
    for (const char *at = p->source; (at = strstr(at, "__global__")); at++) {
        const char *end = strchr(at, '('), *begin = end;

        if (end && strncmp(at, "__global__", 10) == 0 && strstr(at, "__launch_bounds__") &&
            strstr(at, "__launch_bounds__") < end) {
            end = strchr(end + 1, '(');
            begin = end;
        }
        while (begin && begin > at && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_')) {
            begin--;
        }
        if (!end || !add_name(p, begin, (size_t)(end - begin))) {
            return;
        }
    }
}

LIBRARY(int, nvrtcCompileProgram, (struct program * p, int count, const char *const *options))
{
    size_t size = 0;
    FILE *out;

    if (!p->names) {
        find_kernels(p);
    }
    free(p->ptx);
    if (!(out = open_memstream(&p->ptx, &size))) {
        return OUT_OF_MEMORY;
    }
    fprintf(out, ".version 8.0\n.target sm_90\n.address_size 64\n");
    for (int i = 0; i < p->names; i++) {
        fprintf(out, ".visible .entry %s()\n{\n\tret;\n}\n", p->lowered[i]);
    }
    fclose(out);
    return p->ptx ? SUCCESS : OUT_OF_MEMORY;
}

LIBRARY(int, nvrtcGetLoweredName, (struct program * p, const char *expression, const char **out))
{
    for (int i = 0; i < p->names; i++) {
        if (strcmp(p->expression[i], expression) == 0) {
            *out = p->lowered[i];
            return SUCCESS;
        }
    }
    return NO_NAME_EXPRESSIONS;
}

static int get_size(const struct program *p, size_t *bytes)
{
    *bytes = p->ptx ? strlen(p->ptx) + 1 : 0;
    return p->ptx ? SUCCESS : INVALID_PROGRAM;
}

static int get_text(const struct program *p, char *out)
{
    if (!p->ptx) {
        return INVALID_PROGRAM;
    }
    memcpy(out, p->ptx, strlen(p->ptx) + 1);
    return SUCCESS;
}

/* PyTorch sometimes requests a cubin instead of PTX. It gets the same text, because the driver
 * stand-in accepts both kinds of images. */
LIBRARY(int, nvrtcGetPTXSize, (struct program * p, size_t *bytes))
{
    return get_size(p, bytes);
}

LIBRARY(int, nvrtcGetCUBINSize, (struct program * p, size_t *bytes))
{
    return get_size(p, bytes);
}

LIBRARY(int, nvrtcGetPTX, (struct program * p, char *out))
{
    return get_text(p, out);
}

LIBRARY(int, nvrtcGetCUBIN, (struct program * p, char *out))
{
    return get_text(p, out);
}

LIBRARY(int, nvrtcGetProgramLogSize, (struct program * p, size_t *bytes))
{
    *bytes = 1;
    return SUCCESS;
}

LIBRARY(int, nvrtcGetProgramLog, (struct program * p, char *out))
{
    *out = 0;
    return SUCCESS;
}
