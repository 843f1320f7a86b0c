#include "diagnose/diff/program_index.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "diagnose/diff/call.h"
#include "diagnose/diff/callers_internal.h"
#include "diagnose/diff/hash.h"

enum { CALLERS_MAX = 64, TYPE_DEPTH_MAX = 16 };

void rk_program_index_cleanup(rk_program_index *index) {
    rk_free(index->functions);
    rk_free(index->items);
    rk_free(index->parameters);
    rk_free(index->results);
    rk_free(index->node_hash);
    rk_free(index->item_of_op);
    *index = (rk_program_index){0};
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

// Names of layouts. A user does not look for a difference in these.
static bool is_layout(rk_span name) {
    return rk_span_is(name, "layout") || rk_span_is(name, "host_program_shape");
}

static uint64_t hash_node(const rk_program_index *index, const rk_node *node) {
    const rk_model *m = index->model;
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
            hash = rk_hash_mix(rk_hash_span(hash, name), index->node_hash[field->node]);
    }
    return hash;
}

static bool is_function(const rk_model *m, const rk_op *op) {
    return is_name(m, op->name, "func.func") || is_name(m, op->name, "hlo.computation");
}

static bool is_constant(const rk_model *m, const rk_op *op) {
    return is_name(m, op->name, "stablehlo.constant") || is_name(m, op->name, "hlo.constant");
}

