/*
 * match.c - finds the parts of a row that repeat the last similar row.
 *
 * A compressor spends most of its time searching for repetitions, but the writer of these rows
 * knows the repetitions. A row begins with its cached text, which is also in the last similar row.
 * The rest of the row consists of separators and numbers. The first digits of the numbers are
 * mostly the same as in the last similar row. If zstd gets these repetitions from the writer, it
 * needs less than half the time of its own search (docs/measurements/record-path.md).
 *
 * Every match must be exact to the byte, because a wrong match makes the file unreadable. So
 * separators are compared, not assumed, and frames carry a checksum of the text.
 *
 * Threads: one owner, the writer thread. Memory: the positions are stored with the text in the
 * cache.
 */
#include "write/kineto/kineto_internal.h"

#define MATCH_MIN 4

/* Every row ends with these three bytes, so every row but a piece inside a row follows them: },\n
 */
#define LINE_END 3

static uint64_t position_of(const struct sl_kineto *k, const char *at)
{
    return k->position + (uint64_t)(at - k->block);
}

/* Adds a match: the `length` bytes at `at` are equal to the bytes at position `from`. */
static void add_match(struct sl_kineto *k, const char *at, size_t length, uint64_t from)
{
    struct sl_match *m = &k->match[k->matches];
    size_t in_block = (size_t)(at - k->block);

    if (length < MATCH_MIN || k->matches == SL_KINETO_MATCHES)
        return;
    m->offset = (uint32_t)(position_of(k, at) - from);
    m->literals = (uint32_t)(in_block - k->matched);
    m->length = (uint32_t)length;
    m->reserved = 0;
    k->matches++;
    k->matched = in_block + length;
}

static size_t common_digits(const char *a, const char *a_end, const char *b, const char *b_end)
{
    size_t n = 0, most = (size_t)(a_end - a);

    if ((size_t)(b_end - b) < most)
        most = (size_t)(b_end - b);
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

/* Matches the part of the row before field i (or after the last field), and the first digits of
 * that field. */
static int match_piece(struct sl_kineto *k, const char *piece, unsigned i, const char *end)
{
    const struct sl_row *row = &k->row;
    const struct sl_row_marks *old = &row->text->row;
    const char *tail = row->start + row->text->length;
    const char *to = i < row->fields ? row->field[i][0] : end;
    size_t old_from = i ? old->field[i - 1][1] : 0;
    size_t old_to = i < row->fields ? old->field[i][0] : old->tail_length;
    size_t length = (size_t)(to - piece);

    if (length != old_to - old_from || memcmp(piece, old->tail + old_from, length) != 0)
        return 0;
    if (i < row->fields)
        length += common_digits(row->field[i][0], row->field[i][1], old->tail + old_to,
                                old->tail + old->field[i][1]);
    /* the piece follows the constant text, so one match covers the text and the piece */
    if (piece == tail) {
        uint64_t from = old->at;

        piece = row->start;
        length += row->text->length;
        if (!row->is_inside && (size_t)(piece - k->block) >= k->matched + LINE_END &&
            from >= k->frame_at + LINE_END) {
            piece -= LINE_END;
            length += LINE_END;
            from -= LINE_END;
        }
        add_match(k, piece, length, from);
    } else {
        add_match(k, piece, length, old->at + row->text->length + old_from);
    }
    return 1;
}

static void match_row(struct sl_kineto *k, const char *end)
{
    const struct sl_row *row = &k->row;
    const struct sl_row_marks *old = &row->text->row;
    const char *piece = row->start + row->text->length;
    unsigned i, last = row->fields - 1;

    if (old->frame != k->frame || old->fields != row->fields ||
        position_of(k, end) - old->at + LINE_END >= SL_MATCH_REACH)
        return;
    for (i = 0; i <= row->fields; i++) {
        if (i == last && row->repeats_time)
            break;
        if (!match_piece(k, piece, i, end))
            return;
        if (i < row->fields)
            piece = row->field[i][1];
    }
}

static void keep_marks(struct sl_kineto *k, const char *end)
{
    const struct sl_row *row = &k->row;
    struct sl_row_marks *marks = &row->text->row;
    const char *tail = row->start + row->text->length;
    size_t length = (size_t)(end - tail);
    unsigned i;

    marks->frame = 0;
    if (length > sizeof(marks->tail))
        return;
    memcpy(marks->tail, tail, length);
    marks->at = position_of(k, row->start);
    marks->frame = k->frame;
    marks->tail_length = (uint16_t)length;
    marks->fields = (uint16_t)row->fields;
    for (i = 0; i < row->fields; i++) {
        marks->field[i][0] = (uint16_t)(row->field[i][0] - tail);
        marks->field[i][1] = (uint16_t)(row->field[i][1] - tail);
    }
}

void sl_kineto_match(struct sl_kineto *k, char *end)
{
    static const size_t key = sizeof(",\"ts\":") - 1;
    struct sl_row *row = &k->row;
    char *time = row->field[row->fields - 1][0] - key;

    if (k->time_frame != k->frame || position_of(k, time) - k->time_at > SL_MATCH_REACH)
        row->repeats_time = 0;
    match_row(k, end);
    if (row->repeats_time)
        add_match(k, time, (size_t)(end - time), k->time_at);
    keep_marks(k, end);
    k->time_at = position_of(k, time);
    k->time_frame = k->frame;
}
