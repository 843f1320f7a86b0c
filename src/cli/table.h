// Prints tables for people, with aligned columns. To fit the terminal, leaves out optional columns,
// and then cuts or wraps columns that allow it. Without a terminal, prints everything in full.
#pragma once

#include "cli/term.h"

typedef struct rk_table_column {
    const char *title;
    bool right;    // right-aligned, for numbers
    bool optional; // left out if the terminal is too narrow for all columns
    size_t least;  // may be cut to this width; 0: never cut
    bool wrap;     // a cell that is too wide is not cut, but goes on below
    bool middle;   // cut in the middle: for names that may differ at their end only
} rk_table_column;

typedef struct rk_table_cell {
    char *text; // owned; printable
    rk_style_name style;
} rk_table_cell;

typedef struct rk_table {
    const rk_table_column *columns; // borrowed
    size_t column_count;
    rk_table_cell *cells; // owned; row by row
    size_t cell_count, cell_capacity;
} rk_table;

#define RK_TABLE_INIT(column_array)                                                                \
    { .columns = (column_array), .column_count = RK_ARRAY_LEN(column_array) }

void rk_table_cleanup(rk_table *table);

// Adds the next cell; rows fill from left to right. Escapes unprintable bytes of `text`.
void rk_table_add(rk_table *table, rk_style_name style, const char *text);

// Prints titles (unless all are "") and rows, at most `columns` wide if possible; 0: no limit.
void rk_table_print(const rk_table *table, size_t columns, FILE *out);
