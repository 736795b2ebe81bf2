/*
 * absent.c - the event and metric functions of CUPTI 12. PyTorch versions of that time resolve
 * these symbols when they are loaded. The functions report that the stand-in has no events and no
 * metrics.
 *
 * Application threads.
 */
#include <cupti.h>

#define ABSENT(name)                                                                               \
    CUptiResult sim_cupti_##name(void) __asm__(#name);                                             \
    __attribute__((visibility("default"))) CUptiResult sim_cupti_##name(void)                      \
    {                                                                                              \
        return CUPTI_ERROR_NOT_SUPPORTED;                                                          \
    }

ABSENT(cuptiEventGetAttribute)
ABSENT(cuptiEventGetIdFromName)
ABSENT(cuptiEventGroupGetAttribute)
ABSENT(cuptiEventGroupReadEvent)
ABSENT(cuptiEventGroupSetAttribute)
ABSENT(cuptiEventGroupSetDisable)
ABSENT(cuptiEventGroupSetEnable)
ABSENT(cuptiEventGroupSetsCreate)
ABSENT(cuptiEventGroupSetsDestroy)
ABSENT(cuptiMetricEnumEvents)
ABSENT(cuptiMetricGetAttribute)
ABSENT(cuptiMetricGetIdFromName)
ABSENT(cuptiMetricGetNumEvents)
ABSENT(cuptiMetricGetValue)
ABSENT(cuptiSetEventCollectionMode)
