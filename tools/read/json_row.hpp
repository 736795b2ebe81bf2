/*
 * json_row.hpp - the members of a trace's event that a row has a place for.
 *
 * Included by json_event.cpp alone. Threads: one owner per walk. Memory: texts of the row lie in
 * the event's own, or are constants.
 */
#ifndef SL_JSON_ROW_HPP
#define SL_JSON_ROW_HPP

#include "read/json_walk.hpp"
#include "read/unescape.h"

namespace sl_json_walk
{

/* ns, 73 years: sums and differences of two times fit. */
constexpr int64_t TIME_MAX = INT64_MAX / 4;

/* Bytes of a word that decides what a row is, each as \u0000: the longest key has 33 letters. */
constexpr size_t WORD_MAX = 256;

/* `name` becomes the category's own where that is known. */
inline sl_row_category category_of(string_view s, sl_text *name)
{
    static const struct {
        string_view text;
        sl_row_category category;
    } known[] = {
        {"kernel", SL_CAT_KERNEL},
        {"cuda_runtime", SL_CAT_RUNTIME},
        {"ac2g", SL_CAT_AC2G},
        {"cpu_op", SL_CAT_CPU_OP},
        {"cuda_driver", SL_CAT_DRIVER},
        {"gpu_memcpy", SL_CAT_MEMCPY},
        {"gpu_memset", SL_CAT_MEMSET},
        {"cuda_sync", SL_CAT_SYNC},
        {"user_annotation", SL_CAT_USER_ANNOTATION},
        {"python_function", SL_CAT_PYTHON},
        {"gpu_user_annotation", SL_CAT_GPU_USER_ANNOTATION},
        {"overhead", SL_CAT_OVERHEAD},
        {"fwdbwd", SL_CAT_FWDBWD},
    };

    for (const auto &k : known) {
        if (s == k.text) {
            *name = {k.text.data(), k.text.size()};
            return k.category;
        }
    }
    return SL_CAT_OTHER;
}

/* Fills a row. */
struct row_walk : visitor {
    sl_trace_row *row;
    sl_row_edge *edge;

    /* What a word means: hardly a writer escapes its letters, but any may. */
    string_view meant(string_view word, char (&room)[WORD_MAX]) const
    {
        sl_text text;

        if (!escapes)
            return word;
        text = sl_unescaped({word.data(), word.size()}, room, sizeof(room));
        return {text.data, text.size};
    }

    /* A whole number, or one in quotes (Kineto writes some ids so). */
    void integer(string_view token, sl_row_has bit, int64_t *out)
    {
        int exact;

        token = trimmed(token);
        if (token.size() > 2 && token.front() == '"')
            token = token.substr(1, token.size() - 2);
        if (sl_number_scaled(token.data(), token.size(), 0, out, &exact) == 0)
            row->has |= bit;
    }

    /* Microseconds as written -> ns. More than TIME_MAX is no time of a trace: it stays 0, and sums
     * of two do not overflow. */
    void time(string_view token, sl_row_has bit, int64_t *out)
    {
        int64_t ns;
        int exact;

        token = trimmed(token);
        if (sl_number_scaled(token.data(), token.size(), 3, &ns, &exact) == 0 && ns <= TIME_MAX &&
            ns >= -TIME_MAX) {
            row->has |= bit;
            *out = ns;
        }
    }

    /* The inside of a string; what is none is left. */
    void word(string_view token, sl_text *out)
    {
        token = trimmed(token);
        if (token.size() >= 2 && token.front() == '"' && token.back() == '"')
            *out = {token.data() + 1, token.size() - 2};
    }

    /* Rounded it would be another's. */
    void lane(sl_json_type type, sl_text text, sl_row_lane *out)
    {
        int exact;

        out->text = text;
        out->is_number = type != SL_JSON_WORD &&
                         sl_number_scaled(text.data, text.size, 0, &out->number, &exact) == 0 &&
                         exact;
    }

    /* An array whose text is asked for; others are checked alone. */
    bool list(string_view name, od::value v)
    {
        sl_text *out = name == "Input Dims"        ? &row->dims
                       : name == "Input type"      ? &row->types
                       : name == "Concrete Inputs" ? &row->values
                                                   : nullptr;

        return out ? text_of(v, od::json_type::array, 0, 1, out) : value(v, 0, 1);
    }

