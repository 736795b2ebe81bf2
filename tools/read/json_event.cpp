/*
 * json_event.cpp - simdjson behind a C interface.
 *
 * Threads: one owner per parser. Memory: simdjson's buffers belong to the parser. No exception
 * leaves this file: simdjson reports errors only as codes.
 */
#include "read/json_event.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "read/json_row.hpp"
#include "read/json_walk.hpp"

namespace od = simdjson::ondemand;
using simdjson::error_code;

struct sl_json {
    od::parser parser;
    sl_json_walk::edge_list edges;
};

namespace
{

/* Says what is wrong. simdjson's own texts are for programmers. */
const char *meaning(error_code e)
{
    switch (e) {
    case simdjson::TAPE_ERROR:
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
        return "a comma, bracket or quote is missing or superfluous (a quote in a name without "
               "\\?)";
    case simdjson::UNESCAPED_CHARS:
        return "a text with a control character (a line break in a name?)";
    case simdjson::UNCLOSED_STRING:
        return "a text without an end (a quote or a backslash in a name without \\?)";
    case simdjson::STRING_ERROR:
        return "a text with a backslash that begins no escape (a path in a name?)";
    case simdjson::UTF8_ERROR:
        return "a text that is not UTF-8";
    default:
        return simdjson::error_message(e);
    }
}

/* Reports an error and its place. */
int describe(error_code e, const char *text, size_t size, od::document *doc, sl_json_error *error)
{
    const char *at = nullptr;

    error->at = 0;
    if (doc && !doc->current_location().get(at) && at >= text && at <= text + size)
        error->at = static_cast<size_t>(at - text);
    snprintf(error->what, sizeof(error->what), "%s", meaning(e));
    return -EBADMSG;
}

/* Starts the parser on `text`. If a member has two values ("a":"b":1), simdjson may take a bracket
 * behind the text for the end of the object. Then it is not at the end of the text afterwards. */
error_code begin(sl_json *j, const char *text, size_t size, sl_json_walk::visitor *w,
                 od::document *doc)
{
    w->escapes = memchr(text, '\\', size) != nullptr;
    w->whole = doc;
    return j->parser.iterate(simdjson::padded_string_view(text, size, size + SL_JSON_PADDING))
        .get(*doc);
}

} // namespace

int sl_json_create(struct sl_json **out)
{
    sl_json *j = new (std::nothrow) sl_json();

    if (!j)
        return -ENOMEM;
    *out = j;
    return 0;
}

void sl_json_destroy(struct sl_json *j)
{
    if (j)
        free(j->edges.edge);
    delete j;
}

int sl_json_row(struct sl_json *j, const char *text, size_t size, struct sl_trace_row *out,
                struct sl_json_error *error)
{
    sl_json_walk::row_walk w;
    od::document doc;
    error_code e;
    bool ok;

    if (size > SL_JSON_TEXT_MAX)
        return -EFBIG;
    *out = sl_trace_row();
    out->out_elements = out->group_rank = out->message_size = out->calls = -1;
    out->nccl_number = out->nccl_bytes = out->nccl_root = out->nccl_peer = out->nccl_calls = -1;
    out->comm_ranks = out->comm_rank = out->comm_instance = -1;
    e = begin(j, text, size, &w, &doc);
    if (e)
        return describe(e, text, size, nullptr, error);
    w.row = out;
    w.edges = &j->edges;
    w.edges->count = 0;
    w.is_edge = false;
    w.visit = nullptr;
    ok = w.document(doc);
    if (ok && w.is_told_late()) {
        doc.rewind();
        ok = w.document(doc);
    }
    if (!ok)
        return describe(w.error, text, size, &doc, error);
    if (!doc.at_end())
        return describe(simdjson::TAPE_ERROR, text, size, nullptr, error);
    out->edge = w.edges->count ? w.edges->edge : nullptr;
    out->edges = w.edges->count;
    if (out->has & SL_HAS_ORIGINAL_STREAM) {
        out->stream = out->original_stream;
        out->has |= SL_HAS_STREAM;
    }
    return 0;
}

int sl_json_visit(struct sl_json *j, const char *root, const char *text, size_t size,
                  sl_json_visit_fn visit, void *user, struct sl_json_error *error)
{
    sl_json_walk::visitor w;
    od::document doc;
    error_code e;
    int n;

    if (size > SL_JSON_TEXT_MAX)
        return -EFBIG;
    e = begin(j, text, size, &w, &doc);
    if (e)
        return describe(e, text, size, nullptr, error);
    w.visit = visit;
    w.user = user;
    n = snprintf(w.path, sizeof(w.path), "%s", root);
    if (!w.document(doc, static_cast<size_t>(n) < sizeof(w.path) ? static_cast<size_t>(n) : 0))
        return describe(w.error, text, size, &doc, error);
    if ((text[0] == '{' || text[0] == '[') && !doc.at_end())
        return describe(simdjson::TAPE_ERROR, text, size, nullptr, error);
    return 0;
}
