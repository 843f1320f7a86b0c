// Decides from two sketches whether their programs are versions of one program.
#include <stdlib.h>

#include "diagnose/diff/framework.h"
#include "diagnose/diff/hash.h"
#include "diagnose/diff/sketch.h"

// Minimum shares of operations for two programs to be versions of one program.
#define SAME_LINES           0.15 // on common lines
#define SAME_LINES_CONTAINED 0.6  // the same, of the smaller program's operations
#define SAME_FUNCTIONS       0.5  // in common functions, if the source may have been edited
#define SAME_KINDS           0.5
// One line of a helper may scan over functions that have nothing in common but their inputs.
#define SAME_KINDS_PRIMITIVE 0.8
#define SAME_KINDS_EDITED    0.2 // if SAME_FUNCTIONS is reached
#define SAME_KINDS_CONTAINED 0.8 // of the smaller program's operations, if a line is common
// PyTorch/XLA gives all programs one name, and training and evaluation share the lines of the
// model.
#define SAME_KINDS_NAMELESS 0.6
#define SAME_LINES_NAMELESS 0.3
// Within one run, one of two graphs of PyTorch/XLA has the operations of the other one, and perhaps
// more: a branch, or an optimizer's state. Otherwise they are two pieces of a job.
#define CONTAINED_KINDS_NAMELESS  0.9 // of the smaller program's operations
#define CONTAINED_LINES_NAMELESS  0.96
#define CONTAINED_INPUTS_NAMELESS 0.9  // of two programs that return one value each
#define SAME_OPERATIONS_NAMELESS  0.95 // of both, by kind and by line: their inputs may differ
#define SAME_RESULTS_NAMELESS     0.9  // or they return the same state

enum { OPS_ALIKE_MIN = 8 }; // smaller programs may be equal by chance

typedef struct shares {
    uint64_t common, all;
    uint64_t sums[2];  // operations of each side
    uint32_t lines[2]; // distinct lines of each side
} shares;

static double share(shares s) {
    return s.all ? (double)s.common / (double)s.all : 1;
}

static void add_pair(shares *s, uint32_t a, uint32_t b) {
    s->common += a < b ? a : b;
    s->all += a < b ? b : a;
}

static double same_kinds(const rk_sketch *a, const rk_sketch *b) {
    shares s = {0};
    uint32_t i = 0, j = 0;
    while (i < a->kind_count || j < b->kind_count) {
        const rk_sketch_kind *x = i < a->kind_count ? &a->kinds[i] : NULL;
        const rk_sketch_kind *y = j < b->kind_count ? &b->kinds[j] : NULL;
        bool left = x && (!y || x->hash <= y->hash), right = y && (!x || y->hash <= x->hash);
        add_pair(&s, left ? x->count : 0, right ? y->count : 0);
        i += left;
        j += right;
    }
    return share(s);
}

static uint64_t key_of(const rk_sketch_line *line, bool by_function) {
    return by_function ? line->caller : line->hash;
}

// Counts the operations that the two have in common, by line or by function. Each side has at most
// RK_SKETCH_LINES_MAX lines, so that every line can be compared with every other. The line of the
// call is left out if a program has other lines: two programs may share it by chance.
static shares same_lines(const rk_sketch *a, const rk_sketch *b, bool by_function) {
    uint32_t sums[2][RK_SKETCH_LINES_MAX];
    uint64_t keys[2][RK_SKETCH_LINES_MAX];
    uint32_t counts[2] = {0};
    shares s = {0};
    const rk_sketch *sides[2] = {a, b};
    for (unsigned side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < sides[side]->line_count; i++) {
            const rk_sketch_line *line = &sides[side]->lines[i];
            uint64_t key = key_of(line, by_function);
            uint32_t at = 0;
            if (sides[side]->line_count > 1 && line->hash == sides[side]->call.hash)
                continue;
            while (at < counts[side] && keys[side][at] != key)
                at++;
            if (at == counts[side]) {
                keys[side][at] = key;
                sums[side][at] = 0;
                counts[side]++;
            }
            sums[side][at] += line->count;
            s.sums[side] += line->count;
        }
    }
    for (uint32_t i = 0; i < counts[0]; i++) {
        uint32_t j = 0;
        while (j < counts[1] && keys[1][j] != keys[0][i])
            j++;
        add_pair(&s, sums[0][i], j < counts[1] ? sums[1][j] : 0);
        if (j < counts[1])
            keys[1][j] = 0, sums[1][j] = 0;
    }
    for (uint32_t j = 0; j < counts[1]; j++)
        s.all += sums[1][j];
    s.lines[0] = counts[0];
    s.lines[1] = counts[1];
    return s;
}

