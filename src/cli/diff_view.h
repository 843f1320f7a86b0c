// Differences as `rekindle diff` and `rekindle explain` show them.
#pragma once

#include "base/digest.h"
#include "cli/out.h"
#include "diagnose/diff/diff.h"

// One of the two that are compared; all borrowed.
typedef struct rk_diff_side {
    const char *what; // a key in full, a file
    bool is_key;
    const char *name, *run;   // NULL: not known
    const rk_digest *program; // NULL: not known
} rk_diff_side;

// `components`: what differs that is not the program. `stacks`: each cause with its call stack.
void rk_diff_view_print(const rk_diff_side *a, const rk_diff_side *b, const rk_program_diff *diff,
                        const rk_differences *components, bool stacks);
void rk_diff_view_json(const rk_diff_side *a, const rk_diff_side *b, const rk_program_diff *diff,
                       const rk_differences *components, bool stacks);

// Appends the causes of a list to a JSON array.
void rk_diff_view_add_json(json_t *array, const rk_differences *list, bool stacks);

// One difference in one line of plain text, less its place: "input x: tensor<32x8xf32> → …".
void rk_diff_view_write(const rk_difference *difference, rk_buf *out);

// The causes of a list, each with its place, indented; at most `most` of them.
void rk_diff_view_print_list(const rk_differences *list, size_t indent, size_t most, bool stacks);
