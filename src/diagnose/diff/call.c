#include "diagnose/diff/call.h"

// JAX writes at most a hundred frames. In a large program, not every operation is read.
enum { FRAMES_MAX = 128, OPS_READ_MAX = 512 };

// A stack of frames; each is a location that contains its callers, too. The innermost first.
typedef struct stack {
    uint32_t locations[FRAMES_MAX];
    rk_span functions[FRAMES_MAX];
    uint32_t count;
} stack;

static const rk_node *node_at(const rk_model *m, uint32_t id) {
    return &m->nodes.items[id];
}

static uint32_t field_of(const rk_model *m, const rk_node *node, uint32_t i) {
    return i < node->field_count ? m->fields.items[node->first_field + i].node : RK_NO_ID;
}

// Returns whether a location is a frame: a function's name around a file and a line.
static bool is_frame(const rk_model *m, uint32_t location, rk_span *out_function) {
    if (location == RK_NO_ID)
        return false;
    const rk_node *node = node_at(m, location);
    uint32_t inner = field_of(m, node, 0);
    *out_function = node->bytes;
    return node->kind == RK_NODE_LOC_NAME && inner != RK_NO_ID &&
           node_at(m, inner)->kind == RK_NODE_LOC_FILE;
}

// Skips the scopes around the frames. Returns RK_NO_ID if there are no frames.
static uint32_t skip_scopes(const rk_model *m, uint32_t location) {
    enum { SCOPES_MAX = 16 };
    rk_span function;
    for (uint32_t i = 0; i < SCOPES_MAX && location != RK_NO_ID; i++) {
        const rk_node *node = node_at(m, location);
        if (node->kind == RK_NODE_LOC_CALL || is_frame(m, location, &function))
            return location;
        if (node->kind != RK_NODE_LOC_NAME && node->kind != RK_NODE_LOC_FUSED)
            break;
        location = field_of(m, node, 0);
    }
    return RK_NO_ID;
}

// Reads the frames of a location. The stack is empty if any of them has no function: older versions
// of JAX write a file and a line alone, which may be inside of the jitted function.
static void read_stack(const rk_model *m, uint32_t location, stack *out_stack) {
    out_stack->count = 0;
    location = skip_scopes(m, location);
    while (location != RK_NO_ID && out_stack->count < FRAMES_MAX) {
        const rk_node *node = node_at(m, location);
        bool is_call = node->kind == RK_NODE_LOC_CALL;
        uint32_t at = out_stack->count++;
        out_stack->locations[at] = location;
        if (!is_frame(m, is_call ? field_of(m, node, 0) : location, &out_stack->functions[at])) {
            out_stack->count = 0;
            return;
        }
        location = is_call ? field_of(m, node, 1) : RK_NO_ID;
    }
}

// The function that the scope of an operation begins with: "step" of "jit(step)/jvp()/mul". Empty
// if there is none.
static rk_span jitted_function(const rk_model *m, uint32_t location) {
    rk_span scope = rk_source_scope(m, location);
    const uint8_t *open = scope.len ? memchr(scope.data, '(', scope.len) : NULL;
    if (!open)
        return (rk_span){0};
    const uint8_t *name = open + 1, *end = scope.data + scope.len;
    const uint8_t *close = memchr(name, ')', (size_t)(end - name));
    return close ? rk_span_of(name, (size_t)(close - name)) : (rk_span){0};
}

// "step" of "Trainer.step" and of "main.<locals>.step".
static rk_span bare_function(rk_span function) {
    const uint8_t *dot = function.len ? memrchr(function.data, '.', function.len) : NULL;
    if (!dot)
        return function;
    size_t skipped = (size_t)(dot + 1 - function.data);
    return rk_span_of(dot + 1, function.len - skipped);
}

// Returns the location around the outermost frame of the jitted function; RK_NO_ID if the stack has
// no such frame, or nothing around it.
static uint32_t caller_of(const stack *frames, rk_span function) {
    for (uint32_t i = frames->count; i-- > 0 && function.len;)
        if (rk_span_equal(bare_function(frames->functions[i]), function))
            return i + 1 < frames->count ? frames->locations[i + 1] : RK_NO_ID;
    return RK_NO_ID;
}

// Keeps the locations that the other stack has, too, from the outermost one on; not the functions.
// Equal locations are one node of the model.
static void keep_shared(stack *kept, const stack *other) {
    uint32_t same = 0;
    while (same < kept->count && same < other->count &&
           kept->locations[kept->count - 1 - same] == other->locations[other->count - 1 - same])
        same++;
    memmove(kept->locations, kept->locations + kept->count - same, same * sizeof *kept->locations);
    kept->count = same;
}

uint32_t rk_call_of_operations(const rk_model *model, uint32_t first, uint32_t end) {
    uint32_t stride = (end - first) / OPS_READ_MAX + 1, last = RK_NO_ID;
    stack shared = {.count = 0}, frames;
    bool has_any = false;
    for (uint32_t i = first; i < end; i += stride) {
        uint32_t location = model->ops.items[i].location;
        if (location == last || location == RK_NO_ID)
            continue;
        last = location;
        read_stack(model, location, &frames);
        if (!frames.count)
            continue;
        uint32_t caller = caller_of(&frames, jitted_function(model, location));
        if (caller != RK_NO_ID)
            return caller;
        if (has_any)
            keep_shared(&shared, &frames);
        else
            shared = frames;
        has_any = true;
    }
    return shared.count ? shared.locations[0] : RK_NO_ID;
}
