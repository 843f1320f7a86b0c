// The list of fields that a walk over compile options visits: paths as names, values as text.
// Private to src/identity.
#pragma once

#include "identity/components.h"
#include "identity/options_schema.h"

typedef struct rk_field_list {
    rk_components *components; // borrowed
    rk_buf path;               // of the current field
    rk_buf text;               // scratch for values
    bool muted;                // adds no names now: inside the key of a map entry
    bool full; // the components' limit is reached: later fields are hashed but not named
} rk_field_list;

void rk_field_list_cleanup(rk_field_list *list);

// Enters a field: appends ".name" (or "name" at the root) to the path. Returns the mark for
// rk_field_list_leave.
size_t rk_field_list_enter(rk_field_list *list, const char *name);
// As rk_field_list_enter, for a field that is not in the schema: appends ".field_99".
size_t rk_field_list_enter_number(rk_field_list *list, uint32_t number);
// As rk_field_list_enter, for the index of a repeated field ("[3]") and for the key of a map entry
// ("[key]").
size_t rk_field_list_enter_index(rk_field_list *list, size_t index);
size_t rk_field_list_enter_key(rk_field_list *list, rk_span key);
void rk_field_list_leave(rk_field_list *list, size_t mark);
const char *rk_field_list_path(const rk_field_list *list); // borrowed until the path changes

// Appends a scalar to the text, after a comma if the text is not empty. `value` is the value on the
// wire.
void rk_field_list_text(rk_field_list *list, rk_schema_kind kind, uint64_t value);
// Adds a component with the path as name and the text as value, then clears the text.
RK_NODISCARD rk_err *rk_field_list_add_text(rk_field_list *list);
// Adds a component with the path as name and `bytes` as value. If `bytes` is longer than 64 KiB,
// the value is its length and digest.
RK_NODISCARD rk_err *rk_field_list_add_bytes(rk_field_list *list, rk_span bytes);
