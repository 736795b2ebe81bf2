/* Replaces an observer of PyTorch's operators. This observer counts syncline's requests, and passes
 * syncline's callbacks (struct sl_torch_ops_host) to the test. */
#include "collect/torch/ops_abi.h"

const struct sl_torch_ops_host *sl_fixture_host;
int sl_fixture_enabled; /* 1: the detail `lean`, 2: the detail `full` */
int sl_fixture_watches; /* the same values */

int sl_torch_observer(const struct sl_torch_ops_host *host, struct sl_torch_ops_observer *out);

static int watch(int with_inputs)
{
    sl_fixture_watches = with_inputs ? 2 : 1;
    return 0;
}

static int enable(int with_inputs)
{
    sl_fixture_enabled = with_inputs ? 2 : 1;
    return 0;
}

static int disable(void)
{
    sl_fixture_enabled = 0;
    return 0;
}

int sl_torch_observer(const struct sl_torch_ops_host *host, struct sl_torch_ops_observer *out)
{
    sl_fixture_host = host;
    *out = (struct sl_torch_ops_observer){SL_TORCH_OPS_ABI, "2.11", watch, enable, disable};
    return 0;
}
