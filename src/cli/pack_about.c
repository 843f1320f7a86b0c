#include "cli/pack_about.h"

#include <string.h>

#include "base/fd.h"
#include "cli/fail.h"
#include "cli/out.h"
#include "store/store_file.h"

void rk_pack_about_cleanup(rk_pack_about *about) {
    rk_free(about->job);
    rk_free(about->name_space);
    *about = (rk_pack_about){0};
}

static char *member(const json_t *metadata, const char *name) {
    const char *text = json_string_value(json_object_get(metadata, name));
    return rk_need(rk_strdup(text ? text : ""));
}

void rk_pack_about_entry(const rk_entry_view *view, rk_pack_about *out_about) {
    json_t *metadata = rk_out_parsed(view->entry.metadata);
    const char *module = json_string_value(json_object_get(metadata, "pack"));
    json_int_t items = json_integer_value(json_object_get(metadata, "items"));
    const char *platform = json_string_value(json_object_get(metadata, "platform"));
    out_about->is_pack = module && rk_pack_module_parse(module, &out_about->module) && platform &&
                         rk_pack_family_parse(platform, &out_about->family);
    out_about->job = member(metadata, "job");
    out_about->name_space = member(metadata, "namespace");
    out_about->items = items > 0 ? (uint64_t)items : 0;
    out_about->bytes = view->payload_raw_bytes;
    out_about->key = view->entry.key;
    json_decref(metadata);
}

rk_err *rk_pack_about_kept(const rk_store *store, const char *hex, rk_pack_about *out_about) {
    RK_AUTO(rk_buf) start = RK_BUF_INIT(RK_ENTRY_START_MAX_BYTES);
    RK_AUTO(rk_entry_view) view = {0};
    rk_entry_fault fault = RK_ENTRY_OK;
    rk_autofd fd = -1;
    uint64_t bytes = 0;
    rk_err *err = rk_store_open_file(store, RK_ENTRY_EXECUTABLE, hex, &fd, &bytes);
    if (err) {
        rk_err_drop(err, "the packing reports it");
        return NULL;
    }
    RK_TRY(rk_store_peek_file(fd, bytes, &start, &view, &fault));
    if (!fault)
        rk_pack_about_entry(&view, out_about);
    return NULL;
}
