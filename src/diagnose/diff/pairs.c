// Compares two matched operations: attributes, operands and types.
#include "diagnose/diff/diff_internal.h"

#include "base/alloc.h"

// Attributes.

// Names, numbering and layouts are no differences. Signatures and attributes of parameters are
// compared elsewhere.
bool rk_differ_is_ignored(rk_span name) {
    static const char *const names[] = {
        "sym_name",
        "callee",
        "called_computations",
        "decomposition",
        "function_type",
        "arg_attrs",
        "res_attrs",
        "program_shape",
        "result_layout",
        "channel_handle",
        "channel_id",
        "layout",
        "host_program_shape",
        "name",
        "parameter_number",
        "jax.result_info",
        "result_layouts",
        "operand_layouts",
        "tuple_index",
        "mhlo.layout_mode",
        "sym_visibility",
        "entry",
        "root",
        "schedule",
        "device_ids",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        if (rk_span_is(name, names[i]))
            return true;
    return false;
}

static bool is_number(const rk_program_index *index, uint32_t node) {
    if (node == RK_NO_ID)
        return false;
    switch ((rk_node_kind)index->model->nodes.items[node].kind) {
    case RK_NODE_INT:
    case RK_NODE_FLOAT:
    case RK_NODE_INTS:
    case RK_NODE_ELEMENTS:
        return true;
    default:
        return false;
    }
}

// The text of a value. A number that a message of HLO leaves out is 0.
static void write_value(const rk_program_index *index, uint32_t node, bool is_message,
                        rk_buf *out) {
    if (node == RK_NO_ID && is_message)
        rk_buf_add_text(out, "0");
    else
        rk_differ_write_node(index, node, out);
}

// Returns whether the inputs differ only in that some are added or removed.
static bool only_adds_inputs(const rk_differ *d) {
    return !d->shapes && !d->dtypes && !d->shardings;
}

// `is_message`: the value is a number of a message of HLO, which at most one side leaves out.
static rk_err *add_value(rk_differ *d, const rk_differ_subject *of, rk_span name, uint32_t before,
                         uint32_t after, bool is_message) {
    rk_differ_subject subject = *of;
    bool sharding = rk_differ_is_about_sharding(name) || rk_differ_is_about_sharding(of->op) ||
                    rk_span_starts(name, "mhlo.num_") || rk_span_starts(name, "num_partitions");
    bool numbers = is_number(d->a, before) || is_number(d->b, after);
    subject.follows = of->follows ||
                      (rk_differ_inputs_differ(d) && !(of->cuts_same_input && only_adds_inputs(d)));
    if (sharding)
        d->shardings++;
    else if (!subject.follows && rk_differ_is_donation_of_hlo(name))
        d->donations++;
    else if (!subject.follows) {
        subject.follows = d->structures > 0 || rk_differ_is_known_line(d, &subject.place);
        *(numbers ? &d->constants : &d->structures) += 1;
    }
    RK_AUTO(rk_buf) was = {0};
    RK_AUTO(rk_buf) is = {0};
    write_value(d->a, before, is_message, &was);
    write_value(d->b, after, is_message, &is);
    return rk_differ_add(d, sharding ? RK_DIFFERENCE_SHARDING : RK_DIFFERENCE_ATTRIBUTE, &subject,
                         name, rk_buf_span(&was), rk_buf_span(&is));
}

static rk_err *add_attribute(rk_differ *d, const rk_differ_subject *of, rk_span name,
                             uint32_t before, uint32_t after) {
    return add_value(d, of, name, before, after, false);
}

// The field of a node with a name; NULL if there is none.
static const rk_field *find_field(const rk_program_index *index, const rk_node *node,
                                  rk_span name) {
    for (uint32_t i = 0; i < node->field_count; i++) {
        const rk_field *field = &index->model->fields.items[node->first_field + i];
        if (rk_span_equal(rk_model_string(index->model, field->name), name))
            return field;
    }
    return NULL;
}

// Returns whether two nodes are messages of HLO, and only numbers are missing on one side: 0 is
// left out.
static bool are_messages(const rk_program_index *a, const rk_node *x, const rk_program_index *b,
                         const rk_node *y) {
    const rk_program_index *indexes[] = {a, b};
    const rk_node *nodes[] = {x, y};
    if (x->kind != RK_NODE_STRUCT || y->kind != RK_NODE_STRUCT ||
        !rk_span_equal(rk_model_string(a->model, x->name), rk_model_string(b->model, y->name)))
        return false;
    for (unsigned side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < nodes[side]->field_count; i++) {
            const rk_field *field =
                &indexes[side]->model->fields.items[nodes[side]->first_field + i];
            rk_span name = rk_model_string(indexes[side]->model, field->name);
            if (!find_field(indexes[!side], nodes[!side], name) &&
                !is_number(indexes[side], field->node))
                return false;
        }
    }
    return true;
}

