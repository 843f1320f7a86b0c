#include "cli/table.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"

enum { GAP = 2, NARROWEST = 6, MAX_COLUMNS = 16 };

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

static void measure(const rk_table *table, size_t *widths) {
    for (size_t c = 0; c < table->column_count; c++)
        widths[c] = rk_text_width(table->columns[c].title);
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t width = rk_text_width(table->cells[i].text);
        size_t *widest = &widths[i % table->column_count];
        *widest = width > *widest ? width : *widest;
    }
}

// Takes from the widest of those that shrink until the row fits, or nothing is left to take.
static void fit(const rk_table *table, size_t columns, size_t *widths) {
    for (;;) {
        size_t total = 0, widest = table->column_count;
        for (size_t c = 0; c < table->column_count; c++) {
            total += widths[c] + (c > 0 ? GAP : 0);
            if (table->columns[c].shrinks && widths[c] > NARROWEST &&
                (widest == table->column_count || widths[c] > widths[widest]))
                widest = c;
        }
        if (columns == 0 || total <= columns || widest == table->column_count)
            return;
        widths[widest]--;
    }
}

// Prints a cell; `pad_after` is false at the end of a line.
static void print_cell(const char *text, rk_style_name style, bool right, size_t width,
                       bool pad_after, FILE *out) {
    size_t natural = rk_text_width(text);
    bool cut = natural > width;
    size_t bytes = cut ? rk_text_fit(text, width - 1) : strlen(text);
    size_t pad = cut ? 0 : width - natural;
    (void)fprintf(out, "%*s%s%.*s%s%s", right ? (int)pad : 0, "",
                  style == RK_STYLE_NONE ? "" : rk_style(style, out), (int)bytes, text,
                  cut ? rk_term_ellipsis() : "",
                  style == RK_STYLE_NONE ? "" : rk_style(RK_STYLE_NONE, out));
    if (!right && pad_after)
        (void)fprintf(out, "%*s", (int)pad, "");
}

static void print_row(const rk_table *table, const rk_table_cell *cells, const size_t *widths,
                      FILE *out) {
    for (size_t c = 0; c < table->column_count; c++) {
        bool last = c + 1 == table->column_count;
        print_cell(cells ? cells[c].text : table->columns[c].title,
                   cells ? cells[c].style : RK_STYLE_DIM, table->columns[c].right, widths[c], !last,
                   out);
        (void)fputs(last ? "\n" : "  ", out);
    }
}

void rk_table_print(const rk_table *table, size_t columns, FILE *out) {
    size_t widths[MAX_COLUMNS] = {0};
    measure(table, widths);
    fit(table, columns, widths);
    bool titled = false;
    for (size_t c = 0; c < table->column_count; c++)
        titled = titled || table->columns[c].title[0];
    if (titled)
        print_row(table, NULL, widths, out);
    for (size_t i = 0; i + table->column_count <= table->cell_count; i += table->column_count)
        print_row(table, table->cells + i, widths, out);
}
