#include "program/read.h"

#include "base/alloc.h"
#include "program/hlo/read.h"
#include "program/mlir/asm/read.h"
#include "program/mlir/magic.h"
#include "program/mlir/read.h"
#include "program/payload.h"

static rk_err *read_into(rk_span code, rk_span format, unsigned flags, rk_model *model,
                         rk_canon *canon, bool *out_good, rk_buf *reason) {
    *out_good = false;
    if (rk_span_is(format, "hlo"))
        return rk_read_hlo(code, false, flags, model, canon, out_good, reason);
    if (rk_span_is(format, "hlo_with_config"))
        return rk_read_hlo(code, true, flags, model, canon, out_good, reason);
    if (!rk_span_is(format, "mlir")) {
        rk_buf_add_text(reason, "unsupported program format");
        return NULL;
    }
    if (!rk_mlir_is_bytecode(code))
        return rk_read_mlir_text(code, flags, model, canon, rk_payload_read, out_good, reason);
    return rk_read_bytecode(code, flags, model, canon, rk_payload_read, out_good, reason);
}

static rk_model *new_model(rk_span code) {
    enum { BUDGET_FACTOR = 60, BUDGET_LEAST_BYTES = 1 << 16 };
    rk_model *model = rk_calloc(1, sizeof *model);
    if (!model)
        return NULL;
    model->budget_bytes = code.len * BUDGET_FACTOR + BUDGET_LEAST_BYTES;
    model->payload_bytes_left = code.len;
    return model;
}

static rk_err *read_checked(rk_span code, rk_span format, unsigned flags, rk_model *model,
                            rk_canon *canon, bool *out_good, char **out_reason) {
    RK_AUTO(rk_buf) reason = {0};
    size_t len;
    RK_TRY(read_into(code, format, flags, model, canon, out_good, &reason));
    RK_TRY(rk_model_status(model));
    if (!*out_good)
        *out_reason = (char *)rk_buf_detach(&reason, &len);
    return *out_good || *out_reason ? NULL : rk_err_no_memory();
}

rk_err *rk_model_read(rk_span code, rk_span format, unsigned flags, rk_model **out_model,
                      char **out_reason) {
    *out_model = NULL;
    *out_reason = NULL;
    rk_model *model = new_model(code);
    if (!model)
        return rk_err_no_memory();
    bool good = false;
    rk_err *err = read_checked(code, format, flags, model, NULL, &good, out_reason);
    if (!err && good)
        *out_model = model;
    else
        rk_model_free(model);
    return err;
}

// The first unit is the module.
static rk_err *copy_name(const rk_canon *canon, char **out_name) {
    rk_span name = canon->unit_count ? canon->units[0].name : (rk_span){0};
    if (!name.len)
        return NULL;
    *out_name = rk_strndup((const char *)name.data, name.len);
    return *out_name ? NULL : rk_err_no_memory();
}

// Reads the program without storing its operations in the model: they are hashed as they are read.
static rk_err *read_facts(rk_span code, rk_span format, rk_canon *canon, rk_program_facts *facts) {
    bool good = false;
    RK_TRY(rk_canon_open(canon, canon->model));
    RK_TRY(read_checked(code, format, 0, canon->model, canon, &good, &facts->reason));
    if (!good)
        return NULL;
    // MLIR text, and programs with casts, are read into the model. The module is no operation.
    if (!canon->role.operations && canon->model->ops.count)
        canon->role.operations = canon->model->ops.count - 1;
    RK_TRY(copy_name(canon, &facts->name));
    if (!canon->model->opaque_count)
        return rk_canon_finish(canon, &facts->fingerprint);
    facts->reason = rk_strdup(canon->model->opaque_reason);
    return facts->reason ? NULL : rk_err_no_memory();
}

static bool is_within(rk_span whole, rk_span part) {
    return !part.len || (part.data >= whole.data && part.data + part.len <= whole.data + whole.len);
}

rk_err *rk_program_facts_read(rk_span code, rk_span format, rk_program_facts *out_facts) {
    *out_facts = (rk_program_facts){0};
    rk_model *model = new_model(code);
    if (!model)
        return rk_err_no_memory();
    rk_canon canon = {.model = model};
    rk_err *err = read_facts(code, format, &canon, out_facts);
    out_facts->traits = canon.traits;
    if (!is_within(code, canon.traits.name)) // the name was written with escapes; the model has it
        out_facts->traits.name = rk_span_text("a name with escapes");
    out_facts->has_traits = canon.has_traits;
    out_facts->role = canon.role;
    rk_canon_cleanup(&canon);
    rk_model_free(model);
    return err;
}

void rk_program_facts_cleanup(rk_program_facts *facts) {
    rk_free(facts->reason);
    rk_free(facts->name);
    *facts = (rk_program_facts){0};
}
