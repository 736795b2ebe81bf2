/*
 * file_kind.c - says what a file is that is no trace, so that the user knows what to do with it.
 *
 * Threads, memory: see file_kind.h.
 */
#include "read/file_kind.h"

#include <string.h>
#include <strings.h>

struct kind {
    size_t at; /* offset of the bytes in the file */
    const char *bytes;
    size_t size;
    const char *what;
};

#define KIND(at, bytes, what)                                                                      \
    {                                                                                              \
        at, bytes, sizeof(bytes) - 1, what                                                         \
    }

static const struct kind kinds[] = {
    KIND(0, "version https://git-lfs",
         "it is a Git LFS pointer: `git lfs pull` fetches the file that it stands for"),
    KIND(0, "PK\x03\x04", "it is a zip archive: unpack it first"),
    KIND(257, "ustar", "it is a tar archive: unpack it first"),
    KIND(0,
         "\xfd"
         "7zXZ",
         "it is compressed with xz: decompress it first (xz -d)"),
    KIND(0, "BZh", "it is compressed with bzip2: decompress it first (bzip2 -d)"),
    KIND(0, "SQLite format 3", "it is a compressed SQLite database: decompress it first"),
    KIND(0, "\xff\xfe", "its text is UTF-16: convert it to UTF-8 first (iconv)"),
    KIND(0, "\xfe\xff", "its text is UTF-16: convert it to UTF-8 first (iconv)"),
};

/* Returns 1 if the text begins with a tag of HTML, such as the page of a download that failed. */
static int is_html(const char *text, size_t size)
{
    return (size >= 9 && strncasecmp(text, "<!doctype", 9) == 0) ||
           (size >= 5 && strncasecmp(text, "<html", 5) == 0);
}

/* Returns 1 if the bytes begin like a Perfetto trace: field 1, a packet, whose first field is a
 * number or a message with a small number. */
static int is_perfetto(const char *text, size_t size)
{
    size_t at = 1;

    if (size < 4 || text[0] != 0x0a)
        return 0;
    while (at < size && at < 6 && text[at] & 0x80)
        at++;
    return at + 1 < size && (text[at + 1] & 0x80 || text[at + 1] >= 0x08) &&
           memchr(text, '\0', size) != NULL;
}

const char *sl_file_kind(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (size >= kinds[i].at + kinds[i].size &&
            memcmp(text + kinds[i].at, kinds[i].bytes, kinds[i].size) == 0)
            return kinds[i].what;
    if (is_html(text, size))
        return "it is an HTML page: was the download answered by a log-in page?";
    if (is_perfetto(text, size))
        return "it is a Perfetto trace in binary form: only Kineto's JSON is read";
    return NULL;
}
