// Tables for people: aligned columns, fitted to the terminal by leaving out the columns that matter
// least and cutting those that may be cut. Not to a terminal everything is printed whole.
#pragma once

#include "cli/term.h"

typedef struct rk_table_column {
    const char *title;
    bool right;    // numbers
    bool optional; // left out where the terminal is too narrow for all of them
    size_t least;  // may be cut to this many columns of the terminal; 0: is never cut
} rk_table_column;

typedef struct rk_table_cell {
    char *text; // owned; printable
    rk_style_name style;
} rk_table_cell;

typedef struct rk_table {
    const rk_table_column *columns; // borrowed
    size_t column_count;
    rk_table_cell *cells; // owned; row after row
    size_t cell_count, cell_capacity;
} rk_table;

#define RK_TABLE_INIT(column_array)                                                                \
    { .columns = (column_array), .column_count = RK_ARRAY_LEN(column_array) }

void rk_table_cleanup(rk_table *table);

// Adds the next cell; rows are filled from left to right. The text may be anything.
void rk_table_add(rk_table *table, rk_style_name style, const char *text);

// Prints titles (unless all are "") and rows, at most `columns` wide if that can be; 0 is as wide
// as need be.
void rk_table_print(const rk_table *table, size_t columns, FILE *out);
