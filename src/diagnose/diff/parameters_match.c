// Matches the parameters of two programs.
#include "base/alloc.h"
#include "diagnose/diff/align.h"
#include "diagnose/diff/diff_internal.h"
#include "diagnose/diff/hash.h"

// The strictest criterion comes first.
typedef enum criterion { NAME_AND_TYPE, NAME, TYPE, RANK, CRITERION_COUNT } criterion;

// Returns dimensions and element type of a parameter. False if it is no tensor.
static bool find_type(const rk_program_index *index, uint32_t number, rk_span *out_dims,
                      rk_span *out_element) {
    uint32_t value = index->parameters[number].value;
    return value != RK_NO_ID &&
           rk_program_index_tensor(index->model, index->model->values.items[value].type, out_dims,
                                   out_element);
}

static uint64_t hash_parameter(const rk_program_index *index, const rk_program_index_parameter *p,
                               criterion how) {
    uint64_t hash = rk_hash_mix(RK_HASH_SEED, how);
    if (how <= NAME)
        hash = rk_hash_span(hash, p->name);
    if (how != NAME)
        hash = rk_hash_mix(hash, rk_differ_hash_type(index, p->value, how != RANK));
    return hash;
}

static uint32_t list_open(const rk_program_index *index, const uint32_t *partner, criterion how,
                          uint64_t *hashes, uint32_t *ids) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < index->parameter_count; i++) {
        const rk_program_index_parameter *p = &index->parameters[i];
        // A parameter with a name matches only a parameter of that name.
        if (partner[i] != RK_NO_ID || (how > NAME && p->name.len) || (how <= NAME && !p->name.len))
            continue;
        hashes[count] = hash_parameter(index, p, how);
        ids[count++] = i;
    }
    return count;
}

static bool have_names(const rk_program_index *index) {
    for (uint32_t i = 0; i < index->parameter_count; i++)
        if (!index->parameters[i].name.len)
            return false;
    return true;
}

static void pair(rk_differ *d, uint32_t i, uint32_t j) {
    d->parameter[i] = j;
    d->parameter_back[j] = i;
}

// Pairs two inputs without names by their type alone. Which inputs of this type the other program
// lacks is then not known.
static void pair_by_type(rk_differ *d, uint32_t i, uint32_t j) {
    uint64_t type = rk_differ_hash_type(d->a, d->a->parameters[i].value, true);
    pair(d, i, j);
    if (!rk_differ_is_guessed(d, type) && d->guessed_count < RK_ARRAY_LEN(d->guessed))
        d->guessed[d->guessed_count++] = type;
}

bool rk_differ_is_guessed(const rk_differ *d, uint64_t type) {
    for (size_t i = 0; i < d->guessed_count; i++)
        if (d->guessed[i] == type)
            return true;
    return d->guessed_count == RK_ARRAY_LEN(d->guessed);
}

static rk_err *match_by(rk_differ *d, criterion how, uint64_t *hashes, uint32_t *ids) {
    uint32_t limit = d->a->parameter_count;
    uint32_t a_count = list_open(d->a, d->parameter, how, hashes, ids);
    uint32_t b_count = list_open(d->b, d->parameter_back, how, hashes + limit, ids + limit);
    rk_autofree uint32_t *match = rk_malloc(((size_t)a_count + 1) * sizeof *match);
    if (!match)
        return rk_err_no_memory();
    RK_TRY(rk_align(hashes, a_count, hashes + limit, b_count, match));
    for (uint32_t i = 0; i < a_count; i++) {
        if (match[i] == RK_ALIGN_NONE)
            continue;
        (how == TYPE ? pair_by_type : pair)(d, ids[i], ids[limit + match[i]]);
    }
    return NULL;
}

// Returns whether both programs have the same input types in any order. Inputs without names have
// then only changed places.
static bool same_types(const rk_differ *d) {
    uint64_t a = 0, b = 0;
    for (uint32_t i = 0; i < d->a->parameter_count; i++) {
        a += rk_hash_mix(RK_HASH_SEED, rk_differ_hash_type(d->a, d->a->parameters[i].value, true));
        b += rk_hash_mix(RK_HASH_SEED, rk_differ_hash_type(d->b, d->b->parameters[i].value, true));
    }
    return a == b;
}

