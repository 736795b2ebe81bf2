/*
 * json_dom.h - a strict JSON reader for tests, which accepts only JSON by RFC 8259.
 *
 * The reader refuses trailing commas, unescaped control bytes, invalid escapes, lone surrogates,
 * invalid UTF-8, leading zeros, repeated keys, and anything after the value. Strings are returned
 * as bytes.
 */
#ifndef JSON_DOM_H
#define JSON_DOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json {
    enum json_type type;
    const char *key; /* key, if this value is a member of an object */
    char *text;      /* content of a string (decoded), or the number as text */
    size_t length;
    size_t count;
    struct json *child, *last, *next;
};

struct json_reader {
    const unsigned char *at, *end, *begin;
    const char *error;
};

static struct json *json_value(struct json_reader *r, int depth);

static void json_free(struct json *j)
{
    while (j) {
        struct json *next = j->next;

        json_free(j->child);
        free((char *)(uintptr_t)j->key);
        free(j->text);
        free(j);
        j = next;
    }
}

static void *json_fail(struct json_reader *r, const char *what)
{
    if (!r->error) {
        r->error = what;
        fprintf(stderr, "JSON: %s at byte %zu: %.60s\n", what, (size_t)(r->at - r->begin), r->at);
    }
    return NULL;
}

static void json_space(struct json_reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
        r->at++;
}

static int json_is(struct json_reader *r, char c)
{
    if (r->at < r->end && *r->at == (unsigned char)c) {
        r->at++;
        return 1;
    }
    return 0;
}

static int json_hex4(struct json_reader *r, uint32_t *out)
{
    int i;

    *out = 0;
    for (i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *d;

        if (r->at >= r->end || !*r->at || !(d = strchr(digits, *r->at | 0x20)))
            return 0;
        *out = *out * 16 + (uint32_t)(d - digits);
        r->at++;
    }
    return 1;
}

static size_t json_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* Returns the length in bytes of the UTF-8 character at `s`, or 0 if it is invalid. */
static size_t json_utf8_length(const unsigned char *s, size_t left)
{
    uint32_t c, least;
    size_t n, i;

    if (s[0] < 0x80)
        return 1;
    n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc0 || s[0] > 0xf7 || n > left)
        return 0;
    c = s[0] & (0xffu >> (n + 1));
    for (i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 63);
    }
    least = n == 2 ? 0x80 : n == 3 ? 0x800 : 0x10000;
    return c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

static char *json_string_bytes(struct json_reader *r, size_t *length)
{
    const unsigned char *close;
    char *out, *to;

    if (!json_is(r, '"'))
        return json_fail(r, "string expected");
    for (close = r->at; close < r->end && *close != '"'; close++)
        close += *close == '\\';
    out = to = malloc((size_t)(close - r->at) + 2);
    while (r->at < r->end && *r->at != '"') {
        size_t n;

        if (*r->at < 0x20)
            goto bad;
        if (*r->at == '\\') {
            static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
            const char *which;
            uint32_t c, low;

            r->at++;
            if (r->at >= r->end || !*r->at)
                goto bad;
            which = strchr(from, *r->at);
            if (which) {
                *to++ = into[which - from];
                r->at++;
                continue;
            }
            if (!json_is(r, 'u') || !json_hex4(r, &c) || (c >= 0xdc00 && c < 0xe000))
                goto bad;
            if (c >= 0xd800 && c < 0xdc00) {
                if (!json_is(r, '\\') || !json_is(r, 'u') || !json_hex4(r, &low) || low < 0xdc00 ||
                    low >= 0xe000)
                    goto bad;
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            }
            to += json_utf8(to, c);
            continue;
        }
        n = json_utf8_length(r->at, (size_t)(r->end - r->at));
        if (!n)
            goto bad;
        memcpy(to, r->at, n);
        to += n;
        r->at += n;
    }
    if (!json_is(r, '"'))
        goto bad;
    *to = 0;
    *length = (size_t)(to - out);
    return realloc(out, *length + 1);

bad:
    free(out);
    return json_fail(r, "bad string");
}

static struct json *json_number(struct json_reader *r, struct json *j)
{
    const unsigned char *from = r->at;

