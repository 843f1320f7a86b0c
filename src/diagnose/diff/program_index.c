#include "diagnose/diff/program_index.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "diagnose/diff/hash.h"

enum { CALLERS_MAX = 64, TYPE_DEPTH_MAX = 16 };

void rk_program_index_cleanup(rk_program_index *view) {
    rk_free(view->functions);
    rk_free(view->items);
    rk_free(view->parameters);
    rk_free(view->results);
    rk_free(view->node_hash);
    rk_free(view->item_of_op);
    *view = (rk_program_index){0};
}

rk_span rk_program_index_bare_name(rk_span name) {
    size_t len = name.len;
    while (len && name.data[len - 1] >= '0' && name.data[len - 1] <= '9')
        len--;
    if (len == name.len || len < 2 || (name.data[len - 1] != '.' && name.data[len - 1] != '_'))
        return name;
    return rk_span_of(name.data, len - 1);
}

static bool is_name(const rk_model *m, uint32_t string, const char *text) {
    return rk_span_is(rk_model_string(m, string), text);
}

// What layouts and positions are called: nothing that a person would look for.
static bool is_layout(rk_span name) {
    return rk_span_is(name, "layout") || rk_span_is(name, "host_program_shape");
}

static uint64_t hash_node(const rk_program_index *view, const rk_node *node) {
    const rk_model *m = view->model;
    rk_span bytes =
        node->kind == RK_NODE_SYMBOL ? rk_program_index_bare_name(node->bytes) : node->bytes;
    uint64_t hash = rk_hash_mix(RK_HASH_SEED, node->kind);
    hash = rk_hash_span(hash, rk_model_string(m, node->name));
    hash = rk_hash_mix(hash, node->kind == RK_NODE_PROGRAM ? 0 : node->value);
    hash = rk_hash_span(hash, bytes);
    for (uint32_t i = 0; i < node->field_count; i++) {
        const rk_field *field = &m->fields.items[node->first_field + i];
        rk_span name = rk_model_string(m, field->name);
        if (!is_layout(name))
            hash = rk_hash_mix(rk_hash_span(hash, name), view->node_hash[field->node]);
    }
    return hash;
}

static bool is_function(const rk_model *m, const rk_op *op) {
    return is_name(m, op->name, "func.func") || is_name(m, op->name, "hlo.computation");
}

static bool is_constant(const rk_model *m, const rk_op *op) {
    return is_name(m, op->name, "stablehlo.constant") || is_name(m, op->name, "hlo.constant");
}

// Operations that say no more than their one operand.
static bool spreads(const rk_model *m, const rk_op *op) {
    static const char *const names[] = {
        "stablehlo.broadcast_in_dim",
        "stablehlo.convert",
        "stablehlo.reshape",
        "hlo.broadcast",
        "hlo.convert",
        "hlo.reshape",
    };
    if (op->operand_count != 1 || op->result_count != 1)
        return false;
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        if (is_name(m, op->name, names[i]))
            return true;
    return false;
}

static rk_err *allocate(rk_program_index *view) {
    const rk_model *m = view->model;
    size_t nodes = m->nodes.count, ops = m->ops.count, values = m->values.count;
    view->node_hash = rk_malloc((nodes + 1) * sizeof *view->node_hash);
    view->items = rk_malloc((ops + 1) * sizeof *view->items);
    view->item_of_op = rk_malloc((2 * ops + 3 * values + 1) * sizeof(uint32_t));
    if (!view->node_hash || !view->items || !view->item_of_op)
        return rk_err_no_memory();
    memset(view->item_of_op, 0xFF, (2 * ops + 3 * values + 1) * sizeof(uint32_t)); // RK_NO_ID
    view->user = view->item_of_op + ops;
    view->producer = view->user + ops;
    view->literal = view->producer + values;
    view->parameter = view->literal + values;
    return NULL;
}

// The functions: the module's own operations come first, in one of their own.
static rk_err *find_functions(rk_program_index *view) {
    const rk_model *m = view->model;
    uint32_t count = 1;
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end)
        count += is_function(m, &m->ops.items[i]);
    view->functions = rk_calloc(count, sizeof *view->functions);
    if (!view->functions)
        return rk_err_no_memory();
    view->functions[0] = (rk_program_index_function){.caller = RK_NO_ID};
    view->function_count = 1;
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end) {
        const rk_op *op = &m->ops.items[i];
        if (!is_function(m, op))
            continue;
        uint32_t name = rk_model_attr(m, op, "sym_name");
        if (name == RK_NO_ID)
            name = rk_model_attr(m, op, "name");
        uint32_t visibility = rk_model_attr(m, op, "sym_visibility");
        rk_program_index_function *function = &view->functions[view->function_count];
        *function = (rk_program_index_function){.op = i, .caller = RK_NO_ID};
        function->name = name == RK_NO_ID ? (rk_span){0} : m->nodes.items[name].bytes;
        function->name_hash =
            rk_hash_span(RK_HASH_SEED, rk_program_index_bare_name(function->name));
        bool is_entry = rk_model_attr(m, op, "entry") != RK_NO_ID ||
                        rk_span_is(function->name, "main") ||
                        (visibility != RK_NO_ID && !view->entry &&
                         rk_span_is(m->nodes.items[visibility].bytes, "public"));
        if (is_entry)
            view->entry = view->function_count;
        view->function_count++;
    }
    return NULL;
}

