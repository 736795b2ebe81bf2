/* ops_read_test.c - records of operators become rows of operators. Records of the user's scopes
 * become ranges. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "collect/torch/ops_abi.h"
#include "collect/torch/ops_read.h"
#include "event/op_detail.h"

#define THREAD 77

static struct {
    struct sl_torch_ops_read *read;
    struct sl_ops *ops;
    struct sl_ranges *ranges;
    struct sl_intern *names, *details, *places;
    struct sl_event row[64];
    unsigned rows;
} f;

static void take(void *user, const struct sl_event *ev)
{
    (void)user;
    assert_in_range(f.rows, 0, sizeof(f.row) / sizeof(*f.row) - 1);
    f.row[f.rows++] = *ev;
}

static int set_up(void **state)
{
    struct sl_torch_ops_read_options opt = {.names_bytes = 100};
    struct sl_ops_options ops = {.sink = take};
    const struct sl_ranges_options ranges = {.sink = take};

    memset(&f, 0, sizeof(f));
    assert_int_equal(sl_intern_create(&f.names, 1 << 20), 0);
    assert_int_equal(sl_intern_create(&f.details, 1 << 20), 0);
    assert_int_equal(sl_intern_create(&f.places, 1 << 20), 0);
    ops.places = f.places;
    assert_int_equal(sl_ops_create(&f.ops, &ops), 0);
    assert_int_equal(sl_ranges_create(&f.ranges, &ranges), 0);
    sl_ranges_window(f.ranges, 1, 1000);
    opt.names = f.names;
    opt.details = f.details;
    opt.ops = f.ops;
    opt.ranges = f.ranges;
    return sl_torch_ops_read_create(&f.read, &opt);
}

static int tear_down(void **state)
{
    sl_torch_ops_read_destroy(f.read);
    sl_torch_ops_read_destroy(NULL);
    sl_ranges_destroy(f.ranges);
    sl_ops_destroy(f.ops);
    sl_intern_destroy(f.names);
    sl_intern_destroy(f.details);
    sl_intern_destroy(f.places);
    return 0;
}

struct told {
    const char *name, *more;
    uint64_t handle;
    int64_t sequence;
    uint32_t forward;
    uint8_t scope, was_cut;
};

static void begin(enum sl_lane_what what, uint64_t ns, const struct told *t)
{
    union {
        struct sl_lane_op op;
        char bytes[SL_LANE_RECORD_WORDS * 8];
    } record = {.op = {.record = {.what = (uint8_t)what},
                       .handle = t->handle,
                       .sequence = t->sequence,
                       .thread = 1,
                       .forward_thread = t->forward,
                       .name_length = (uint16_t)strlen(t->name),
                       .more_length = (uint16_t)(t->more ? strlen(t->more) : 0),
                       .scope = t->scope,
                       .was_cut = t->was_cut}};
    char *at = record.bytes + sizeof(record.op);

    memcpy(at, t->name, strlen(t->name));
    if (t->more)
        memcpy(at + strlen(t->name), t->more, strlen(t->more));
    sl_torch_ops_read_record(f.read, THREAD, &record.op.record, ns);
}

static void end(enum sl_lane_what what, uint64_t ns, uint64_t handle)
{
    struct {
        struct sl_lane_record record;
        uint64_t handle;
    } it = {{.what = (uint8_t)what, .aux = (uint32_t)handle}, handle};

    sl_torch_ops_read_record(f.read, THREAD, &it.record, ns);
}

static int is_name(const struct sl_event *ev, const char *name)
{
    size_t length = 0;
    const char *text = sl_intern_get(f.names, ev->name, &length);

    return text && length == strlen(name) && memcmp(text, name, length) == 0;
}

static void backward_ones_get_an_arrow(void **state)
{
    begin(SL_LANE_OP_BEGIN, 100, &(struct told){.name = "aten::mm", .handle = 1, .sequence = 5});
    end(SL_LANE_OP_END, 110, 1);
    begin(SL_LANE_OP_BEGIN, 200,
          &(struct told){.name = "autograd::engine::evaluate_function: MmBackward0",
                         .handle = 2,
                         .sequence = -1});
    begin(SL_LANE_OP_BEGIN, 210,
          &(struct told){.name = "MmBackward0",
                         .handle = 3,
                         .sequence = 5,
                         .forward = 1,
                         .scope = SL_TORCH_SCOPE_BACKWARD});
    end(SL_LANE_OP_END, 220, 3);
    end(SL_LANE_OP_END, 230, 2);
    assert_int_equal(f.rows, 4);
    assert_int_equal(f.row[1].kind, SL_EV_FLOW_BACK);
    assert_true(f.row[1].start_ns == 100 && f.row[1].u.flow.head_ns == 210);
    /* an operator of the autograd engine has the sequence number of its autograd node */
    assert_int_equal(f.row[3].u.row.sequence, 5);
}