static bool same_fields(const rk_program_index *a, const rk_node *x, const rk_program_index *b,
                        const rk_node *y) {
    if (x->kind != y->kind || x->field_count != y->field_count ||
        (x->kind != RK_NODE_DICT && x->kind != RK_NODE_STRUCT && x->kind != RK_NODE_LIST))
        return false;
    for (uint32_t i = 0; i < x->field_count; i++)
        if (!rk_span_equal(
                rk_model_string(a->model, a->model->fields.items[x->first_field + i].name),
                rk_model_string(b->model, b->model->fields.items[y->first_field + i].name)))
            return false;
    return x->field_count > 0;
}

// Compares two messages of HLO whose fields are numbers, or that both sides have.
static rk_err *compare_messages(rk_differ *d, const rk_differ_subject *subject, const rk_node *x,
                                const rk_node *y) {
    for (unsigned side = 0; side < 2; side++) {
        bool later = side == 0;
        const rk_program_index *index = later ? d->b : d->a, *other = later ? d->a : d->b;
        const rk_node *node = later ? y : x, *of = later ? x : y;
        for (uint32_t i = 0; i < node->field_count; i++) {
            const rk_field *field = &index->model->fields.items[node->first_field + i];
            rk_span name = rk_model_string(index->model, field->name);
            const rk_field *same = find_field(other, of, name);
            if (!same)
                RK_TRY(add_value(d, subject, name, later ? RK_NO_ID : field->node,
                                 later ? field->node : RK_NO_ID, true));
            else if (later && index->node_hash[field->node] != other->node_hash[same->node])
                RK_TRY(add_attribute(d, subject, name, same->node, field->node));
        }
    }
    return NULL;
}

// Descends into dictionaries, structures and lists with the same fields, to report only the part
// that differs.
static rk_err *compare_nodes(rk_differ *d, const rk_differ_subject *subject, rk_span name,
                             uint32_t before, uint32_t after, unsigned depth) {
    if (before == RK_NO_ID || after == RK_NO_ID)
        return add_attribute(d, subject, name, before, after);
    if (d->a->node_hash[before] == d->b->node_hash[after] || rk_differ_is_ignored(name))
        return NULL;
    const rk_node *x = &d->a->model->nodes.items[before], *y = &d->b->model->nodes.items[after];
    if (depth < 4 && rk_span_starts(subject->op, "hlo.") && !rk_differ_is_about_sharding(name) &&
        x->field_count != y->field_count && are_messages(d->a, x, d->b, y))
        return compare_messages(d, subject, x, y);
    if (depth >= 4 || rk_differ_is_about_sharding(name) || !same_fields(d->a, x, d->b, y))
        return add_attribute(d, subject, name, before, after);
    for (uint32_t i = 0; i < x->field_count; i++) {
        const rk_field *f = &d->a->model->fields.items[x->first_field + i];
        const rk_field *g = &d->b->model->fields.items[y->first_field + i];
        rk_span inner = rk_model_string(d->a->model, f->name); // list elements have no name
        RK_TRY(compare_nodes(d, subject, inner.len ? inner : name, f->node, g->node, depth + 1));
    }
    return NULL;
}

// Merges the attributes of both sides, which are sorted by name.
static rk_err *compare_attrs(rk_differ *d, const rk_differ_subject *subject, const rk_op *a,
                             const rk_op *b) {
    const rk_model *m = d->a->model, *n = d->b->model;
    uint32_t i = 0, j = 0;
    while (i < a->attr_count || j < b->attr_count) {
        const rk_field *f = i < a->attr_count ? &m->fields.items[a->first_attr + i] : NULL;
        const rk_field *g = j < b->attr_count ? &n->fields.items[b->first_attr + j] : NULL;
        rk_span left = f ? rk_model_string(m, f->name) : (rk_span){0};
        rk_span right = g ? rk_model_string(n, g->name) : (rk_span){0};
        int order = !f ? 1 : !g ? -1 : rk_span_compare(left, right);
        rk_span name = order <= 0 ? left : right;
        if (!rk_differ_is_ignored(name))
            RK_TRY(compare_nodes(d, subject, name, order <= 0 ? f->node : RK_NO_ID,
                                 order >= 0 ? g->node : RK_NO_ID, 0));
        i += order <= 0;
        j += order >= 0;
    }
    return NULL;
}

// Operands.