static uint32_t first_attr_of(const rk_model *m, const rk_op *op, const char *const *names,
                              size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t node = rk_model_attr(m, op, names[i]);
        if (node != RK_NO_ID)
            return node;
    }
    return RK_NO_ID;
}

// What an operation calls is part of what it is.
static uint64_t hash_kind(const rk_program_index *view, const rk_op *op) {
    static const char *const names[] = {"callee", "call_target_name", "custom_call_target", "name"};
    const rk_model *m = view->model;
    uint64_t hash = rk_hash_span(RK_HASH_SEED, rk_model_string(m, op->name));
    hash = rk_hash_mix(hash, op->operand_count);
    hash = rk_hash_mix(hash, (uint64_t)op->result_count << 32 | op->region_count);
    uint32_t called = first_attr_of(m, op, names, RK_ARRAY_LEN(names));
    return called == RK_NO_ID ? hash : rk_hash_mix(hash, view->node_hash[called]);
}

static uint64_t hash_placed(const rk_program_index *view, uint64_t kind, const rk_op *op) {
    rk_source place;
    uint64_t hash = rk_hash_span(kind, rk_source_scope(view->model, op->location));
    if (rk_source_of(view->model, op->location, &place))
        hash = rk_hash_mix(rk_hash_span(hash, place.file), place.line);
    return hash;
}

static void add_item(rk_program_index *view, uint32_t function, uint32_t op) {
    const rk_op *at = &view->model->ops.items[op];
    view->item_of_op[op] = view->item_count;
    uint64_t kind = hash_kind(view, at);
    view->items[view->item_count++] = (rk_program_index_item){
        .op = op, .function = function, .kind = kind, .placed = hash_placed(view, kind, at)};
}

static void note_literal(rk_program_index *view, const rk_op *op, uint32_t index) {
    const rk_model *m = view->model;
    if (is_constant(m, op)) {
        for (uint32_t i = 0; i < op->result_count; i++)
            view->literal[op->first_result + i] = index;
    } else if (spreads(m, op)) {
        view->literal[op->first_result] = view->literal[m->operands.items[op->first_operand]];
    }
}

static bool is_literal(const rk_program_index *view, const rk_op *op) {
    return op->result_count && view->literal[op->first_result] != RK_NO_ID;
}

static void note_uses(rk_program_index *view, uint32_t index, const rk_op *op) {
    const rk_model *m = view->model;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        // Through what spreads a constant, down to the constant itself.
        uint32_t value = m->operands.items[op->first_operand + i];
        for (unsigned steps = 0; steps < CALLERS_MAX; steps++) {
            uint32_t producer = view->producer[value];
            if (producer == RK_NO_ID || view->user[producer] != RK_NO_ID)
                break;
            view->user[producer] = index;
            const rk_op *made = &m->ops.items[producer];
            if (!is_literal(view, made) || made->operand_count != 1)
                break;
            value = m->operands.items[made->first_operand];
        }
    }
}

static void note_producer(rk_program_index *view, uint32_t index, const rk_op *op) {
    for (uint32_t i = 0; i < op->result_count; i++)
        view->producer[op->first_result + i] = index;
}

static void add_operations(rk_program_index *view, uint32_t function, uint32_t first,
                           uint32_t end) {
    const rk_model *m = view->model;
    bool in_entry = function == view->entry && function != 0;
    for (uint32_t i = first; i < end; i++) {
        const rk_op *op = &m->ops.items[i];
        view->op_count++;
        note_producer(view, i, op);
        note_literal(view, op, i);
        if (is_literal(view, op) || (in_entry && is_name(m, op->name, "hlo.parameter")))
            continue;
        add_item(view, function, i);
        note_uses(view, i, op);
    }
}

static void add_items(rk_program_index *view) {
    const rk_model *m = view->model;
    add_item(view, 0, 0);
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end)
        if (!is_function(m, &m->ops.items[i]))
            add_operations(view, 0, i, m->ops.items[i].end);
    view->functions[0].count = view->item_count;
    for (uint32_t f = 1; f < view->function_count; f++) {
        rk_program_index_function *function = &view->functions[f];
        function->first = view->item_count;
        add_operations(view, f, function->op + 1, m->ops.items[function->op].end);
        function->count = view->item_count - function->first;
    }
}