bool rk_program_index_spreads(const rk_model *m, const rk_op *op) {
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

static rk_err *allocate(rk_program_index *index) {
    const rk_model *m = index->model;
    size_t nodes = m->nodes.count, ops = m->ops.count, values = m->values.count;
    index->node_hash = rk_malloc((nodes + 1) * sizeof *index->node_hash);
    index->items = rk_malloc((ops + 1) * sizeof *index->items);
    index->item_of_op = rk_malloc((2 * ops + 3 * values + 1) * sizeof(uint32_t));
    if (!index->node_hash || !index->items || !index->item_of_op)
        return rk_err_no_memory();
    memset(index->item_of_op, 0xFF, (2 * ops + 3 * values + 1) * sizeof(uint32_t)); // RK_NO_ID
    index->user = index->item_of_op + ops;
    index->producer = index->user + ops;
    index->literal = index->producer + values;
    index->parameter = index->literal + values;
    return NULL;
}

// Lists the functions. Function 0 holds the module's own operations.
static rk_err *find_functions(rk_program_index *index) {
    const rk_model *m = index->model;
    uint32_t count = 1;
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end)
        count += is_function(m, &m->ops.items[i]);
    index->functions = rk_calloc(count, sizeof *index->functions);
    if (!index->functions)
        return rk_err_no_memory();
    index->functions[0] = (rk_program_index_function){.caller = RK_NO_ID};
    index->function_count = 1;
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end) {
        const rk_op *op = &m->ops.items[i];
        if (!is_function(m, op))
            continue;
        uint32_t name = rk_model_attr(m, op, "sym_name");
        if (name == RK_NO_ID)
            name = rk_model_attr(m, op, "name");
        uint32_t visibility = rk_model_attr(m, op, "sym_visibility");
        rk_program_index_function *function = &index->functions[index->function_count];
        *function = (rk_program_index_function){.op = i, .caller = RK_NO_ID};
        function->name = name == RK_NO_ID ? (rk_span){0} : m->nodes.items[name].bytes;
        function->name_hash =
            rk_hash_span(RK_HASH_SEED, rk_program_index_bare_name(function->name));
        bool is_entry = rk_model_attr(m, op, "entry") != RK_NO_ID ||
                        rk_span_is(function->name, "main") ||
                        (visibility != RK_NO_ID && !index->entry &&
                         rk_span_is(m->nodes.items[visibility].bytes, "public"));
        if (is_entry)
            index->entry = index->function_count;
        index->function_count++;
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

uint64_t rk_program_index_kind(rk_span name, uint32_t operands, uint32_t results,
                               uint32_t regions) {
    uint64_t hash = rk_hash_mix(rk_hash_span(RK_HASH_SEED, name), operands);
    return rk_hash_mix(hash, (uint64_t)results << 32 | regions);
}

// The kind of an operation includes the function that it calls.
static uint64_t hash_kind(const rk_program_index *index, const rk_op *op) {
    static const char *const names[] = {"callee", "call_target_name", "custom_call_target", "name"};
    const rk_model *m = index->model;
    uint64_t hash = rk_program_index_kind(rk_model_string(m, op->name), op->operand_count,
                                          op->result_count, op->region_count);
    uint32_t called = first_attr_of(m, op, names, RK_ARRAY_LEN(names));
    return called == RK_NO_ID ? hash : rk_hash_mix(hash, index->node_hash[called]);
}

// Hashes the scope of an operation without the numbers that PyTorch/XLA gives to its operations in
// the order of the program: "aten__sub.2/aten__sub".
static uint64_t hash_scope(uint64_t hash, rk_span scope) {
    size_t from = 0;
    for (size_t i = 0; i <= scope.len; i++) {
        if (i < scope.len && scope.data[i] != '/')
            continue;
        rk_span part = scope.len ? rk_span_of(scope.data + from, i - from) : scope;
        rk_span bare = rk_program_index_bare_name(part);
        bool numbered = bare.len < part.len && part.data[bare.len] == '.';
        hash = rk_hash_span(hash, numbered ? bare : part);
        from = i + 1;
    }
    return hash;
}

static uint64_t hash_placed(const rk_program_index *index, uint64_t kind, const rk_op *op) {
    rk_source place;
    uint64_t hash = hash_scope(kind, rk_source_scope(index->model, op->location));
    if (rk_source_of(index->model, op->location, &place))
        hash = rk_hash_mix(rk_hash_span(hash, place.file), place.line);
    return hash;
}

static void add_item(rk_program_index *index, uint32_t function, uint32_t op) {
    const rk_op *at = &index->model->ops.items[op];
    index->item_of_op[op] = index->item_count;
    uint64_t kind = hash_kind(index, at);
    index->items[index->item_count++] = (rk_program_index_item){
        .op = op, .function = function, .kind = kind, .placed = hash_placed(index, kind, at)};
}

static void note_literal(rk_program_index *index, const rk_op *op, uint32_t op_id) {
    const rk_model *m = index->model;
    if (is_constant(m, op)) {
        for (uint32_t i = 0; i < op->result_count; i++)
            index->literal[op->first_result + i] = op_id;
    } else if (rk_program_index_spreads(m, op)) {
        index->literal[op->first_result] = index->literal[m->operands.items[op->first_operand]];
    }
}

static bool is_literal(const rk_program_index *index, const rk_op *op) {
    return op->result_count && index->literal[op->first_result] != RK_NO_ID;
}

static void note_uses(rk_program_index *index, uint32_t op_id, const rk_op *op) {
    const rk_model *m = index->model;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        // If the operand is a literal, also record the operations down to its constant.
        uint32_t value = m->operands.items[op->first_operand + i];
        for (unsigned steps = 0; steps < CALLERS_MAX; steps++) {
            uint32_t producer = index->producer[value];
            if (producer == RK_NO_ID || index->user[producer] != RK_NO_ID)
                break;
            index->user[producer] = op_id;
            const rk_op *made = &m->ops.items[producer];
            if (!is_literal(index, made) || made->operand_count != 1)
                break;
            value = m->operands.items[made->first_operand];
        }
    }
}

static void note_producer(rk_program_index *index, uint32_t op_id, const rk_op *op) {
    for (uint32_t i = 0; i < op->result_count; i++)
        index->producer[op->first_result + i] = op_id;
}

