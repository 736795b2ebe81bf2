/* decode_real_test.c - fills NVIDIA's own structs of CUDA 13.0 by member name and decodes them, so
 * a wrong generated table is noticed. With other headers there is nothing to test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cupti.h>
#include <string.h>

#include "unit/collect/cupti/record.h"

#if CUPTI_API_VERSION / 100 == 1300

static void append(struct record_rig *b, const void *record, size_t size)
{
    memcpy(b->buffer + b->valid, record, size);
    b->valid += size;
}

static void structs_of_13_0(void **state)
{
    struct record_rig *b = record_open(CUPTI_API_VERSION, 0);
    CUpti_ActivityKernel10 kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                     .registersPerThread = 40,
                                     .start = 100,
                                     .end = 200,
                                     .deviceId = 1,
                                     .contextId = 2,
                                     .streamId = 7,
                                     .gridX = 11,
                                     .gridY = 12,
                                     .gridZ = 13,
                                     .blockX = 14,
                                     .blockY = 15,
                                     .blockZ = 16,
                                     .staticSharedMemory = 17,
                                     .dynamicSharedMemory = 18,
                                     .correlationId = 19,
                                     .name = "_Z1kv",
                                     .graphNodeId = 20,
                                     .graphId = 21,
                                     .channelID = 22,
                                     .channelType = CUPTI_CHANNEL_TYPE_COMPUTE,
                                     .clusterX = 23,
                                     .clusterY = 24,
                                     .clusterZ = 25};
    CUpti_ActivityMemcpy6 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                  .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
                                  .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                  .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
                                  .bytes = 31,
                                  .start = 32,
                                  .end = 33,
                                  .deviceId = 1,
                                  .contextId = 2,
                                  .streamId = 8,
                                  .correlationId = 34,
                                  .graphNodeId = 35,
                                  .graphId = 36};
    CUpti_ActivityMemcpyPtoP4 peer = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                      .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                                      .bytes = 41,
                                      .start = 42,
                                      .end = 43,
                                      .contextId = 2,
                                      .streamId = 8,
                                      .srcDeviceId = 44,
                                      .srcContextId = 45,
                                      .dstDeviceId = 46,
                                      .dstContextId = 47,
                                      .correlationId = 48};
    CUpti_ActivityMemset4 set = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                 .value = 51,
                                 .bytes = 52,
                                 .start = 53,
                                 .end = 54,
                                 .contextId = 2,
                                 .streamId = 8,
                                 .correlationId = 55,
                                 .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE};
    CUpti_ActivityAPI api = {.kind = CUPTI_ACTIVITY_KIND_RUNTIME,
                             .cbid = CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
                             .start = 61,
                             .end = 62,
                             .processId = 63,
                             .threadId = 64,
                             .correlationId = 65,
                             .returnValue = 66};
    CUpti_ActivitySynchronization2 sync = {
        .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        .type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
        .start = 71,
        .end = 72,
        .correlationId = 73,
        .contextId = 2,
        .streamId = 8,
        .cudaEventId = 74,
        .cudaEventSyncId = 75,
        .returnValue = 76};
    CUpti_ActivityCudaEvent2 event = {.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                                      .correlationId = 81,
                                      .contextId = 2,
                                      .streamId = 8,
                                      .eventId = 82,
                                      .deviceTimestamp = 83,
                                      .cudaEventSyncId = 84};
    CUpti_ActivityOverhead3 overhead = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                        .overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE,
                                        .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
                                        .objectId.pt = {.processId = 91, .threadId = 92},
                                        .start = 93,
                                        .end = 94,
                                        .correlationId = 95};
    const struct sl_event *ev;
    const struct sl_shape *s;

    (void)state;
    append(b, &kernel, sizeof kernel);
    append(b, &copy, sizeof copy);
    append(b, &peer, sizeof peer);
    append(b, &set, sizeof set);
    append(b, &api, sizeof api);
    append(b, &sync, sizeof sync);
    append(b, &event, sizeof event);
    append(b, &overhead, sizeof overhead);
    assert_int_equal(record_decode(b), 8);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), 0);

    ev = record_event(b, SL_EV_KERNEL, 0);
    assert_non_null(ev);
    s = sl_shape_get(b->opt.shapes, ev->shape);
    assert_string_equal(record_text(b, ev->name), "_Z1kv");
    assert_int_equal(ev->start_ns, 100);
    assert_int_equal(ev->end_ns, 200);
    assert_int_equal(ev->device, 1);
    assert_int_equal(ev->context, 2);
    assert_int_equal(ev->stream, 7);
    assert_int_equal(ev->correlation, 19);
    assert_int_equal(ev->u.op.graph_node, 20);
    assert_int_equal(ev->graph, 21);
    assert_int_equal(s->registers, 40);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(s->grid[i], 11 + i);
        assert_int_equal(s->block[i], 14 + i);
        assert_int_equal(s->cluster[i], 23 + i);
    }
    assert_int_equal(s->static_shared, 17);
    assert_int_equal(s->dynamic_shared, 18);
    assert_int_equal(s->channel, 22);
    assert_int_equal(s->channel_type, CUPTI_CHANNEL_TYPE_COMPUTE);

    ev = record_event(b, SL_EV_MEMCPY, 0);
    s = sl_shape_get(b->opt.shapes, ev->shape);
    assert_int_equal(ev->u.op.bytes, 31);
    assert_int_equal(ev->start_ns, 32);
    assert_int_equal(ev->end_ns, 33);
    assert_int_equal(ev->stream, 8);
    assert_int_equal(ev->correlation, 34);
    assert_int_equal(ev->u.op.graph_node, 35);
    assert_int_equal(ev->graph, 36);
    assert_int_equal(s->copy_kind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
    assert_int_equal(s->src_memory, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    assert_int_equal(s->dst_memory, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);

    ev = record_event(b, SL_EV_MEMCPY, 1);
    s = sl_shape_get(b->opt.shapes, ev->shape);
    assert_int_equal(ev->u.op.bytes, 41);
    assert_int_equal(ev->correlation, 48);
    assert_int_equal(s->is_peer, 1);
    assert_int_equal(s->src_device, 44);
    assert_int_equal(s->src_context, 45);
    assert_int_equal(s->dst_device, 46);
    assert_int_equal(s->dst_context, 47);

    ev = record_event(b, SL_EV_MEMSET, 0);
    s = sl_shape_get(b->opt.shapes, ev->shape);
    assert_int_equal(ev->u.op.bytes, 52);
    assert_int_equal(ev->correlation, 55);
    assert_int_equal(s->memset_value, 51);
    assert_int_equal(s->dst_memory, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);

    ev = record_event(b, SL_EV_RUNTIME, 0);
    assert_string_equal(record_text(b, ev->name), "cudaMemcpyAsync");
    assert_int_equal(ev->start_ns, 61);
    assert_int_equal(ev->end_ns, 62);
    assert_int_equal(ev->thread, 64);
    assert_int_equal(ev->correlation, 65);
    assert_int_equal(ev->u.call.result, 66);

    ev = record_event(b, SL_EV_SYNC, 0);
    assert_int_equal(ev->u.sync.type, SL_SYNC_STREAM_WAIT);
    assert_int_equal(ev->start_ns, 71);
    assert_int_equal(ev->end_ns, 72);
    assert_int_equal(ev->correlation, 73);
    assert_int_equal(ev->stream, 8);
    assert_int_equal(ev->u.sync.event_id, 74);
    assert_int_equal(ev->u.sync.event_sync_id, 75);
    assert_int_equal(ev->u.sync.result, 76);

    ev = record_event(b, SL_EV_CUDA_EVENT, 0);
    assert_int_equal(ev->correlation, 81);
    assert_int_equal(ev->u.sync.event_id, 82);
    assert_int_equal(ev->start_ns, 83);
    assert_int_equal(ev->flags, 0);
    assert_int_equal(ev->u.sync.event_sync_id, 84);

    ev = record_event(b, SL_EV_OVERHEAD, 0);
    assert_string_equal(record_text(b, ev->name), "Resource");
    assert_int_equal(ev->thread, 92);
    assert_int_equal(ev->start_ns, 93);
    assert_int_equal(ev->end_ns, 94);
    assert_int_equal(ev->correlation, 95);
    record_close(b);
}

/* Decodes descriptions. decode_object_test.c tests the events that are made from them. */
static void descriptions_of_13_0(void **state)
{
    struct record_rig *b = record_open(CUPTI_API_VERSION, 0);
    CUpti_ActivityContext3 context = {
        .kind = CUPTI_ACTIVITY_KIND_CONTEXT, .contextId = 2, .deviceId = 5, .nullStreamId = 7};
    CUpti_ActivityStream stream = {.kind = CUPTI_ACTIVITY_KIND_STREAM,
                                   .contextId = 2,
                                   .streamId = 13,
                                   .priority = (uint32_t)-2,
                                   .flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING};
    CUpti_ActivityName name = {.kind = CUPTI_ACTIVITY_KIND_NAME,
                               .objectKind = CUPTI_ACTIVITY_OBJECT_STREAM,
                               .objectId.dcs = {.deviceId = 5, .contextId = 2, .streamId = 13},
                               .name = "copies"};
    const struct sl_event *ev;

    (void)state;
    append(b, &context, sizeof context);
    append(b, &stream, sizeof stream);
    append(b, &name, sizeof name);
    assert_int_equal(record_decode(b), 3);

    ev = record_event(b, SL_EV_META_STREAM, 2); /* events: null stream, stream, the stream's name */
    assert_non_null(ev);
    assert_int_equal(ev->device, 5);
    assert_int_equal(ev->context, 2);
    assert_int_equal(ev->stream, 13);
    assert_int_equal(ev->u.meta.flags, 2);
    assert_int_equal(ev->u.meta.priority, -2);
    assert_string_equal(record_text(b, ev->name), "copies");
    record_close(b);
}

#else

static void structs_of_13_0(void **state)
{
    (void)state;
    skip();
}

#define descriptions_of_13_0 structs_of_13_0

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_of_13_0),
        cmocka_unit_test(descriptions_of_13_0),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
