/* discover_test.c - finds the loaded PyTorch, and the observer library that fits this PyTorch. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "collect/torch/discover.h"
#include "unit/collect/torch/tree.h"

static void versions(void **state)
{
    static const struct {
        const char *text;
        int err, major, minor, is_release;
    } cases[] = {
        {"2.11.0+cu130", 0, 2, 11, 1},
        {"2.4.1", 0, 2, 4, 1},
        {"1.13.1+cu117", 0, 1, 13, 1},
        {"2.12.0a0+git1234", 0, 2, 12, 0},
        {"2.12.0.dev20260101", 0, 2, 12, 0},
        {"", -EINVAL, 0, 0, 0},
        {"2", -EINVAL, 0, 0, 0},
        {"2.", -EINVAL, 0, 0, 0},
        {"2.11", -EINVAL, 0, 0, 0},
        {"x.1.0", -EINVAL, 0, 0, 0},
        {"2.x.0", -EINVAL, 0, 0, 0},
        {"0.4.1", -EINVAL, 0, 0, 0},
        {"100.0.0", -EINVAL, 0, 0, 0},
        {"2.1000.0", -EINVAL, 0, 0, 0},
        {"99999999999999999999.1.0", -EINVAL, 0, 0, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sl_torch t = {.is_release = -1};

        assert_int_equal(sl_torch_version(&t, cases[i].text), cases[i].err);
        if (cases[i].err)
            continue;
        assert_int_equal(t.major, cases[i].major);
        assert_int_equal(t.minor, cases[i].minor);
        assert_int_equal(t.is_release, cases[i].is_release);
    }
}

static void none_is_loaded(void **state)
{
    struct sl_torch t;

    assert_int_equal(sl_torch_discover(&t), -ENOENT);
}

/* Searches for PyTorch if its package has this version.py. Returns the result. */
static struct sl_torch find(const char *library, const char *version_py)
{
    struct torch_tree tree;
    struct sl_torch t;
    void *loaded;

    torch_tree_make(&tree, library);
    if (version_py)
        torch_tree_version(&tree, version_py);
    loaded = dlopen(tree.library, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(loaded);
    errno = ERANGE;
    assert_int_equal(sl_torch_discover(&t), 0);
    assert_int_equal(errno, ERANGE);
    assert_string_equal(t.packages, tree.root);
    dlclose(loaded);
    torch_tree_remove(&tree);
    assert_int_equal(sl_torch_discover(&(struct sl_torch){0}), -ENOENT);
    return t;
}

static void the_old_abi(void **state)
{
    struct sl_torch t = find(FIXTURE_TORCH_OLD, "__version__ = \"2.4.1\"\n");

    assert_string_equal(t.version, "2.4.1");
    assert_true(t.is_old_abi);
}

/* The package's version.py has no valid version. PyTorch is found all the same, without a
 * version. */
static void a_package_that_does_not_tell(void **state)
{
    static const char *const texts[] = {NULL,
                                        "",
                                        "__version__ = \n'2.4.1'\n",
                                        "__version__ = 'x'\n",
                                        "version = '2.4.1'\n",
                                        "__version__ = '2.4.11111111111111111111111111111111111111"
                                        "111111111111111111111111111111111111111'\n"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct sl_torch t = find(FIXTURE_TORCH, texts[i]);
        char path[PATH_MAX];

        assert_string_equal(t.version, "");
        assert_int_equal(sl_torch_observer_path(&t, "/", path, sizeof(path)), -ENOENT);
    }
}

/* libtorch_cpu is in the Linux distribution's library folder, and the Python package is
 * elsewhere. */
static void libraries_beside_all_others(void **state)
{
    struct torch_tree tree, other;
    struct sl_torch t;
    char part[128];
    void *library, *package;

    torch_tree_make(&tree, FIXTURE_TORCH);
    torch_tree_version(&tree, "__version__ = '2.11.0'\n");
    torch_tree_link(&tree, "torch/_C.cpython-311-x86_64-linux-gnu.so", FIXTURE_OBSERVER);
    torch_tree_make(&other, FIXTURE_TORCH);
    library = dlopen(other.library, RTLD_NOW | RTLD_LOCAL);
    assert_int_equal(sl_torch_discover(&t), 0);
    assert_string_equal(t.version, "");
    snprintf(part, sizeof(part), "%s/torch/_C.cpython-311-x86_64-linux-gnu.so", tree.root);
    package = dlopen(part, RTLD_NOW | RTLD_LOCAL);
    assert_true(library && package);
    assert_int_equal(sl_torch_discover(&t), 0);
    assert_string_equal(t.version, "2.11.0");
    assert_string_equal(t.packages, tree.root);
    dlclose(package);
    dlclose(library);
    torch_tree_remove(&tree);
    torch_tree_remove(&other);
}

static int path_for(const char *home, const char *version, int is_old_abi, char *path)
{
    struct sl_torch t = {.is_old_abi = is_old_abi};

    snprintf(t.version, sizeof(t.version), "%s", version);
    assert_int_equal(sl_torch_version(&t, version), 0);
    return sl_torch_observer_path(&t, home, path, PATH_MAX);
}

static void observers(void **state)
{
    struct torch_tree tree;
    char path[PATH_MAX];

    torch_tree_make(&tree, FIXTURE_TORCH);
    assert_int_equal(path_for(tree.home, "2.11.0", 0, path), -ENOENT);
    torch_tree_link(&tree, "home/observers/torch-2.11.so", FIXTURE_TORCH);
    torch_tree_link(&tree, "home/observers/torch-2.4-old-abi.so", FIXTURE_TORCH);
    torch_tree_link(&tree, "home/observers/torch-2.16.0a0+git1.so", FIXTURE_TORCH);
    assert_int_equal(path_for(tree.home, "2.11.3+cu130", 0, path), 0);
    assert_string_equal(strrchr(path, '/'), "/torch-2.11.so");
    assert_int_equal(path_for(tree.home, "2.4.1", 1, path), 0);
    assert_string_equal(strrchr(path, '/'), "/torch-2.4-old-abi.so");
    /* Versions without an observer: too old, too new, built with the other ABI, or built between
     * releases. */
    assert_int_equal(path_for(tree.home, "1.13.1", 1, path), -ENOENT);
    assert_int_equal(path_for(tree.home, "2.12.0", 0, path), -ENOENT);
    assert_int_equal(path_for(tree.home, "3.11.0", 0, path), -ENOENT);
    assert_int_equal(path_for(tree.home, "2.4.1", 0, path), -ENOENT);
    assert_int_equal(path_for(tree.home, "2.11.0a0+git2", 0, path), -ENOENT);
    assert_int_equal(path_for(tree.home, "2.16.0a0+git1", 0, path), 0);
    assert_string_equal(strrchr(path, '/'), "/torch-2.16.0a0+git1.so");
    torch_tree_remove(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions),
        cmocka_unit_test(none_is_loaded),
        cmocka_unit_test(the_old_abi),
        cmocka_unit_test(a_package_that_does_not_tell),
        cmocka_unit_test(libraries_beside_all_others),
        cmocka_unit_test(observers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
