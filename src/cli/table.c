#include "cli/table.h"

#include <string.h>

#include "cli/fail.h"
#include "cli/text.h"

enum { GAP = 2, MAX_COLUMNS = 16 };

void rk_table_cleanup(rk_table *table) {
    for (size_t i = 0; i < table->cell_count; i++)
        rk_free(table->cells[i].text);
    rk_free(table->cells);
    *table = (rk_table){0};
}

void rk_table_add(rk_table *table, rk_style_name style, const char *text) {
    if (table->cell_count == table->cell_capacity) {
        size_t capacity = table->cell_capacity ? table->cell_capacity * 2 : 64;
        table->cells = rk_need(rk_realloc(table->cells, capacity * sizeof *table->cells));
        table->cell_capacity = capacity;
    }
    RK_AUTO(rk_buf) printable = RK_BUF_INIT(0);
    rk_text_add_printable(&printable, rk_span_text(text));
    table->cells[table->cell_count++] =
        (rk_table_cell){rk_need(rk_strdup(rk_need_text(&printable))), style};
}

// The layout of a printed table: the width of each column, or that it is left out.
typedef struct layout {
    size_t widths[MAX_COLUMNS];
    bool left_out[MAX_COLUMNS];
} layout;

static void measure(const rk_table *table, layout *l) {
    for (size_t c = 0; c < table->column_count; c++)
        l->widths[c] = rk_text_width(table->columns[c].title);
    size_t column = 0;
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t width = rk_text_width(table->cells[i].text);
        l->widths[column] = width > l->widths[column] ? width : l->widths[column];
        column = column + 1 < table->column_count ? column + 1 : 0;
    }
}

static bool can_be_cut(const rk_table *table, const layout *l, size_t column) {
    size_t least = table->columns[column].least;
    return !l->left_out[column] && least > 0 && l->widths[column] > least;
}

// The width of a row: as measured, or with all possible cuts.
static size_t total(const rk_table *table, const layout *l, bool cut) {
    size_t sum = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        if (l->left_out[c])
            continue;
        bool shorter = cut && can_be_cut(table, l, c);
        sum += (sum > 0 ? GAP : 0) + (shorter ? table->columns[c].least : l->widths[c]);
    }
    return sum;
}

// Leaves out optional columns if cuts alone do not suffice. Then narrows the widest column until a
// row fits.
static void fit(const rk_table *table, size_t columns, layout *l) {
    if (columns == 0)
        return;
    for (size_t c = table->column_count; c-- > 0;)
        if (table->columns[c].optional && total(table, l, true) > columns)
            l->left_out[c] = true;
    while (total(table, l, false) > columns) {
        size_t widest = table->column_count;
        for (size_t c = 0; c < table->column_count; c++)
            if (can_be_cut(table, l, c) &&
                (widest == table->column_count || l->widths[c] > l->widths[widest]))
                widest = c;
        if (widest == table->column_count)
            return;
        l->widths[widest]--;
    }
}

// A cell while its row is printed.
typedef struct cell {
    const char *rest; // what is still to be printed
    rk_style_name style;
} cell;

// The part of a cell that the next line shows.
typedef struct piece {
    size_t bytes, width;
    bool cut;
    const char *tail; // if it is cut: what follows the ellipsis
} piece;

// The end of `text` that is at most `width` columns wide.
static const char *last_columns(const char *text, size_t width) {
    while (rk_text_width(text) > width) {
        size_t one = rk_text_fit(text, 1);
        text += one ? one : rk_text_fit(text, 2);
    }
    return text;
}

static piece next_piece(const rk_table_column *column, const char *rest, size_t width) {
    RK_AUTO(rk_buf) shown = RK_BUF_INIT(0);
    piece one = {.bytes = strlen(rest), .width = rk_text_width(rest)};
    if (one.width <= width)
        return one;
    one.cut = !column->wrap;
    one.tail = column->middle ? last_columns(rest, width / 2) : rest + strlen(rest);
    one.bytes = one.cut ? rk_text_fit(rest, width - 1 - rk_text_width(one.tail))
                        : rk_text_break(rest, width);
    rk_buf_add(&shown, rest, one.bytes);
    one.width = one.cut ? width : rk_text_width(rk_need_text(&shown));
    return one;
}

// Prints the next piece of a cell. `pad_after` is false for the last cell of a line.
static void print_piece(const rk_table_column *column, cell *one, size_t width, bool pad_after,
                        FILE *out) {
    piece shown = next_piece(column, one->rest, width);
    size_t pad = width > shown.width ? width - shown.width : 0;
    const char *style =
        one->style == RK_STYLE_NONE || shown.bytes == 0 ? "" : rk_style(one->style, out);
    (void)fprintf(out, "%*s%s%.*s%s%s%s", column->right ? (int)pad : 0, "", style, (int)shown.bytes,
                  one->rest, shown.cut ? rk_term_ellipsis() : "", shown.cut ? shown.tail : "",
                  style[0] ? rk_style(RK_STYLE_NONE, out) : "");
    if (!column->right && pad_after)
        (void)fprintf(out, "%*s", (int)pad, "");
    one->rest += shown.cut ? strlen(one->rest) : shown.bytes;
    one->rest += strspn(one->rest, " ");
}

// Prints one line of a row, without empty cells at the end. Returns false if all cells are empty.
static bool print_line(const rk_table *table, cell *cells, const layout *l, FILE *out) {
    size_t used = table->column_count;
    while (used > 0 && (l->left_out[used - 1] || cells[used - 1].rest[0] == '\0'))
        used--;
    for (size_t c = 0; c < used; c++) {
        if (l->left_out[c])
            continue;
        print_piece(&table->columns[c], &cells[c], l->widths[c], c + 1 < used, out);
        if (c + 1 < used)
            (void)fprintf(out, "%*s", GAP, "");
    }
    if (used > 0)
        (void)fputc('\n', out);
    return used > 0;
}

static void print_row(const rk_table *table, const rk_table_cell *row, const layout *l, FILE *out) {
    cell cells[MAX_COLUMNS];
    for (size_t c = 0; c < table->column_count; c++)
        cells[c] =
            row ? (cell){row[c].text, row[c].style} : (cell){table->columns[c].title, RK_STYLE_DIM};
    if (!print_line(table, cells, l, out)) {
        (void)fputc('\n', out); // a row of empty cells
        return;
    }
    while (print_line(table, cells, l, out))
        ;
}

void rk_table_print(const rk_table *table, size_t columns, FILE *out) {
    layout l = {0};
    measure(table, &l);
    fit(table, columns, &l);
    bool titled = false;
    for (size_t c = 0; c < table->column_count; c++)
        titled = titled || table->columns[c].title[0];
    if (titled)
        print_row(table, NULL, &l, out);
    for (size_t i = 0; i + table->column_count <= table->cell_count; i += table->column_count)
        print_row(table, table->cells + i, &l, out);
}
