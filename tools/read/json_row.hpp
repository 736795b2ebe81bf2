/*
 * json_row.hpp - reads the members of a trace's event into a row.
 *
 * Included only by json_event.cpp. Threads: one owner per walk. Memory: texts of the row point into
 * the event's text or are constants.
 */
#ifndef SL_JSON_ROW_HPP
#define SL_JSON_ROW_HPP

#include <cstdlib>

#include "read/json_walk.hpp"
#include "read/unescape.h"

namespace sl_json_walk
{

/* about 73 years in ns, so that the sum or difference of two times fits int64 */
constexpr int64_t TIME_MAX = INT64_MAX / 4;

/* Size of the longest escaped key or value that is compared with a known word, in bytes. Each of
 * the 33 letters of the longest word may be written as an escape of six bytes, such as \u0061. */
constexpr size_t WORD_MAX = 256;

/* Returns the category with the name `s`. For a known category *name becomes the constant text of
 * the category. */
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
        {"cuda_event", SL_CAT_EVENT_RECORD},
        {"user_annotation", SL_CAT_USER_ANNOTATION},
        {"python_function", SL_CAT_PYTHON},
        {"gpu_user_annotation", SL_CAT_GPU_USER_ANNOTATION},
        {"overhead", SL_CAT_OVERHEAD},
        {"fwdbwd", SL_CAT_FWDBWD},
        /* PyTorch 1.8 to 1.10 */
        {"Kernel", SL_CAT_KERNEL},
        {"Runtime", SL_CAT_RUNTIME},
        {"Operator", SL_CAT_CPU_OP},
        {"Memcpy", SL_CAT_MEMCPY},
        {"Memset", SL_CAT_MEMSET},
    };

    for (const auto &k : known) {
        if (s == k.text) {
            *name = {k.text.data(), k.text.size()};
            return k.category;
        }
    }
    return SL_CAT_OTHER;
}

/* Entries of the tables of args. Each table is sorted by the length of the name. */
struct number_arg {
    string_view name;
    sl_row_has bit;
    int64_t sl_trace_row::*out;
};

struct word_arg {
    string_view name;
    sl_text sl_trace_row::*out;
};

