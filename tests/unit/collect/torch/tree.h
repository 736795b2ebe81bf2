/* tree.h - makes a package `torch` and a home folder of syncline in a temporary folder. */
#ifndef SL_TORCH_TREE_H
#define SL_TORCH_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct torch_tree {
    char root[64], library[128], home[128];
};

static inline void torch_tree_link(const struct torch_tree *tree, const char *below,
                                   const char *target)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", tree->root, below);
    assert_int_equal(symlink(target, path), 0);
}

static inline void torch_tree_version(const struct torch_tree *tree, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/torch/version.py", tree->root);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Makes the folders. `library` is the file that is copied as libtorch_cpu.so. */
static inline void torch_tree_make(struct torch_tree *tree, const char *library)
{
    static const char *const folders[] = {"torch", "torch/lib", "home", "home/observers"};
    char path[256];

    snprintf(tree->root, sizeof(tree->root), "/tmp/sl_torch_XXXXXX");
    assert_non_null(mkdtemp(tree->root));
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        snprintf(path, sizeof(path), "%s/%s", tree->root, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    torch_tree_link(tree, "torch/lib/libtorch_cpu.so", library);
    snprintf(tree->library, sizeof(tree->library), "%s/torch/lib/libtorch_cpu.so", tree->root);
    snprintf(tree->home, sizeof(tree->home), "%s/home", tree->root);
}

static inline void torch_tree_remove(const struct torch_tree *tree)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", tree->root);
    assert_int_equal(system(command), 0);
}

#endif