    /* The args of operators and collectives, which the rows of the GPU mostly lack. */
    void op_arg(string_view name, string_view token)
    {
        switch (name.size()) {
        case 5:
            if (name == "dtype")
                word(token, &row->dtype);
            else if (name == "async" && token.front() == 't')
                row->has |= SL_HAS_ASYNC;
            break;
        case 8:
            if (name == "Src Rank")
                integer(token, SL_HAS_SRC_RANK, &row->src_rank);
            else if (name == "Dst Rank")
                integer(token, SL_HAS_DST_RANK, &row->dst_rank);
            break;
        case 10:
            if (name == "Group size")
                integer(token, SL_HAS_GROUP_SIZE, &row->group_size);
            break;
        case 13:
            if (name == "Fwd thread id")
                integer(token, SL_HAS_FORWARD_THREAD, &row->forward_thread);
            else if (name == "In msg nelems")
                integer(token, SL_HAS_IN_ELEMENTS, &row->in_elements);
            break;
        case 15:
            if (name == "Sequence number")
                integer(token, SL_HAS_SEQUENCE, &row->sequence);
            else if (name == "Collective name")
                word(token, &row->collective);
            break;
        case 17:
            if (name == "Global rank start")
                integer(token, SL_HAS_GROUP_START, &row->group_start);
            break;
        case 18:
            if (name == "Record function id")
                integer(token, SL_HAS_RECORD_FUNCTION, &row->record_function);
            else if (name == "Process Group Name")
                word(token, &row->group);
            else if (name == "Global rank stride")
                integer(token, SL_HAS_GROUP_STRIDE, &row->group_stride);
            break;
        case 19:
            if (name == "Process Group Ranks")
                word(token, &row->group_ranks);
            break;
        }
    }

    void edge_arg(string_view name, string_view token)
    {
        static const string_view numbers[] = {"src_correlation", "src_stream", "src_device",
                                              "dst_correlation", "dst_thread", "dst_stream",
                                              "wait_ns",         "wake_ns",    "src_name",
                                              "dst_name",        "src_node",   "dst_node"};
        int exact;

        token = trimmed(token);
        for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
            if (name == numbers[i] &&
                sl_number_scaled(token.data(), token.size(), 0, &edge->number[i], &exact) == 0)
                edge->has |= 1u << i;
        }
        if (name == "kind")
            word(token, &edge->kind);
        else if (name == "src_name")
            word(token, &edge->src_name);
        else if (name == "dst_name")
            word(token, &edge->dst_name);
        else if (name == "dst_point")
            word(token, &edge->dst_point);
        else if (name == "basis")
            word(token, &edge->basis);
        else if (name == "released")
            edge->released = token == "true";
    }

