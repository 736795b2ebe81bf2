/*
 * gpu.c - checks driver, devices, CUPTI and permissions.
 *
 * Threads: main only. Memory: none after a function returns, but opened libraries stay open until
 * exit.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/cupti/api.h"
#include "doctor/host.h"

#define CUDA_TIMEOUT_MS 30000
#define DRIVER_MIN      12000 /* CUDA 12.0 */

void sl_doctor_add(struct sl_doctor *h, enum sl_doctor_verdict verdict, const char *topic,
                   const char *remedy, const char *format, ...)
{
    struct sl_doctor_line *line;
    va_list args;

    h->problems += verdict == SL_DOCTOR_PROBLEM;
    if (h->lines == SL_DOCTOR_LINES)
        return;
    line = &h->line[h->lines++];
    line->verdict = verdict;
    line->topic = topic;
    snprintf(line->remedy, sizeof(line->remedy), "%s", remedy);
    va_start(args, format);
    vsnprintf(line->text, sizeof(line->text), format, args);
    va_end(args);
}

/* The answer of the child process: the result of cuInit, the devices, and the text of an error. */
struct cuda_answer {
    int init; /* result of cuInit */
    int devices;
    char name[16][64];
};

static void ask_cuda(void *library, struct cuda_answer *answer)
{
    int (*init)(unsigned);
    int (*count)(int *);
    int (*name)(char *, int, int);

    /* dlsym returns an object pointer, and POSIX permits its conversion to a function pointer. */
    *(void **)&init = dlsym(library, "cuInit");
    *(void **)&count = dlsym(library, "cuDeviceGetCount");
    *(void **)&name = dlsym(library, "cuDeviceGetName");
    answer->init = init ? init(0) : -1;
    if (answer->init == 0 && count)
        count(&answer->devices);
    for (int i = 0; i < answer->devices && i < 16 && name; i++)
        name(answer->name[i], (int)sizeof(answer->name[i]), i);
}

/* Runs cuInit in a child process, because a broken driver may hang or crash. Returns 0, -ETIMEDOUT
 * or -EFAULT. */
static int ask_in_child(void *library, struct cuda_answer *answer)
{
    struct pollfd wait;
    int pipe_fd[2], rc = 0;
    ssize_t size;
    pid_t child;

    if (pipe(pipe_fd) != 0)
        return -errno;
    fflush(NULL);
    child = fork();
    if (child < 0) {
        close(pipe_fd[0]);
        close(pipe_fd[1]);
        return -EAGAIN;
    }
    if (child == 0) {
        struct cuda_answer mine = {0};

        /* Without this variable the driver injects no library, so the child tests only CUDA. */
        unsetenv("CUDA_INJECTION64_PATH");
        ask_cuda(library, &mine);
        _exit(write(pipe_fd[1], &mine, sizeof(mine)) == sizeof(mine) ? 0 : 1);
    }
    close(pipe_fd[1]);
    wait = (struct pollfd){.fd = pipe_fd[0], .events = POLLIN};
    if (poll(&wait, 1, CUDA_TIMEOUT_MS) == 0) {
        kill(child, SIGKILL);
        rc = -ETIMEDOUT;
    }
    size = rc ? 0 : read(pipe_fd[0], answer, sizeof(*answer));
    if (!rc && size != (ssize_t)sizeof(*answer))
        rc = -EFAULT;
    close(pipe_fd[0]);
    waitpid(child, NULL, 0);
    return rc;
}

static const char *init_error(int result)
{
    switch (result) {
    case 3:
    case 999:
        return "the driver could not be initialised: see `nvidia-smi` and dmesg";
    case 100:
        return "no device: is CUDA_VISIBLE_DEVICES empty, or the container without --gpus?";
    case 803:
    case 804:
        return "libcuda and the kernel driver are of different versions: reboot, or match the "
               "container's libcuda with the host's driver";
    default:
        return "see `nvidia-smi`";
    }
}

static void devices(struct sl_doctor *h, void *library)
{
    struct cuda_answer answer = {0};
    int rc = ask_in_child(library, &answer);

    if (rc == -ETIMEDOUT)
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "devices",
                      "see dmesg; a GPU may have fallen off the bus",
                      "cuInit did not return within %d s", CUDA_TIMEOUT_MS / 1000);
    else if (rc)
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "devices", "see dmesg", "cuInit crashed");
    else if (answer.init != 0)
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "devices", init_error(answer.init),
                      "cuInit fails with %d", answer.init);
    else if (answer.devices == 0)
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "devices",
                      "is CUDA_VISIBLE_DEVICES empty, or the container without --gpus?",
                      "cuInit works, but there is no device");
    for (int i = 0; rc == 0 && i < answer.devices && i < 16; i++)
        sl_doctor_add(h, SL_DOCTOR_OK, "devices", "", "GPU %d: %s", i, answer.name[i]);
}

