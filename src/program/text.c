#include "program/text.h"

#include <inttypes.h>

#include "base/alloc.h"

enum { INDENT = 2, LOCATION_STEPS_MAX = 256 };

// A region whose end is not printed yet. The walk over the operations keeps a stack of these.
typedef struct open_region {
    uint32_t op;     // the operation that has the region
    uint32_t region; // index within the operation
    uint32_t block;  // index within the region: the current block
    uint32_t end_op; // of the current block
} open_region;

typedef struct printer {
    const rk_model *model;
    const rk_text_options *options;
    rk_buf *out;
    uint32_t *numbers; // by value: its number in the text, in the order of definition; owned
    uint32_t next_number;
    open_region *stack;
    size_t depth, capacity;
} printer;

static void printer_cleanup(printer *p) {
    rk_free(p->numbers);
    rk_free(p->stack);
}

static void indent(const printer *p, size_t depth) {
    for (size_t i = 0; i < depth * INDENT; i++)
        rk_buf_add_byte(p->out, ' ');
}

static void print_value(printer *p, uint32_t value) {
    uint32_t *number = &p->numbers[value];
    if (*number == RK_NO_ID)
        *number = p->next_number++;
    rk_buf_add_format(p->out, "%%%" PRIu32, *number);
}

static void print_value_types(printer *p, uint32_t first, uint32_t count) {
    rk_buf_add_byte(p->out, '(');
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            rk_buf_add_text(p->out, ", ");
        rk_node_print(p->model, p->model->values.items[first + i].type, p->options->elements_max,
                      p->out);
    }
    rk_buf_add_byte(p->out, ')');
}

static void print_operands(printer *p, const rk_op *op) {
    rk_buf_add_byte(p->out, '(');
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (i)
            rk_buf_add_text(p->out, ", ");
        print_value(p, p->model->operands.items[op->first_operand + i]);
    }
    rk_buf_add_byte(p->out, ')');
    for (uint32_t i = 0; i < op->successor_count; i++)
        rk_buf_add_format(p->out, " ^bb%" PRIu32,
                          p->model->successors.items[op->first_successor + i]);
}

static void print_attrs(printer *p, const rk_op *op) {
    if (!op->attr_count)
        return;
    rk_buf_add_text(p->out, " {");
    for (uint32_t i = 0; i < op->attr_count; i++) {
        const rk_field *attr = &p->model->fields.items[op->first_attr + i];
        if (i)
            rk_buf_add_text(p->out, ", ");
        rk_buf_add_span(p->out, rk_model_string(p->model, attr->name));
        rk_buf_add_text(p->out, " = ");
        rk_node_print(p->model, attr->node, p->options->elements_max, p->out);
    }
    rk_buf_add_byte(p->out, '}');
}

// "file:line name": the innermost file and the outermost name.
static void print_location(printer *p, uint32_t location) {
    if (!p->options->locations || location == RK_NO_ID)
        return;
    rk_span name = {0}, file = {0};
    uint64_t line = 0;
    for (unsigned steps = 0; steps < LOCATION_STEPS_MAX; steps++) {
        const rk_node *node = &p->model->nodes.items[location];
        if (node->kind == RK_NODE_LOC_FILE) {
            file = node->bytes;
            line = node->value >> 32;
        }
        if (node->kind == RK_NODE_LOC_NAME && !name.len)
            name = node->bytes;
        if (!node->field_count || node->kind == RK_NODE_LOC_FILE)
            break;
        location = p->model->fields.items[node->first_field].node;
    }
    if (!file.len && !name.len)
        return;
    rk_buf_add_text(p->out, "  //");
    if (file.len) {
        rk_buf_add_byte(p->out, ' ');
        rk_buf_add_span(p->out, file);
        rk_buf_add_format(p->out, ":%" PRIu64, line);
    }
    if (name.len) {
        rk_buf_add_byte(p->out, ' ');
        rk_buf_add_span(p->out, name);
    }
}

static void print_signature(printer *p, const rk_op *op) {
    const rk_model *m = p->model;
    rk_buf_add_text(p->out, " : (");
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (i)
            rk_buf_add_text(p->out, ", ");
        rk_node_print(m, m->values.items[m->operands.items[op->first_operand + i]].type,
                      p->options->elements_max, p->out);
    }
    rk_buf_add_text(p->out, ") -> ");
    print_value_types(p, op->first_result, op->result_count);
}