    bool arg(string_view name, od::value v)
    {
        od::json_type type;
        string_view token;
        error_code e = v.type().get(type);

        if (e)
            return fail(e);
        if (type == od::json_type::object)
            return value(v, 0, 1);
        if (type == od::json_type::array)
            return list(name, v);
        token = v.raw_json_token();
        switch (name.size()) {
        case 4:
            if (name == "name" && token.front() == '"')
                return string(trimmed(token), &row->args_name);
            if (name == "cbid")
                integer(token, SL_HAS_CBID, &row->cbid);
            break;
        case 5:
            if (name == "bytes")
                integer(token, SL_HAS_BYTES, &row->bytes);
            break;
        case 6:
            if (name == "device")
                integer(token, SL_HAS_DEVICE, &row->device);
            else if (name == "stream")
                integer(token, SL_HAS_STREAM, &row->stream);
            else if (name == "result")
                integer(token, SL_HAS_RESULT, &row->result);
            break;
        case 7:
            if (name == "context")
                integer(token, SL_HAS_CONTEXT, &row->context);
            else if (name == "wait_in")
                word(token, &row->wait_in);
            else if (name == "wait_at")
                word(token, &row->wait_at);
            break;
        case 8:
            if (name == "graph id")
                integer(token, SL_HAS_GRAPH, &row->graph);
            else if (name == "inDevice")
                integer(token, SL_HAS_DEVICE, &row->device);
            break;
        case 9:
            if (name == "wait_kind")
                row->has_waited = 1;
            else if (name == "inContext")
                integer(token, SL_HAS_CONTEXT, &row->context);
            break;
        case 11:
            if (name == "correlation")
                integer(token, SL_HAS_CORRELATION, &row->correlation);
            else if (name == "External id")
                integer(token, SL_HAS_EXTERNAL_ID, &row->external_id);
            break;
        case 12:
            if (name == "stream flags")
                integer(token, SL_HAS_STREAM_FLAGS, &row->stream_flags);
            break;
        case 13:
            if (name == "graph node id")
                integer(token, SL_HAS_GRAPH_NODE, &row->graph_node);
            else if (name == "still running" && token.front() == 't')
                row->has |= SL_HAS_STILL_RUNNING;
            break;
        case 14:
            if (name == "wait_on_stream")
                integer(token, SL_HAS_WAIT_STREAM, &row->wait_stream);
            break;
        case 15:
            if (name == "wait_on_context")
                integer(token, SL_HAS_WAIT_CONTEXT, &row->wait_context);
            break;
        case 21:
            if (name == "wait_on_cuda_event_id")
                integer(token, SL_HAS_WAIT_EVENT, &row->wait_event);
            break;
        case 22:
            if (name == "wait_on_context_stream")
                integer(token, SL_HAS_WAIT_STREAM, &row->wait_stream);
            break;
        case 30:
            if (name == "wait_on_context_record_corr_id")
                integer(token, SL_HAS_WAIT_RECORD, &row->wait_record);
            break;
        case 33:
            if (name == "wait_on_cuda_event_record_corr_id")
                integer(token, SL_HAS_WAIT_RECORD, &row->wait_record);
            break;
        }
        if (row->edge)
            edge_arg(name, token);
        else
            op_arg(name, token);
        return show(token, 0);
    }

    bool is_metadata(string_view name) const
    {
        return row->phase == 'M' && string_view(row->name.data, row->name.size) == name;
    }

    /* The args of an edge came before what says that they are: somebody sorted the members. */
    bool is_told_late() const
    {
        return (row->has & SL_HAS_ARGS) && ((is_metadata("sync_edge") && !row->edge) ||
                                            (is_metadata("sync_name") && !row->is_edge_name));
    }

    bool args(od::value v)
    {
        od::object object;
        error_code e = v.get_object().get(object);

        if (e)
            return fail(e);
        row->has |= SL_HAS_ARGS;
        if (is_metadata("sync_edge")) {
            *edge = {};
            row->edge = edge;
        }
        row->is_edge_name = is_metadata("sync_name");
        return members(object, [&](string_view name, od::field &field) {
            char room[WORD_MAX];

            return arg(meant(name, room), field.value());
        });
    }

    bool member(string_view name, od::value v)
    {
        od::json_type json;
        error_code e = v.type().get(json);
        sl_json_type type;
        string_view token;
        char room[WORD_MAX];
        sl_text text;

        if (e)
            return fail(e);
        if (json == od::json_type::object && name == "args")
            return args(v);
        if (json == od::json_type::object || json == od::json_type::array)
            return value(v, 0, 1);
        token = v.raw_json_token();
        if (!scalar(token, &type, &text))
            return false;
        if (name == "ph") {
            string_view word = meant({text.data, text.size}, room);

            row->phase = word.size() == 1 ? word.front() : '?';
        } else if (name == "cat") {
            row->category_text = text;
            row->category = static_cast<uint8_t>(
                category_of(meant({text.data, text.size}, room), &row->category_text));
        } else if (name == "name") {
            row->name = text;
        } else if (name == "pid") {
            lane(type, text, &row->pid);
        } else if (name == "tid") {
            lane(type, text, &row->tid);
        } else if (name == "ts") {
            time(token, SL_HAS_TS, &row->ts_ns);
        } else if (name == "dur") {
            time(token, SL_HAS_DUR, &row->dur_ns);
        } else if (name == "id") {
            integer(token, SL_HAS_ID, &row->id);
        }
        return true;
    }

    bool document(od::document &doc)
    {
        od::object object;
        error_code e = doc.get_object().get(object);

        if (e)
            return fail(e);
        return members(object, [&](string_view name, od::field &field) {
            char room[WORD_MAX];

            return member(meant(name, room), field.value());
        });
    }
};

} // namespace sl_json_walk

#endif
