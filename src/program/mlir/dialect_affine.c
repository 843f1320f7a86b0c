// Decodes affine maps. Newer MLIR encodes them, older MLIR writes text: both become text.
// Source: llvm-project mlir/lib/IR/BuiltinDialectBytecode.cpp, readAffineMap.
#include "program/mlir/decode.h"

enum {
    IDENTITY = 0,
    PERMUTATION = 1,
    PROJECTION = 2,
    GENERAL = 3,
    MAX_DIMENSIONS = 256,
    MAX_DEPTH = 128, // nesting of an expression; MLIR has the same limit
    DIMENSION = 0,
    SYMBOL = 1,
    CONSTANT = 2,
    FIRST_OPERATOR = 3,
};

static const char *const OPERATORS[] = {" + ", " * ", " mod ", " floordiv ", " ceildiv "};

static void add_names(rk_buf *text, char letter, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        rk_buf_add_format(text, i ? ", %c%u" : "%c%u", letter, (unsigned)i);
}

// An operator comes before its two operands. `open` is a stack of operators with unread operands:
// the operator itself, or -1 once its left operand is read.
static void add_expression(rk_bytecode *file, rk_buf *text) {
    int open[MAX_DEPTH];
    unsigned depth = 0;
    while (!file->in.bad) {
        uint64_t kind = rk_cursor_varint(&file->in);
        if (kind >= FIRST_OPERATOR && kind < FIRST_OPERATOR + RK_ARRAY_LEN(OPERATORS) &&
            depth < MAX_DEPTH) {
            open[depth++] = (int)kind;
            rk_buf_add_byte(text, '(');
            continue;
        }
        if (kind == CONSTANT)
            rk_buf_add_format(text, "%lld", (long long)rk_cursor_svarint(&file->in));
        else if (kind < CONSTANT)
            rk_buf_add_format(text, "%c%llu", kind == SYMBOL ? 's' : 'd',
                              (unsigned long long)rk_cursor_varint(&file->in));
        else
            file->in.bad = true;
        for (; depth && open[depth - 1] < 0; depth--)
            rk_buf_add_byte(text, ')');
        if (!depth)
            return;
        rk_buf_add_text(text, OPERATORS[open[depth - 1] - FIRST_OPERATOR]);
        open[depth - 1] = -1;
    }
}

uint32_t rk_dialect_affine_map(rk_bytecode *file) {
    rk_buf *text = &file->ints;
    uint64_t header = rk_cursor_varint(&file->in), kind = header & 3, dimensions = header >> 2;
    uint64_t symbols = kind == GENERAL ? rk_cursor_varint(&file->in) : 0;
    uint64_t results = kind >= PROJECTION ? rk_cursor_varint(&file->in) : dimensions;
    if (dimensions > MAX_DIMENSIONS || symbols > MAX_DIMENSIONS || results > MAX_DIMENSIONS)
        return rk_decode_bad(file);
    rk_buf_clear(text);
    rk_buf_add_text(text, "affine_map<(");
    add_names(text, 'd', dimensions);
    rk_buf_add_text(text, ")");
    if (symbols) {
        rk_buf_add_text(text, "[");
        add_names(text, 's', symbols);
        rk_buf_add_text(text, "]");
    }
    rk_buf_add_text(text, " -> (");
    for (uint64_t i = 0; i < results && !file->in.bad; i++) {
        rk_buf_add_text(text, i ? ", " : "");
        if (kind == GENERAL)
            add_expression(file, text);
        else
            rk_buf_add_format(
                text, "d%llu",
                (unsigned long long)(kind == IDENTITY ? i : rk_cursor_varint(&file->in)));
    }
    rk_buf_add_text(text, ")>");
    rk_node node = {.kind = RK_NODE_OPAQUE,
                    .name = RK_WORD_text,
                    .bytes = rk_model_keep(file->model, rk_bytecode_gathered(file))};
    return rk_model_add_node(file->model, node);
}