// Symbols in an attribute, at most two lists deep.
static void note_calls(rk_program_index *view, uint32_t op, uint32_t node, unsigned depth) {
    const rk_model *m = view->model;
    const rk_node *at = &m->nodes.items[node];
    if (at->kind == RK_NODE_SYMBOL) {
        for (uint32_t f = 1; f < view->function_count; f++) {
            rk_program_index_function *function = &view->functions[f];
            if (function->caller == RK_NO_ID && rk_span_equal(function->name, at->bytes))
                function->caller = op;
        }
    } else if (at->kind == RK_NODE_LIST && depth < 2) {
        for (uint32_t i = 0; i < at->field_count; i++)
            note_calls(view, op, m->fields.items[at->first_field + i].node, depth + 1);
    }
}

// Who calls each function first. Only functions without a caller are looked for, so that the time
// is that of the calls and, for each function, of one walk over the others.
static void find_callers(rk_program_index *view) {
    const rk_model *m = view->model;
    uint32_t budget = 1u << 20; // of calls that are looked at, for programs made to be slow
    for (uint32_t i = 0; i < view->item_count && budget; i++) {
        const rk_op *op = &m->ops.items[view->items[i].op];
        for (uint32_t a = 0; a < op->attr_count && budget; a++) {
            uint32_t node = m->fields.items[op->first_attr + a].node;
            uint8_t kind = m->nodes.items[node].kind;
            if (kind != RK_NODE_SYMBOL && kind != RK_NODE_LIST)
                continue;
            budget -= budget > view->function_count ? view->function_count : budget;
            note_calls(view, view->items[i].op, node, 0);
        }
    }
}

static rk_span name_of_argument(const rk_model *m, uint32_t value) {
    uint32_t location = m->values.items[value].location;
    if (location == RK_NO_ID)
        return (rk_span){0};
    const rk_node *node = &m->nodes.items[location];
    return node->kind == RK_NODE_LOC_NAME ? node->bytes : (rk_span){0};
}

static rk_err *take_arguments(rk_program_index *view, const rk_op *function) {
    const rk_model *m = view->model;
    const rk_region *region = &m->regions.items[function->first_region];
    const rk_block *block = region->block_count ? &m->blocks.items[region->first_block] : NULL;
    uint32_t count = block ? block->arg_count : 0;
    uint32_t list = rk_model_attr(m, function, "arg_attrs");
    view->parameters = rk_calloc((size_t)count + 1, sizeof *view->parameters);
    if (!view->parameters)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < count; i++) {
        const rk_node *attrs = list == RK_NO_ID ? NULL : &m->nodes.items[list];
        uint32_t value = block->first_arg + i;
        view->parameters[i] = (rk_program_index_parameter){
            .value = value,
            .name = name_of_argument(m, value),
            .attrs = attrs && i < attrs->field_count ? m->fields.items[attrs->first_field + i].node
                                                     : RK_NO_ID,
        };
    }
    view->parameter_count = count;
    return NULL;
}

// HLO's parameters are operations with a number; what has no number is the first.
static rk_err *take_hlo_parameters(rk_program_index *view, uint32_t first, uint32_t end) {
    const rk_model *m = view->model;
    uint32_t count = 0;
    for (uint32_t i = first; i < end; i++)
        count += is_name(m, m->ops.items[i].name, "hlo.parameter");
    view->parameters = rk_calloc((size_t)count + 1, sizeof *view->parameters);
    if (!view->parameters)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < count; i++)
        view->parameters[i].value = RK_NO_ID;
    for (uint32_t i = first; i < end; i++) {
        const rk_op *op = &m->ops.items[i];
        uint32_t number = rk_model_attr(m, op, "parameter_number");
        uint64_t at = number == RK_NO_ID ? 0 : m->nodes.items[number].value;
        if (is_name(m, op->name, "hlo.parameter") && op->result_count && at < count)
            view->parameters[at] = (rk_program_index_parameter){
                .value = op->first_result, .attrs = rk_model_attr(m, op, "sharding")};
    }
    view->parameter_count = count;
    return NULL;
}

// The last operation of MLIR's function; HLO's root.
static uint32_t find_end(const rk_model *m, uint32_t function) {
    const rk_op *op = &m->ops.items[function];
    uint32_t root = rk_model_attr(m, op, "root"), last = function + 1;
    if (root != RK_NO_ID && m->nodes.items[root].value < op->end - function - 1)
        return function + 1 + (uint32_t)m->nodes.items[root].value;
    for (uint32_t i = function + 1; i < op->end; i = m->ops.items[i].end)
        last = i;
    return last;
}