void sl_doctor_driver(struct sl_doctor *h)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*get_version)(int *);
    int version = 0;
    Dl_info info;

    if (!library) {
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "driver",
                      "install NVIDIA's driver; in a container: run it with --gpus all "
                      "(nvidia-container-toolkit)",
                      "no libcuda.so.1: %s", dlerror());
        return;
    }
    *(void **)&get_version = dlsym(library, "cuDriverGetVersion");
    if (get_version)
        get_version(&version);
    if (!get_version || !dladdr(*(void **)&get_version, &info))
        info.dli_fname = "libcuda.so.1";
    if (version < DRIVER_MIN)
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "driver", "update the driver to 525 or newer",
                      "%s supports CUDA %d.%d; syncline needs 12.0 or newer", info.dli_fname,
                      version / 1000, version % 1000 / 10);
    else
        sl_doctor_add(h, SL_DOCTOR_OK, "driver", "", "%s, CUDA %d.%d", info.dli_fname,
                      version / 1000, version % 1000 / 10);
    devices(h, library);
}

void sl_doctor_cupti(struct sl_doctor *h)
{
    static struct sl_cupti_api api;
    char why[400] = "";

    if (sl_cupti_api_open(&api, why, sizeof(why)) != 0)
        sl_doctor_add(
            h, SL_DOCTOR_PROBLEM, "cupti",
            "install CUPTI from the CUDA toolkit, or `pip install nvidia-cuda-cupti` (for CUDA 12: "
            "nvidia-cuda-cupti-cu12), or add libcupti's folder to LD_LIBRARY_PATH",
            "%s", why);
    else
        sl_doctor_add(h, SL_DOCTOR_OK, "cupti", "", "%s, version %u", api.path, api.version);
}

/* Returns the value of "KEY: value" in the driver's parameters, or -1 if KEY is missing. */
static int driver_parameter(const char *key)
{
    FILE *f = fopen("/proc/driver/nvidia/params", "re");
    char line[256];
    int value = -1;

    while (f && fgets(line, sizeof(line), f)) {
        size_t size = strlen(key);

        if (strncmp(line, key, size) == 0 && line[size] == ':')
            value = atoi(line + size + 1);
    }
    if (f)
        fclose(f);
    return value;
}

static void device_nodes(struct sl_doctor *h)
{
    DIR *dev = opendir("/dev");
    struct dirent *entry;
    int seen = 0, refused = 0;
    char path[300], first[300] = "";

    while (dev && (entry = readdir(dev))) {
        if (strncmp(entry->d_name, "nvidia", 6) != 0 || entry->d_type != DT_CHR)
            continue;
        seen++;
        snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
        if (strncmp(entry->d_name, "nvidia-cap", 10) != 0 && access(path, R_OK | W_OK) != 0 &&
            refused++ == 0)
            memcpy(first, path, sizeof(first));
    }
    if (dev)
        closedir(dev);
    if (refused)
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "permission",
                      "join the group that owns it (often video), or run this as the job's user",
                      "%s cannot be opened for reading and writing", first);
    else if (seen)
        sl_doctor_add(h, SL_DOCTOR_OK, "permission", "", "%d device nodes can be opened", seen);
    else
        sl_doctor_add(h, SL_DOCTOR_NOTE, "permission", "", "no /dev/nvidia* here");
}

void sl_doctor_permissions(struct sl_doctor *h)
{
    const char *container = access("/.dockerenv", F_OK) == 0          ? "Docker"
                            : access("/run/.containerenv", F_OK) == 0 ? "Podman"
                            : getenv("SINGULARITY_NAME")              ? "Singularity"
                            : getenv("APPTAINER_NAME")                ? "Apptainer"
                            : getenv("KUBERNETES_SERVICE_HOST")       ? "Kubernetes"
                                                                      : NULL;

    device_nodes(h);
    if (driver_parameter("RmProfilingAdminOnly") == 1 && geteuid() != 0)
        sl_doctor_add(h, SL_DOCTOR_NOTE, "permission",
                      "if nothing is recorded: load the driver with "
                      "NVreg_RestrictProfilingToAdminUsers=0, or give the container CAP_SYS_ADMIN",
                      "this driver lets only administrators read hardware counters; the activity "
                      "records that syncline uses usually do not need that right");
    if (container)
        sl_doctor_add(h, SL_DOCTOR_NOTE, "container", "",
                      "this is a %s container: the library and libcupti must be inside, and the "
                      "output folder on a volume that outlives it",
                      container);
}