// The subject of a constant operand. An operation that broadcasts, converts or reshapes the
// constant for this user has a line of its own, which is more exact than the user's line.
static rk_differ_subject subject_of_literal(const rk_differ *d, const rk_differ_subject *of,
                                            uint32_t value, uint32_t user) {
    const rk_program_index *index = d->b;
    rk_differ_subject subject = *of;
    uint32_t op = index->producer[value];
    rk_source place;
    if (op == RK_NO_ID || index->user[op] != user || !index->model->ops.items[op].operand_count ||
        !rk_program_index_source(index, op, &place) || rk_source_same_line(&place, &index->call))
        return subject;
    subject.place = place;
    subject.order = op;
    subject.op = rk_model_string(index->model, index->model->ops.items[op].name);
    return subject;
}

static rk_err *compare_constants(rk_differ *d, const rk_differ_subject *of, bool same_place,
                                 uint32_t before, uint32_t after) {
    if (rk_differ_same_constant(d, before, after))
        return NULL;
    rk_differ_subject subject = *of;
    // A constant that changes with the size of an input follows from that size.
    subject.follows = d->shapes && rk_differ_constant_follows(d, before, after);
    // If operations were added or removed, the alignment may pair unrelated constants.
    if (!subject.follows && (d->structures || d->parameters) && !same_place)
        subject.follows = true;
    // The inputs already differ, in their sharding for example. The search takes time in proportion
    // to the programs, so it ends when no more differences are stored.
    if (!subject.follows && rk_differ_inputs_differ(d) && d->out->list.count < RK_DIFFERENCES_MAX &&
        rk_differ_both_have_constants(d, before, after))
        subject.follows = true;
    bool on_known_line = false;
    if (!subject.follows) {
        d->constants++;
        on_known_line = rk_differ_is_known_line(d, &subject.place);
        subject.follows = on_known_line;
    }
    RK_AUTO(rk_buf) was = {0};
    RK_AUTO(rk_buf) is = {0};
    rk_differ_write_constant(d->a, before, &was);
    rk_differ_write_constant(d->b, after, &is);
    if (on_known_line)
        rk_differences_note_other(&d->out->list, &subject.place, rk_buf_span(&was),
                                  rk_buf_span(&is));
    return rk_differ_add(d, RK_DIFFERENCE_CONSTANT, &subject, rk_span_text("value"),
                         rk_buf_span(&was), rk_buf_span(&is));
}

static uint32_t item_of_value(const rk_program_index *index, uint32_t value) {
    uint32_t op = index->producer[value];
    return op == RK_NO_ID ? RK_NO_ID : index->item_of_op[op];
}

static uint32_t result_number(const rk_program_index *index, uint32_t value) {
    return value - index->model->ops.items[index->producer[value]].first_result;
}

// Returns whether two operands have the same origin. An operand from an added or removed operation
// counts as the same: the operation itself is the difference.
static bool same_source(const rk_differ *d, uint32_t a, uint32_t b) {
    if ((d->a->literal[a] == RK_NO_ID) != (d->b->literal[b] == RK_NO_ID))
        return false;
    uint32_t i = item_of_value(d->a, a), j = item_of_value(d->b, b);
    if ((i != RK_NO_ID && d->match[i] == RK_NO_ID) || (j != RK_NO_ID && d->back[j] == RK_NO_ID))
        return true;
    uint32_t p = d->a->parameter[a], q = d->b->parameter[b];
    if (p != RK_NO_ID || q != RK_NO_ID)
        return p != RK_NO_ID && q != RK_NO_ID && d->parameter[p] == q;
    if (i == RK_NO_ID || j == RK_NO_ID)
        return i == j; // two block arguments count as the same
    return d->match[i] == j && result_number(d->a, a) == result_number(d->b, b);
}

// Appends the origin of an operand: "input x", "stablehlo.sine of line 8".
static void write_source(const rk_program_index *index, uint32_t value, rk_buf *out) {
    uint32_t parameter = index->parameter[value], op = index->producer[value];
    rk_source place;
    if (parameter != RK_NO_ID && index->parameters[parameter].name.len) {
        rk_buf_add_text(out, "input ");
        rk_buf_add_span(out, index->parameters[parameter].name);
    } else if (parameter != RK_NO_ID) {
        rk_buf_add_format(out, "input %u", parameter);
    } else if (op != RK_NO_ID) {
        rk_span name = rk_model_string(index->model, index->model->ops.items[op].name);
        rk_buf_add_span(out, name);
        if (rk_program_index_source(index, op, &place))
            rk_buf_add_format(out, " of line %u", place.line);
    } else {
        rk_buf_add_text(out, "an argument");
    }
}

