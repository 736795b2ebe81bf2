/* comms_id_test.c - compares ids with those of c10::get_hash() in PyTorch 2.11 on x86-64. */
#include "unit/test.h"

#include <string.h>

#include "event/comms_id.h"

static struct sl_collective_args told(const char *collective, const char *group, int64_t size)
{
    return (struct sl_collective_args){.collective = {collective, strlen(collective)},
                                       .group = {group, strlen(group)},
                                       .group_size = size,
                                       .group_start = 0,
                                       .group_stride = 1};
}

static void ids_are_those_of_pytorch(void **state)
{
    struct sl_collective_args t = told("allreduce", "0", 2);

    assert_true(sl_comms_id(&t, 1) == 2297668046887139027u);
    t = told("_allgather_base", "12345678", 8);
    assert_true(sl_comms_id(&t, 7) == 10113836432190226741u);
    /* a group without a stride, and a name whose length is no multiple of 8 */
    t = told("recv", "a group with a name", 16);
    t.group_start = 3;
    t.group_stride = -1;
    assert_true(sl_comms_id(&t, 4242) == 16082387271883763192u);
}

static void what_is_not_known_has_no_id(void **state)
{
    struct sl_collective_args t = told("allreduce", "0", 2);

    assert_true(sl_comms_id(&t, 0) == 0);
    t.group_size = -1;
    assert_true(sl_comms_id(&t, 1) == 0);
    t = told("wait", "0", 2);
    assert_true(sl_comms_id(&t, 1) == 0);
    t = told("allreduce", "quoted \\\"", 2);
    assert_true(sl_comms_id(&t, 1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_those_of_pytorch),
        cmocka_unit_test(what_is_not_known_has_no_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
