// Prints differences, for `rekindle diff` and `rekindle explain`.
#pragma once

#include "base/digest.h"
#include "cli/out.h"
#include "diagnose/diff/diff.h"

// One of the two compared programs. All members are borrowed.
typedef struct rk_diff_side {
    const char *what; // a full key, or the path of a file
    bool is_key;
    const char *name, *run;   // NULL if unknown
    const rk_digest *program; // NULL if unknown
} rk_diff_side;

typedef struct rk_diff_how {
    bool all;    // text: all differences, also more than two screens
    bool stacks; // each cause with its call stack
} rk_diff_how;

// Print a whole comparison. `diff` includes the differences outside the program.
void rk_diff_view_print(const rk_diff_side *a, const rk_diff_side *b, const rk_program_diff *diff,
                        const rk_diff_how *how);
void rk_diff_view_json(const rk_diff_side *a, const rk_diff_side *b, const rk_program_diff *diff,
                       const rk_diff_how *how);

// Appends the causes in a list to a JSON array.
void rk_diff_view_add_json(json_t *array, const rk_differences *list, bool stacks);

// Appends one difference as one line of plain text, without its source location: "input x:
// tensor<32x8xf32> → …".
void rk_diff_view_write(const rk_difference *difference, rk_buf *out);

// Prints at most `most` causes of a list on `out`, indented, each with its source location. Wrapped
// at the width of the terminal behind stdout, if there is one.
void rk_diff_view_print_list(const rk_differences *list, size_t indent, size_t most, bool stacks,
                             FILE *out);
