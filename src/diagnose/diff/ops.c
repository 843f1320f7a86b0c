// Compares operations: those added, those removed, and those in both programs.
#include "base/alloc.h"
#include "diagnose/diff/diff_internal.h"

enum { DEPENDENCE_DEPTH = 4 }; // operations between a parameter and a sum with it

// Returns are no differences: rk_differ_results compares the results.
static bool is_terminator(rk_span name) {
    return rk_span_ends(name, ".return") || rk_span_ends(name, ".tuple");
}

static bool is_sharding_call(const rk_program_index *index, uint32_t item) {
    const rk_op *op = &index->model->ops.items[index->items[item].op];
    uint32_t target = rk_model_attr(index->model, op, "call_target_name");
    return rk_differ_is_about_sharding(rk_model_string(index->model, op->name)) ||
           (target != RK_NO_ID && rk_span_is(index->model->nodes.items[target].bytes, "Sharding"));
}

// The text of a string attribute; empty if the operation does not have it.
static rk_span text_of(const rk_program_index *index, uint32_t item, const char *name) {
    const rk_op *op = &index->model->ops.items[index->items[item].op];
    uint32_t node = rk_model_attr(index->model, op, name);
    return node == RK_NO_ID ? (rk_span){0} : index->model->nodes.items[node].bytes;
}

// Returns whether the mesh is one that JAX declares for an operation that runs on one device, such
// as a callback into the process: it follows from this operation.
static bool is_mesh_of_one_device(rk_span op, rk_span name) {
    return rk_span_ends(op, ".mesh") && rk_span_starts(name, "maximal_mesh");
}

static bool is_result(const rk_program_index *index, uint32_t value) {
    for (uint32_t i = 0; i < index->result_count; i++)
        if (rk_differ_laid_out_from(index, index->results[i]) == value)
            return true;
    return false;
}

// Returns whether a value is computed from a parameter, within a few operations.
static bool depends_on(const rk_program_index *index, uint32_t value, uint32_t parameter,
                       unsigned depth) {
    enum { OPERANDS_MAX = 4 };
    if (index->parameter[value] == parameter)
        return true;
    uint32_t producer = index->producer[value];
    if (!depth || producer == RK_NO_ID)
        return false;
    const rk_op *op = &index->model->ops.items[producer];
    for (uint32_t i = 0; i < op->operand_count && i < OPERANDS_MAX; i++)
        if (depends_on(index, index->model->operands.items[op->first_operand + i], parameter,
                       depth - 1))
            return true;
    return false;
}

// Returns whether the operation adds, to a parameter that only the later program has, something
// that does not depend on it. (A moving average depends on it.) `out_parameter` is that parameter,
// `out_returned` whether the sum is a result.
static bool adds_new_parameter(const rk_differ *d, uint32_t index, uint32_t *out_parameter,
                               bool *out_returned) {
    const rk_model *m = d->b->model;
    const rk_op *op = &m->ops.items[index];
    if (!rk_span_ends(rk_model_string(m, op->name), ".add") || op->result_count != 1)
        return false;
    *out_returned = is_result(d->b, op->first_result);
    for (uint32_t i = 0; i < op->operand_count && op->operand_count == 2; i++) {
        uint32_t p = d->b->parameter[m->operands.items[op->first_operand + i]];
        *out_parameter = p;
        if (p != RK_NO_ID && d->parameter_back[p] == RK_NO_ID)
            return !depends_on(d->b, m->operands.items[op->first_operand + 1 - i], p,
                               DEPENDENCE_DEPTH);
    }
    return false;
}

// Returns whether the earlier program returns a value of the type of this parameter.
static bool was_returned(const rk_differ *d, uint32_t parameter) {
    uint64_t type = rk_differ_hash_type(d->b, d->b->parameters[parameter].value, true);
    for (uint32_t i = 0; i < d->a->result_count; i++)
        if (rk_differ_hash_type(d->a, d->a->results[i], true) == type)
            return true;
    return false;
}

// Counts an added operation that accumulates.
static void note_accumulation(rk_differ *d, uint32_t op) {
    uint32_t parameter;
    bool returned;
    if (!adds_new_parameter(d, op, &parameter, &returned))
        return;
    if (returned)
        d->accumulated++;
    else if (was_returned(d, parameter))
        d->consumed++;
}

