// Walks over the operations of MLIR text with an explicit stack: one frame for each open region.
#include "program/mlir/asm/read.h"

#include "base/alloc.h"
#include "program/mlir/asm/attrs.h"
#include "program/mlir/asm/constants.h"
#include "program/mlir/asm/locations.h"
#include "program/mlir/asm/nodes.h"
#include "program/mlir/asm/op.h"
#include "program/mlir/asm/pretty.h"
#include "program/mlir/asm/region.h"
#include "program/mlir/asm/special.h"
#include "program/mlir/asm/traits.h"
#include "program/mlir/asm/types.h"

enum { MAX_NESTING = 256 };

typedef struct frame {
    rk_asm_op op;
    rk_asm_region region;
    uint32_t region_count; // regions read so far, with the open one
} frame;

typedef struct reader {
    rk_asm p;
    rk_payload_fn *read_payload;
    bool keeps_programs;
    const rk_asm_spec *module, *func, *func_return, *other_return;
    uint32_t func_return_name, other_return_name; // string ids
    RK_ASM_ARRAY(const rk_asm_spec *) specs;      // by string id of the name; NULL: not looked up
    frame *frames;                                // owned
    uint32_t frame_count;
} reader;

static void reader_cleanup(reader *r) {
    rk_asm_cleanup(&r->p);
    rk_free(r->specs.items);
    rk_free(r->frames);
}

static frame *top_of(const reader *r) {
    return r->frame_count ? &r->frames[r->frame_count - 1] : NULL;
}

// Names of operations.

static const rk_asm_spec *find_spec(reader *r, rk_span name, uint32_t *out_id) {
    rk_asm *p = &r->p;
    *out_id = rk_asm_name(p, name);
    if (*out_id == RK_NO_ID || !RK_ASM_RESERVE(p, r->specs, (uint64_t)*out_id + 1))
        return NULL;
    const rk_asm_spec **spec = &r->specs.items[*out_id];
    if (!*spec)
        *spec = rk_asm_find_spec(name);
    if (!*spec)
        rk_asm_fail(p, "an unknown operation");
    return *spec;
}

// Operations of the dialect that the enclosing operation prefers have no prefix.
static rk_span with_dialect(const reader *r, rk_span name) {
    const frame *top = top_of(r);
    bool in_func = top && top->op.spec == r->func;
    bool in_module = !top || top->op.spec == r->module;
    if (in_func && rk_span_is(name, "return"))
        return rk_span_text("func.return");
    if (in_func && rk_span_is(name, "call"))
        return rk_span_text("func.call");
    return in_module && rk_span_is(name, "module") ? rk_span_text("builtin.module") : name;
}

// VHLO has one kind of return: it ends a function or another region (name_of in mlir/read.c).
static bool settle_return(reader *r, const rk_asm_spec *spec, uint32_t *name) {
    const frame *top = top_of(r);
    bool in_func = top && top->op.spec == r->func;
    if (spec != r->func_return && spec != r->other_return)
        return true;
    if (spec == r->func_return && !in_func) {
        rk_asm_fail(&r->p, "a return outside of a function");
        return false;
    }
    *name = in_func ? r->func_return_name : r->other_return_name;
    return true;
}

// Reading.

// "%0, %1:2 = ", or nothing.
static bool read_targets(rk_asm *p) {
    rk_asm_target target;
    if (rk_asm_peek(p) != '%')
        return true;
    do {
        if (!rk_asm_target_name(p, true, &target) || !RK_ASM_PUSH(p, p->targets, target))
            return false;
    } while (rk_asm_accept(p, ','));
    return rk_asm_expect(p, '=');
}

static rk_asm_next start_op(reader *r, rk_asm_op *op) {
    rk_asm *p = &r->p;
    uint32_t first_target = p->targets.count, name;
    if (!read_targets(p))
        return RK_ASM_FAILED;
    rk_span text = {0};
    bool is_generic = rk_asm_peek(p) == '"';
    if (is_generic ? !rk_asm_string(p, &text) : !(text = rk_asm_word(p)).len) {
        rk_asm_fail(p, "an operation without a name");
        return RK_ASM_FAILED;
    }
    if (!is_generic)
        text = with_dialect(r, text);
    const rk_asm_spec *spec = find_spec(r, text, &name);
    if (!spec || !settle_return(r, spec, &name) ||
        !rk_asm_begin_op(p, spec, is_generic ? RK_ASM_GENERIC : RK_ASM_FORM, name, first_target,
                         op))
        return RK_ASM_FAILED;
    if (is_generic)
        return rk_asm_read_generic(p, op);
    if (!spec->form) {
        rk_asm_fail(p, "an operation in a form that is not understood");
        return RK_ASM_FAILED;
    }
    if (!*spec->form)
        return rk_asm_read_special(p, op);
    return rk_asm_read_form(p, op) ? RK_ASM_END : RK_ASM_FAILED;
}