// Matches what is open and has the same type, in any order.
static void match_same_types(rk_differ *d) {
    enum { PERMUTED_MAX = 4096 }; // limits the quadratic search
    if (d->a->parameter_count > PERMUTED_MAX || d->b->parameter_count > PERMUTED_MAX)
        return;
    for (uint32_t i = 0; i < d->a->parameter_count; i++) {
        if (d->parameter[i] != RK_NO_ID || d->a->parameters[i].name.len)
            continue;
        uint64_t wanted = rk_differ_hash_type(d->a, d->a->parameters[i].value, true);
        // Try the same position first, then the positions after it: most inputs stay in place.
        for (uint32_t k = 0; k < d->b->parameter_count; k++) {
            uint32_t j = (i + k) % d->b->parameter_count;
            if (d->parameter_back[j] != RK_NO_ID || d->b->parameters[j].name.len ||
                rk_differ_hash_type(d->b, d->b->parameters[j].value, true) != wanted)
                continue;
            pair_by_type(d, i, j);
            break;
        }
    }
}

// Parameters without names, matched by their uses: two matched operations take them as the same
// operand. An inserted parameter thus does not shift the others, whatever their types.

// How much of two types must be equal. The last two are not for scalars, which are alike by chance.
typedef enum likeness { SAME_TYPE, SAME_ELEMENT_AND_RANK, SAME_DIMS, SAME_RANK } likeness;

static bool are_alike(const rk_differ *d, uint32_t before, uint32_t after, likeness how) {
    rk_span a, b, element;
    if (how <= SAME_ELEMENT_AND_RANK)
        return rk_differ_hash_type(d->a, before, how == SAME_TYPE) ==
               rk_differ_hash_type(d->b, after, how == SAME_TYPE);
    return rk_program_index_tensor(d->a->model, d->a->model->values.items[before].type, &a,
                                   &element) &&
           rk_program_index_tensor(d->b->model, d->b->model->values.items[after].type, &b,
                                   &element) &&
           a.len > 0 && (how == SAME_DIMS ? rk_span_equal(a, b) : a.len == b.len);
}

static bool may_pair(const rk_differ *d, uint32_t before, uint32_t after, likeness how) {
    uint32_t p = d->a->parameter[before], q = d->b->parameter[after];
    return p != RK_NO_ID && q != RK_NO_ID && d->parameter[p] == RK_NO_ID &&
           d->parameter_back[q] == RK_NO_ID && !d->a->parameters[p].name.len &&
           !d->b->parameters[q].name.len && are_alike(d, before, after, how);
}

// `placed`: only by operations of the same source line.
static void match_by_use(rk_differ *d, bool placed, likeness how) {
    for (uint32_t i = 0; i < d->a->item_count; i++) {
        uint32_t j = d->match[i];
        if (j == RK_NO_ID || (placed && d->a->items[i].placed != d->b->items[j].placed))
            continue;
        const rk_op *x = &d->a->model->ops.items[d->a->items[i].op];
        const rk_op *y = &d->b->model->ops.items[d->b->items[j].op];
        for (uint32_t k = 0; k < x->operand_count && k < y->operand_count; k++) {
            uint32_t before = d->a->model->operands.items[x->first_operand + k];
            uint32_t after = d->b->model->operands.items[y->first_operand + k];
            if (may_pair(d, before, after, how))
                pair(d, d->a->parameter[before], d->b->parameter[after]);
        }
    }
}

bool rk_differ_find_retyped(const rk_differ *d, rk_span *out_before, rk_span *out_after) {
    for (uint32_t i = 0; i < d->a->parameter_count; i++) {
        uint32_t j = d->parameter[i];
        rk_span dims;
        if (j != RK_NO_ID && find_type(d->a, i, &dims, out_before) &&
            find_type(d->b, j, &dims, out_after) && !rk_span_equal(*out_before, *out_after))
            return true;
    }
    return false;
}

// Lists the open parameters without a name of this element type, hashed by their dimensions.
static uint32_t list_of_element(const rk_program_index *index, const uint32_t *partner,
                                rk_span element, uint64_t *hashes, uint32_t *ids) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < index->parameter_count; i++) {
        rk_span dims, own;
        if (partner[i] != RK_NO_ID || index->parameters[i].name.len ||
            !find_type(index, i, &dims, &own) || !rk_span_equal(own, element))
            continue;
        hashes[count] = rk_hash_span(RK_HASH_SEED, dims);
        ids[count++] = i;
    }
    return count;
}