constexpr number_arg number_args[] = {
    {"cbid", SL_HAS_CBID, &sl_trace_row::cbid},
    {"Rank", SL_HAS_NO_FLAG, &sl_trace_row::group_rank},
    {"bytes", SL_HAS_BYTES, &sl_trace_row::bytes},
    {"Calls", SL_HAS_NO_FLAG, &sl_trace_row::calls},
    {"device", SL_HAS_DEVICE, &sl_trace_row::device},
    {"stream", SL_HAS_STREAM, &sl_trace_row::stream},
    {"result", SL_HAS_RESULT, &sl_trace_row::result},
    {"context", SL_HAS_CONTEXT, &sl_trace_row::context},
    {"graph id", SL_HAS_GRAPH, &sl_trace_row::graph},
    {"event_id", SL_HAS_WAIT_EVENT, &sl_trace_row::wait_event},
    {"inDevice", SL_HAS_DEVICE, &sl_trace_row::device},
    {"Src Rank", SL_HAS_SRC_RANK, &sl_trace_row::src_rank},
    {"Dst Rank", SL_HAS_DST_RANK, &sl_trace_row::dst_rank},
    {"Comm rank", SL_HAS_NO_FLAG, &sl_trace_row::comm_rank},
    {"NCCL root", SL_HAS_NO_FLAG, &sl_trace_row::nccl_root},
    {"NCCL peer", SL_HAS_NO_FLAG, &sl_trace_row::nccl_peer},
    {"inContext", SL_HAS_CONTEXT, &sl_trace_row::context},
    {"Comm ranks", SL_HAS_NO_FLAG, &sl_trace_row::comm_ranks},
    {"NCCL bytes", SL_HAS_NO_FLAG, &sl_trace_row::nccl_bytes},
    {"Group size", SL_HAS_GROUP_SIZE, &sl_trace_row::group_size},
    {"correlation", SL_HAS_CORRELATION, &sl_trace_row::correlation},
    {"NCCL number", SL_HAS_NO_FLAG, &sl_trace_row::nccl_number},
    {"External id", SL_HAS_EXTERNAL_ID, &sl_trace_row::external_id},
    {"Message size", SL_HAS_NO_FLAG, &sl_trace_row::message_size},
    {"stream flags", SL_HAS_STREAM_FLAGS, &sl_trace_row::stream_flags},
    {"Comm instance", SL_HAS_NO_FLAG, &sl_trace_row::comm_instance},
    {"graph node id", SL_HAS_GRAPH_NODE, &sl_trace_row::graph_node},
    {"Fwd thread id", SL_HAS_FORWARD_THREAD, &sl_trace_row::forward_thread},
    {"In msg nelems", SL_HAS_IN_ELEMENTS, &sl_trace_row::in_elements},
    {"Out msg nelems", SL_HAS_NO_FLAG, &sl_trace_row::out_elements},
    {"wait_on_stream", SL_HAS_WAIT_STREAM, &sl_trace_row::wait_stream},
    {"wait_on_context", SL_HAS_WAIT_CONTEXT, &sl_trace_row::wait_context},
    {"Sequence number", SL_HAS_SEQUENCE, &sl_trace_row::sequence},
    {"original_stream", SL_HAS_ORIGINAL_STREAM, &sl_trace_row::original_stream},
    {"Global rank start", SL_HAS_GROUP_START, &sl_trace_row::group_start},
    {"Record function id", SL_HAS_RECORD_FUNCTION, &sl_trace_row::record_function},
    {"Global rank stride", SL_HAS_GROUP_STRIDE, &sl_trace_row::group_stride},
    {"NCCL calls in kernel", SL_HAS_NO_FLAG, &sl_trace_row::nccl_calls},
    {"wait_on_cuda_event_id", SL_HAS_WAIT_EVENT, &sl_trace_row::wait_event},
    {"wait_on_context_stream", SL_HAS_WAIT_STREAM, &sl_trace_row::wait_stream},
    {"wait_on_context_record_corr_id", SL_HAS_WAIT_RECORD, &sl_trace_row::wait_record},
    {"wait_on_cuda_event_record_corr_id", SL_HAS_WAIT_RECORD, &sl_trace_row::wait_record},
};

constexpr word_arg word_args[] = {
    {"dtype", &sl_trace_row::dtype},
    {"source", &sl_trace_row::source},
    {"wait_in", &sl_trace_row::wait_in},
    {"wait_at", &sl_trace_row::wait_at},
    {"Collective name", &sl_trace_row::collective},
    {"Process Group Name", &sl_trace_row::group},
    {"Process Group Ranks", &sl_trace_row::group_ranks},
};

/* Their values may be numbers too. */
constexpr word_arg token_args[] = {
    {"Seq", &sl_trace_row::seq},
    {"Call", &sl_trace_row::call},
    {"Comm", &sl_trace_row::comm},
    {"Batch", &sl_trace_row::batch},
    {"Root Rank", &sl_trace_row::root_rank},
    {"Comm name", &sl_trace_row::comm_name},
    {"NCCL call", &sl_trace_row::nccl_call},
    {"NCCL dtype", &sl_trace_row::nccl_dtype},
    {"Process Group Description", &sl_trace_row::group_description},
};

constexpr size_t ARG_MAX = 33;

/* For each length, the index of the first name with this length in a table. */
template <typename T, size_t N> struct by_length {
    uint8_t begin[ARG_MAX + 2] = {};

    constexpr explicit by_length(const T (&table)[N])
    {
        for (const T &entry : table)
            for (size_t i = entry.name.size() + 1; i < ARG_MAX + 2; i++)
                begin[i]++;
    }

    const T *find(const T (&table)[N], string_view name) const
    {
        if (name.size() > ARG_MAX)
            return nullptr;
        for (unsigned i = begin[name.size()]; i < begin[name.size() + 1]; i++)
            if (table[i].name[0] == name[0] &&
                memcmp(table[i].name.data(), name.data(), name.size()) == 0)
                return &table[i];
        return nullptr;
    }
};

constexpr by_length number_places(number_args);
constexpr by_length word_places(word_args);
constexpr by_length token_places(token_args);

/* The edges of a row. The memory is used again for the next row. */
struct edge_list {
    sl_row_edge *edge;
    size_t count, cap;
};

