/* fixture_boot.c - a fake interpreter that only counts calls, for collect.python.boot_test. The
 * functions have CPython's names. Objects are numbers. */
#include "unit/collect/python/fixture_boot.h"

#include <stdio.h>
#include <string.h>

struct fixture_boot fixture_boot;

static int objects[4];

#define PATH     (&objects[0])
#define SCOPE    (&objects[1])
#define CODE     (&objects[2])
#define BUILTINS (&objects[3])

int Py_IsInitialized(void);
const char *Py_GetVersion(void);
int Py_AddPendingCall(int (*call)(void *), void *argument);
void *PyInterpreterState_Get(void);
void *PyInterpreterState_Main(void);
void *PyEval_GetBuiltins(void);
void *PyDict_New(void);
int PyDict_SetItemString(void *dict, const char *key, void *value);
void *PyDict_GetItemString(void *dict, const char *key);
void *PyUnicode_FromString(const char *text);
const char *PyUnicode_AsUTF8(void *unicode);
void *Py_CompileString(const char *text, const char *file, int start);
void *PyEval_EvalCode(void *code, void *globals, void *locals);
void PyErr_Clear(void);
void Py_DecRef(void *object);

static void *made(void *object, int fails)
{
    fixture_boot.references += !fails;
    return fails ? NULL : object;
}

int Py_IsInitialized(void)
{
    return fixture_boot.is_initialized;
}

const char *Py_GetVersion(void)
{
    return fixture_boot.version;
}

int Py_AddPendingCall(int (*call)(void *), void *argument)
{
    if (fixture_boot.is_full)
        return -1;
    fixture_boot.call = call;
    fixture_boot.argument = argument;
    fixture_boot.queued++;
    return 0;
}

void *PyInterpreterState_Get(void)
{
    return &objects[fixture_boot.is_sub];
}

void *PyInterpreterState_Main(void)
{
    return &objects[0];
}

void *PyEval_GetBuiltins(void)
{
    return BUILTINS;
}

void *PyDict_New(void)
{
    return made(SCOPE, fixture_boot.no_dict);
}

int PyDict_SetItemString(void *dict, const char *key, void *value)
{
    (void)dict;
    (void)key;
    return fixture_boot.no_item || !value ? -1 : 0;
}

void *PyDict_GetItemString(void *dict, const char *key)
{
    return dict == SCOPE && strcmp(key, "said") == 0 ? PATH : NULL;
}

void *PyUnicode_FromString(const char *text)
{
    snprintf(fixture_boot.path, sizeof(fixture_boot.path), "%s", text);
    return made(PATH, fixture_boot.no_text);
}

const char *PyUnicode_AsUTF8(void *unicode)
{
    return unicode ? "" : NULL;
}

void *Py_CompileString(const char *text, const char *file, int start)
{
    (void)file;
    (void)start;
    return made(CODE, fixture_boot.no_code || !strstr(text, "scope['start']()"));
}

void *PyEval_EvalCode(void *code, void *globals, void *locals)
{
    fixture_boot.evaluated += code == CODE && globals == SCOPE && locals == SCOPE;
    return made(BUILTINS, fixture_boot.raises);
}

void PyErr_Clear(void)
{
    fixture_boot.cleared++;
}

void Py_DecRef(void *object)
{
    fixture_boot.references -= object != NULL;
}
