// Compares the parameters of two programs. parameters_match.c matches them, results.c compares the
// results.
#include <inttypes.h>

#include "diagnose/diff/diff_internal.h"

// The framework's name of a parameter, else "parameter N", which `buffer` holds.
static rk_span name_of(const rk_program_index *index, uint32_t number, char buffer[static 32]) {
    rk_span name = index->parameters[number].name;
    if (name.len)
        return name;
    RK_AUTO(rk_buf) text = {0};
    rk_buf_add_format(&text, "parameter %" PRIu32, number);
    size_t len = text.len < 31 ? text.len : 31;
    memcpy(buffer, rk_buf_text(&text), len);
    return rk_span_of(buffer, len);
}

static void write_parameter_type(const rk_program_index *index, uint32_t number, rk_buf *out) {
    uint32_t value = index->parameters[number].value;
    if (value != RK_NO_ID)
        rk_program_index_write_type(index->model, index->model->values.items[value].type, out);
}

// Records the sizes that changed. Returns true if each change was recorded before.
static bool note_sizes(rk_differ *d, uint32_t before, uint32_t after) {
    rk_span a, b, element;
    bool known = true;
    if (!rk_program_index_tensor(d->a->model, before, &a, &element) ||
        !rk_program_index_tensor(d->b->model, after, &b, &element) || a.len != b.len)
        return false;
    for (size_t i = 0; i + 8 <= a.len; i += 8) {
        int64_t from = (int64_t)rk_load_u64le(a.data + i), to = (int64_t)rk_load_u64le(b.data + i);
        size_t at = 0;
        while (at < d->size_count && (d->sizes[at].before != from || d->sizes[at].after != to))
            at++;
        if (from == to || at < d->size_count)
            continue;
        known = false;
        if (d->size_count < RK_ARRAY_LEN(d->sizes)) {
            d->sizes[d->size_count].before = from;
            d->sizes[d->size_count++].after = to;
        }
    }
    return known;
}

// Compares two types that differ in this way only.
static rk_err *compare_type(rk_differ *d, uint32_t i, uint32_t j, rk_difference_kind kind) {
    uint32_t before_value = d->a->parameters[i].value, after_value = d->b->parameters[j].value;
    if (before_value == RK_NO_ID || after_value == RK_NO_ID)
        return NULL;
    uint32_t before = d->a->model->values.items[before_value].type;
    uint32_t after = d->b->model->values.items[after_value].type;
    if (rk_differ_types(d, before, after) != kind)
        return NULL;
    rk_differ_subject subject = rk_differ_subject_of_parameter(d->b, j);
    // Two inputs with the same change of size, such as a batch size, are one cause.
    subject.follows = kind == RK_DIFFERENCE_SHAPE ? note_sizes(d, before, after) : d->dtypes > 0;
    *(kind == RK_DIFFERENCE_SHAPE ? &d->shapes : &d->dtypes) += 1;
    char buffer[32];
    RK_AUTO(rk_buf) was = {0};
    RK_AUTO(rk_buf) is = {0};
    write_parameter_type(d->a, i, &was);
    write_parameter_type(d->b, j, &is);
    return rk_differ_add(d, kind, &subject, name_of(d->b, j, buffer), rk_buf_span(&was),
                         rk_buf_span(&is));
}

static bool is_sharding(rk_span name) {
    return name.len && memmem(name.data, name.len, "sharding", 8) != NULL;
}

static uint32_t field_named(const rk_model *m, uint32_t dict, rk_span name) {
    const rk_node *node = dict == RK_NO_ID ? NULL : &m->nodes.items[dict];
    for (uint32_t i = 0; node && node->kind == RK_NODE_DICT && i < node->field_count; i++) {
        const rk_field *field = &m->fields.items[node->first_field + i];
        if (rk_span_equal(rk_model_string(m, field->name), name))
            return field->node;
    }
    return RK_NO_ID;
}

// Returns whether a sharding, as text, shards no dimension and nothing else stands in it: [{}, {}].
static bool shards_nothing(rk_span text) {
    for (size_t i = 0; i < text.len; i++)
        if (!strchr("[]{}, ", text.data[i]))
            return false;
    return text.len > 0 && text.data[0] == '[';
}

// Returns whether two shardings differ only because the rank differs: [] and [{}].
static bool follows_rank(rk_span before, rk_span after) {
    return shards_nothing(before) && shards_nothing(after);
}

// The same for two arrays that were made outside of a mesh.
static bool are_without_mesh(rk_span before, rk_span after) {
    return rk_span_is(before, RK_NO_MESH) && rk_span_is(after, RK_NO_MESH);
}

