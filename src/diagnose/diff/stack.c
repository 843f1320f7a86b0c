#include "diagnose/diff/stack.h"

#include "base/alloc.h"

enum { FRAMES_MAX = 128 }; // JAX writes at most a hundred

static rk_err *take_frame(const rk_source *from, rk_stack_frame *out_frame) {
    out_frame->line = from->line;
    out_frame->file = rk_strndup((const char *)from->file.data, from->file.len);
    if (from->function.len)
        out_frame->function = rk_strndup((const char *)from->function.data, from->function.len);
    bool whole = out_frame->file && (out_frame->function || !from->function.len);
    return whole ? NULL : rk_err_no_memory();
}

rk_err *rk_stack_take(const rk_source *place, rk_stack *out_stack) {
    *out_stack = (rk_stack){0};
    if (!place->model || !place->file.len)
        return NULL;
    rk_source frames[FRAMES_MAX];
    uint32_t count =
        rk_source_frames(place->model, place->location, RK_FILE_FRAMEWORK, frames, FRAMES_MAX);
    out_stack->frames = rk_calloc((size_t)count + 1, sizeof *out_stack->frames);
    if (!out_stack->frames)
        return rk_err_no_memory();
    for (uint32_t i = 0; i < count; i++)
        RK_TRY(take_frame(&frames[i], &out_stack->frames[out_stack->count++]));
    return NULL;
}

void rk_stack_cleanup(rk_stack *stack) {
    for (size_t i = 0; i < stack->count; i++) {
        rk_free(stack->frames[i].file);
        rk_free(stack->frames[i].function);
    }
    rk_free(stack->frames);
    *stack = (rk_stack){0};
}

bool rk_is_user_frame(const rk_stack_frame *frame) {
    return rk_file_owner_of(rk_span_text(frame->file)) == RK_FILE_USER;
}

bool rk_is_same_line(const rk_stack_frame *a, const rk_stack_frame *b) {
    return a->line == b->line && strcmp(a->file, b->file) == 0;
}

bool rk_is_same_function(const rk_stack_frame *a, const rk_stack_frame *b) {
    return a->function && b->function && strcmp(a->function, b->function) == 0 &&
           strcmp(a->file, b->file) == 0;
}
