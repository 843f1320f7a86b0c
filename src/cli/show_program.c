#include "cli/show_program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "cli/out.h"
#include "cli/text.h"
#include "program/read.h"
#include "program/text.h"

// The text shows at most this many elements of a constant.
enum { ELEMENTS_SHOWN = 16 };

static const char *name_of_format(rk_span code, const char *format) {
    static const uint8_t bytecode[] = {'M', 'L', 0xef, 'R'};
    if (code.len >= sizeof bytecode && memcmp(code.data, bytecode, sizeof bytecode) == 0)
        return "MLIR bytecode";
    if (strcmp(format, "mlir") == 0)
        return "MLIR text";
    return strcmp(format, "hlo") == 0 ? "HloModuleProto" : format;
}

// Prints the program as text. If it cannot be read, the error says how to get its bytes.
static rk_err *print(rk_span code, const char *format, rk_buf *out) {
    static const rk_text_options options = {.locations = true, .elements_max = ELEMENTS_SHOWN};
    rk_model *model = NULL;
    rk_autofree char *reason = NULL;
    rk_err *err = rk_model_read(code, rk_span_text(format), RK_READ_LOCATIONS, &model, &reason);
    if (!err && !model)
        err = rk_error(RK_UNIMPLEMENTED,
                       "the program, %s of %s, cannot be shown as text (%s): --raw writes its "
                       "bytes unchanged",
                       rk_text_bytes(code.len).text, name_of_format(code, format), reason);
    if (!err)
        err = rk_program_print(model, &options, out);
    rk_model_free(model);
    return err;
}

static rk_err *give_json(rk_span code, const char *format, rk_span content,
                         const rk_show_how *how) {
    json_t *object = rk_out_object();
    rk_out_set(object, "format", rk_out_string(name_of_format(code, format)));
    rk_out_set(object, "bytes", rk_out_uint(code.len));
    rk_out_set(object, "file", rk_out_string(how->output));
    if (!how->raw && !how->output)
        rk_out_set(object, "text", json_stringn((const char *)content.data, content.len));
    rk_out_print(object);
    return NULL;
}

static rk_err *give(rk_span code, const char *format, rk_span content, const rk_show_how *how,
                    bool json) {
    if (how->output)
        RK_TRY(rk_fs_publish(how->output, content.data, content.len, 0666));
    if (json)
        return give_json(code, format, content, how);
    if (how->output)
        (void)printf("%s: %s of %s\n", how->output, rk_text_bytes(content.len).text,
                     how->raw ? name_of_format(code, format) : "text");
    else if (how->raw && isatty(STDOUT_FILENO))
        (void)printf("The program is %s of %s, which is no text: write it to a file with -o FILE, "
                     "or send it through a pipe.\n",
                     rk_text_bytes(code.len).text, name_of_format(code, format));
    else
        (void)fwrite(content.data, 1, content.len, stdout);
    return NULL;
}

static rk_err *not_kept(const rk_kept *kept) {
    return rk_error(RK_NOT_FOUND,
                    "the program of %.12s was not kept: REKINDLE_KEEP_PROGRAMS=1 keeps those "
                    "compiled from now on",
                    kept->hex);
}

rk_err *rk_show_program(rk_store *store, const rk_kept *kept, const rk_show_how *how, bool json) {
    if (!kept->has_program)
        return not_kept(kept);
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    RK_TRY(rk_store_read(store, RK_ENTRY_PROGRAM, kept->hex, RK_WANT_PAYLOAD, &lookup));
    if (!lookup.found)
        return rk_error(RK_DATA_LOSS,
                        "the program of %.12s cannot be used: %s (`rekindle rm %.12s` removes it; "
                        "the next job that needs it stores it again)",
                        kept->hex, rk_entry_fault_text(lookup.fault), kept->hex);
    rk_span code = lookup.view.entry.payload;
    if (!code.len)
        return not_kept(kept);
    json_t *metadata = rk_out_parsed(lookup.view.entry.metadata);
    const char *format = json_string_value(json_object_get(metadata, "format"));
    RK_AUTO(rk_buf) text = {0};
    rk_err *err = how->raw ? NULL : print(code, format ? format : "", &text);
    if (!err)
        err = give(code, format ? format : "", how->raw ? code : rk_buf_span(&text), how, json);
    json_decref(metadata);
    return err;
}