static rk_err *add_wiring(rk_differ *d, const rk_differ_subject *of, uint32_t number,
                          uint32_t before, uint32_t after) {
    rk_differ_subject subject = *of;
    // A conversion moves between an operation and its operands.
    subject.follows = rk_differ_inputs_differ(d) || d->structures > 0 || d->converts > 0;
    if (!subject.follows) {
        d->structures++;
        subject.follows = rk_differ_is_known_line(d, &subject.place);
    }
    RK_AUTO(rk_buf) name = {0};
    RK_AUTO(rk_buf) was = {0};
    RK_AUTO(rk_buf) is = {0};
    rk_buf_add_format(&name, "operand %u", number);
    write_source(d->a, before, &was);
    write_source(d->b, after, &is);
    // The inputs of PyTorch/XLA have no names, and other numbers in each graph.
    if (rk_span_equal(rk_buf_span(&was), rk_buf_span(&is))) {
        const char *what = rk_buf_text(&was);
        if (d->b->parameter[after] != RK_NO_ID)
            what = "input";
        else if (d->b->producer[after] == RK_NO_ID)
            what = "argument";
        rk_buf_clear(&is);
        rk_buf_add_format(&is, "another %s", what);
    }
    return rk_differ_add(d, RK_DIFFERENCE_ATTRIBUTE, &subject, rk_buf_span(&name),
                         rk_buf_span(&was), rk_buf_span(&is));
}

static rk_err *add_type(rk_differ *d, const rk_differ_subject *of, rk_difference_kind kind,
                        bool follows, uint32_t before, uint32_t after) {
    rk_differ_subject subject = *of;
    subject.follows = follows || rk_differ_inputs_differ(d) || d->structures || d->converts;
    if (!subject.follows) {
        // No input explains it: a number in the source decides the size, a conversion the type.
        *(kind == RK_DIFFERENCE_DTYPE ? &d->converts : &d->constants) += 1;
        subject.follows = rk_differ_is_known_line(d, &subject.place);
    }
    RK_AUTO(rk_buf) was = {0};
    RK_AUTO(rk_buf) is = {0};
    rk_program_index_write_type(d->a->model, before, &was);
    rk_program_index_write_type(d->b->model, after, &is);
    return rk_differ_add(d, kind, &subject, (rk_span){0}, rk_buf_span(&was), rk_buf_span(&is));
}

typedef struct pair {
    const rk_op *a, *b;
    uint32_t after; // operation number of b
    rk_differ_subject subject;
    bool same_place;
} pair;

static uint32_t type_of(const rk_program_index *index, uint32_t value) {
    return index->model->values.items[value].type;
}

// Returns whether two operands are the same value, reshaped or transposed by operations that no
// line of the source has. PyTorch/XLA sometimes records the views of a gradient twice, so such an
// operation may be paired with another view: its users compare what it is a view of.
static bool is_same_view(const rk_differ *d, const pair *p, uint32_t x, uint32_t y) {
    if (p->subject.place.file.len)
        return false;
    return rk_differ_is_layout_op(p->subject.op) ||
           same_source(d, rk_differ_laid_out_from(d->a, x), rk_differ_laid_out_from(d->b, y));
}

static rk_err *compare_operands(rk_differ *d, const pair *p, bool *out_types_differ) {
    const rk_model *m = d->a->model, *n = d->b->model;
    uint32_t literal = RK_NO_ID, wired = RK_NO_ID;
    rk_difference_kind literal_kind = RK_DIFFERENCE_KIND_COUNT;
    for (uint32_t i = 0; i < p->a->operand_count && i < p->b->operand_count; i++) {
        uint32_t x = m->operands.items[p->a->first_operand + i];
        uint32_t y = n->operands.items[p->b->first_operand + i];
        uint32_t before = d->a->literal[x], after = d->b->literal[y];
        rk_difference_kind kind = rk_differ_types(d, type_of(d->a, x), type_of(d->b, y));
        if (before != RK_NO_ID && after != RK_NO_ID) {
            rk_differ_subject subject = subject_of_literal(d, &p->subject, y, p->after);
            RK_TRY(compare_constants(d, &subject, p->same_place, before, after));
            literal = kind == RK_DIFFERENCE_KIND_COUNT ? literal : i;
            literal_kind = kind == RK_DIFFERENCE_KIND_COUNT ? literal_kind : kind;
            continue;
        }
        *out_types_differ |= kind != RK_DIFFERENCE_KIND_COUNT;
        if (wired == RK_NO_ID && !same_source(d, x, y) && !is_same_view(d, p, x, y))
            wired = i;
    }
    if (wired != RK_NO_ID)
        RK_TRY(add_wiring(d, &p->subject, wired, m->operands.items[p->a->first_operand + wired],
                          n->operands.items[p->b->first_operand + wired]));
    // The type of a constant is reported only if no other operand changed its type. Otherwise it
    // follows from that operand.
    if (literal == RK_NO_ID || *out_types_differ)
        return NULL;
    *out_types_differ = true;
    uint32_t x = m->operands.items[p->a->first_operand + literal];
    uint32_t y = n->operands.items[p->b->first_operand + literal];
    rk_differ_subject subject = subject_of_literal(d, &p->subject, y, p->after);
    return add_type(d, &subject, literal_kind, false, type_of(d->a, x), type_of(d->b, y));
}

