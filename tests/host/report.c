// Writes JSON lines to stdout, with errors as the plugin describes them.
#include "host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake_plugin/fake_extension.h"

void host_usage(const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fprintf(stderr, "pjrt_host: %s\n", text);
    _exit(2);
}

void host_begin(host_line *line, const host *h, const char *action) {
    line->text = RK_BUF_INIT(0);
    line->json = rk_json_on(&line->text);
    rk_json_begin_object(&line->json);
    rk_json_member_string(&line->json, "action", action);
    if (h->thread >= 0)
        rk_json_member_uint(&line->json, "thread", (uint64_t)h->thread);
    rk_json_member_uint(&line->json, "pid", (uint64_t)getpid());
}

// Uses one write per line, so that lines of threads and of forked children stay whole, and _exit
// loses nothing.
static void write_line(host_line *line) {
    rk_json_end_object(&line->json);
    rk_buf_add_byte(&line->text, '\n');
    if (write(STDOUT_FILENO, line->text.data, line->text.len) != (ssize_t)line->text.len)
        _exit(2);
    rk_buf_cleanup(&line->text);
}

typedef struct for_each_payload_args {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    const PJRT_Error *error;
    void (*visitor)(const char *key, size_t key_size, const char *value, size_t value_size,
                    void *user_arg);
    void *user_arg;
} for_each_payload_args;

static void count_payload(const char *key, size_t key_size, const char *value, size_t value_size,
                          void *user_arg) {
    (void)key;
    (void)key_size;
    (void)value;
    (void)value_size;
    (*(uint64_t *)user_arg)++;
}

// Calls PJRT_Error_ForEachPayload if the table contains it.
static void add_payloads(host_line *line, const host *h, const PJRT_Error *error) {
    const size_t end =
        offsetof(fake_long_table, extra[FAKE_EXTRA_ERROR_FOR_EACH_PAYLOAD]) + sizeof(void *);
    if (h->api->struct_size < end)
        return;
    uint64_t count = 0;
    for_each_payload_args args = {
        .struct_size = sizeof args, .error = error, .visitor = count_payload, .user_arg = &count};
    const fake_long_table *table = (const fake_long_table *)h->api;
    PJRT_Error *failed = table->extra[FAKE_EXTRA_ERROR_FOR_EACH_PAYLOAD](&args);
    rk_json_member_bool(&line->json, "payloads_ok", failed == NULL);
    rk_json_member_uint(&line->json, "payloads", count);
}

bool host_end(host_line *line, host *h, PJRT_Error *error) {
    rk_json_member_bool(&line->json, "ok", error == NULL);
    if (error) {
        h->failed = true;
        PJRT_Error_GetCode_Args code = HOST_ARGS(PJRT_Error_GetCode_Args, .error = error);
        PJRT_Error_Message_Args message = HOST_ARGS(PJRT_Error_Message_Args, .error = error);
        PJRT_Error *failed = h->api->PJRT_Error_GetCode(&code);
        rk_json_member_uint(&line->json, "code", failed ? 0 : (uint64_t)code.code);
        h->api->PJRT_Error_Message(&message);
        rk_json_member_text(&line->json, "message",
                            rk_span_of(message.message, message.message_size));
        add_payloads(line, h, error);
        PJRT_Error_Destroy_Args destroy = HOST_ARGS(PJRT_Error_Destroy_Args, .error = error);
        h->api->PJRT_Error_Destroy(&destroy);
    }
    write_line(line);
    return error == NULL;
}

void host_end_failed(host_line *line, host *h, const char *why) {
    h->failed = true;
    rk_json_member_bool(&line->json, "ok", false);
    rk_json_member_string(&line->json, "message", why);
    write_line(line);
}