// Notes which new parameters the later program adds to, also by an operation that is matched.
static void note_sums(rk_differ *d) {
    for (uint32_t i = 0; i < d->b->item_count; i++) {
        uint32_t parameter;
        bool returned;
        if (adds_new_parameter(d, d->b->items[i].op, &parameter, &returned))
            rk_differ_note_sum(d, parameter);
    }
}

// Places a removed operation in the later program. If the source was edited, the old line is no
// longer valid: the line of the operation that used its result replaces it.
static void place_removed(const rk_differ *d, uint32_t item, uint32_t next,
                          rk_differ_subject *subject) {
    const rk_program_index *a = d->a, *b = d->b;
    // Sorts it after the operations that were added in its place.
    subject->order = next < b->item_count ? b->items[next].op : UINT32_MAX;
    uint32_t op = a->items[item].op;
    for (unsigned steps = 0; d->moved && steps < RK_DIFFER_STEPS_MAX; steps++) {
        op = a->user[op];
        uint32_t user = op == RK_NO_ID ? RK_NO_ID : a->item_of_op[op];
        if (user == RK_NO_ID)
            return;
        if (d->match[user] == RK_NO_ID)
            continue;
        subject->place = rk_differ_place(b, b->items[d->match[user]].op);
        return;
    }
}

static bool is_of_sizes(rk_span name) {
    return rk_span_ends(name, ".broadcast_in_dim") || rk_span_ends(name, ".reshape") ||
           rk_span_ends(name, ".broadcast");
}

// Returns whether only one of the two programs has operations of this kind, and no change of a
// shape brings such operations about: mathematical functions and products.
static bool is_other_math(const rk_differ *d, bool added, rk_span name) {
    static const char *const kinds[] = {".sine",        ".cosine",      ".tan",  ".tanh",
                                        ".exponential", ".log",         ".erf",  ".logistic",
                                        ".dot_general", ".convolution", ".sqrt", ".rsqrt"};
    const rk_model *other = added ? d->a->model : d->b->model;
    bool is_math = false;
    for (size_t i = 0; i < RK_ARRAY_LEN(kinds); i++)
        is_math |= rk_span_ends(name, kinds[i]);
    for (uint32_t i = 0; i < other->ops.count && is_math; i++)
        is_math = !rk_span_equal(rk_model_string(other, other->ops.items[i].name), name);
    return is_math;
}

// Returns whether an operation comes from a branch, although inputs have other shapes. A few such
// operations are enough.
static bool is_branch(const rk_differ *d, bool added, rk_span name) {
    return d->shapes && !d->parameters && !d->dtypes && !d->shardings &&
           d->structures < RK_ARRAY_LEN(d->causes) && is_other_math(d, added, name);
}

// The operand that the walk below follows: the first that is no literal; RK_NO_ID: none.
static uint32_t first_operand(const rk_program_index *index, const rk_op *op) {
    for (uint32_t i = 0; i < op->operand_count; i++) {
        uint32_t value = index->model->operands.items[op->first_operand + i];
        if (index->literal[value] == RK_NO_ID)
            return value;
    }
    return RK_NO_ID;
}

// The only operation that calls the function, as its one attribute with a name says; RK_NO_ID if
// there are several.
static uint32_t only_call_of(const rk_program_index *index, uint32_t function) {
    const rk_program_index_function *of = &index->functions[function];
    const rk_model *m = index->model;
    for (uint32_t i = of->caller; i != RK_NO_ID && i < m->ops.count; i++) {
        uint32_t callee = i == of->caller ? RK_NO_ID : rk_model_attr(m, &m->ops.items[i], "callee");
        if (callee != RK_NO_ID && rk_span_equal(m->nodes.items[callee].bytes, of->name))
            return RK_NO_ID;
    }
    bool calls =
        of->caller != RK_NO_ID && rk_model_attr(m, &m->ops.items[of->caller], "callee") != RK_NO_ID;
    return calls ? of->caller : RK_NO_ID;
}