static void add_operations(rk_program_index *index, uint32_t function, uint32_t first,
                           uint32_t end) {
    const rk_model *m = index->model;
    bool in_entry = function == index->entry && function != 0;
    for (uint32_t i = first; i < end; i++) {
        const rk_op *op = &m->ops.items[i];
        index->op_count++;
        note_producer(index, i, op);
        note_literal(index, op, i);
        if (is_literal(index, op) || (in_entry && is_name(m, op->name, "hlo.parameter")))
            continue;
        add_item(index, function, i);
        note_uses(index, i, op);
    }
}

static void add_items(rk_program_index *index) {
    const rk_model *m = index->model;
    // The module operation itself is the first item.
    add_item(index, 0, 0);
    for (uint32_t i = 1; i < m->ops.count; i = m->ops.items[i].end)
        if (!is_function(m, &m->ops.items[i]))
            add_operations(index, 0, i, m->ops.items[i].end);
    index->functions[0].count = index->item_count;
    for (uint32_t f = 1; f < index->function_count; f++) {
        rk_program_index_function *function = &index->functions[f];
        function->first = index->item_count;
        add_operations(index, f, function->op + 1, m->ops.items[function->op].end);
        function->count = index->item_count - function->first;
    }
}

static rk_span name_of_argument(const rk_model *m, uint32_t value) {
    uint32_t location = m->values.items[value].location;
    if (location == RK_NO_ID)
        return (rk_span){0};
    const rk_node *node = &m->nodes.items[location];
    return node->kind == RK_NODE_LOC_NAME ? node->bytes : (rk_span){0};
}

static rk_err *take_arguments(rk_program_index *index, const rk_op *function) {
    const rk_model *m = index->model;
    const rk_region *region = &m->regions.items[function->first_region];
    const rk_block *block = region->block_count ? &m->blocks.items[region->first_block] : NULL;
    uint32_t count = block ? block->arg_count : 0;
    uint32_t list = rk_model_attr(m, function, "arg_attrs");
    index->parameters = rk_calloc((size_t)count + 1, sizeof *index->parameters);
    if (!index->parameters)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < count; i++) {
        const rk_node *attrs = list == RK_NO_ID ? NULL : &m->nodes.items[list];
        uint32_t value = block->first_arg + i;
        index->parameters[i] = (rk_program_index_parameter){
            .value = value,
            .name = name_of_argument(m, value),
            .attrs = attrs && i < attrs->field_count ? m->fields.items[attrs->first_field + i].node
                                                     : RK_NO_ID,
        };
    }
    index->parameter_count = count;
    return NULL;
}

// HLO's parameters are operations with a number; a missing number means 0.
static rk_err *take_hlo_parameters(rk_program_index *index, uint32_t first, uint32_t end) {
    const rk_model *m = index->model;
    uint32_t count = 0;
    for (uint32_t i = first; i < end; i++)
        count += is_name(m, m->ops.items[i].name, "hlo.parameter");
    index->parameters = rk_calloc((size_t)count + 1, sizeof *index->parameters);
    if (!index->parameters)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < count; i++)
        index->parameters[i].value = RK_NO_ID;
    for (uint32_t i = first; i < end; i++) {
        const rk_op *op = &m->ops.items[i];
        uint32_t number = rk_model_attr(m, op, "parameter_number");
        uint64_t at = number == RK_NO_ID ? 0 : m->nodes.items[number].value;
        if (is_name(m, op->name, "hlo.parameter") && op->result_count && at < count)
            index->parameters[at] = (rk_program_index_parameter){
                .value = op->first_result, .attrs = rk_model_attr(m, op, "sharding")};
    }
    index->parameter_count = count;
    return NULL;
}

// The operation that makes the results: the last one of an MLIR function, the root of an HLO
// computation.
static uint32_t find_end(const rk_model *m, uint32_t function) {
    const rk_op *op = &m->ops.items[function];
    uint32_t root = rk_model_attr(m, op, "root"), last = function + 1;
    if (root != RK_NO_ID && m->nodes.items[root].value < op->end - function - 1)
        return function + 1 + (uint32_t)m->nodes.items[root].value;
    for (uint32_t i = function + 1; i < op->end; i = m->ops.items[i].end)
        last = i;
    return last;
}