// A model in bfloat16: if one input changed its element type, others of the same dimensions and the
// same two element types are the same input as well.
static rk_err *match_retyped(rk_differ *d) {
    rk_span before, after;
    if (!rk_differ_find_retyped(d, &before, &after))
        return NULL;
    uint32_t limit = d->a->parameter_count;
    size_t all = (size_t)limit + d->b->parameter_count;
    rk_autofree uint64_t *hashes = rk_malloc((all + 1) * sizeof *hashes);
    rk_autofree uint32_t *ids = rk_malloc((all + 1) * sizeof *ids);
    rk_autofree uint32_t *match = rk_malloc(((size_t)limit + 1) * sizeof *match);
    if (!hashes || !ids || !match)
        return rk_err_no_memory();
    uint32_t a_count = list_of_element(d->a, d->parameter, before, hashes, ids);
    uint32_t b_count = list_of_element(d->b, d->parameter_back, after, hashes + limit, ids + limit);
    RK_TRY(rk_align(hashes, a_count, hashes + limit, b_count, match));
    for (uint32_t i = 0; i < a_count; i++)
        if (match[i] != RK_ALIGN_NONE)
            pair(d, ids[i], ids[limit + match[i]]);
    return NULL;
}

// `exact`: with the dimensions.
static bool same_type_at(const rk_differ *d, uint32_t i, bool exact) {
    return rk_differ_hash_type(d->a, d->a->parameters[i].value, exact) ==
           rk_differ_hash_type(d->b, d->b->parameters[i].value, exact);
}

// Returns whether two inputs have another element type, and one is a single number: they are not
// one input that changed.
static bool are_unlike(const rk_differ *d, uint32_t i) {
    rk_span before, after, a, b;
    return find_type(d->a, i, &before, &a) && find_type(d->b, i, &after, &b) &&
           !rk_span_equal(a, b) && (before.len == 0) != (after.len == 0);
}

// Matches what is open at the same position. `any`: also other types.
static void match_positions(rk_differ *d, bool any) {
    for (uint32_t i = 0; i < d->a->parameter_count && i < d->b->parameter_count; i++)
        if (d->parameter[i] == RK_NO_ID && d->parameter_back[i] == RK_NO_ID &&
            (any ? !are_unlike(d, i) : same_type_at(d, i, false)))
            pair(d, i, i);
}

static rk_err *match_by_criteria(rk_differ *d, criterion first, criterion last) {
    size_t all = (size_t)d->a->parameter_count + d->b->parameter_count;
    rk_autofree uint64_t *hashes = rk_malloc((all + 1) * sizeof *hashes);
    rk_autofree uint32_t *ids = rk_malloc((all + 1) * sizeof *ids);
    if (!hashes || !ids)
        return rk_err_no_memory();
    for (criterion how = first; how <= last; how++)
        RK_TRY(match_by(d, how, hashes, ids));
    return NULL;
}

// Returns whether the inputs that are matched so far come in another order. Operations that are
// aligned in order then say little about inputs.
static bool is_reordered(const rk_differ *d) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < d->a->parameter_count; i++) {
        if (d->parameter[i] == RK_NO_ID)
            continue;
        if (d->parameter[i] < last)
            return true;
        last = d->parameter[i];
    }
    return false;
}

// Gives the dimensions of two matched inputs without names. False if they are equal, or if the
// inputs are no tensors.
static bool find_changed_dims(const rk_differ *d, uint32_t i, rk_span *out_before,
                              rk_span *out_after) {
    rk_span element;
    uint32_t j = d->parameter[i];
    return j != RK_NO_ID && !d->a->parameters[i].name.len &&
           find_type(d->a, i, out_before, &element) && find_type(d->b, j, out_after, &element) &&
           !rk_span_equal(*out_before, *out_after);
}

// Returns whether one size of the first input becomes another one than it does in the second input.
// A size has eight bytes.
static bool contradicts(rk_span before, rk_span after, rk_span other_before, rk_span other_after) {
    enum { SIZE_BYTES = 8 };
    for (size_t i = 0; i < before.len && i < after.len; i += SIZE_BYTES) {
        for (size_t k = 0; k < other_before.len && k < other_after.len; k += SIZE_BYTES) {
            const void *size = before.data + i, *new_size = after.data + i;
            const void *other = other_before.data + k, *other_new = other_after.data + k;
            if (memcmp(size, other, SIZE_BYTES) == 0 && memcmp(size, new_size, SIZE_BYTES) != 0 &&
                memcmp(other, other_new, SIZE_BYTES) != 0 &&
                memcmp(new_size, other_new, SIZE_BYTES) != 0)
                return true;
        }
    }
    return false;
}

// Returns whether an input is a list of whole numbers, such as the indices that a mask selects.
static bool is_list(const rk_program_index *index, uint32_t number) {
    rk_span dims, element;
    return !index->parameters[number].name.len && find_type(index, number, &dims, &element) &&
           dims.len && rk_span_is(element, "s64");
}

