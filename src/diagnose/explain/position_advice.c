// Advice on a number that is a position in a tensor, for PyTorch/XLA.
#include "diagnose/diff/sketch_diff.h"
#include "diagnose/explain/advice_internal.h"
#include "diagnose/explain/operations_internal.h"

static bool is_position(const rk_difference *d) {
    return rk_is_of_slice(d) && d->attribute &&
           (strcmp(d->attribute, "start_indices") == 0 || // StableHLO
            strcmp(d->attribute, "start") == 0);          // HLO
}

static bool has_shape(const rk_explained *item) {
    for (size_t i = 0; i < item->differences.count; i++)
        if (item->differences.items[i].kind == RK_DIFFERENCE_SHAPE)
            return true;
    return false;
}

bool rk_moves_slice(const rk_explained *item) {
    bool moves = false;
    for (size_t i = 0; i < item->differences.count; i++)
        moves |= is_position(&item->differences.items[i]);
    return moves && !has_shape(item);
}

bool rk_writes_elsewhere(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    return !has_shape(item) && head && head->op && strcmp(head->op, "hlo.pad") == 0 &&
           head->attribute && strncmp(head->attribute, "edge_padding", strlen("edge_padding")) == 0;
}

bool rk_explain_moves_slice_first(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    return head && head->kind == RK_DIFFERENCE_ATTRIBUTE && is_position(head);
}

static const char positions_in_torch[] =
    "A Python number is the position of a slice or of an element (tensor[i], or a loop over a "
    "tensor): each position has a program of its own. Move the tensor to the host first "
    "(tensor.cpu(), tensor.tolist()), or take the elements with a tensor of positions "
    "(torch.index_select).";

// The gradient of torch.cat has a slice for each tensor.
static const char parts_of_gradient[] =
    "These slices are on no line of the source, as those of the gradients of torch.cat and "
    "torch.stack are: two parts of one gradient are read, and each is compiled once and stored. "
    "Either an operation of backward() runs on the CPU "
    "(torch_xla.debug.metrics.metrics_report() has a counter aten::… for it), or backward() reads "
    "the gradients of inputs that were made on the host: make these on the device "
    "(x.to(device).requires_grad_()). If the slices are those of a loop over a tensor, move the "
    "tensor to the host first (tensor.cpu()).";

const char *rk_advice_on_position(const rk_explained *item) {
    if (rk_writes_elsewhere(item))
        return "A Python number is a position in a tensor, at which values are written "
               "(tensor[a:b] = …) or the gradient of a slice is added. Each position has a program "
               "of its own, which is compiled once and stored. With a tensor of positions instead "
               "of the number (index_copy, index_select), there is one program.";
    bool has_line = item->cause != RK_CAUSE_CONSTANT || rk_explained_head(item)->file;
    return has_line ? positions_in_torch : parts_of_gradient;
}

rk_span rk_package_of_head(const rk_explained *item) {
    const rk_difference *head = rk_explained_head(item);
    if (!head || !head->stack.count)
        return (rk_span){0};
    rk_span file = rk_span_text(head->stack.frames[0].file);
    return rk_file_owner_of(file) == RK_FILE_PACKAGE ? rk_source_package(file) : (rk_span){0};
}

bool rk_has_more_rounds(const rk_explained *item) {
    const double apart_min = 0.1;
    if (!rk_explained_is_torch(item) || !item->nearest_of || !item->program->has_sketch ||
        !item->nearest->has_sketch)
        return false;
    const rk_sketch *a = &item->nearest->sketch, *b = &item->program->sketch;
    uint32_t less = a->op_count < b->op_count ? a->op_count : b->op_count;
    return a->line_count && rk_have_same_kinds_and_lines(a, b) &&
           (double)rk_operations_apart(a, b) >= apart_min * less;
}

bool rk_is_position_of_package(const rk_explained *item) {
    bool may_be = item->cause == RK_CAUSE_CONSTANT ||
                  (item->cause == RK_CAUSE_STRUCTURE && !rk_has_more_rounds(item));
    return may_be && rk_explained_is_torch(item) && rk_package_of_head(item).len &&
           (rk_is_of_slice(rk_explained_head(item)) || rk_writes_elsewhere(item));
}

void rk_advise_on_position_of_package(const rk_explained *item, rk_buf *text) {
    rk_span package = rk_package_of_head(item);
    rk_buf_add_format(
        text,
        "The package %.*s takes or writes a part of a tensor at a Python number (tensor[a:b], "
        "tensor[i], or a loop over a tensor), so each position, and each size of such a part, has "
        "a program of its own. Each is compiled once and stored. Your source can only change what "
        "it passes to the package.",
        (int)package.len, (const char *)package.data);
}