static rk_err *compare_attr(rk_differ *d, rk_differ_subject *subject, rk_span parameter,
                            rk_span name, uint32_t before, uint32_t after) {
    if (before != RK_NO_ID && after != RK_NO_ID &&
        d->a->node_hash[before] == d->b->node_hash[after])
        return NULL;
    RK_AUTO(rk_buf) what = {0};
    RK_AUTO(rk_buf) was = {0};
    RK_AUTO(rk_buf) is = {0};
    rk_differ_write_node(d->a, before, &was);
    rk_differ_write_node(d->b, after, &is);
    if (is_sharding(name) && (follows_rank(rk_buf_span(&was), rk_buf_span(&is)) ||
                              are_without_mesh(rk_buf_span(&was), rk_buf_span(&is))))
        return NULL;
    rk_difference_kind kind = is_sharding(name) ? RK_DIFFERENCE_SHARDING : RK_DIFFERENCE_ATTRIBUTE;
    // A parameter cannot be donated if no result has its shape any more.
    bool follows = rk_differ_is_donation_of_jax(name) &&
                   (d->shapes || d->dtypes || d->parameters || d->donations);
    subject->follows = follows || (kind == RK_DIFFERENCE_SHARDING && d->shardings > 0);
    d->shardings += kind == RK_DIFFERENCE_SHARDING;
    d->donations += rk_differ_is_donation_of_jax(name) && !follows;
    rk_buf_add_span(&what, parameter);
    rk_buf_add_text(&what, " ");
    rk_buf_add_span(&what, name);
    return rk_differ_add(d, kind, subject, rk_buf_span(&what), rk_buf_span(&was), rk_buf_span(&is));
}

static bool is_dict(const rk_program_index *index, uint32_t node) {
    return node == RK_NO_ID || index->model->nodes.items[node].kind == RK_NODE_DICT;
}

static rk_err *compare_attrs(rk_differ *d, uint32_t i, uint32_t j) {
    uint32_t before = d->a->parameters[i].attrs, after = d->b->parameters[j].attrs;
    rk_differ_subject subject = rk_differ_subject_of_parameter(d->b, j);
    char buffer[32];
    rk_span parameter = name_of(d->b, j, buffer);
    if (before == after && before == RK_NO_ID)
        return NULL;
    if (!is_dict(d->a, before) || !is_dict(d->b, after)) // HLO: the sharding itself
        return compare_attr(d, &subject, parameter, rk_span_text("sharding"), before, after);
    const rk_program_index *indexes[] = {d->a, d->b};
    uint32_t dicts[] = {before, after};
    for (unsigned side = 0; side < 2; side++) {
        const rk_model *m = indexes[side]->model;
        const rk_node *node = dicts[side] == RK_NO_ID ? NULL : &m->nodes.items[dicts[side]];
        for (uint32_t f = 0; node && f < node->field_count; f++) {
            const rk_field *field = &m->fields.items[node->first_field + f];
            rk_span name = rk_model_string(m, field->name);
            uint32_t other = field_named(indexes[!side]->model, dicts[!side], name);
            if (rk_span_is(name, "jax.arg_info") || (side && other != RK_NO_ID))
                continue;
            RK_TRY(compare_attr(d, &subject, parameter, name, side ? RK_NO_ID : field->node,
                                side ? field->node : other));
        }
    }
    return NULL;
}

static bool is_placed(const rk_differ_subject *subject) {
    return subject->place.file.len > 0;
}

// Returns whether an input that only one program has follows from the types of other inputs.
// PyTorch/XLA passes a Python number as one input for each type that it is used with.
static bool follows_types(const rk_differ *d, const rk_program_index *index, uint32_t number) {
    const rk_program_index_parameter *p = &index->parameters[number];
    rk_span dims, element, before, after;
    bool is_scalar =
        p->value != RK_NO_ID &&
        rk_program_index_tensor(index->model, index->model->values.items[p->value].type, &dims,
                                &element) &&
        !dims.len;
    return is_scalar && !p->name.len && !index->call.file.len &&
           rk_differ_find_retyped(d, &before, &after);
}

// Returns whether a literal, as this operand or before it was broadcast, has the type of an input.
static bool has_type_of(const rk_program_index *index, uint32_t input,
                        const rk_program_index *other, uint32_t operand) {
    uint64_t type = rk_differ_hash_type(index, input, true);
    uint32_t literal = other->model->ops.items[other->literal[operand]].first_result;
    return rk_differ_hash_type(other, operand, true) == type ||
           rk_differ_hash_type(other, literal, true) == type;
}

// Returns the constant of the same type that the other program has in place of an input that only
// one program has: an operation of both programs takes the input in one of them, and the constant
// in the other. RK_NO_ID if there is none.
static uint32_t constant_instead(const rk_differ *d, bool added, uint32_t number) {
    const rk_program_index *index = added ? d->b : d->a, *other = added ? d->a : d->b;
    const uint32_t *match = added ? d->back : d->match;
    uint32_t input = index->parameters[number].value;
    for (uint32_t i = 0; i < index->item_count && input != RK_NO_ID; i++) {
        if (match[i] == RK_NO_ID)
            continue;
        const rk_op *x = &index->model->ops.items[index->items[i].op];
        const rk_op *y = &other->model->ops.items[other->items[match[i]].op];
        for (uint32_t k = 0; k < x->operand_count && k < y->operand_count; k++) {
            uint32_t there = other->model->operands.items[y->first_operand + k];
            uint32_t here = index->model->operands.items[x->first_operand + k];
            if (other->literal[there] != RK_NO_ID &&
                rk_differ_value_before(index, here, rk_program_index_spreads) == input &&
                has_type_of(index, input, other, there))
                return other->literal[there];
        }
    }
    return RK_NO_ID;
}