// Of the smaller program's operations: those of a kind that the larger program has, too, and all.
static shares in_larger_by_kind(const rk_sketch *a, const rk_sketch *b) {
    const rk_sketch *less = a->op_count < b->op_count ? a : b, *more = less == a ? b : a;
    shares s = {0};
    for (uint32_t i = 0, j = 0; i < less->kind_count; i++) {
        while (j < more->kind_count && more->kinds[j].hash < less->kinds[i].hash)
            j++;
        bool found = j < more->kind_count && more->kinds[j].hash == less->kinds[i].hash;
        uint32_t x = less->kinds[i].count, y = found ? more->kinds[j].count : 0;
        s.common += x < y ? x : y;
        s.all += x;
    }
    return s;
}

static double contained_kinds(const rk_sketch *a, const rk_sketch *b) {
    shares s = in_larger_by_kind(a, b);
    return s.all ? share(s) : 0;
}

// The same by line. Returns zeros if a side has only one line: one line may hold two functions.
static shares in_larger_by_line(shares by_line) {
    uint64_t smaller = by_line.sums[0] < by_line.sums[1] ? by_line.sums[0] : by_line.sums[1];
    bool several = by_line.lines[0] > 1 && by_line.lines[1] > 1;
    return several ? (shares){.common = by_line.common, .all = smaller} : (shares){0};
}

// The share of the smaller program that is in the larger one. A branch may remove most operations,
// so that the share of all is small.
static double contained(shares by_line) {
    shares s = in_larger_by_line(by_line);
    return s.all ? share(s) : 0;
}

// Counts the operations that two functions of libraries have in common, by function.
static shares same_inner(const rk_sketch *a, const rk_sketch *b) {
    bool taken[RK_SKETCH_INNER_MAX] = {false};
    shares s = {0};
    for (uint32_t j = 0; j < b->inner_count; j++)
        s.all += b->inner[j].count;
    for (uint32_t i = 0; i < a->inner_count; i++) {
        uint32_t j = 0;
        while (j < b->inner_count && (taken[j] || b->inner[j].function != a->inner[i].function))
            j++;
        bool found = j < b->inner_count;
        uint32_t x = a->inner[i].count, y = found ? b->inner[j].count : 0;
        s.common += x < y ? x : y;
        s.all += x > y ? x - y : 0;
        if (found)
            taken[j] = true;
    }
    return s;
}

// The share of the inputs, or of the results, that two programs have in common.
static double same_values(const rk_sketch_value *a, uint32_t a_count, const rk_sketch_value *b,
                          uint32_t b_count) {
    shares s = {0};
    uint32_t i = 0, j = 0; // the order is mostly the same: look one value ahead
    while (i < a_count && j < b_count) {
        if (a[i].hash == b[j].hash) {
            i++, j++;
            s.common++;
            s.all++;
            continue;
        }
        bool skip_a = i + 1 < a_count && a[i + 1].hash == b[j].hash;
        bool skip_b = j + 1 < b_count && a[i].hash == b[j + 1].hash;
        bool swapped = skip_a && skip_b; // two values changed places
        i += swapped || !skip_b;
        j += swapped || !skip_a;
        s.all++;
    }
    s.all += a_count - i + b_count - j;
    return share(s);
}

static double same_inputs(const rk_sketch *a, const rk_sketch *b) {
    return same_values(a->inputs, a->input_count, b->inputs, b->input_count);
}