// Reads "^bb0(%x: type):" in front of the region's operations, if the operation does not give the
// arguments. `*out_has_block`: the region is not empty.
static bool read_label(rk_asm *p, const rk_asm_op *op, bool *out_has_block) {
    uint8_t c = rk_asm_peek(p);
    *out_has_block = op->style == RK_ASM_FORM || c != '}';
    if (c != '^')
        return true;
    if (op->style == RK_ASM_FORM) {
        rk_asm_fail(p, "a region with a label");
        return false;
    }
    p->at++;
    if (!rk_asm_word(p).len) {
        rk_asm_fail(p, "a label without a name");
        return false;
    }
    return (!rk_asm_accept(p, '(') || rk_asm_arguments(p)) && rk_asm_expect(p, ':');
}

static void open_region(reader *r, const rk_asm_op *op, uint32_t region_count) {
    rk_asm *p = &r->p;
    bool has_block;
    if (r->frame_count == MAX_NESTING) {
        rk_asm_fail(p, "operations are nested too deeply");
        return;
    }
    if (op->style == RK_ASM_GENERIC)
        p->targets.count = op->first_arg;
    if (!read_label(p, op, &has_block))
        return;
    frame *top = &r->frames[r->frame_count++];
    *top = (frame){.op = *op, .region_count = region_count};
    bool is_isolated = op->spec == r->func || op->spec == r->module;
    (void)rk_asm_open_region(p, is_isolated, has_block, op->first_arg, p->targets.count,
                             &top->region);
}

static void advance(reader *r, rk_asm_op *op, rk_asm_next next, uint32_t region_count) {
    if (next == RK_ASM_REGION)
        open_region(r, op, region_count);
    else if (next == RK_ASM_END)
        (void)rk_asm_end_op(&r->p, op, r->keeps_programs, r->read_payload);
    if (next == RK_ASM_FAILED || r->p.model->out_of_memory)
        rk_asm_fail(&r->p, "an operation that is not understood");
}

// Reads the next operation of the innermost region, or the region's end.
static void step(reader *r) {
    rk_asm *p = &r->p;
    frame *top = top_of(r);
    rk_asm_op op = {0};
    if (rk_asm_peek(p) != '}') {
        if (top->region.block == RK_NO_ID)
            rk_asm_fail(p, "unexpected text");
        else
            advance(r, &op, start_op(r, &op), 1);
        return;
    }
    p->at++;
    if (!rk_asm_close_region(p, &top->region))
        return;
    op = top->op;
    uint32_t region_count = top->region_count;
    r->frame_count--;
    rk_asm_resume_op(p, &op);
    rk_asm_next next = op.style == RK_ASM_GENERIC ? rk_asm_continue_generic(p, &op)
                                                  : rk_asm_continue_special(p, &op, region_count);
    advance(r, &op, next, region_count + 1);
}

// The top level.

// "#name = attribute", "!name = type"
static void read_alias(rk_asm *p) {
    bool is_new;
    rk_span name = rk_asm_accept_alias(p);
    if (!name.len || !rk_asm_expect(p, '=')) {
        rk_asm_fail(p, "unexpected text");
        return;
    }
    uint32_t number = rk_intern(&p->aliases, name, &is_new);
    if (p->aliases.failed || (is_new && !RK_ASM_PUSH(p, p->alias_nodes, RK_NO_ID))) {
        rk_asm_out_of_memory(p);
        return;
    }
    if (p->alias_nodes.items[number] != RK_NO_ID) {
        rk_asm_fail(p, "an alias is defined twice");
        return;
    }
    p->is_vhlo = false;
    p->nesting = 0;
    p->op_name = NULL;
    if (name.data[0] == '#' && rk_asm_accept_word(p, "loc")) {
        (void)rk_asm_location_alias(p, number);
        return;
    }
    uint32_t node = name.data[0] == '#' ? rk_asm_attr(p) : rk_asm_type(p);
    if (node != RK_NO_ID)
        p->alias_nodes.items[number] = node;
}