// Adds to the last difference the constant that the other program has in place of the input.
static rk_err *note_constant(const rk_differ *d, bool added, uint32_t number) {
    const rk_program_index *other = added ? d->a : d->b;
    rk_difference *last = &d->out->list.items[d->out->list.count - 1];
    uint32_t op = constant_instead(d, added, number);
    rk_source place = {0};
    RK_AUTO(rk_buf) value = {0};
    if (op == RK_NO_ID)
        return NULL;
    rk_differ_write_constant(other, op, &value);
    RK_TRY(rk_buf_status(&value));
    RK_TRY(rk_difference_text(rk_buf_span(&value), &last->constant));
    if (!rk_program_index_source(other, op, &place))
        return NULL;
    last->constant_line = place.line;
    return rk_difference_text(place.file, &last->constant_file);
}

// Returns whether it is known that this input, and no other of its type, has no partner.
static bool is_known(const rk_differ *d, const rk_program_index *index, uint32_t number) {
    const rk_program_index_parameter *p = &index->parameters[number];
    return p->name.len || !rk_differ_is_guessed(d, rk_differ_hash_type(index, p->value, true));
}

static rk_err *add_one_sided(rk_differ *d, bool added, uint32_t number, bool placed) {
    const rk_program_index *index = added ? d->b : d->a;
    rk_differ_subject subject = rk_differ_subject_of_parameter(index, number);
    // Place a removed parameter at the call in the later program.
    if (!added && d->b->call.file.len)
        subject.place = d->b->call;
    if (is_placed(&subject) != placed)
        return NULL;
    char buffer[32];
    RK_AUTO(rk_buf) type = {0};
    write_parameter_type(index, number, &type);
    rk_span name = is_known(d, index, number) ? name_of(index, number, buffer) : (rk_span){0};
    subject.follows = follows_types(d, index, number);
    d->parameters += !subject.follows;
    size_t count = d->out->list.count;
    RK_TRY(rk_differ_add(d, added ? RK_DIFFERENCE_PARAMETER_ADDED : RK_DIFFERENCE_PARAMETER_REMOVED,
                         &subject, name, added ? (rk_span){0} : rk_buf_span(&type),
                         added ? rk_buf_span(&type) : (rk_span){0}));
    return d->out->list.count > count ? note_constant(d, added, number) : NULL;
}

void rk_differ_note_sum(rk_differ *d, uint32_t parameter) {
    char buffer[32];
    rk_span name = name_of(d->b, parameter, buffer);
    for (size_t i = 0; i < d->out->list.count; i++) {
        rk_difference *at = &d->out->list.items[i];
        if (at->kind == RK_DIFFERENCE_PARAMETER_ADDED && at->op && at->attribute &&
            strcmp(at->op, "parameter") == 0 && rk_span_is(name, at->attribute))
            at->is_summed = true;
    }
}

// Compares the matched inputs by one kind of difference: shapes, types, or attributes.
static rk_err *compare_matched(rk_differ *d, bool placed, rk_difference_kind kind) {
    for (uint32_t i = 0; i < d->a->parameter_count; i++) {
        uint32_t j = d->parameter[i];
        if (j == RK_NO_ID)
            continue;
        rk_differ_subject subject = rk_differ_subject_of_parameter(d->b, j);
        if (is_placed(&subject) != placed)
            continue;
        RK_TRY(kind == RK_DIFFERENCE_ATTRIBUTE ? compare_attrs(d, i, j)
                                               : compare_type(d, i, j, kind));
    }
    return NULL;
}

// The kinds come in the order in which they decide the cause. Inputs with a line come first,
// because the first difference says where the change is. PyTorch/XLA makes inputs without a line,
// such as the divisor of a mean.
rk_err *rk_differ_parameters(rk_differ *d) {
    static const rk_difference_kind kinds[] = {RK_DIFFERENCE_SHAPE, RK_DIFFERENCE_DTYPE,
                                               RK_DIFFERENCE_ATTRIBUTE};
    for (int placed = 1; placed >= 0; placed--) {
        for (uint32_t i = 0; i < d->a->parameter_count; i++)
            if (d->parameter[i] == RK_NO_ID)
                RK_TRY(add_one_sided(d, false, i, placed));
        for (uint32_t j = 0; j < d->b->parameter_count; j++)
            if (d->parameter_back[j] == RK_NO_ID)
                RK_TRY(add_one_sided(d, true, j, placed));
    }
    for (size_t k = 0; k < RK_ARRAY_LEN(kinds); k++)
        for (int placed = 1; placed >= 0; placed--)
            RK_TRY(compare_matched(d, placed, kinds[k]));
    return NULL;
}
