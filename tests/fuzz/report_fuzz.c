/*
 * report_fuzz.c - makes reports and pipelines of any bytes.
 *
 * For any input, `syncline report` and `syncline pipeline` must end without a crash or a sanitizer
 * report, as JSON, as a page, as text and with HTA's tables. The JSON must be valid, which excludes
 * NaN. The seeds are the files of corpus/read. With libFuzzer, name that folder:
 * build/fuzz/tests/fuzz/report_fuzz /tmp/found tests/fuzz/corpus/read
 *
 * Threads: one, and the helpers that read. Memory: the input, and the report's.
 */
#undef NDEBUG /* assertions are needed in release builds, too, because they are the test */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command.h"
#include "corpus.h"
#include "fuzz.h"
#include "read/json_event.h"

static void check_json(const char *text, size_t size)
{
    struct sl_json_error error;
    struct sl_json *j;

    if (sl_json_create(&j) != 0)
        abort();
    if (size <= SL_JSON_TEXT_MAX)
        assert(sl_json_visit(j, "", text, size, NULL, NULL, &error) == 0);
    sl_json_destroy(j);
}

/* Runs `syncline COMMAND OPTION... PATH`. What it prints goes to memory. */
static void run(const struct sl_command *command, const char *path, const char *option,
                const char *value)
{
    const char *argv[] = {command->name, path, option, value, NULL};
    FILE *out = stdout, *err = stderr;
    char *text = NULL, *padded;
    size_t size = 0;
    int status;

    stdout = open_memstream(&text, &size);
    stderr = fopen("/dev/null", "w");
    if (!stdout || !stderr)
        abort();
    status = sl_args_run(command, value ? 4 : 3, (char **)(uintptr_t)argv);
    fclose(stdout);
    fclose(stderr);
    stdout = out;
    stderr = err;
    assert(status >= 0 && status <= 2);
    padded = realloc(text, size + SL_JSON_PADDING);
    if (!padded)
        abort();
    if (size && strcmp(option, "--json") == 0)
        check_json(padded, size);
    free(padded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    char path[64], folder[] = "/tmp/report_fuzz-XXXXXX", page[64];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    run(&sl_cmd_report, path, "--json", NULL);
    run(&sl_cmd_pipeline, path, "--json", NULL);
    switch (size % 16) {
    case 0:
        if (!mkdtemp(folder))
            abort();
        snprintf(page, sizeof(page), "%s/page.html", folder);
        run(&sl_cmd_report, path, "--html", page);
        run(&sl_cmd_pipeline, path, "--html", page);
        unlink(page);
        rmdir(folder);
        break;
    case 1:
        run(&sl_cmd_report, path, "--json", "--hta");
        break;
    case 2:
        run(&sl_cmd_report, path, "--only", "parts,idle,steps,kernels");
        break;
    case 3:
        run(&sl_cmd_report, path, "--memory", "0");
        break;
    default:
        break;
    }
    close(fd);
    return 0;
}

size_t fuzz_seed(uint32_t seed, uint8_t *data, size_t cap)
{
    return corpus_seed(seed, data, cap);
}
