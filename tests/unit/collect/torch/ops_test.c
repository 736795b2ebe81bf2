/* ops_test.c - syncline finds PyTorch and its observer, and requests operators from the observer.
 * The observer's reports become records in the lanes, the ring buffers of the threads. The tests
 * share one process, as in a job. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "collect/lane/step.h"
#include "collect/torch/ops.h"
#include "collect/torch/ops_abi.h"
#include "unit/collect/torch/records.h"
#include "unit/collect/torch/tree.h"

#define NAMED(text) .name = (text), .name_length = sizeof(text) - 1

static struct torch_tree tree;
static const struct sl_torch_ops_host *host;
static const int *enabled;

static int set_up(void **state)
{
    torch_tree_make(&tree, FIXTURE_TORCH);
    torch_tree_version(&tree, "__version__ = '2.11.0+cu130'\n");
    torch_tree_link(&tree, "home/observers/torch-2.11.so", FIXTURE_OBSERVER);
    return sl_lanes_init(8 << 20);
}

static int tear_down(void **state)
{
    torch_tree_remove(&tree);
    return 0;
}

static void nothing_without_pytorch(void **state)
{
    assert_int_equal(sl_torch_ops_attach(SL_TORCH_OPS_LEAN, tree.home), 0);
    sl_torch_ops_enable(1);
    assert_int_equal(sl_torch_ops_by_strings(), SL_TORCH_OPS_OFF);
}

static void the_observer_is_told(void **state)
{
    void *observer;

    assert_non_null(dlopen(tree.library, RTLD_NOW | RTLD_LOCAL));
    assert_int_equal(sl_torch_ops_attach(SL_TORCH_OPS_OFF, tree.home), 0);
    observer = dlopen(FIXTURE_OBSERVER, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(observer);
    host = *(const struct sl_torch_ops_host **)dlsym(observer, "sl_fixture_host");
    enabled = dlsym(observer, "sl_fixture_enabled");
    assert_null(host); /* operators were not requested */
    assert_int_equal(sl_torch_ops_attach(SL_TORCH_OPS_FULL, tree.home), 0);
    host = *(const struct sl_torch_ops_host **)dlsym(observer, "sl_fixture_host");
    assert_non_null(host);
    assert_int_equal(host->abi, SL_TORCH_OPS_ABI);
    assert_int_equal(*enabled, 2);
    assert_int_equal(*(const int *)dlsym(observer, "sl_fixture_watches"), 2);
    assert_int_equal(sl_torch_ops_by_strings(), SL_TORCH_OPS_OFF);
    sl_torch_ops_enable(0);
    assert_false(*enabled || sl_torch_ops_are_wanted());
    sl_torch_ops_enable(1);
    assert_true(*enabled == 2 && sl_torch_ops_are_wanted());
}

/* Returns the record of the next operator's beginning, without removing it from the lane. */
static const struct sl_lane_record *next_begin(void)
{
    const struct sl_lane_record *r = sl_lane_next(sl_lane_mine);

    while (r && r->what != SL_LANE_OP_BEGIN) {
        sl_lane_read(sl_lane_mine, r);
        r = sl_lane_next(sl_lane_mine);
    }
    return r;
}

static void fill(struct sl_lane *lane)
{
    struct sl_lane_record *r;

    while ((r = sl_lane_begin(lane, 2))) {
        *r = (struct sl_lane_record){.what = SL_LANE_MARK, .pairs = 1};
        sl_lane_put(lane, 2);
    }
}

/* Asynchronous operators begin, and then the thread's lane becomes full. There is still room for
 * the ends of these operators. */
static void there_is_room_for_their_ends(void **state)
{
    const struct sl_torch_op op = {NAMED("nccl:all_reduce"), .handle = 5, .sequence = -1,
                                   .scope = SL_TORCH_SCOPE_USER, .is_async = 1};
    const struct sl_lane_record *r;
    unsigned ends = 0;

    for (unsigned i = 0; i < 3; i++)
        host->begin(&op);
    fill(sl_lane_mine);
    for (unsigned i = 0; i < 3; i++) {
        host->end(op.handle, op.scope, 1);
        fill(sl_lane_mine);
    }
    while ((r = sl_lane_next(sl_lane_mine))) {
        ends += r->what == SL_LANE_OP_FINISH;
        sl_lane_read(sl_lane_mine, r);
    }
    assert_int_equal(ends, 3);
}

/* An operator's record is too long. syncline omits the inputs first, then the other details. */
static void what_is_too_long_does_without(void **state)
{
    static uint8_t inputs[SL_LANE_RECORD_WORDS * 8];
    static char more[SL_LANE_RECORD_WORDS * 8], name[2 * SL_LANE_TEXT_MAX];
    struct sl_torch_op op = {.name = name,
                             .name_length = sizeof(name) - 1,
                             .handle = 1,
                             .more = more,
                             .more_length = 10,
                             .inputs = inputs,
                             .inputs_length = sizeof(inputs)};

    memset(name, 'n', sizeof(name) - 1);
    host->begin(&op);
    host->end(1, 0, 0);
    op.more_length = sizeof(more);
    host->begin(&op);
    host->end(1, 0, 0);
    assert_int_equal(read_seen(), 4);
    assert_int_equal(seen[0].op.name_length, SL_LANE_TEXT_MAX);
    assert_true(seen[0].op.more_length == 10 && seen[0].op.inputs_length == 0);
    assert_true(seen[0].op.was_cut);
    assert_true(seen[2].op.more_length == 0 && seen[2].op.inputs_length == 0);
}