/* Fills a row. */
struct row_walk : visitor {
    sl_trace_row *row;
    edge_list *edges;
    bool is_edge; /* all args of the row are those of one edge */

    /* Decodes the escapes of a word. JSON allows escaped letters in a key, although few programs
     * write them. */
    string_view meant(string_view word, char (&room)[WORD_MAX]) const
    {
        sl_text text;

        if (!escapes)
            return word;
        text = sl_unescaped({word.data(), word.size()}, room, sizeof(room));
        return {text.data, text.size};
    }

    /* Reads a whole number, with or without quotes (Kineto quotes some ids). Returns whether the
     * text is a valid JSON number. A valid number needs no further check. */
    bool integer(string_view token, sl_row_has bit, int64_t *out)
    {
        bool quoted;
        int exact;

        token = trimmed(token);
        quoted = token.size() > 2 && token.front() == '"';
        if (quoted)
            token = token.substr(1, token.size() - 2);
        if (sl_number_scaled(token.data(), token.size(), 0, out, &exact) != 0)
            return false;
        row->has |= bit;
        return !quoted;
    }

    /* Reads microseconds, with or without quotes, as ns. Times beyond TIME_MAX are invalid and stay
     * 0, so that the sum of two times does not overflow. Returns what integer() returns. */
    bool time(string_view token, sl_row_has bit, int64_t *out)
    {
        bool quoted;
        int64_t ns;
        int exact;

        token = trimmed(token);
        quoted = token.size() > 2 && token.front() == '"';
        if (quoted)
            token = token.substr(1, token.size() - 2);
        if (sl_number_scaled(token.data(), token.size(), 3, &ns, &exact) != 0)
            return false;
        if (ns <= TIME_MAX && ns >= -TIME_MAX) {
            row->has |= bit;
            *out = ns;
        }
        return !quoted;
    }

    /* Reads a member that is a number. Returns whether it needs no further check. */
    bool number_member(string_view name, string_view token)
    {
        return name == "ts"    ? time(token, SL_HAS_TS, &row->ts_ns)
               : name == "dur" ? time(token, SL_HAS_DUR, &row->dur_ns)
               : name == "id"  ? integer(token, SL_HAS_ID, &row->id)
                               : false;
    }

    /* Sets *out to the text inside the quotes of a string. Ignores values that are not strings. */
    void word(string_view token, sl_text *out)
    {
        token = trimmed(token);
        if (token.size() >= 2 && token.front() == '"' && token.back() == '"')
            *out = {token.data() + 1, token.size() - 2};
    }

    /* Sets *out to the text of a string without its quotes, or of another scalar. */
    void unquoted(string_view token, sl_text *out)
    {
        token = trimmed(token);
        *out = {token.data(), token.size()};
        word(token, out);
    }

    /* Reads a pid or tid. A number that int64 cannot hold exactly counts as text, because a rounded
     * number could be the id of a different thread. */
    void lane(sl_json_type type, sl_text text, sl_row_lane *out)
    {
        int exact;

        out->text = text;
        out->is_number = type != SL_JSON_WORD &&
                         sl_number_scaled(text.data, text.size, 0, &out->number, &exact) == 0 &&
                         exact;
    }

    /* Keeps the text of an array that the row needs; other arrays are only checked. */
    bool list(string_view name, od::value v)
    {
        sl_text *out = name == "Input Dims"        ? &row->dims
                       : name == "Input type"      ? &row->types
                       : name == "Concrete Inputs" ? &row->values
                                                   : nullptr;

        return out ? text_of(v, od::json_type::array, 0, 1, out) : value(v, 0, 1);
    }

    /* Adds an edge to the row. */
    bool begin_edge()
    {
        if (edges->count == edges->cap) {
            size_t cap = edges->cap ? 2 * edges->cap : 16;
            void *more = realloc(edges->edge, cap * sizeof(*edges->edge));

            if (!more)
                return fail(simdjson::MEMALLOC);
            edges->edge = static_cast<sl_row_edge *>(more);
            edges->cap = cap;
        }
        edges->edge[edges->count++] = {};
        return true;
    }