// The value that is passed to a function as this operand of an operation inside. Returns the
// operand itself if it is no argument of the function, or if the function is called several times.
static uint32_t outside_of_functions(const rk_program_index *index, const rk_op *op,
                                     uint32_t value) {
    const rk_model *m = index->model;
    uint32_t item = index->item_of_op[op - m->ops.items];
    for (unsigned depth = 0; depth < RK_DIFFER_STEPS_MAX && item != RK_NO_ID; depth++) {
        uint32_t function = index->items[item].function;
        const rk_op *inside = &m->ops.items[index->functions[function].op];
        uint32_t call = function == index->entry ? RK_NO_ID : only_call_of(index, function);
        if (call == RK_NO_ID || inside->region_count != 1 ||
            !m->regions.items[inside->first_region].block_count)
            return value;
        const rk_block *block =
            &m->blocks.items[m->regions.items[inside->first_region].first_block];
        uint32_t number = value - block->first_arg;
        if (value < block->first_arg || number >= block->arg_count ||
            number >= m->ops.items[call].operand_count)
            return value;
        value = m->operands.items[m->ops.items[call].first_operand + number];
        item = index->item_of_op[call];
    }
    return value;
}

// Writes which named input the operation reads, over a few operations: "of input y0". Nothing if
// there is none. Unless `far`, only over operations with one operand.
static void write_input(const rk_program_index *index, const rk_op *op, bool far, rk_buf *out) {
    for (unsigned steps = 0; steps < RK_DIFFER_STEPS_MAX; steps++) {
        uint32_t value = first_operand(index, op);
        if (value == RK_NO_ID || (!far && op->operand_count != 1))
            return;
        value = outside_of_functions(index, op, value);
        uint32_t parameter = index->parameter[value], producer = index->producer[value];
        if (parameter != RK_NO_ID && index->parameters[parameter].name.len) {
            rk_buf_add_text(out, "of input ");
            rk_buf_add_span(out, index->parameters[parameter].name);
        }
        if (parameter != RK_NO_ID || producer == RK_NO_ID)
            return;
        op = &index->model->ops.items[producer];
    }
}

// True if the user's source has no line for the operation but that of the call: only an input says
// more.
static bool is_at_call(const rk_program_index *index, const rk_source *place) {
    return index->call.file.len && rk_source_same_line(place, &index->call);
}

// True for an operation without a line in a computation that another operation applies, such as the
// sum of a scatter, if the other program does not have that operation.
static bool is_in_inner_computation(const rk_differ *d, bool added, uint32_t item,
                                    const rk_differ_subject *subject) {
    const rk_program_index *index = added ? d->b : d->a;
    uint32_t caller = index->functions[index->items[item].function].caller;
    if (subject->place.file.len || caller == RK_NO_ID)
        return false;
    return (added ? d->back : d->match)[index->item_of_op[caller]] == RK_NO_ID;
}

static rk_err *add_one_sided(rk_differ *d, bool added, uint32_t item, uint32_t next) {
    const rk_program_index *index = added ? d->b : d->a;
    rk_differ_subject subject = rk_differ_subject_of(index, item);
    if (is_terminator(subject.op))
        return NULL;
    *(added ? &d->out->added : &d->out->removed) += 1;
    if (added)
        note_accumulation(d, index->items[item].op);
    if (!added)
        place_removed(d, item, next, &subject);
    // A changed size of 1 needs a broadcast, or needs none.
    subject.follows = (rk_differ_inputs_differ(d) && !is_branch(d, added, subject.op)) ||
                      (d->constants && is_of_sizes(subject.op));
    rk_difference_kind kind = added ? RK_DIFFERENCE_OP_ADDED : RK_DIFFERENCE_OP_REMOVED;
    bool is_convert = rk_span_ends(subject.op, ".convert");
    if (is_sharding_call(index, item)) {
        kind = RK_DIFFERENCE_SHARDING;
        subject.follows |= is_mesh_of_one_device(subject.op, text_of(index, item, "sym_name"));
        d->shardings += !subject.follows;
    } else if (!subject.follows && !subject.place.file.len && rk_differ_is_layout_op(subject.op)) {
        // PyTorch/XLA records a view once or twice, whatever the source says: no line has it.
        subject.follows = true;
    } else if (!subject.follows) {
        subject.follows = rk_differ_is_known_line(d, &subject.place) ||
                          is_in_inner_computation(d, added, item, &subject);
        // A conversion only changes a type: the cause is a dtype, not the structure.
        *(is_convert ? &d->converts : &d->structures) += 1;
    }
    const rk_model *m = index->model;
    const rk_op *op = &m->ops.items[index->items[item].op];
    RK_AUTO(rk_buf) type = {0};
    RK_AUTO(rk_buf) from = {0};
    if (op->result_count)
        rk_program_index_write_type(m, m->values.items[op->first_result].type, &type);
    if (is_convert && op->operand_count && kind != RK_DIFFERENCE_SHARDING) {
        kind = RK_DIFFERENCE_DTYPE;
        rk_program_index_write_type(m, m->values.items[m->operands.items[op->first_operand]].type,
                                    &from);
    }
    // JAX converts a weak type to the ordinary type of the same name.
    bool was_weak = from.len > 0 && rk_span_equal(rk_buf_span(&from), rk_buf_span(&type));
    RK_AUTO(rk_buf) weak = {0};
    rk_buf_add_text(&weak, RK_WEAKLY_TYPED);
    rk_buf_add_span(&weak, rk_buf_span(&type));
    RK_AUTO(rk_buf) input = {0};
    bool at_call = is_at_call(index, &subject.place);
    if (kind == RK_DIFFERENCE_DTYPE || at_call)
        write_input(index, op, at_call, &input);
    if (!input.len) // the function that a custom call calls
        rk_buf_add_span(&input, text_of(index, item, "call_target_name"));
    if (!type.len) // a mesh
        rk_buf_add_span(&type, text_of(index, item, "sym_name"));
    rk_span text = rk_buf_span(was_weak ? &weak : &type), other = rk_buf_span(&from);
    return rk_differ_add(d, kind, &subject, rk_buf_span(&input), added ? other : text,
                         added ? text : other);
}