/* Texts are copied in 8-byte words. A text of any length is unchanged at any position. */
static void pieces_of_any_length_arrive(void **state)
{
    static char text[SL_LANE_TEXT_MAX];
    const struct sl_lane_record *r;
    char *name;

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 23);
    for (size_t length = 0; length <= 200; length++) {
        /* memory of the exact length, so that a sanitizer notices a read past the end */
        name = test_malloc(length + 1);
        memcpy(name, text, length);
        name[length] = '\0';
        host->begin(&(struct sl_torch_op){.name = name,
                                          .name_length = length,
                                          .handle = 1,
                                          .more = text + 1,
                                          .more_length = (uint32_t)(length / 2),
                                          .inputs = (const uint8_t *)text + 2,
                                          .inputs_length = (uint32_t)(200 - length)});
        test_free(name);
        r = next_begin();
        assert_non_null(r);
        name = (char *)((const struct sl_lane_op *)r + 1);
        assert_memory_equal(name, text, length);
        assert_memory_equal(name + length, text + 1, length / 2);
        assert_memory_equal(name + length + length / 2, text + 2, 200 - length);
        host->end(1, 0, 0);
        read_seen();
    }
}

/* More operators are open than syncline's list holds. The outermost operators are removed from the
 * list, because they may have ended on another thread. All operators have records of their
 * beginnings, and also of their later ends. */
static void outer_ones_of_too_many_are_forgotten(void **state)
{
    unsigned begins = 0;

    for (uint64_t i = 1; i <= 600; i++) {
        host->begin(&(struct sl_torch_op){NAMED("x"), .handle = i, .sequence = -1});
        if (i == 300)
            begins = read_seen();
    }
    begins += read_seen();
    assert_int_equal(begins, 600);
    for (uint64_t i = 600; i > 0; i--)
        host->end(i, 0, 0);
    assert_int_equal(read_seen(), 600);
    for (unsigned i = 0; i < seen_count; i++) {
        assert_int_equal(seen[i].record.what, i < 512 ? SL_LANE_OP_END : SL_LANE_OP_FINISH);
        assert_int_equal(seen[i].record.aux, 600 - i);
    }
    host->begin(&(struct sl_torch_op){NAMED("x"), .handle = 1, .sequence = -1});
    host->end(1, 0, 0);
    assert_int_equal(read_seen(), 2);
}

static void scope(const char *name, uint64_t handle)
{
    host->begin(&(struct sl_torch_op){.name = name,
                                      .name_length = strlen(name),
                                      .handle = handle,
                                      .sequence = -1,
                                      .scope = SL_TORCH_SCOPE_USER});
}

/* Scopes that name steps are observed between windows, too. */
static void scopes_that_are_steps(void **state)
{
    sl_torch_ops_enable(0);
    scope("ProfilerStep#0", 1);
    assert_int_equal(sl_step_number(), 0);
    for (int i = 0; i < 5; i++) /* optimizer steps inside a named step begin no step of their own */
        sl_step_take(SL_STEP_OPTIMIZER);
    scope("ProfilerStep#1, too", 2);
    host->end(2, SL_TORCH_SCOPE_USER, 0);
    host->end(1, SL_TORCH_SCOPE_USER, 0);
    assert_int_equal(sl_step_number(), 0);
    scope("ProfilerStep#1", 3);
    host->end(3, SL_TORCH_SCOPE_USER, 0);
    assert_int_equal(sl_step_number(), 1);
    /* Without a named step, optimizer steps are soon counted as steps again. */
    for (int i = 0; i < 3; i++)
        sl_step_take(SL_STEP_OPTIMIZER);
    assert_int_equal(sl_step_number(), 2);
    read_seen();
    scope("ProfilerStep#0", 4); /* the numbering of steps continues */
    host->end(4, SL_TORCH_SCOPE_USER, 0);
    assert_int_equal(sl_step_number(), 3);
    assert_int_equal(read_seen(), 2);
    assert_string_equal(seen[0].name, "ProfilerStep#3");
    assert_string_equal(seen[0].more, "\"called\":\"ProfilerStep#0\"");
    sl_torch_ops_enable(1);
}

static void stopped_is_for_good(void **state)
{
    host->begin(&(struct sl_torch_op){NAMED("x"), .handle = 1, .sequence = -1});
    read_seen();
    errno = ERANGE;
    sl_torch_ops_stop();
    host->end(1, 0, 0);
    host->begin(&(struct sl_torch_op){NAMED("x"), .handle = 2, .sequence = -1});
    host->end(2, 0, 0);
    assert_int_equal(read_seen(), 0);
    assert_int_equal(errno, ERANGE);
    sl_torch_ops_enable(1);
    assert_int_equal(sl_torch_ops_by_strings(), SL_TORCH_OPS_OFF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_without_pytorch),
        cmocka_unit_test(the_observer_is_told),
        cmocka_unit_test(there_is_room_for_their_ends),
        cmocka_unit_test(what_is_too_long_does_without),
        cmocka_unit_test(pieces_of_any_length_arrive),
        cmocka_unit_test(outer_ones_of_too_many_are_forgotten),
        cmocka_unit_test(scopes_that_are_steps),
        cmocka_unit_test(stopped_is_for_good),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