// The line of such a list and its number of dimensions, hashed; 0 for other parameters, and if the
// line is not known.
static uint64_t line_of_list(const rk_program_index *index, uint32_t number) {
    rk_source place = {0};
    if (is_list(index, number))
        place = rk_differ_subject_of_parameter(index, number).place;
    if (!place.file.len)
        return 0;
    uint64_t type = rk_differ_hash_type(index, index->parameters[number].value, false);
    return rk_hash_mix(rk_hash_span(rk_hash_mix(RK_HASH_SEED, type), place.file), place.line);
}

// Returns whether two inputs are such lists on one line. Several lists of one length may get
// several lengths.
static bool are_lists_of_line(const rk_differ *d, uint32_t i, uint32_t j) {
    uint64_t line = line_of_list(d->a, i);
    return line && line == line_of_list(d->b, j);
}

static uint32_t count_equal(const uint64_t *lines, uint32_t count, uint64_t line) {
    uint32_t equal = 0;
    for (uint32_t i = 0; i < count; i++)
        equal += lines[i] == line;
    return equal;
}

// The lengths of the lists of a line, in any order.
static uint64_t lengths_of(const rk_program_index *index, const uint64_t *lines, uint64_t line) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < index->parameter_count; i++)
        if (lines[i] == line)
            sum += rk_hash_mix(RK_HASH_SEED,
                               rk_differ_hash_type(index, index->parameters[i].value, true));
    return sum;
}

// Pairs the lists of a line in order if both programs have as many, of other lengths. Two of them
// may have the same length by chance. (Lists of the same lengths may have changed places.)
static rk_err *match_lists_in_order(rk_differ *d) {
    enum { LISTS_MAX = 1024 }; // limits the quadratic search
    uint32_t a_count = d->a->parameter_count, b_count = d->b->parameter_count;
    if (a_count > LISTS_MAX || b_count > LISTS_MAX)
        return NULL;
    rk_autofree uint64_t *lines = rk_calloc((size_t)a_count + b_count + 1, sizeof *lines);
    if (!lines)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < a_count; i++)
        lines[i] = line_of_list(d->a, i);
    for (uint32_t j = 0; j < b_count; j++)
        lines[a_count + j] = line_of_list(d->b, j);
    const uint64_t *a = lines, *b = lines + a_count;
    for (uint32_t i = 0; i < a_count; i++) {
        if (!a[i] || count_equal(a, a_count, a[i]) != count_equal(b, b_count, a[i]) ||
            lengths_of(d->a, a, a[i]) == lengths_of(d->b, b, a[i]))
            continue;
        uint32_t before = count_equal(a, i, a[i]), j = 0;
        while (b[j] != a[i] || count_equal(b, j, a[i]) != before)
            j++;
        pair(d, i, j);
    }
    return NULL;
}

// Pairs the open lists of one line in order.
static void match_lists(rk_differ *d) {
    enum { LISTS_MAX = 4096 }; // limits the quadratic search
    if (d->a->parameter_count > LISTS_MAX || d->b->parameter_count > LISTS_MAX)
        return;
    for (uint32_t i = 0; i < d->a->parameter_count; i++)
        for (uint32_t j = 0;
             j < d->b->parameter_count && d->parameter[i] == RK_NO_ID && is_list(d->a, i); j++)
            if (d->parameter_back[j] == RK_NO_ID && are_lists_of_line(d, i, j))
                pair(d, i, j);
}

// Separates inputs again that were matched by a guess: if only one program has some inputs, and one
// size becomes two sizes, then these are other inputs, not other shapes.
static void separate_contradictions(rk_differ *d) {
    enum { INPUTS_MAX = 1024 }; // limits the quadratic search
    bool wrong[INPUTS_MAX] = {false};
    rk_span before, after, other_before, other_after;
    uint32_t count = d->a->parameter_count;
    for (uint32_t i = 0; i < count && count <= INPUTS_MAX; i++)
        for (uint32_t k = i + 1; k < count && find_changed_dims(d, i, &before, &after); k++)
            if (find_changed_dims(d, k, &other_before, &other_after) &&
                contradicts(before, after, other_before, other_after))
                wrong[i] = wrong[k] = true;
    for (uint32_t i = 0; i < count && count <= INPUTS_MAX; i++) {
        if (!wrong[i] || are_lists_of_line(d, i, d->parameter[i]))
            continue;
        d->parameter_back[d->parameter[i]] = RK_NO_ID;
        d->parameter[i] = RK_NO_ID;
    }
}

