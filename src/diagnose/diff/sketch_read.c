#include <stdlib.h>

#include "base/alloc.h"
#include "diagnose/explain/corpus.h"

static rk_err *copy(const json_t *json, char **out_text) {
    const char *text = json_string_value(json);
    *out_text = rk_strdup(text ? text : "");
    return *out_text ? NULL : rk_err_no_memory();
}

static uint32_t number(const json_t *json) {
    json_int_t value = json_integer_value(json);
    return value < 0 || value > UINT32_MAX ? 0 : (uint32_t)value;
}

// An input is [name, type], a result only its type.
static rk_err *read_values(const json_t *list, rk_sketch_value **out_values, uint32_t *out_count) {
    size_t count = json_array_size(list);
    count = count < RK_SKETCH_VALUES_MAX ? count : RK_SKETCH_VALUES_MAX;
    if (!count)
        return NULL;
    *out_values = rk_calloc(count, sizeof **out_values);
    if (!*out_values)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(list, i);
        bool named = json_is_array(one);
        rk_sketch_value *value = &(*out_values)[(*out_count)++];
        RK_TRY(copy(named ? json_array_get(one, 0) : NULL, &value->name));
        RK_TRY(copy(named ? json_array_get(one, 1) : one, &value->type));
    }
    return NULL;
}

static rk_err *read_kinds(const json_t *list, rk_sketch *sketch) {
    size_t count = json_array_size(list) / 2;
    count = count < RK_SKETCH_KINDS_MAX ? count : RK_SKETCH_KINDS_MAX;
    if (!count)
        return NULL;
    sketch->kinds = rk_calloc(count, sizeof *sketch->kinds);
    if (!sketch->kinds)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++)
        sketch->kinds[i] = (rk_sketch_kind){number(json_array_get(list, 2 * i)),
                                            number(json_array_get(list, 2 * i + 1))};
    sketch->kind_count = (uint32_t)count;
    return NULL;
}

static rk_err *read_line(const json_t *json, rk_sketch_line *out_line) {
    RK_TRY(copy(json_array_get(json, 0), &out_line->file));
    out_line->line = number(json_array_get(json, 1));
    RK_TRY(copy(json_array_get(json, 2), &out_line->function));
    out_line->count = number(json_array_get(json, 3));
    return NULL;
}

static rk_err *read_lines(const json_t *list, rk_sketch *sketch) {
    size_t count = json_array_size(list);
    count = count < RK_SKETCH_LINES_MAX ? count : RK_SKETCH_LINES_MAX;
    if (!count)
        return NULL;
    sketch->lines = rk_calloc(count, sizeof *sketch->lines);
    if (!sketch->lines)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++) {
        sketch->line_count++;
        RK_TRY(read_line(json_array_get(list, i), &sketch->lines[i]));
    }
    return NULL;
}

static rk_err *read_inner(const json_t *list, rk_sketch *sketch) {
    size_t count = json_array_size(list) / 3;
    count = count < RK_SKETCH_INNER_MAX ? count : RK_SKETCH_INNER_MAX;
    if (!count)
        return NULL;
    sketch->inner = rk_calloc(count, sizeof *sketch->inner);
    if (!sketch->inner)
        return rk_err_no_memory();
    for (size_t i = 0; i < count; i++)
        sketch->inner[i] = (rk_sketch_inner){number(json_array_get(list, 3 * i)),
                                             number(json_array_get(list, 3 * i + 1)),
                                             number(json_array_get(list, 3 * i + 2))};
    sketch->inner_count = (uint32_t)count;
    return NULL;
}

rk_err *rk_sketch_read(const json_t *json, rk_sketch *out_sketch, bool *out_read) {
    *out_sketch = (rk_sketch){0};
    *out_read = false;
    if (json_integer_value(json_object_get(json, "v")) != 1)
        return NULL;
    RK_TRY(copy(json_object_get(json, "module"), &out_sketch->module));
    RK_TRY(copy(json_object_get(json, "producer"), &out_sketch->producer));
    out_sketch->is_mlir = json_is_true(json_object_get(json, "mlir"));
    out_sketch->op_count = number(json_object_get(json, "operations"));
    const char *structure = json_string_value(json_object_get(json, "structure"));
    out_sketch->structure = structure ? strtoull(structure, NULL, 16) : 0;
    RK_TRY(read_values(json_object_get(json, "inputs"), &out_sketch->inputs,
                       &out_sketch->input_count));
    RK_TRY(read_values(json_object_get(json, "results"), &out_sketch->results,
                       &out_sketch->result_count));
    RK_TRY(read_kinds(json_object_get(json, "kinds"), out_sketch));
    RK_TRY(read_lines(json_object_get(json, "lines"), out_sketch));
    RK_TRY(read_line(json_object_get(json, "call"), &out_sketch->call));
    RK_TRY(read_inner(json_object_get(json, "inner"), out_sketch));
    rk_sketch_finish(out_sketch);
    *out_read = true;
    return NULL;
}
