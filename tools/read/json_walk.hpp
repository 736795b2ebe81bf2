/*
 * json_walk.hpp - walks a JSON text with simdjson and checks every value.
 *
 * The on-demand parser of simdjson checks UTF-8 and control characters of the whole text at once.
 * The parser checks the structure of a value only when the value is visited, so this file visits
 * every value. number.c checks and reads numbers (exact decimals), and check_escapes() checks
 * escapes.
 *
 * Included only by json_event.cpp. Threads: one owner per walk. Memory: none.
 */
#ifndef SL_JSON_WALK_HPP
#define SL_JSON_WALK_HPP

#include <cstdio>
#include <cstring>
#include <string_view>

#include "read/json_event.h"
#include "read/number.h"
#include "simdjson.h"

namespace sl_json_walk
{

namespace od = simdjson::ondemand;
using simdjson::error_code;
using std::string_view;

/* Values nested deeper than this are refused, because the walk is recursive. */
constexpr int DEPTH_MAX = 512;

inline string_view trimmed(string_view token)
{
    while (!token.empty() && (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' ||
                              token.back() == '\t'))
        token.remove_suffix(1);
    return token;
}

inline bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Checks the escapes inside a string (RFC 8259, section 7). */
inline bool check_escapes(string_view s)
{
    for (size_t i = 0; i < s.size(); i++) {
        if (s[i] != '\\')
            continue;
        if (++i == s.size() || !strchr("\"\\/bfnrtu", s[i]))
            return false;
        if (s[i] != 'u')
            continue;
        if (s.size() - i < 5)
            return false;
        for (int k = 1; k <= 4; k++) {
            if (!is_hex(s[i + k]))
                return false;
        }
        i += 4;
    }
    return true;
}

/* The state while one text is walked. */
struct walk {
    bool escapes; /* true if the text has a backslash, so that the escapes of its strings must be
                     checked */
    error_code error = simdjson::SUCCESS;

    bool fail(error_code e)
    {
        if (!error)
            error = e;
        return false;
    }

    /* Returns the text inside the quotes of a string token. */
    bool string(string_view token, sl_text *out)
    {
        if (token.size() < 2 || token.front() != '"' || token.back() != '"')
            return fail(simdjson::STRING_ERROR);
        token.remove_prefix(1);
        token.remove_suffix(1);
        if (escapes && !check_escapes(token))
            return fail(simdjson::STRING_ERROR);
        *out = {token.data(), token.size()};
        return true;
    }

    bool key(od::field &field, string_view *out)
    {
        string_view key = field.escaped_key();

        if (escapes && !check_escapes(key))
            return fail(simdjson::STRING_ERROR);
        *out = key;
        return true;
    }

    /* Calls `each` for the members in text order, until `each` returns false. */
    template <typename F> bool members(od::object &object, F each)
    {
        for (auto result : object) {
            od::field field;
            string_view name;

            if (error_code e = std::move(result).get(field))
                return fail(e);
            if (!key(field, &name) || !each(name, field))
                return false;
        }
        return true;
    }

    /* Reads a scalar of any type. Numbers are checked; the caller reads their value. */
    bool scalar(string_view token, sl_json_type *type, sl_text *out)
    {
        token = trimmed(token);
        *out = {token.data(), token.size()};
        switch (token.empty() ? '\0' : token.front()) {
        case '"':
            *type = SL_JSON_STRING;
            return string(token, out);
        case 't':
        case 'f':
        case 'n':
            *type = SL_JSON_WORD;
            if (token == "true" || token == "false" || token == "null")
                return true;
            return fail(simdjson::T_ATOM_ERROR);
        default:
            *type = SL_JSON_NUMBER;
            if (!sl_number_valid(token.data(), token.size()))
                return fail(simdjson::NUMBER_ERROR);
            return true;
        }
    }
};

/* Calls the visit function for every value, with the path of the value. */
struct visitor : walk {
    od::document *whole;
    sl_json_visit_fn visit;
    void *user;
    char path[256];

    bool value(od::value v, size_t path_size, int depth)
    {
        od::json_type type;

        if (error_code e = v.type().get(type))
            return fail(e);
        if (depth > DEPTH_MAX)
            return fail(simdjson::DEPTH_ERROR);
        if (type != od::json_type::object && type != od::json_type::array)
            return show(v.raw_json_token(), path_size);
        return visit ? container(v, type, path_size, depth) : inside(v, type, path_size, depth);
    }

    bool inside(od::value &v, od::json_type type, size_t path_size, int depth)
    {
        return type == od::json_type::object ? object(v, path_size, depth)
                                             : array(v, path_size, depth);
    }

    /* Walks an object or array and returns its text. */
    bool text_of(od::value v, od::json_type type, size_t path_size, int depth, sl_text *out)
    {
        const char *from = nullptr, *to = nullptr;

        if (whole->current_location().get(from) || !inside(v, type, path_size, depth) ||
            whole->current_location().get(to))
            return fail(simdjson::TAPE_ERROR);
        /* White space and a comma may follow the end of the returned text. */
        while (to > from && to[-1] != (*from == '[' ? ']' : '}'))
            to--;
        *out = {from, static_cast<size_t>(to - from)};
        return true;
    }

    bool container(od::value v, od::json_type type, size_t path_size, int depth)
    {
        sl_text text;

        if (!text_of(v, type, path_size, depth, &text))
            return false;
        path[path_size] = '\0';
        visit(user, path, type == od::json_type::object ? SL_JSON_OBJECT : SL_JSON_ARRAY, text);
        return true;
    }

    bool show(string_view token, size_t path_size)
    {
        sl_json_type type;
        sl_text text;

        if (!scalar(token, &type, &text))
            return false;
        if (visit) {
            path[path_size] = '\0';
            visit(user, path, type, text);
        }
        return true;
    }

    size_t extended(size_t path_size, string_view key)
    {
        int n;

        if (!visit)
            return path_size;
        n = snprintf(path + path_size, sizeof(path) - path_size, "%s%.*s", path_size ? "." : "",
                     static_cast<int>(key.size() < 128 ? key.size() : 128), key.data());
        path_size += static_cast<size_t>(n);
        return path_size < sizeof(path) ? path_size : sizeof(path) - 1;
    }

    template <typename T> bool object(T &v, size_t path_size, int depth)
    {
        od::object object;

        if (error_code e = v.get_object().get(object))
            return fail(e);
        return members(object, [&](string_view name, od::field &field) {
            return value(field.value(), extended(path_size, name), depth + 1);
        });
    }

    template <typename T> bool array(T &v, size_t path_size, int depth)
    {
        od::array array;

        if (error_code e = v.get_array().get(array))
            return fail(e);
        for (auto result : array) {
            od::value element;

            if (error_code e = std::move(result).get(element))
                return fail(e);
            if (!value(element, path_size, depth + 1))
                return false;
        }
        return true;
    }

    bool document(od::document &doc, size_t path_size)
    {
        od::json_type type;
        string_view token;

        if (error_code e = doc.type().get(type))
            return fail(e);
        if (type == od::json_type::object)
            return object(doc, path_size, 0);
        if (type == od::json_type::array)
            return array(doc, path_size, 0);
        if (error_code e = doc.raw_json_token().get(token))
            return fail(e);
        return show(token, path_size);
    }
};

} // namespace sl_json_walk

#endif