static void print_op_line(printer *p, const rk_op *op) {
    indent(p, p->depth);
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (i)
            rk_buf_add_text(p->out, ", ");
        print_value(p, op->first_result + i);
    }
    if (op->result_count)
        rk_buf_add_text(p->out, " = ");
    rk_buf_add_span(p->out, rk_model_string(p->model, op->name));
    print_operands(p, op);
    print_attrs(p, op);
    print_signature(p, op);
    if (op->region_count)
        rk_buf_add_text(p->out, " {");
    print_location(p, op->location);
    rk_buf_add_byte(p->out, '\n');
}

static rk_err *push(printer *p, open_region region) {
    if (p->depth == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 16;
        open_region *stack = rk_realloc(p->stack, capacity * sizeof *stack);
        if (!stack)
            return rk_err_no_memory();
        p->stack = stack;
        p->capacity = capacity;
    }
    p->stack[p->depth++] = region;
    return NULL;
}

static void print_block_head(printer *p, const rk_block *block, uint32_t number) {
    if (!block->arg_count && number == 0)
        return;
    indent(p, p->depth - 1);
    rk_buf_add_format(p->out, "^bb%" PRIu32 "(", number);
    for (uint32_t i = 0; i < block->arg_count; i++) {
        if (i)
            rk_buf_add_text(p->out, ", ");
        print_value(p, block->first_arg + i);
        rk_buf_add_text(p->out, ": ");
        rk_node_print(p->model, p->model->values.items[block->first_arg + i].type,
                      p->options->elements_max, p->out);
    }
    rk_buf_add_text(p->out, "):\n");
}

// Continues after an operation. At the end of a block: prints the head of the next block, starts
// the operation's next region, or closes the region. `next_op` is the next operation in the order
// of the model.
static void advance(printer *p, uint32_t next_op) {
    const rk_model *m = p->model;
    while (p->depth) {
        open_region *top = &p->stack[p->depth - 1];
        const rk_op *op = &m->ops.items[top->op];
        if (next_op < top->end_op)
            return;
        const rk_region *region = &m->regions.items[op->first_region + top->region];
        if (top->block + 1 < region->block_count) {
            const rk_block *block = &m->blocks.items[region->first_block + ++top->block];
            top->end_op = block->end_op;
            print_block_head(p, block, top->block);
        } else if (top->region + 1 < op->region_count) {
            const rk_region *next = &m->regions.items[op->first_region + ++top->region];
            indent(p, p->depth - 1);
            rk_buf_add_text(p->out, "}, {\n");
            top->block = 0;
            top->end_op = next_op;
            if (next->block_count) {
                const rk_block *block = &m->blocks.items[next->first_block];
                top->end_op = block->end_op;
                print_block_head(p, block, 0);
            }
        } else {
            p->depth--;
            indent(p, p->depth);
            rk_buf_add_text(p->out, "}\n");
        }
    }
}

static rk_err *print_ops(printer *p) {
    const rk_model *m = p->model;
    for (uint32_t i = 0; i < m->ops.count; i++) {
        const rk_op *op = &m->ops.items[i];
        print_op_line(p, op);
        if (op->region_count) {
            const rk_region *region = &m->regions.items[op->first_region];
            const rk_block *block =
                region->block_count ? &m->blocks.items[region->first_block] : NULL;
            RK_TRY(push(p, (open_region){i, 0, 0, block ? block->end_op : i + 1}));
            if (block)
                print_block_head(p, block, 0);
        }
        advance(p, i + 1);
        RK_TRY(rk_buf_status(p->out));
    }
    return NULL;
}

// Prints each payload once, after the program. Its number is the one in the custom call.
static rk_err *print_payloads(printer *p) {
    const rk_model *m = p->model;
    for (uint32_t i = 0; i < m->payloads.count; i++) {
        rk_buf_add_format(p->out, "\nprogram#%" PRIu32 ":\n", i);
        RK_TRY(rk_program_print(m->payloads.items[i], p->options, p->out));
    }
    return rk_buf_status(p->out);
}

rk_err *rk_program_print(const rk_model *model, const rk_text_options *options, rk_buf *out) {
    RK_AUTO(printer) p = {.model = model, .options = options, .out = out};
    size_t values = model->values.count ? model->values.count : 1;
    p.numbers = rk_malloc(values * sizeof *p.numbers);
    if (!p.numbers)
        return rk_err_no_memory();
    memset(p.numbers, 0xFF, values * sizeof *p.numbers); // RK_NO_ID
    RK_TRY(print_ops(&p));
    return print_payloads(&p);
}
