/* import_slot_test.c - changes import slots (GOT entries) of this program, which the linker has
 * made read-only. */
#include "test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "base/import_slot.h"

#define NOT_OURS 4711

static pid_t other_getppid(void)
{
    return NOT_OURS;
}

/* Returns the number of writable mappings of this program's file. The number must not change. */
static int writable_maps(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[4096], bits[8];
    int count = 0;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        count += sscanf(line, "%*s %4s", bits) == 1 && bits[1] == 'w';
    fclose(f);
    return count;
}

static void calls_go_where_the_slot_says(void **state)
{
    struct sl_import import = {.name = "getppid", .instead = (void *)other_getppid};
    pid_t parent = getppid();
    int writable = writable_maps();

    assert_int_not_equal(parent, NOT_OURS);
    sl_import_redirect(&import, 1);
    assert_true(import.slots >= 1);
    assert_int_equal(import.redirected, import.slots);
    assert_int_equal(getppid(), NOT_OURS);
    assert_int_equal(writable_maps(), writable);
    import.instead = dlsym(RTLD_DEFAULT, "getppid");
    sl_import_redirect(&import, 1);
    assert_int_equal(getppid(), parent);
}

static void another_function_of_that_name_is_left_alone(void **state)
{
    struct sl_import import = {
        .name = "getppid", .instead = (void *)other_getppid, .function = (void *)writable_maps};

    sl_import_redirect(&import, 1);
    assert_int_equal(import.redirected, 0);
    assert_int_not_equal(getppid(), NOT_OURS);
}

static void only_the_object_that_is_meant(void **state)
{
    static const int here;
    struct sl_import import = {
        .name = "getppid", .instead = (void *)other_getppid, .within = (void *)stdout};
    pid_t parent = getppid();

    sl_import_redirect(&import, 1); /* the function of libc again */
    assert_int_equal(import.slots, 0);
    assert_int_equal(getppid(), parent);
    import.within = &here;
    sl_import_redirect(&import, 1);
    assert_int_equal(getppid(), NOT_OURS);
    import.instead = dlsym(RTLD_DEFAULT, "getppid");
    sl_import_redirect(&import, 1);
    assert_int_equal(getppid(), parent);
}

static void looking_changes_nothing(void **state)
{
    struct sl_import import[] = {{.name = "getppid"}, {.name = "no_such_function_anywhere"}};

    sl_import_redirect(import, 2);
    assert_true(import[0].slots >= 1);
    assert_int_equal(import[1].slots, 0);
    assert_int_not_equal(getppid(), NOT_OURS);
}

static void loading_an_object_is_seen(void **state)
{
    uint64_t before = sl_import_generation();

    assert_int_equal(sl_import_generation(), before);
    /* Both are parts of glibc. */
    assert_true(dlopen("libutil.so.1", RTLD_NOW) || dlopen("libanl.so.1", RTLD_NOW));
    assert_int_not_equal(sl_import_generation(), before);
}

static void only_objects_that_export_a_function(void **state)
{
    struct sl_import import = {.name = "free", .exporting = "_assert_true"};

    sl_import_redirect(&import, 1); /* cmocka's library */
    assert_true(import.slots >= 1);
    import.exporting = "no_object_exports_this";
    sl_import_redirect(&import, 1);
    assert_int_equal(import.slots, 0);
    import.exporting = "free"; /* libraries that import it do not export it */
    import.name = "_assert_true";
    sl_import_redirect(&import, 1);
    assert_int_equal(import.slots, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_objects_that_export_a_function),
        cmocka_unit_test(calls_go_where_the_slot_says),
        cmocka_unit_test(another_function_of_that_name_is_left_alone),
        cmocka_unit_test(only_the_object_that_is_meant),
        cmocka_unit_test(looking_changes_nothing),
        cmocka_unit_test(loading_an_object_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
