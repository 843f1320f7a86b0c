#include "pjrt/error.h"

#include "base/alloc.h"

typedef struct own_error {
    const rk_pjrt_error_functions *functions; // first, as frameworks since 0.110 expect it
    rk_err *err;                              // owned
} own_error;

static void no_payload(const PJRT_Error *error, rk_pjrt_payload_visitor *visitor, void *user_arg) {
    (void)error;
    (void)visitor;
    (void)user_arg;
}

// Its address identifies rekindle's own errors.
static const rk_pjrt_error_functions own_functions = {
    .struct_size = sizeof own_functions,
    .instance_size = sizeof(own_error),
    .destroy = rk_pjrt_error_destroy,
    .message = rk_pjrt_error_message,
    .get_code = rk_pjrt_error_code,
    .for_each_payload = no_payload,
};

// Used if there is no memory for an error; never freed.
static own_error no_memory_error = {.functions = &own_functions};

static const own_error *own_of(const PJRT_Error *error) {
    return (const own_error *)(const void *)error;
}

bool rk_pjrt_error_is_ours(const PJRT_Error *error) {
    const rk_pjrt_error_functions *functions;
    if (!error)
        return false;
    // Every plugin's error is at least one pointer large, because it holds a status.
    memcpy(&functions, (const void *)error, sizeof functions);
    return functions == &own_functions;
}

PJRT_Error *rk_pjrt_error_give(rk_err *err) {
    own_error *error = rk_malloc(sizeof *error);
    if (!error) {
        rk_err_free(err);
        return (PJRT_Error *)(void *)&no_memory_error;
    }
    *error = (own_error){&own_functions, err};
    return (PJRT_Error *)(void *)error;
}

void rk_pjrt_error_destroy(PJRT_Error *error) {
    own_error *own = (own_error *)(void *)error;
    if (!rk_pjrt_error_is_ours(error) || own == &no_memory_error)
        return;
    rk_err_free(own->err);
    rk_free(own);
}

void rk_pjrt_error_message(const PJRT_Error *error, const char **out_message,
                           size_t *out_message_size) {
    const rk_err *err = own_of(error)->err;
    *out_message = err ? rk_err_message(err) : "rekindle: out of memory";
    *out_message_size = strlen(*out_message);
}

PJRT_Error_Code rk_pjrt_error_code(const PJRT_Error *error) {
    const rk_err *err = own_of(error)->err;
    return err ? (PJRT_Error_Code)rk_err_code(err) : PJRT_Error_Code_RESOURCE_EXHAUSTED;
}

void rk_pjrt_error_drop(const PJRT_Api *api, PJRT_Error *error) {
    if (!error)
        return;
    if (rk_pjrt_error_is_ours(error)) {
        rk_pjrt_error_destroy(error);
        return;
    }
    PJRT_Error_Destroy_Args args = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                    .error = error};
    api->PJRT_Error_Destroy(&args);
}

rk_span rk_pjrt_error_text(const PJRT_Api *api, const PJRT_Error *error) {
    PJRT_Error_Message_Args args = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                    .error = error};
    api->PJRT_Error_Message(&args);
    return rk_span_of(args.message, args.message ? args.message_size : 0);
}

static rk_err *take_own(PJRT_Error *error) {
    own_error *own = (own_error *)(void *)error;
    rk_err *err = own->err ? RK_TAKE(own->err) : rk_err_no_memory();
    rk_pjrt_error_destroy(error);
    return err;
}

rk_err *rk_pjrt_error_take(const PJRT_Api *api, PJRT_Error *error) {
    if (!error)
        return NULL;
    if (rk_pjrt_error_is_ours(error))
        return take_own(error);
    PJRT_Error_GetCode_Args code = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE,
                                    .error = error};
    rk_pjrt_error_drop(api, api->PJRT_Error_GetCode(&code));
    rk_span message = rk_pjrt_error_text(api, error);
    enum { MESSAGE_MAX_BYTES = 1024 };
    size_t len = message.len < MESSAGE_MAX_BYTES ? message.len : MESSAGE_MAX_BYTES;
    int number = (int)code.code;
    rk_code known = number > 0 && number <= (int)RK_UNAUTHENTICATED ? (rk_code)number : RK_UNKNOWN;
    rk_err *err = rk_error(known, "%.*s", (int)len, (const char *)message.data);
    rk_pjrt_error_drop(api, error);
    return err;
}