    bool edge_member(string_view name, od::value v)
    {
        od::json_type type;
        string_view token;

        if (error_code e = v.type().get(type))
            return fail(e);
        if (type == od::json_type::object || type == od::json_type::array)
            return value(v, 0, 1);
        token = v.raw_json_token();
        edge_arg(name, token);
        return show(token, 0);
    }

    /* Reads the edges in the args of a call. */
    bool edge_array(od::value v)
    {
        od::array array;

        if (error_code e = v.get_array().get(array))
            return fail(e);
        for (auto result : array) {
            od::value element;
            od::json_type type;
            od::object object;

            if (error_code e = std::move(result).get(element))
                return fail(e);
            if (error_code e = element.type().get(type))
                return fail(e);
            if (type != od::json_type::object) {
                if (!value(element, 0, 1))
                    return false;
                continue;
            }
            if (error_code e = element.get_object().get(object))
                return fail(e);
            if (!begin_edge() || !members(object, [&](string_view name, od::field &field) {
                    char room[WORD_MAX];

                    return edge_member(meant(name, room), field.value());
                }))
                return false;
        }
        return true;
    }

    void edge_arg(string_view name, string_view token)
    {
        sl_row_edge *edge = &edges->edge[edges->count - 1];
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

        if (error_code e = v.type().get(type))
            return fail(e);
        if (type == od::json_type::object)
            return value(v, 0, 1);
        if (type == od::json_type::array)
            return name == "sync_edges" ? edge_array(v) : list(name, v);
        token = v.raw_json_token();
        if (const number_arg *n = number_places.find(number_args, name)) {
            if (integer(token, n->bit, &(row->*n->out)))
                return true;
        } else if (is_edge)
            edge_arg(name, token);
        else if (const word_arg *w = word_places.find(word_args, name))
            word(token, &(row->*w->out));
        else if (const word_arg *t = token_places.find(token_args, name))
            unquoted(token, &(row->*t->out));
        else if (name == "wait_kind")
            row->has_waited = 1;
        else if (name == "async" && token.front() == 't')
            row->has |= SL_HAS_ASYNC;
        else if (name == "still running" && token.front() == 't')
            row->has |= SL_HAS_STILL_RUNNING;
        else if (name == "name" && token.front() == '"')
            return string(trimmed(token), &row->args_name);
        else if (name == "memory bandwidth (GB/s)")
            row->bandwidth = {trimmed(token).data(), trimmed(token).size()};
        return show(token, 0);
    }

    /* Returns true for a row of syncline that is not a slice. Old files have these rows as metadata
     * events. */
    bool is_fact(string_view name) const
    {
        return (row->phase == 'i' || row->phase == 'M') &&
               string_view(row->name.data, row->name.size) == name;
    }

    /* Returns true if the args of an edge come before the "name" and "ph" that show that the row is
     * an edge. This happens if another program sorted the members of the row. */
    bool is_told_late() const
    {
        return (row->has & SL_HAS_ARGS) &&
               ((is_fact("sync_edge") && !is_edge) || (is_fact("sync_name") && !row->is_edge_name));
    }

    bool args(od::value v)
    {
        od::object object;

        if (error_code e = v.get_object().get(object))
            return fail(e);
        row->has |= SL_HAS_ARGS;
        edges->count = 0;
        is_edge = is_fact("sync_edge");
        if (is_edge && !begin_edge())
            return false;
        row->is_edge_name = is_fact("sync_name");
        return members(object, [&](string_view name, od::field &field) {
            char room[WORD_MAX];

            return arg(meant(name, room), field.value());
        });
    }

    bool member(string_view name, od::value v)
    {
        od::json_type json;
        sl_json_type type;
        string_view token;
        char room[WORD_MAX];
        sl_text text;

        if (error_code e = v.type().get(json))
            return fail(e);
        if (json == od::json_type::object && name == "args")
            return args(v);
        if (json == od::json_type::object || json == od::json_type::array)
            return value(v, 0, 1);
        token = v.raw_json_token();
        if (number_member(name, token))
            return true;
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
        }
        return true;
    }

    bool document(od::document &doc)
    {
        od::object object;

        if (error_code e = doc.get_object().get(object))
            return fail(e);
        return members(object, [&](string_view name, od::field &field) {
            char room[WORD_MAX];

            return member(meant(name, room), field.value());
        });
    }
};

} // namespace sl_json_walk

#endif
