#include "pjrt/absent.h"

#include <pthread.h>
#include <string.h>

#include "pjrt/error.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static rk_err *absence; // set once, under the mutex

static PJRT_Error *absent_entry(void *args) {
    (void)args;
    return rk_pjrt_error_give(rk_error(rk_err_code(absence), "%s", rk_err_message(absence)));
}

static PJRT_Error *absent_attributes(PJRT_Plugin_Attributes_Args *args) {
    args->attributes = NULL;
    args->num_attributes = 0;
    return NULL;
}

static void absent_error_destroy(PJRT_Error_Destroy_Args *args) {
    rk_pjrt_error_destroy(args->error);
}

static void absent_error_message(PJRT_Error_Message_Args *args) {
    rk_pjrt_error_message(args->error, &args->message, &args->message_size);
}

static PJRT_Error *absent_error_code(PJRT_Error_GetCode_Args *args) {
    args->code = rk_pjrt_error_code(args->error);
    return NULL;
}

static PJRT_Api absent_table;

static void fill_absent_table(void) {
    size_t first = offsetof(PJRT_Api, PJRT_Error_Destroy);
    rk_pjrt_any_fn *entry = absent_entry;
    for (size_t at = first; at + sizeof entry <= sizeof absent_table; at += sizeof entry)
        memcpy((char *)&absent_table + at, &entry, sizeof entry);
    absent_table.struct_size = PJRT_Api_STRUCT_SIZE;
    absent_table.pjrt_api_version = (PJRT_Api_Version){
        .struct_size = PJRT_Api_Version_STRUCT_SIZE,
        .major_version = PJRT_API_MAJOR,
        .minor_version = PJRT_API_MINOR,
    };
    absent_table.PJRT_Error_Destroy = absent_error_destroy;
    absent_table.PJRT_Error_Message = absent_error_message;
    absent_table.PJRT_Error_GetCode = absent_error_code;
    absent_table.PJRT_Plugin_Attributes = absent_attributes;
}

const PJRT_Api *rk_absent_table(rk_err *problem) {
    (void)pthread_mutex_lock(&mutex);
    if (absence) {
        rk_err_drop(problem, "only the first problem is reported");
    } else {
        absence = problem;
        fill_absent_table();
    }
    (void)pthread_mutex_unlock(&mutex);
    return &absent_table;
}