// What the function returns: a tuple's parts one by one.
static rk_err *take_results(rk_program_index *view, uint32_t function) {
    const rk_model *m = view->model;
    if (function + 1 >= m->ops.items[function].end)
        return NULL;
    const rk_op *end = &m->ops.items[find_end(m, function)];
    bool is_list = is_name(m, end->name, "func.return") || is_name(m, end->name, "hlo.tuple");
    uint32_t count = is_list ? end->operand_count : end->result_count;
    view->results = rk_malloc(((size_t)count + 1) * sizeof *view->results);
    if (!view->results)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < count; i++)
        view->results[i] =
            is_list ? m->operands.items[end->first_operand + i] : end->first_result + i;
    view->result_count = count;
    // JAX gives what a function returns the place that it was called from.
    if (!is_name(m, end->name, "func.return") || !rk_source_of(m, end->location, &view->call))
        view->call = (rk_source){0};
    return NULL;
}

static rk_err *take_entry(rk_program_index *view) {
    const rk_model *m = view->model;
    if (!view->entry)
        return NULL;
    uint32_t index = view->functions[view->entry].op;
    const rk_op *function = &m->ops.items[index];
    if (is_name(m, function->name, "hlo.computation"))
        RK_TRY(take_hlo_parameters(view, index + 1, function->end));
    else if (function->region_count)
        RK_TRY(take_arguments(view, function));
    for (uint32_t i = 0; i < view->parameter_count; i++)
        if (view->parameters[i].value != RK_NO_ID)
            view->parameter[view->parameters[i].value] = i;
    return take_results(view, index);
}

rk_err *rk_program_index_make(const rk_model *model, rk_program_index *out_view) {
    *out_view = (rk_program_index){.model = model};
    if (!model->ops.count)
        return rk_error(RK_RESOURCE_EXHAUSTED, "a program without a module");
    RK_TRY(allocate(out_view));
    for (uint32_t i = 0; i < model->nodes.count; i++)
        out_view->node_hash[i] = hash_node(out_view, &model->nodes.items[i]);
    RK_TRY(find_functions(out_view));
    add_items(out_view);
    find_callers(out_view);
    return take_entry(out_view);
}

static uint32_t function_of(const rk_program_index *view, uint32_t op) {
    uint32_t low = 1, high = view->function_count; // functions lie in the order of operations
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (view->functions[middle].op <= op)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t function = low - 1;
    if (!function || op >= view->model->ops.items[view->functions[function].op].end)
        return 0;
    return function;
}

bool rk_program_index_source(const rk_program_index *view, uint32_t op, rk_source *out_place) {
    for (unsigned steps = 0; steps < CALLERS_MAX && op != RK_NO_ID; steps++) {
        if (rk_source_of(view->model, view->model->ops.items[op].location, out_place))
            return true;
        op = view->functions[function_of(view, op)].caller;
    }
    *out_place = (rk_source){0};
    return false;
}

bool rk_program_index_tensor(const rk_model *model, uint32_t type, rk_span *out_dims,
                             rk_span *out_element) {
    if (type == RK_NO_ID)
        return false;
    const rk_node *node = &model->nodes.items[type];
    if (node->kind != RK_NODE_TYPE || !node->field_count ||
        !rk_span_is(rk_model_string(model, node->name), "tensor"))
        return false;
    const rk_node *element = &model->nodes.items[model->fields.items[node->first_field].node];
    *out_dims = node->bytes;
    *out_element = rk_model_string(model, element->name);
    return true;
}

static void write_type(const rk_model *m, uint32_t type, unsigned depth, rk_buf *out) {
    const rk_node *node = type == RK_NO_ID ? NULL : &m->nodes.items[type];
    if (!node || node->kind != RK_NODE_TYPE || depth > TYPE_DEPTH_MAX) {
        rk_buf_add_text(out, node ? "…" : "none");
        return;
    }
    rk_buf_add_span(out, rk_model_string(m, node->name));
    bool open = false;
    for (size_t i = 0; i + 8 <= node->bytes.len; i += 8) {
        int64_t dim = (int64_t)rk_load_u64le(node->bytes.data + i);
        rk_buf_add_text(out, open ? "" : "<");
        open = true;
        if (dim == INT64_MIN)
            rk_buf_add_text(out, "?x");
        else
            rk_buf_add_format(out, "%" PRId64 "x", dim);
    }
    bool first = true;
    for (uint32_t i = 0; i < node->field_count; i++) {
        const rk_field *field = &m->fields.items[node->first_field + i];
        if (field->name != RK_NO_ID || m->nodes.items[field->node].kind != RK_NODE_TYPE)
            continue;
        rk_buf_add_text(out, open ? (first ? "" : ", ") : "<");
        open = true;
        first = false;
        write_type(m, field->node, depth + 1, out);
    }
    if (open)
        rk_buf_add_byte(out, '>');
}

void rk_program_index_write_type(const rk_model *model, uint32_t type, rk_buf *out) {
    write_type(model, type, 0, out);
}
