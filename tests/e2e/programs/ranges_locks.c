/* ranges_locks.c - runs the steps `lock:NAME` and `hold:NAME` of `ranges`. Threads wait for a lock
 * and hold it. */
#include "ranges.h"

#include <nvtx3/nvToolsExtSync.h>

static nvtxSyncUser_t held;

static nvtxSyncUser_t create_lock(nvtxDomainHandle_t domain, const char *name)
{
    nvtxSyncUserAttributes_t a = {0};

    a.version = NVTX_VERSION;
    a.size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = name;
    return nvtxDomainSyncUserCreate(domain, &a);
}

void ranges_hold(nvtxDomainHandle_t domain, const char *name)
{
    held = create_lock(domain, name);
    nvtxDomainSyncUserAcquireStart(held);
    nvtxDomainSyncUserAcquireSuccess(held);
}

void ranges_destroy_held(void)
{
    nvtxDomainSyncUserDestroy(held);
}

void ranges_lock(nvtxDomainHandle_t domain, const char *name)
{
    nvtxSyncUser_t lock = create_lock(domain, name);

    nvtxDomainSyncUserAcquireStart(lock);
    ranges_sleep_ms(1);
    nvtxDomainSyncUserAcquireFailed(lock);
    nvtxDomainSyncUserAcquireStart(lock);
    nvtxDomainSyncUserAcquireSuccess(lock);
    ranges_sleep_ms(1);
    nvtxDomainSyncUserReleasing(lock);
    nvtxDomainSyncUserDestroy(lock);
}