// "key: "0x…", …}"
static bool read_resources(rk_asm *p) {
    if (!rk_asm_expect(p, '{'))
        return false;
    if (rk_asm_accept(p, '}'))
        return true;
    do {
        rk_asm_resource resource = {{0}, {0}};
        rk_span key = {0};
        bool is_new = false;
        if (rk_asm_peek(p) == '"' ? !rk_asm_string(p, &key) : !(key = rk_asm_word(p)).len)
            return false;
        (void)rk_intern(&p->resource_keys, key, &is_new);
        if (p->resource_keys.failed)
            rk_asm_out_of_memory(p);
        // If a key occurs twice, MLIR takes the last resource. Such texts are not read.
        if (p->failed || !is_new || !rk_asm_expect(p, ':') || !rk_asm_string(p, &resource.hex) ||
            !RK_ASM_PUSH(p, p->resources, resource))
            return false;
    } while (rk_asm_accept(p, ','));
    return rk_asm_expect(p, '}');
}

// "{-# dialect_resources: { builtin: { … } } #-}"; "{-#" is taken.
static void read_metadata(rk_asm *p) {
    bool is_good = rk_asm_expect_word(p, "dialect_resources") && rk_asm_expect(p, ':') &&
                   rk_asm_expect(p, '{') && rk_asm_expect_word(p, "builtin") &&
                   rk_asm_expect(p, ':') && read_resources(p) && rk_asm_expect(p, '}') &&
                   rk_asm_expect_text(p, "#-}");
    if (!is_good)
        rk_asm_fail(p, "resources that are not understood");
}

static void read_top_level(reader *r) {
    rk_asm *p = &r->p;
    rk_asm_op op = {0};
    uint8_t c = rk_asm_peek(p);
    if (c == '#' || c == '!') {
        read_alias(p);
    } else if (rk_asm_accept_text(p, "{-#")) {
        read_metadata(p);
    } else if (p->model->ops.count) {
        rk_asm_fail(p, "something follows the module");
    } else {
        advance(r, &op, start_op(r, &op), 1);
        if (!p->failed && op.spec != r->module)
            rk_asm_fail(p, "a program without a module");
    }
}

static void read_all(reader *r) {
    rk_asm *p = &r->p;
    while (!p->failed && (r->frame_count || rk_asm_peek(p)))
        if (r->frame_count)
            step(r);
        else
            read_top_level(r);
    if (!p->failed && p->at < p->end)
        rk_asm_fail(p, "a byte that is not text");
    if (!p->failed && !p->model->ops.count)
        rk_asm_fail(p, "no program");
}

// Numbers in the text are converted with the process's rounding mode.
static bool rounds_to_nearest(void) {
    volatile double one = 1, tiny = 0x1p-60;
    volatile double up = one + tiny, down = one - tiny;
    return up == one && down == one;
}

static bool open_reader(reader *r) {
    rk_asm *p = &r->p;
    p->region = RK_NO_ID;
    p->ints.max = (size_t)(p->end - p->start) * 8 + 4096;
    r->module = rk_asm_find_spec(rk_span_text("builtin.module"));
    r->func = rk_asm_find_spec(rk_span_text("func.func"));
    r->func_return = rk_asm_find_spec(rk_span_text("func.return"));
    r->other_return = rk_asm_find_spec(rk_span_text("stablehlo.return"));
    if (!rounds_to_nearest()) {
        rk_asm_fail(p, "the floating-point rounding mode of the process is not round-to-nearest");
        return false;
    }
    r->frames = rk_malloc(MAX_NESTING * sizeof *r->frames);
    if (!r->frames) {
        rk_asm_out_of_memory(p);
        return false;
    }
    if (!rk_asm_open_nodes(p))
        return false;
    r->func_return_name = rk_asm_name(p, rk_span_text("func.return"));
    r->other_return_name = rk_asm_name(p, rk_span_text("stablehlo.return"));
    return !p->failed;
}

static void put_canon(const rk_asm *p, rk_canon *canon) {
    rk_canon_put_model(canon);
    rk_asm_find_traits(p->model, &canon->traits);
    canon->has_traits = true;
}

rk_err *rk_read_mlir_text(rk_span code, unsigned flags, rk_model *model, rk_canon *canon,
                          rk_payload_fn *read_payload, bool *out_good, rk_buf *out_reason) {
    __attribute__((cleanup(reader_cleanup))) reader r = {
        .p = {.start = code.data,
              .at = code.data,
              .end = code.data ? code.data + code.len : NULL,
              .model = model,
              .with_locations = flags & RK_READ_LOCATIONS},
        .read_payload = read_payload,
        .keeps_programs = !canon,
    };
    rk_asm *p = &r.p;
    *out_good = false;
    model->producer = "MLIR text";
    if (open_reader(&r))
        read_all(&r);
    if (!p->failed && rk_asm_settle_resources(p) && rk_asm_settle_values(p)) {
        rk_asm_settle_locations(p);
        if (canon)
            put_canon(p, canon);
        *out_good = true;
    }
    RK_TRY(rk_model_status(model));
    if (!*out_good)
        rk_asm_describe_failure(p, out_reason);
    return NULL;
}
