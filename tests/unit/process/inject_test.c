/* inject_test.c - calls the library's entry points in a program with more rights than the user who
 * runs it, such as a setuid program. The linker lets inject.c and the library use the getauxval()
 * and getenv() of this file. */
#include <stdint.h>
#include <sys/auxv.h>

#include "life.h"

int InitializeInjection(void);
int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t id));
int InitializeInjectionNvtxExtension(void *module_info);
int sl_hook_groups(const char *json);
int sl_hook_step(int source);
int sl_hook_end(void);
int sl_hook_ops(void);
uint64_t sl_hook_range_begin(const char *name);

unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);
char *__wrap_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);

static int is_secure, tables_asked, variables_read;

unsigned long __wrap_getauxval(unsigned long type)
{
    return type == AT_SECURE ? (unsigned long)is_secure : __real_getauxval(type);
}

char *__wrap_getenv(const char *name)
{
    (void)name;
    variables_read++;
    return NULL;
}

char *__wrap_secure_getenv(const char *name)
{
    return __wrap_getenv(name);
}

static const void *get_export_table(uint32_t id)
{
    (void)id;
    tables_asked++;
    return NULL;
}

static int lines_said(void)
{
    char text[4096];
    int fd = open(said, O_RDONLY), lines = 0;
    ssize_t got = read(fd, text, sizeof(text));

    close(fd);
    for (ssize_t i = 0; i < got; i++)
        lines += text[i] == '\n';
    return lines;
}

static void set_variables(void)
{
    setenv("SYNCLINE_OUTPUT", folder, 1);
    setenv("SYNCLINE_LOG", "debug", 1);
    setenv("SYNCLINE_WINDOW", "steps:3", 1);
}

static void a_set_user_id_program_is_left_alone(void)
{
    struct sl_status status = {.size = sizeof(status)};
    uint8_t module[256] = {0}, untouched[256] = {0};

    set_variables();
    is_secure = 1;
    errno = 77;
    CHECK(InitializeInjectionNvtx2(get_export_table) == 0);
    CHECK(InitializeInjectionNvtxExtension(module) == 0);
    CHECK(InitializeInjection() == 1);
    CHECK(InitializeInjection() == 1);
    CHECK(errno == 77);
    CHECK(!memcmp(module, untouched, sizeof(module)));
    CHECK(tables_asked == 0 && variables_read == 0);
    CHECK(sl_start() == -ENODEV && sl_stop() == -ENODEV);
    CHECK(sl_dump() == -ENODEV && sl_hand_over() == -ENODEV);
    CHECK(sl_range_push("r") == -ENODEV && sl_mark("m") == -ENODEV);
    CHECK(sl_hook_groups("{}") == -ENODEV && sl_hook_step(1) == -ENODEV);
    CHECK(sl_hook_range_begin("r") == 0 && sl_hook_ops() == 0 && sl_hook_end() == 0);
    CHECK(sl_status(&status) == 0 && status.state == SL_STATE_PASSIVE);
    CHECK(strstr(status.reason, "set-user-id"));
    CHECK(threads() == 0 && files("*") == 0);
    CHECK(lines_said() == 1 && stderr_has("set-user-id"));
}

static void any_other_is_not(void)
{
    set_variables();
    CHECK(InitializeInjection() == 1);
    /* the library has read the environment variable */
    CHECK(stderr_has("SYNCLINE_WINDOW=steps:3 is not valid"));
    CHECK(!stderr_has("set-user-id"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(a_set_user_id_program_is_left_alone),
        LIFE(any_other_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