/* Operators and scopes begin on one thread and end on another, even without the flag for this in
 * the record of the beginning. The lane (ring buffer) of the ending thread may be read first. */
static void ends_on_other_threads(void **state)
{
    const struct told op = {.name = "forward", .handle = 1ull << 33 | 1, .sequence = -1};
    const struct told scope = {
        .name = "answer", .handle = 1ull << 33 | 2, .sequence = -1, .scope = SL_TORCH_SCOPE_USER};

    begin(SL_LANE_OP_BEGIN, 100, &scope);
    begin(SL_LANE_OP_BEGIN, 110, &op);
    end(SL_LANE_OP_FINISH, 120, op.handle);
    end(SL_LANE_OP_FINISH, 130, scope.handle);
    for (int is_started = 0; is_started < 2; is_started++) {
        enum sl_lane_what what = is_started ? SL_LANE_OP_START : SL_LANE_OP_BEGIN;

        end(SL_LANE_OP_FINISH, 220, op.handle);
        end(SL_LANE_OP_FINISH, 230, scope.handle);
        begin(what, 200, &scope);
        begin(what, 210, &op);
        sl_torch_ops_read_done(f.read);
    }
    sl_ranges_close(f.ranges, 1000);
    assert_int_equal(f.rows, 6);
    for (unsigned i = 0; i < 6; i++) {
        int is_scope = f.row[i].kind == SL_EV_NVTX_RANGE;
        uint64_t ns = i < 2 ? 100 : 200;

        assert_true(is_name(&f.row[i], is_scope ? "answer" : "forward"));
        assert_int_equal(f.row[i].start_ns, is_scope ? ns : ns + 10);
        assert_int_equal(f.row[i].end_ns, is_scope ? ns + 30 : ns + 20);
    }
}

static void a_thread_that_ends(void **state)
{
    const struct sl_lane_record ended = {.what = SL_LANE_THREAD_END};

    begin(SL_LANE_OP_BEGIN, 100, &(struct told){.name = "a", .handle = 1, .sequence = -1});
    begin(SL_LANE_OP_BEGIN, 110, &(struct told){.name = "b", .handle = 2, .sequence = -1});
    sl_torch_ops_read_record(f.read, THREAD, &ended, 150);
    assert_int_equal(f.rows, 2);
    assert_true(f.row[0].end_ns == 150 && f.row[1].end_ns == 150);
}

/* Names are stored up to `names_bytes`. Known names need no memory. */
static void names_without_end(void **state)
{
    struct sl_torch_ops_lost lost;
    char name[16];

    for (uint64_t i = 1; i <= 30; i++) {
        snprintf(name, sizeof(name), "operator%02u", (unsigned)i);
        begin(SL_LANE_OP_BEGIN, i * 10, &(struct told){.name = name, .handle = i, .sequence = -1});
        end(SL_LANE_OP_END, i * 10 + 5, i);
    }
    sl_torch_ops_read_get_lost(f.read, &lost);
    assert_int_equal(lost.names, 20);
    assert_int_equal(f.rows, 30);
    assert_true(is_name(&f.row[9], "operator10") && f.row[10].name == 0);
    begin(SL_LANE_OP_BEGIN, 900,
          &(struct told){.name = "operator01", .handle = 1, .sequence = -1, .was_cut = 1});
    end(SL_LANE_OP_END, 910, 1);
    assert_true(is_name(&f.row[30], "operator01") && f.row[30].inputs != 0);
    sl_torch_ops_read_get_lost(f.read, &lost);
    assert_true(lost.names == 20 && lost.inputs == 1);
}

static void records_of_others_are_passed_over(void **state)
{
    const struct sl_lane_record push = {.what = SL_LANE_PUSH}, mark = {.what = SL_LANE_MARK};

    sl_torch_ops_read_record(f.read, THREAD, &push, 10);
    sl_torch_ops_read_record(f.read, THREAD, &mark, 20);
    end(SL_LANE_OP_END, 30, 1); /* the beginning of this operator was lost */
    assert_int_equal(f.rows, 0);
}

#define GROUP                                                                                      \
    "\"Group size\":2,\"Process Group Name\":\"7\",\"Process Group Ranks\":\"[4, 5]\","            \
    "\"In msg nelems\":3,\"Out msg nelems\":3,"
#define SEND "\"Collective name\":\"send\",\"Dst Rank\":5," GROUP "\"dtype\":\"Float\""
#define RECV "\"Collective name\":\"recv\",\"Src Rank\":5," GROUP "\"dtype\":\"Long\""

static uint64_t now = 1000;

