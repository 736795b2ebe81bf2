/* Replaces the observer of PyTorch's operators by an observer that takes a long time to turn
 * recording on or off. Prints "on NS" at the time from which all operators are recorded, and "off
 * NS" at the time from which some operators may be missing. NS is CLOCK_REALTIME in ns. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "collect/torch/ops_abi.h"

int sl_torch_observer(const struct sl_torch_ops_host *host, struct sl_torch_ops_observer *out);

static void say(const char *what)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    printf("%s %lld\n", what, (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    fflush(stdout);
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static int watch(int with_inputs)
{
    return 0;
}

static int enable(int with_inputs)
{
    nap();
    say("on");
    return 0;
}

static int disable(void)
{
    say("off");
    nap();
    return 0;
}

int sl_torch_observer(const struct sl_torch_ops_host *host, struct sl_torch_ops_observer *out)
{
    *out = (struct sl_torch_ops_observer){SL_TORCH_OPS_ABI, "2.99", watch, enable, disable};
    return 0;
}