    json_is(r, '-');
    if (!json_is(r, '0')) {
        if (r->at >= r->end || *r->at < '1' || *r->at > '9')
            goto bad;
        while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
            r->at++;
    }
    if (json_is(r, '.')) {
        if (r->at >= r->end || *r->at < '0' || *r->at > '9')
            goto bad;
        while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
            r->at++;
    }
    if (json_is(r, 'e') || json_is(r, 'E')) {
        if (!json_is(r, '+'))
            json_is(r, '-');
        if (r->at >= r->end || *r->at < '0' || *r->at > '9')
            goto bad;
        while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
            r->at++;
    }
    j->type = JSON_NUMBER;
    j->length = (size_t)(r->at - from);
    /* strndup() is not used, because with AddressSanitizer's strict checks it reads to the end of
     * the whole text. */
    j->text = malloc(j->length + 1);
    memcpy(j->text, from, j->length);
    j->text[j->length] = '\0';
    return j;

bad:
    json_free(j);
    return json_fail(r, "bad number");
}

static struct json *json_members(struct json_reader *r, struct json *j, int depth)
{
    char close = j->type == JSON_OBJECT ? '}' : ']';

    r->at++;
    json_space(r);
    if (json_is(r, close))
        return j;
    for (;;) {
        struct json *member, *other;
        char *key = NULL;
        size_t length;

        json_space(r);
        if (j->type == JSON_OBJECT) {
            key = json_string_bytes(r, &length);
            if (!key)
                goto bad;
            for (other = j->child; other; other = other->next)
                if (strcmp(other->key, key) == 0)
                    json_fail(r, "key given twice");
            json_space(r);
            if (r->error || !json_is(r, ':')) {
                free(key);
                goto bad;
            }
        }
        member = json_value(r, depth + 1);
        if (!member) {
            free(key);
            goto bad;
        }
        member->key = key;
        if (j->last)
            j->last->next = member;
        else
            j->child = member;
        j->last = member;
        j->count++;
        json_space(r);
        if (json_is(r, close))
            return j;
        if (!json_is(r, ','))
            goto bad;
    }

bad:
    json_free(j);
    return json_fail(r, "bad object or array");
}

static struct json *json_value(struct json_reader *r, int depth)
{
    struct json *j;

    json_space(r);
    if (r->at >= r->end || depth > 50)
        return json_fail(r, "value expected");
    j = calloc(1, sizeof(*j));
    if (*r->at == '{' || *r->at == '[') {
        j->type = *r->at == '{' ? JSON_OBJECT : JSON_ARRAY;
        return json_members(r, j, depth);
    }
    if (*r->at == '"') {
        j->type = JSON_STRING;
        j->text = json_string_bytes(r, &j->length);
        if (j->text)
            return j;
        free(j);
        return NULL;
    }
    if (r->end - r->at >= 4 && (!memcmp(r->at, "true", 4) || !memcmp(r->at, "null", 4))) {
        j->type = *r->at == 't' ? JSON_BOOL : JSON_NULL;
        r->at += 4;
        return j;
    }
    if (r->end - r->at >= 5 && !memcmp(r->at, "false", 5)) {
        j->type = JSON_BOOL;
        r->at += 5;
        return j;
    }
    return json_number(r, j);
}

/* Parses the whole text as one value. Returns NULL and prints a line on stderr if the text is
 * invalid. */
static struct json *json_parse(const void *text, size_t size)
{
    struct json_reader r = {text, (const unsigned char *)text + size, text, NULL};
    struct json *j = json_value(&r, 0);

    json_space(&r);
    if (j && r.at != r.end) {
        json_free(j);
        return json_fail(&r, "text behind the value");
    }
    return j;
}

static inline const struct json *json_get(const struct json *j, const char *key)
{
    const struct json *member;

    for (member = j ? j->child : NULL; member; member = member->next)
        if (member->key && strcmp(member->key, key) == 0)
            return member;
    return NULL;
}

/* Returns the text of a string or number member, or "" if the member is missing. */
static inline const char *json_text(const struct json *j, const char *key)
{
    const struct json *member = json_get(j, key);

    return member && member->text ? member->text : "";
}

#endif
