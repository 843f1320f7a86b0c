#include "cli/bundle_packs.h"

#include "base/alloc.h"
#include "cli/pack_about.h"
#include "pack/stored.h"

rk_err *rk_bundle_pack_list(rk_store *store, const rk_bundle *bundle,
                            const rk_bundle_planned *one) {
    __attribute__((cleanup(rk_bundle_entry_cleanup))) rk_bundle_entry entry = {0};
    RK_AUTO(rk_pack_about) about = {0};
    RK_TRY(rk_bundle_part_peek_entry(bundle, one->item, &one->part, &entry));
    rk_pack_about_entry(&entry.view, &about);
    const rk_pack_place place = {
        .store = store,
        .family = about.family,
        .job = about.job,
        .name_space = about.name_space,
        .run = "imported",
        .environment = about.key.environment,
    };
    const rk_pack pack = {about.key, about.module};
    return rk_pack_list_note(&place, &pack, 1);
}

static rk_err *bad(const rk_bundle_planned *one, const char *why) {
    return rk_error(RK_DATA_LOSS, "its item %.*s cannot be used: %s", (int)one->item->name.len,
                    (const char *)one->item->name.data, why);
}

static rk_err *check_payload(const rk_bundle_planned *one, rk_pack_module module, rk_span payload) {
    rk_autofree rk_pack_item *items = NULL;
    size_t count;
    rk_err *err = rk_pack_decode(payload, &items, &count);
    if (!err)
        err = rk_pack_check(one->family, module, items, count);
    if (rk_err_code(err) != RK_DATA_LOSS)
        return err;
    rk_err *refused = bad(one, rk_err_message(err));
    rk_err_drop(err, "its message is part of the refusal");
    return refused;
}

rk_err *rk_bundle_pack_check(const rk_bundle *bundle, const rk_bundle_planned *one) {
    // The files, and names of the longest kind.
    const size_t entry_max_bytes = RK_PACK_MAX_BYTES + ((size_t)256 << 20);
    __attribute__((cleanup(rk_bundle_entry_cleanup))) rk_bundle_entry start = {0};
    RK_AUTO(rk_pack_about) about = {0};
    RK_AUTO(rk_buf) data = RK_BUF_INIT(entry_max_bytes);
    RK_AUTO(rk_entry_view) view = {0};
    rk_entry_fault fault;
    RK_TRY(rk_bundle_part_peek_entry(bundle, one->item, &one->part, &start));
    rk_pack_about_entry(&start.view, &about);
    if (start.view.payload_raw_bytes > entry_max_bytes)
        return bad(one, "its files are larger than a pack may be");
    RK_TRY(rk_bundle_read_whole(bundle, one->module, one->item, entry_max_bytes, &data));
    RK_TRY(rk_entry_decode(rk_buf_span(&data), NULL, RK_WANT_PAYLOAD, &view, &fault));
    return fault ? bad(one, rk_entry_fault_text(fault))
                 : check_payload(one, about.module, view.entry.payload);
}