static uint32_t count_open(const uint32_t *partner, uint32_t count) {
    uint32_t open = 0;
    for (uint32_t i = 0; i < count; i++)
        open += partner[i] == RK_NO_ID;
    return open;
}

// Pairs all inputs by position if then at most as many inputs have another shape as are open in the
// two programs together, and fewer inputs of one type come back to their places. Otherwise two
// inputs whose sizes change, such as two sentences in each batch, may be taken for each other: 10
// and 14 words, then 14 and 12.
static void prefer_positions(rk_differ *d) {
    uint32_t count = d->a->parameter_count, changed = 0, moved = 0;
    uint32_t open = count_open(d->parameter, count) + count_open(d->parameter_back, count);
    if (!open)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (d->a->parameters[i].name.len || d->b->parameters[i].name.len ||
            !same_type_at(d, i, false))
            return;
        bool is_other = !same_type_at(d, i, true);
        moved += !is_other && d->parameter[i] != RK_NO_ID && d->parameter[i] != i;
        changed += is_other;
    }
    for (uint32_t i = 0; i < count && changed <= open && moved < open; i++)
        pair(d, i, i);
}

// Returns whether two inputs without names differ in at most one size.
static bool is_near_at(const rk_differ *d, uint32_t i) {
    enum { SIZE_BYTES = 8 };
    rk_span before, after, element;
    uint32_t apart = 0;
    if (d->a->parameters[i].name.len || d->b->parameters[i].name.len ||
        !same_type_at(d, i, false) || !find_type(d->a, i, &before, &element) ||
        !find_type(d->b, i, &after, &element) || before.len != after.len)
        return false;
    for (size_t k = 0; k < before.len; k += SIZE_BYTES)
        apart += memcmp(before.data + k, after.data + k, SIZE_BYTES) != 0;
    return apart <= 1;
}

// Returns how many inputs the cycle of pairs that begins with `first` has; 0 if it has more than
// `most`, does not come back, or has inputs that differ in several sizes from those in their
// places. `out_changes`: an input has another shape than its partner.
static uint32_t cycle_from(const rk_differ *d, uint32_t first, uint32_t most, bool *out_changes) {
    uint32_t at = first, len = 0;
    rk_span before, after;
    *out_changes = false;
    do {
        if (d->parameter[at] == RK_NO_ID || len == most || !is_near_at(d, at))
            return 0;
        *out_changes |= find_changed_dims(d, at, &before, &after);
        at = d->parameter[at];
        len++;
    } while (at != first && at < d->a->parameter_count);
    return at == first ? len : 0;
}

// Pairs the inputs of a short cycle by position if one of them has another shape. An input has
// taken the old shape of another input, such as 79 and 83 edges, then 78 and 79.
static void undo_cycles(rk_differ *d) {
    enum { CYCLE_MAX = 3 };
    for (uint32_t i = 0; i < d->a->parameter_count; i++) {
        bool changes;
        uint32_t len = cycle_from(d, i, CYCLE_MAX, &changes);
        for (uint32_t at = i, k = 0; k < len && len > 1 && changes; k++) {
            uint32_t next = d->parameter[at];
            pair(d, at, at);
            at = next;
        }
    }
}

rk_err *rk_differ_match_parameters(rk_differ *d) {
    bool same_count = d->a->parameter_count == d->b->parameter_count;
    if (have_names(d->a) && have_names(d->b))
        return match_by_criteria(d, NAME_AND_TYPE, RANK);
    RK_TRY(match_lists_in_order(d));
    RK_TRY(rk_differ_match_structure(d));
    bool reordered = is_reordered(d);
    match_by_use(d, true, SAME_TYPE);
    match_by_use(d, false, SAME_TYPE);
    if (reordered || (same_count && same_types(d)))
        match_same_types(d);
    match_by_use(d, true, SAME_ELEMENT_AND_RANK);
    match_by_use(d, true, SAME_DIMS);
    match_by_use(d, false, SAME_DIMS);
    match_by_use(d, true, SAME_RANK);
    RK_TRY(match_retyped(d));
    if (same_count && !reordered)
        match_positions(d, false);
    RK_TRY(match_by_criteria(d, NAME_AND_TYPE, reordered ? TYPE : RANK));
    if (same_count && !reordered)
        match_positions(d, true);
    if (!same_count) {
        separate_contradictions(d);
        match_lists(d);
        return NULL;
    }
    prefer_positions(d);
    match_lists(d);
    undo_cycles(d);
    return NULL;
}