static void comms(uint64_t handle, const char *members, const char *scope)
{
    begin(SL_LANE_OP_BEGIN, now += 10,
          &(struct told){
              .name = "record_param_comms", .handle = handle, .sequence = -1, .more = members});
    if (scope) {
        const struct told own = {
            .name = scope, .handle = handle + 1, .sequence = -1, .scope = SL_TORCH_SCOPE_USER};

        begin(SL_LANE_OP_START, now += 10, &own);
        end(SL_LANE_OP_FINISH, now += 10, handle + 1);
    }
    end(SL_LANE_OP_END, now += 10, handle);
}

static const struct sl_event *row_of(uint64_t handle)
{
    unsigned i = 0;

    while (i < f.rows &&
           (f.row[i].kind != SL_EV_CPU_OP || f.row[i].u.row.record_function != handle))
        i++;
    assert_in_range(i, 0, f.rows - 1);
    return &f.row[i];
}

/* Begins and ends the scope in which PyTorch launches the kernel of a batch. Returns the kernel's
 * launch. */
static struct sl_event launch(uint64_t handle)
{
    struct sl_event call = {.kind = SL_EV_RUNTIME, .thread = THREAD};

    begin(SL_LANE_OP_START, now += 10,
          &(struct told){.name = "nccl:coalesced",
                         .handle = handle,
                         .sequence = -1,
                         .scope = SL_TORCH_SCOPE_USER});
    call.start_ns = now + 5;
    end(SL_LANE_OP_FINISH, now += 10, handle);
    sl_ops_call(f.ops, &call);
    return call;
}

/* Returns a member of the description of the call's kernel, "" if there is none. */
static const char *member(const struct sl_event *call, const char *name)
{
    static char value[64];
    size_t length = 0;
    const char *text = sl_intern_get(f.details, sl_op_place_of(f.places, call).collective, &length);
    struct sl_op_detail detail;

    value[0] = '\0';
    if (sl_op_detail_unpack(&detail, text, length) == 0) {
        text = sl_op_detail_member(&detail, name, &length);
        if (text)
            snprintf(value, sizeof(value), "%.*s", (int)length, text);
    }
    return value;
}

static void calls_of_a_batch_share_a_kernel(void **state)
{
    struct sl_event call;

    comms(10, "\"Seq\":77," SEND, "nccl:send 4->5"); /* this call has its own kernel */
    comms(20, "\"Seq\":78," SEND, NULL);
    comms(30, "\"Seq\":78," RECV, NULL);
    call = launch(40);
    assert_int_equal(call.u.call.op, 30);
    assert_string_equal(member(&call, "Collective name"), "\"batch_isend_irecv\"");
    assert_string_equal(member(&call, "Message size"), "36");
    assert_string_equal(member(&call, "Bytes sent"), "12");
    assert_string_equal(member(&call, "Bytes received"), "24");
    assert_string_equal(member(&call, "Mixed dtypes"), "\"Float, Long\"");
    assert_string_equal(member(&call, "dtype"), "");
    assert_string_equal(member(&call, "Dst Rank"), "5");
    assert_string_equal(member(&call, "Process Group Ranks"), "\"[4, 5]\"");
    assert_string_equal(member(&call, "Seq"), ""); /* a number would make each text different */
    assert_true(row_of(10)->comm.seq == 77 && row_of(10)->comm.batch == 0);
    assert_true(row_of(20)->comm.seq == 78 && row_of(20)->comm.batch == 20);
    assert_int_equal(row_of(30)->comm.batch, 20);
    /* The next batch begins anew. Sends to one rank are one large send. */
    comms(50, SEND, NULL);
    comms(60, SEND, NULL);
    call = launch(70);
    assert_string_equal(member(&call, "Collective name"), "\"send\"");
    assert_string_equal(member(&call, "Call"), "\"batch_isend_irecv\"");
    assert_string_equal(member(&call, "In msg nelems"), "6");
    assert_string_equal(member(&call, "dtype"), "\"Float\"");
    /* A second kernel without calls is of no batch, and so is a call behind the scope. */
    assert_int_equal(launch(80).place, 0);
    comms(90, SEND, NULL);
    call = launch(100);
    call.start_ns = now + 1;
    call.place = 0;
    sl_ops_call(f.ops, &call);
    assert_int_equal(call.place, 0);
}

static void a_coalesced_call_has_its_kernel_later(void **state)
{
    struct sl_event call;

    comms(10, "\"Collective name\":\"allreduce_coalesced\"," GROUP "\"dtype\":\"Half\"",
          "nccl:allreduce_coalesced");
    call = launch(20);
    assert_int_equal(call.u.call.op, 10);
    assert_string_equal(member(&call, "Message size"), "6");
    assert_string_equal(member(&call, "Call"), "\"all_reduce\"");
    comms(30, "\"Collective name\":\"allreduce\"," GROUP "\"dtype\":\"Half\"", "nccl:all_reduce");
    assert_int_equal(launch(40).place, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(backward_ones_get_an_arrow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_on_other_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_that_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_without_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_of_a_batch_share_a_kernel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_coalesced_call_has_its_kernel_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(records_of_others_are_passed_over, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
