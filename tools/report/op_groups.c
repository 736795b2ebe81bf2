/*
 * op_groups.c - counts the operations of each group, and then puts them into their places.
 *
 * Operations are in the order of time already, so only the list of groups is sorted.
 *
 * Threads, memory: see op_groups.h.
 */
#include "report/op_groups.h"

#include <errno.h>
#include <stdlib.h>

#include "report/sums.h"

#define LEFT_OUT UINT32_MAX

static int order_of_groups(const void *a, const void *b)
{
    const struct sl_op_group *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->key > y->key) - (x->key < y->key);
}

/* Sets number[i] to the number of the group of each operation, and counts the groups. */
static int count(struct sl_sums *groups, const struct sl_recording *r, uint32_t *number,
                 sl_op_key_fn key, void *user)
{
    for (size_t i = 0; i < r->ops; i++) {
        const uint32_t of[SL_SUM_KEYS] = {r->op[i].device, key(user, &r->op[i])};
        const struct sl_sum *group = of[1] == SL_OP_GROUPS_NONE ? NULL : sl_sums_add(groups, of, 0);

        number[i] = group ? group->number : LEFT_OUT;
    }
    return groups->failed ? -ENOMEM : 0;
}

/* Makes the list of groups. `place` becomes the place of the first operation of each group. */
static void make_list(struct sl_op_groups *out, const struct sl_sums *groups, size_t *place)
{
    size_t at = 0;

    for (size_t i = 0; i < groups->count; i++)
        out->group[i] = (struct sl_op_group){.first = i,
                                             .end = groups->sum[i].count,
                                             .key = groups->sum[i].key[1],
                                             .device = (uint8_t)groups->sum[i].key[0]};
    out->groups = groups->count;
    if (out->groups)
        qsort(out->group, out->groups, sizeof(*out->group), order_of_groups);
    for (size_t i = 0; i < out->groups; i++) {
        struct sl_op_group *group = &out->group[i];

        place[group->first] = at;
        group->first = at;
        group->end = at += group->end;
    }
}

int sl_op_groups_make(struct sl_op_groups *out, const struct sl_recording *r, sl_op_key_fn key,
                      void *user)
{
    uint32_t *number = malloc((r->ops + 1) * sizeof(*number));
    struct sl_sums groups = {0};
    size_t *place = NULL;
    int rc = number ? count(&groups, r, number, key, user) : -ENOMEM;

    *out = (struct sl_op_groups){.op = malloc((r->ops + 1) * sizeof(struct sl_report_op *)),
                                 .group = malloc((groups.count + 1) * sizeof(*out->group))};
    place = malloc((groups.count + 1) * sizeof(*place));
    if (!out->op || !out->group || !place)
        rc = -ENOMEM;
    if (rc == 0) {
        make_list(out, &groups, place);
        for (size_t i = 0; i < r->ops; i++)
            if (number[i] != LEFT_OUT)
                out->op[place[number[i]]++] = &r->op[i];
    } else {
        sl_op_groups_free(out);
    }
    free(number);
    free(place);
    sl_sums_free(&groups);
    return rc;
}

void sl_op_groups_free(struct sl_op_groups *g)
{
    free(g->op);
    free(g->group);
    *g = (struct sl_op_groups){0};
}
