/* ranges_events.c - makes ranges and marks for `ranges`, with different ways to pass the name and
 * with different attributes. */
#include "ranges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

nvtxEventAttributes_t ranges_event(const char *name)
{
    nvtxEventAttributes_t a = {0};

    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = name;
    return a;
}

void ranges_push(nvtxDomainHandle_t domain, const char *name)
{
    const nvtxEventAttributes_t a = ranges_event(name);

    printf("push %d\n", domain ? nvtxDomainRangePushEx(domain, &a) : nvtxRangePushA(name));
}

void ranges_push_wide(const char *name)
{
    wchar_t wide[256];

    mbstowcs(wide, name, 256);
    nvtxRangePushW(wide);
}

void ranges_push_string(nvtxDomainHandle_t domain, const char *name)
{
    nvtxEventAttributes_t a = ranges_event(NULL);

    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = nvtxDomainRegisterStringA(domain, name);
    nvtxDomainRangePushEx(domain, &a);
}

void ranges_push_full(nvtxDomainHandle_t domain, const char *name)
{
    nvtxEventAttributes_t a = ranges_event(name);

    a.category = 7;
    a.colorType = NVTX_COLOR_ARGB;
    a.color = 0xff00aa11;
    a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    a.payload.llValue = -42;
    nvtxDomainRangePushEx(domain, &a);
}

void ranges_mark_payload(nvtxDomainHandle_t domain, const char *type)
{
    nvtxEventAttributes_t a = ranges_event(type);

    if (!strcmp(type, "u64")) {
        a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        a.payload.ullValue = UINT64_MAX;
    } else if (!strcmp(type, "i64")) {
        a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
        a.payload.llValue = INT64_MIN;
    } else if (!strcmp(type, "f64")) {
        a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
        a.payload.dValue = 0.1;
    } else if (!strcmp(type, "u32")) {
        a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
        a.payload.uiValue = UINT32_MAX;
    } else if (!strcmp(type, "i32")) {
        a.payloadType = NVTX_PAYLOAD_TYPE_INT32;
        a.payload.iValue = -7;
    } else {
        a.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
        a.payload.fValue = 1.5f;
    }
    nvtxDomainMarkEx(domain, &a);
}

void ranges_push_many(long n)
{
    char name[32];

    for (long i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "step %ld", i);
        nvtxRangePushA(name);
        nvtxRangePop();
    }
}
