// The memory of the canonical form: arrays within the model's budget.
#include "base/alloc.h"
#include "program/canon/canon.h"

bool rk_canon_grow(rk_canon *c, void **array, uint32_t *capacity, uint32_t needed,
                   size_t item_bytes) {
    enum { FIRST_CAPACITY = 64 };
    if (RK_LIKELY(needed <= *capacity))
        return true;
    uint64_t wanted = *capacity ? *capacity : FIRST_CAPACITY;
    while (wanted < needed)
        wanted *= 2;
    size_t more = (size_t)(wanted - *capacity) * item_bytes;
    uint8_t *grown = NULL;
    if (wanted < RK_NO_ID && rk_model_take_budget(c->model, more))
        grown = rk_realloc(*array, (size_t)wanted * item_bytes);
    if (!grown) {
        c->failed = true;
        return false;
    }
    memset(grown + (size_t)*capacity * item_bytes, 0, more);
    *array = grown;
    *capacity = (uint32_t)wanted;
    return true;
}

void rk_canon_cleanup(rk_canon *c) {
    rk_free(c->stream);
    rk_free(c->units);
    rk_free(c->items);
    rk_free(c->contents);
    rk_free(c->stamps);
    rk_free(c->forms);
    rk_free(c->name_kinds);
    rk_free(c->symbols);
    rk_free(c->queue);
    rk_free(c->followed);
    rk_free(c->cast_operands);
    rk_free(c->value_numbers);
    rk_free(c->next_numbers);
    for (size_t i = 0; i < RK_ARRAY_LEN(c->maps); i++)
        rk_free(c->maps[i].items);
    rk_buf_cleanup(&c->scratch);
    rk_buf_cleanup(&c->large_digests);
    rk_interner_cleanup(&c->larges);
    rk_interner_cleanup(&c->symbol_names);
    rk_interner_cleanup(&c->interner);
    *c = (rk_canon){0};
}