// Returns whether the two operations cut a value of one type from one input, on one line. Then the
// position does not follow from other inputs.
static bool cuts_same_input(const rk_differ *d, const pair *p) {
    const rk_model *m = d->a->model, *n = d->b->model;
    if (!p->same_place || !p->subject.place.file.len || !p->a->operand_count ||
        !p->b->operand_count || !rk_is_slice(p->subject.op))
        return false;
    uint32_t x = m->operands.items[p->a->first_operand], y = n->operands.items[p->b->first_operand];
    uint32_t input = d->a->parameter[x];
    return input != RK_NO_ID && d->parameter[input] == d->b->parameter[y] &&
           rk_differ_types(d, type_of(d->a, x), type_of(d->b, y)) == RK_DIFFERENCE_KIND_COUNT &&
           rk_differ_types(d, type_of(d->a, p->a->first_result),
                           type_of(d->b, p->b->first_result)) == RK_DIFFERENCE_KIND_COUNT;
}

rk_err *rk_differ_pair(rk_differ *d, uint32_t i, uint32_t j) {
    const rk_program_index_item *x = &d->a->items[i], *y = &d->b->items[j];
    pair p = {&d->a->model->ops.items[x->op], &d->b->model->ops.items[y->op], y->op,
              rk_differ_subject_of(d->b, j), x->placed == y->placed};
    bool types_differ = false;
    size_t before = d->constants + d->structures;
    p.subject.cuts_same_input = cuts_same_input(d, &p);
    RK_TRY(compare_operands(d, &p, &types_differ));
    RK_TRY(compare_attrs(d, &p.subject, p.a, p.b));
    // A result type follows from a changed operand, constant or attribute.
    types_differ |= d->constants + d->structures > before;
    for (uint32_t r = 0; r < p.a->result_count && r < p.b->result_count; r++) {
        uint32_t was = type_of(d->a, p.a->first_result + r);
        uint32_t is = type_of(d->b, p.b->first_result + r);
        rk_difference_kind kind = rk_differ_types(d, was, is);
        if (kind != RK_DIFFERENCE_KIND_COUNT)
            RK_TRY(add_type(d, &p.subject, kind, types_differ, was, is));
    }
    d->out->matched++;
    return NULL;
}

// Numbers the arguments of each block, from 0. Owned by the caller; NULL if memory ran out.
static uint32_t *number_arguments(const rk_model *model) {
    uint32_t *numbers = rk_calloc((size_t)model->values.count + 1, sizeof *numbers);
    for (uint32_t i = 0; numbers && i < model->blocks.count; i++)
        for (uint32_t k = 0; k < model->blocks.items[i].arg_count; k++)
            numbers[model->blocks.items[i].first_arg + k] = k;
    return numbers;
}

static bool is_argument(const rk_program_index *index, uint32_t value) {
    return index->producer[value] == RK_NO_ID && index->parameter[value] == RK_NO_ID;
}

rk_err *rk_differ_arguments(rk_differ *d) {
    const rk_model *m = d->a->model, *n = d->b->model;
    rk_autofree uint32_t *before = number_arguments(m), *after = number_arguments(n);
    if (!before || !after)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < d->a->item_count; i++) {
        if (d->match[i] == RK_NO_ID)
            continue;
        const rk_op *a = &m->ops.items[d->a->items[i].op];
        const rk_op *b = &n->ops.items[d->b->items[d->match[i]].op];
        for (uint32_t k = 0; k < a->operand_count && k < b->operand_count; k++) {
            uint32_t x = m->operands.items[a->first_operand + k];
            uint32_t y = n->operands.items[b->first_operand + k];
            if (!is_argument(d->a, x) || !is_argument(d->b, y) || before[x] == after[y])
                continue;
            rk_differ_subject subject = rk_differ_subject_of(d->b, d->match[i]);
            RK_TRY(add_wiring(d, &subject, k, x, y));
            break;
        }
    }
    return NULL;
}
