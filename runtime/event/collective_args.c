/*
 * collective_args.c - reads the description of a collective from an operator's details, and writes
 * the members that syncline adds. Pure functions.
 */
#include "event/collective_args.h"

#include <string.h>

#include "base/json.h"

#define DIGITS_MAX 18

/* Returns the text without its quotes. */
static struct sl_collective_text text_of(const struct sl_op_detail *detail, const char *name)
{
    struct sl_collective_text text = {NULL, 0};

    text.data = sl_op_detail_member(detail, name, &text.size);
    if (text.data && text.size >= 2 && text.data[0] == '"') {
        text.data++;
        text.size -= 2;
    }
    return text;
}

/* Returns a reported number. Returns -1 if the number was not reported, is not whole, or is
 * negative. */
static int64_t number_of(const struct sl_op_detail *detail, const char *name)
{
    struct sl_collective_text text = text_of(detail, name);
    int64_t number = 0;

    if (!text.data || text.size == 0 || text.size > DIGITS_MAX)
        return -1;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        number = number * 10 + (text.data[i] - '0');
    }
    return number;
}

struct sl_collective_args sl_collective_args_of(const struct sl_op_detail *detail)
{
    return (struct sl_collective_args){
        .collective = text_of(detail, "Collective name"),
        .dtype = text_of(detail, "dtype"),
        .group = text_of(detail, "Process Group Name"),
        .group_ranks = text_of(detail, "Process Group Ranks"),
        .elements = number_of(detail, "In msg nelems"),
        .out_elements = number_of(detail, "Out msg nelems"),
        .rank = number_of(detail, "Rank"),
        .message_bytes = number_of(detail, "Message size"),
        .group_size = number_of(detail, "Group size"),
        .group_start = number_of(detail, "Global rank start"),
        .group_stride = number_of(detail, "Global rank stride"),
        .src_rank = number_of(detail, "Src Rank"),
        .dst_rank = number_of(detail, "Dst Rank"),
    };
}

/* Returns 1 if the function makes this call, so that a function that PyTorch calls for another
 * purpose names no collective. */
static int is_made_by(const char *call, const char *function)
{
    static const struct {
        const char *function, *call;
    } made[] = {{"isend", "send"}, {"irecv", "recv"}, {"broadcast_object_list", "broadcast"}};

    for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++)
        if (strcmp(made[i].function, function) == 0)
            return strcmp(made[i].call, call) == 0;
    return 0;
}

char *sl_collective_put_members(char *at, const struct sl_collective_args *told,
                                const char *function)
{
    const char *call = sl_collective_call(told->collective);
    int64_t bytes = sl_collective_message_bytes(told), root = sl_collective_root(told);

    if (!call)
        return at;
    if (function && is_made_by(call, function))
        call = function;
    if (bytes >= 0)
        at = sl_json_u64(SL_JSON_LITERAL(at, ",\"Message size\":"), (uint64_t)bytes);
    at = sl_json_raw(SL_JSON_LITERAL(at, ",\"Call\":\""), call, strlen(call));
    at = SL_JSON_LITERAL(at, "\"");
    if (root >= 0)
        at = sl_json_u64(SL_JSON_LITERAL(at, ",\"Root Rank\":"), (uint64_t)root);
    return at;
}