// Returns whether two programs return the same state: a step with the initialization, or with what
// was computed before it, and a step without.
static bool return_same_state(const rk_sketch *a, const rk_sketch *b) {
    enum { RESULTS_MIN = 4 };
    return a->result_count >= RESULTS_MIN && b->result_count >= RESULTS_MIN &&
           same_values(a->results, a->result_count, b->results, b->result_count) >=
               SAME_RESULTS_NAMELESS;
}

static bool same_name(const rk_sketch *a, const rk_sketch *b) {
    rk_span x = rk_program_index_bare_name(rk_span_text(a->module));
    return rk_span_equal(x, rk_program_index_bare_name(rk_span_text(b->module)));
}

bool rk_sketch_is_primitive(const rk_sketch *sketch) {
    static const char *const names[] = {
        "jit_scan",      "jit_while", "jit_cond", "jit_custom_jvp_call", "jit_custom_vjp_call",
        "jit_checkpoint"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (rk_span_is(rk_program_index_bare_name(rk_span_text(sketch->module)), names[i]))
            return true;
    return false;
}

// Two calls of a primitive run the same function only if they come from one place and pass the same
// number of values.
static bool same_primitive_call(const rk_sketch *a, const rk_sketch *b, bool same_source) {
    return (same_source ? a->call.hash == b->call.hash : a->call.caller == b->call.caller) &&
           a->input_count == b->input_count && a->result_count == b->result_count;
}

// Returns whether hardly any of the operations are missing in the other program.
static bool are_nearly_all(shares s, double least) {
    enum { MISSING = 2 }; // in a program of few operations
    return s.all - s.common <= MISSING || share(s) >= least;
}

// Of the inputs of the program with fewer inputs: those that the other one has, too, and all.
static shares inputs_in_other(const rk_sketch *a, const rk_sketch *b) {
    enum { INPUTS_MAX = 512 };
    const rk_sketch *less = a->input_count < b->input_count ? a : b, *more = less == a ? b : a;
    bool taken[INPUTS_MAX] = {false};
    shares s = {0};
    for (uint32_t i = 0; i < less->input_count && more->input_count <= INPUTS_MAX; i++) {
        uint32_t j = 0;
        while (j < more->input_count && (taken[j] || more->inputs[j].hash != less->inputs[i].hash))
            j++;
        if (j < more->input_count)
            taken[j] = true;
        s.common += j < more->input_count;
        s.all++;
    }
    return s;
}

// A value that is read, such as an image, may be a part of another computation by chance. Then it
// takes other inputs. Inputs of other sizes are other inputs here: with the same operations on the
// same lines, only the sizes differ.
static bool is_in_other(const rk_sketch *a, const rk_sketch *b, double kinds, shares by_line) {
    bool same = kinds >= SAME_OPERATIONS_NAMELESS && share(by_line) >= SAME_OPERATIONS_NAMELESS;
    if (!same && a->result_count == 1 && b->result_count == 1 &&
        !are_nearly_all(inputs_in_other(a, b), CONTAINED_INPUTS_NAMELESS))
        return false;
    return are_nearly_all(in_larger_by_kind(a, b), CONTAINED_KINDS_NAMELESS) &&
           are_nearly_all(in_larger_by_line(by_line), CONTAINED_LINES_NAMELESS);
}

// Returns whether nearly all operations of the first program are of a kind that the other one has,
// too. A concatenation of another number of values is of another kind.
static bool has_kinds_of(const rk_sketch *a, const rk_sketch *b) {
    const double share_min = 0.98;
    shares s = {0};
    for (uint32_t i = 0, j = 0; i < a->kind_count; i++) {
        while (j < b->kind_count && b->kinds[j].hash < a->kinds[i].hash)
            j++;
        bool found = j < b->kind_count && b->kinds[j].hash == a->kinds[i].hash;
        s.common += found ? a->kinds[i].count : 0;
        s.all += a->kinds[i].count;
    }
    return share(s) >= share_min;
}

static bool has_all_lines(const rk_sketch *a, const rk_sketch *b) {
    for (uint32_t i = 0; i < a->line_count; i++)
        if (!rk_sketch_find_line(b, a->lines[i].hash))
            return false;
    return true;
}

// Returns whether two large graphs have operations of nearly the same kinds on the same lines, in
// any numbers: PyTorch/XLA unrolls a loop over sequences of two lengths.
static bool are_unrolled(const rk_sketch *a, const rk_sketch *b) {
    enum { OPS_MIN = 64, LINES_MIN = 4 };
    return a->op_count >= OPS_MIN && b->op_count >= OPS_MIN && a->line_count >= LINES_MIN &&
           has_kinds_of(a, b) && has_kinds_of(b, a) && has_all_lines(a, b) && has_all_lines(b, a);
}

static bool are_versions(const rk_sketch *a, const rk_sketch *b, bool same_source, double kinds,
                         shares by_line) {
    double lines = share(by_line);
    bool lineless = !a->line_count || !b->line_count;
    if (a->inner_count && b->inner_count && !rk_sketch_is_eager(a) && !rk_sketch_is_eager(b))
        return kinds >= SAME_KINDS && share(same_inner(a, b)) >= SAME_FUNCTIONS;
    // The same operations in the same order: only numbers and attributes differ.
    bool same_operations = a->structure == b->structure && a->op_count >= OPS_ALIKE_MIN;
    if (a->is_mlir && rk_sketch_is_primitive(a) &&
        (!same_primitive_call(a, b, same_source) || kinds < SAME_KINDS_PRIMITIVE))
        return false;
    // The call identifies the function.
    if (a->is_mlir && rk_is_name_of_pmap(rk_program_index_bare_name(rk_span_text(a->module))) &&
        (same_source ? a->call.hash != b->call.hash : a->call.caller != b->call.caller))
        return false;
    if (lineless)
        return kinds >= SAME_KINDS_NAMELESS;
    if (!a->is_mlir)
        return (are_unrolled(a, b) ||
                (kinds >= SAME_KINDS && (lines >= SAME_LINES_NAMELESS || same_operations))) &&
               (!same_source || same_operations || is_in_other(a, b, kinds, by_line) ||
                return_same_state(a, b));
    // Operations of the framework's own are versions of each other only if one line calls both.
    // Across runs the function must be the same, since lines move when the source is edited.
    if (rk_sketch_is_eager(a) || rk_sketch_is_eager(b)) {
        if (rk_sketch_is_eager(a) != rk_sketch_is_eager(b) || kinds < SAME_KINDS)
            return false;
        return same_source ? a->call.hash == b->call.hash : a->call.caller == b->call.caller;
    }
    // A static argument may leave little of a function. One line of the source calls both.
    // But one line may hold several lambdas.
    bool is_lambda = rk_span_is(rk_program_index_bare_name(rk_span_text(a->module)), "jit__lambda");
    bool same_call = same_source && !is_lambda && a->call.line && a->call.hash == b->call.hash;
    if (lines >= SAME_LINES || contained(by_line) >= SAME_LINES_CONTAINED ||
        (same_call && by_line.common))
        return true;
    // A branch that adds many operations to a function of few lines.
    uint32_t least = a->op_count < b->op_count ? a->op_count : b->op_count;
    if (by_line.common && least >= OPS_ALIKE_MIN && contained_kinds(a, b) >= SAME_KINDS_CONTAINED)
        return true;
    return !same_source && kinds >= SAME_KINDS_EDITED &&
           share(same_lines(a, b, true)) >= SAME_FUNCTIONS;
}

double rk_sketch_similarity(const rk_sketch *earlier, const rk_sketch *later, bool same_source) {
    return same_name(earlier, later) ? rk_sketch_similarity_of_one_name(earlier, later, same_source)
                                     : 0;
}

double rk_sketch_similarity_of_one_name(const rk_sketch *earlier, const rk_sketch *later,
                                        bool same_source) {
    if (earlier->is_mlir != later->is_mlir)
        return 0;
    double kinds = same_kinds(earlier, later);
    shares by_line = same_lines(earlier, later, false);
    double lines = share(by_line);
    if (!are_versions(earlier, later, same_source, kinds, by_line))
        return 0;
    return 0.5 * kinds + 0.2 * lines + 0.3 * same_inputs(earlier, later);
}