// Walks two matched functions in order. NULL: the function is only in the other program.
static rk_err *compare_function(rk_differ *d, const rk_program_index_function *a,
                                const rk_program_index_function *b) {
    uint32_t i = a ? a->first : 0, a_end = a ? a->first + a->count : 0;
    uint32_t j = b ? b->first : 0, b_end = b ? b->first + b->count : 0;
    while (i < a_end || j < b_end) {
        if (j < b_end && d->back[j] == RK_NO_ID)
            RK_TRY(add_one_sided(d, true, j++, 0));
        else if (i < a_end && d->match[i] == RK_NO_ID)
            RK_TRY(add_one_sided(d, false, i++, j));
        else
            RK_TRY(rk_differ_pair(d, i++, j++));
    }
    return NULL;
}

static rk_err *compare_partners(rk_differ *d, uint32_t f) {
    const rk_program_index_function *a = &d->a->functions[f];
    return compare_function(d, a,
                            d->function[f] == RK_NO_ID ? NULL : &d->b->functions[d->function[f]]);
}

// Returns whether the source was edited: most matched operations have another line.
static bool is_moved(const rk_differ *d) {
    size_t same = 0, moved = 0;
    for (uint32_t i = 0; i < d->a->item_count; i++) {
        rk_source before, after;
        uint32_t j = d->match[i];
        if (j == RK_NO_ID || !rk_program_index_source(d->a, d->a->items[i].op, &before) ||
            !rk_program_index_source(d->b, d->b->items[j].op, &after))
            continue;
        *(rk_source_same_line(&before, &after) ? &same : &moved) += 1;
    }
    return moved > same;
}

// Returns whether an operation has the name of a difference and its type of result. Loops and
// conditions may return any type.
static bool is_same_kind(const rk_program_index *index, const rk_op *op, const rk_difference *of) {
    const rk_model *m = index->model;
    const char *type = of->after ? of->after : of->before;
    if (!rk_span_equal(rk_model_string(m, op->name), rk_span_text(of->op)))
        return false;
    if (op->region_count || !type)
        return op->region_count || !op->result_count;
    RK_AUTO(rk_buf) text = {0};
    if (op->result_count)
        rk_program_index_write_type(m, m->values.items[op->first_result].type, &text);
    return rk_span_equal(rk_buf_span(&text), rk_span_text(type));
}

// Counts such operations on the line of the difference.
static size_t count_on_line(const rk_program_index *index, const rk_difference *of) {
    size_t count = 0;
    for (uint32_t i = 0; i < index->item_count; i++) {
        if (!is_same_kind(index, &index->model->ops.items[index->items[i].op], of))
            continue;
        rk_source place = rk_differ_place(index, index->items[i].op);
        count += place.line == of->line && rk_span_equal(place.file, rk_span_text(of->file));
    }
    return count;
}

