// Errors and events. Events are ready from the start, because the fake plugin works in the caller's
// thread.
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct PJRT_Error {
    fake_object head;
    PJRT_Error_Code code;
    char message[512];
};

struct PJRT_Event {
    fake_object head;
};

PJRT_Error *fake_error(PJRT_Error_Code code, const char *format, ...) {
    PJRT_Error *error = fake_object_new(FAKE_ERROR, sizeof *error, NULL);
    error->code = code;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return error;
}

PJRT_Error_Code fake_error_code(const PJRT_Error *error) {
    return error->code;
}

const char *fake_error_message(const PJRT_Error *error) {
    return error->message;
}

void fake_PJRT_Error_Destroy(PJRT_Error_Destroy_Args *args) {
    fake_call call =
        fake_enter("PJRT_Error_Destroy", args, (size_t)PJRT_Error_Destroy_Args_STRUCT_SIZE);
    if (args->error)
        fake_object_kill(FAKE_ERROR, args->error);
    fake_leave(&call, call.error);
}

void fake_PJRT_Error_Message(PJRT_Error_Message_Args *args) {
    fake_call call =
        fake_enter("PJRT_Error_Message", args, (size_t)PJRT_Error_Message_Args_STRUCT_SIZE);
    fake_object_check(FAKE_ERROR, args->error);
    args->message = args->error->message;
    args->message_size = strlen(args->error->message);
    fake_leave(&call, call.error);
}

FAKE_ENTRY(PJRT_Error_GetCode) {
    fake_object_check(FAKE_ERROR, args->error);
    args->code = args->error->code;
    return NULL;
}

// PJRT_Error_ForEachPayload_Args of API 0.99.
typedef struct for_each_payload_args {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    const PJRT_Error *error;
    void (*visitor)(const char *key, size_t key_size, const char *value, size_t value_size,
                    void *user_arg);
    void *user_arg;
} for_each_payload_args;

PJRT_Error *fake_for_each_payload(void *untyped) {
    for_each_payload_args *args = untyped;
    fake_call call = fake_enter("PJRT_Error_ForEachPayload", args, sizeof *args);
    if (!call.error) {
        fake_object_check(FAKE_ERROR, args->error);
        args->visitor("fake", 4, "payload", 7, args->user_arg);
    }
    fake_leave(&call, call.error);
    return call.error;
}

// Events.

PJRT_Event *fake_event_ready(void) {
    return fake_object_new(FAKE_EVENT, sizeof(PJRT_Event), NULL);
}

FAKE_ENTRY(PJRT_Event_Destroy) {
    if (args->event)
        fake_object_kill(FAKE_EVENT, args->event);
    return NULL;
}

FAKE_ENTRY(PJRT_Event_IsReady) {
    fake_object_check(FAKE_EVENT, args->event);
    args->is_ready = true;
    return NULL;
}

FAKE_ENTRY(PJRT_Event_Error) {
    fake_object_check(FAKE_EVENT, args->event);
    return NULL;
}

FAKE_ENTRY(PJRT_Event_Await) {
    fake_object_check(FAKE_EVENT, args->event);
    return NULL;
}

FAKE_ENTRY(PJRT_Event_OnReady) {
    fake_object_check(FAKE_EVENT, args->event);
    args->callback(NULL, args->user_arg);
    return NULL;
}
