#include "program/mlir/words.h"

bool rk_mlir_add_words(rk_model *model) {
    static const char *const words[] = {
#define RK_WORD(word) #word,
        RK_WORDS(RK_WORD)
#undef RK_WORD
    };
    // If the model has read bytecode before, it has the words already.
    for (size_t i = model->strings.count; i < RK_ARRAY_LEN(words); i++)
        if (rk_model_add_string(model, rk_span_text(words[i])) != i)
            return false;
    return true;
}