static bool is_operation_of_one_side(const rk_difference *one) {
    return !one->follows && one->op && one->file &&
           !rk_span_ends(rk_span_text(one->op), "parameter") &&
           (one->kind == RK_DIFFERENCE_OP_ADDED || one->kind == RK_DIFFERENCE_OP_REMOVED);
}

// Operations that both programs have equally often on one line, but that were not matched, come
// after the others: a loop that carries more values contains what is new. If what is new first is
// in a package, the order stays, so that the user's own line comes first.
static void place_common_last(const rk_differ *d) {
    enum { PART = 10, CAUSES_MAX = 64 }; // CAUSES_MAX limits the search in large programs
    rk_differences *list = &d->out->list;
    const rk_difference *first = NULL; // of those that are new
    size_t causes = 0, common = 0, added = d->out->added, removed = d->out->removed;
    // With about as many operations, the same ones may be in another order.
    bool is_order = PART * (added > removed ? added - removed : removed - added) <=
                    (added > removed ? added : removed);
    if (d->moved || is_order)
        return;
    for (size_t i = 0; i < list->count && causes < CAUSES_MAX; i++) {
        rk_difference *one = &list->items[i];
        if (one->follows)
            continue;
        causes++;
        size_t count = is_operation_of_one_side(one) ? count_on_line(d->a, one) : 0;
        one->is_moved = count && count == count_on_line(d->b, one);
        common += one->is_moved;
        if (!one->is_moved && (!first || one->order < first->order))
            first = one;
    }
    for (size_t i = 0; i < list->count; i++) {
        rk_difference *one = &list->items[i];
        one->is_moved = one->is_moved && common < causes;
        if (one->is_moved && first && rk_is_on_line_of_user(first))
            one->order = UINT32_MAX;
    }
}

static bool names_donors(const char *value) {
    return value && strstr(value, "HloBufferDonorProto") != NULL;
}

// Returns whether a difference is about which inputs give their memory to results. (If both
// programs of HLO have the list of donors, its entries are compared.)
static bool is_donation(const rk_difference *one, bool of_jax_too) {
    if (one->kind != RK_DIFFERENCE_ATTRIBUTE || !one->attribute)
        return false;
    rk_span name = rk_span_text(one->attribute);
    return rk_differ_is_donation_of_hlo(name) || names_donors(one->before) ||
           names_donors(one->after) || (of_jax_too && rk_differ_is_donation_of_jax(name));
}

// In HLO, donations follow from whatever else differs. In JAX the user decides them; they follow
// from other operations and inputs only.
static void let_donations_follow(const rk_differ *d) {
    rk_differences *list = &d->out->list;
    bool of_jax_too = d->structures || rk_differ_inputs_differ(d);
    size_t others = 0;
    for (size_t i = 0; i < list->count; i++)
        others += !list->items[i].follows && !is_donation(&list->items[i], of_jax_too);
    for (size_t i = 0; i < list->count && others; i++) {
        rk_difference *one = &list->items[i];
        bool follows = is_donation(one, of_jax_too);
        list->cause_count -= follows && !one->follows;
        one->follows |= follows;
    }
}

// Compares the module's own operations (meshes) first, then the entry function, then the others.
// The order matters: the first difference of a source line becomes the cause.
rk_err *rk_differ_ops(rk_differ *d) {
    rk_autofree bool *seen = rk_calloc((size_t)d->b->function_count + 1, sizeof *seen);
    if (!seen)
        return rk_err_no_memory();
    d->moved = is_moved(d);
    RK_TRY(compare_partners(d, 0));
    if (d->a->entry && d->b->entry)
        RK_TRY(compare_partners(d, d->a->entry));
    for (uint32_t f = 1; f < d->a->function_count; f++) {
        if (d->function[f] != RK_NO_ID)
            seen[d->function[f]] = true;
        if (f != d->a->entry || !d->b->entry)
            RK_TRY(compare_partners(d, f));
    }
    for (uint32_t f = 1; f < d->b->function_count; f++)
        if (!seen[f])
            RK_TRY(compare_function(d, NULL, &d->b->functions[f]));
    note_sums(d);
    let_donations_follow(d);
    place_common_last(d);
    return NULL;
}
