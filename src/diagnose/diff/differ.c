#include "diagnose/diff/differ_internal.h"

#include "diagnose/diff/hash.h"

rk_err *rk_differ_add(rk_differ *d, rk_difference_kind kind, const rk_differ_subject *subject,
                      rk_span attribute, rk_span before, rk_span after) {
    rk_span function = subject->place.function.len ? subject->place.function : subject->function;
    const rk_difference plain = {
        .kind = kind, .follows = subject->follows, .order = subject->order};
    // Long texts are shortened, and then the two sides may read the same.
    RK_AUTO(rk_buf) told_apart = {0};
    if (after.len && rk_span_equal(before, after)) {
        rk_buf_add_span(&told_apart, after);
        rk_buf_add_text(&told_apart, " (differs in a part that is not shown)");
        RK_TRY(rk_buf_status(&told_apart));
        after = rk_buf_span(&told_apart);
    }
    const rk_difference_words words = {.function = function,
                                       .op = subject->op,
                                       .attribute = attribute,
                                       .before = before,
                                       .after = after};
    return rk_differences_note(&d->out->list, &plain, &words, &subject->place);
}

rk_difference_kind rk_differ_types(const rk_differ *d, uint32_t before, uint32_t after) {
    rk_span a_dims, a_element, b_dims, b_element;
    if (before == RK_NO_ID || after == RK_NO_ID)
        return RK_DIFFERENCE_KIND_COUNT;
    if (!rk_program_index_tensor(d->a->model, before, &a_dims, &a_element) ||
        !rk_program_index_tensor(d->b->model, after, &b_dims, &b_element))
        return d->a->node_hash[before] == d->b->node_hash[after] ? RK_DIFFERENCE_KIND_COUNT
                                                                 : RK_DIFFERENCE_SHAPE;
    if (!rk_span_equal(a_dims, b_dims))
        return RK_DIFFERENCE_SHAPE;
    return rk_span_equal(a_element, b_element) ? RK_DIFFERENCE_KIND_COUNT : RK_DIFFERENCE_DTYPE;
}

rk_source rk_differ_place(const rk_program_index *index, uint32_t op) {
    rk_source place = {0};
    for (unsigned steps = 0; steps < RK_DIFFER_STEPS_MAX && op != RK_NO_ID; steps++) {
        bool found = rk_program_index_source(index, op, &place);
        if (found && !(index->call.file.len && rk_source_same_line(&place, &index->call)))
            break;
        uint32_t user = index->user[op];
        if (user == RK_NO_ID || index->model->ops.items[user].end == op)
            break;
        op = user;
    }
    return place;
}

rk_differ_subject rk_differ_subject_of(const rk_program_index *index, uint32_t item) {
    uint32_t op = index->items[item].op;
    return (rk_differ_subject){
        .op = rk_model_string(index->model, index->model->ops.items[op].name),
        .function = index->functions[index->items[item].function].name,
        .place = rk_differ_place(index, op),
        .order = op,
    };
}

rk_differ_subject rk_differ_subject_of_parameter(const rk_program_index *index, uint32_t number) {
    rk_differ_subject subject = {.op = rk_span_text("parameter"),
                                 .function = index->functions[index->entry].name,
                                 .place = index->call};
    uint32_t value = index->parameters[number].value;
    uint32_t op = value == RK_NO_ID ? RK_NO_ID : index->producer[value];
    uint32_t user = op == RK_NO_ID ? RK_NO_ID : index->user[op];
    if (subject.place.file.len || op == RK_NO_ID)
        return subject;
    if (!(user != RK_NO_ID && rk_program_index_source(index, user, &subject.place)) &&
        !rk_program_index_source(index, op, &subject.place))
        subject.place = (rk_source){0};
    return subject;
}

bool rk_differ_is_known_line(rk_differ *d, const rk_source *place) {
    if (!place->file.len)
        return false;
    for (size_t i = 0; i < d->place_count; i++)
        if (rk_source_same_line(&d->causes[i], place))
            return true;
    if (d->place_count < RK_ARRAY_LEN(d->causes))
        d->causes[d->place_count++] = *place;
    return false;
}

bool rk_differ_inputs_differ(const rk_differ *d) {
    return d->parameters || d->shapes || d->dtypes || d->shardings;
}

bool rk_differ_is_donation_of_hlo(rk_span name) {
    return rk_span_is(name, "buffer_donor") || rk_span_is(name, "input_output_alias");
}

bool rk_differ_is_donation_of_jax(rk_span name) {
    return rk_span_ends(name, "tf.aliasing_output") || rk_span_ends(name, "jax.buffer_donor");
}

bool rk_differ_is_about_sharding(rk_span name) {
    return (name.len && memmem(name.data, name.len, "sharding", 8)) ||
           rk_span_starts(name, "sdy.") || rk_span_starts(name, "xla.sdy");
}

bool rk_differ_is_layout_op(rk_span name) {
    return rk_span_ends(name, ".reshape") || rk_span_ends(name, ".transpose");
}

uint32_t rk_differ_value_before(const rk_program_index *index, uint32_t value,
                                rk_differ_op_test test) {
    for (unsigned steps = 0; steps < RK_DIFFER_STEPS_MAX && index->producer[value] != RK_NO_ID;
         steps++) {
        const rk_op *op = &index->model->ops.items[index->producer[value]];
        if (op->operand_count != 1 || !test(index->model, op))
            break;
        value = index->model->operands.items[op->first_operand];
    }
    return value;
}

static bool lays_out(const rk_model *model, const rk_op *op) {
    return rk_differ_is_layout_op(rk_model_string(model, op->name));
}

uint32_t rk_differ_laid_out_from(const rk_program_index *index, uint32_t value) {
    return rk_differ_value_before(index, value, lays_out);
}

uint64_t rk_differ_hash_type(const rk_program_index *index, uint32_t value, bool dims) {
    rk_span shape, element;
    if (value == RK_NO_ID)
        return 0;
    uint32_t type = index->model->values.items[value].type;
    if (!rk_program_index_tensor(index->model, type, &shape, &element))
        return type == RK_NO_ID ? 0 : index->node_hash[type];
    uint64_t hash = rk_hash_span(RK_HASH_SEED, element);
    return dims ? rk_hash_span(hash, shape) : rk_hash_mix(hash, shape.len);
}