// JAX gives the return operation the location of the call; older versions give it none.
static void take_call(rk_program_index *index, uint32_t function, uint32_t end) {
    const rk_model *m = index->model;
    rk_source frame;
    index->call_location = m->ops.items[end].location;
    if (!rk_source_frames(m, index->call_location, RK_FILE_FRAMEWORK, &frame, 1))
        index->call_location = rk_call_of_operations(m, function + 1, end);
    if (index->call_location == RK_NO_ID) // the entry function may call another one without a stack
        index->call_location = rk_call_of_operations(m, 0, m->ops.count);
    if (index->call_location == RK_NO_ID || !rk_source_of(m, index->call_location, &index->call))
        index->call = (rk_source){0};
}

// Lists the results of the entry function; the elements of a tuple are separate results.
static rk_err *take_results(rk_program_index *index, uint32_t function) {
    const rk_model *m = index->model;
    if (function + 1 >= m->ops.items[function].end)
        return NULL;
    uint32_t end_id = find_end(m, function);
    const rk_op *end = &m->ops.items[end_id];
    bool is_list = is_name(m, end->name, "func.return") || is_name(m, end->name, "hlo.tuple");
    uint32_t count = is_list ? end->operand_count : end->result_count;
    index->results = rk_malloc(((size_t)count + 1) * sizeof *index->results);
    if (!index->results)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < count; i++)
        index->results[i] =
            is_list ? m->operands.items[end->first_operand + i] : end->first_result + i;
    index->result_count = count;
    if (is_name(m, end->name, "func.return"))
        take_call(index, function, end_id);
    return NULL;
}

static rk_err *take_entry(rk_program_index *index) {
    const rk_model *m = index->model;
    if (!index->entry)
        return NULL;
    uint32_t op_id = index->functions[index->entry].op;
    const rk_op *function = &m->ops.items[op_id];
    if (is_name(m, function->name, "hlo.computation"))
        RK_TRY(take_hlo_parameters(index, op_id + 1, function->end));
    else if (function->region_count)
        RK_TRY(take_arguments(index, function));
    for (uint32_t i = 0; i < index->parameter_count; i++)
        if (index->parameters[i].value != RK_NO_ID)
            index->parameter[index->parameters[i].value] = i;
    return take_results(index, op_id);
}

rk_err *rk_program_index_make(const rk_model *model, rk_program_index *out_index) {
    *out_index = (rk_program_index){.model = model, .call_location = RK_NO_ID};
    if (!model->ops.count)
        return rk_error(RK_RESOURCE_EXHAUSTED, "a program without a module");
    RK_TRY(allocate(out_index));
    for (uint32_t i = 0; i < model->nodes.count; i++)
        out_index->node_hash[i] = hash_node(out_index, &model->nodes.items[i]);
    RK_TRY(find_functions(out_index));
    add_items(out_index);
    RK_TRY(rk_program_index_find_callers(out_index));
    return take_entry(out_index);
}

static uint32_t function_of(const rk_program_index *index, uint32_t op) {
    uint32_t low = 1,
             high = index->function_count; // functions are in the order of their operations
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (index->functions[middle].op <= op)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t function = low - 1;
    if (!function || op >= index->model->ops.items[index->functions[function].op].end)
        return 0;
    return function;
}

bool rk_program_index_source(const rk_program_index *index, uint32_t op, rk_source *out_place) {
    for (unsigned steps = 0; steps < CALLERS_MAX && op != RK_NO_ID; steps++) {
        if (rk_source_of(index->model, index->model->ops.items[op].location, out_place))
            return true;
        op = index->functions[function_of(index, op)].caller;
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
