#include "cli/bundle_packs.h"

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
        .job = about.job,
        .name_space = about.name_space,
        .run = "imported",
        .environment = about.key.environment,
    };
    const rk_pack pack = {about.key, about.module};
    return rk_pack_list_note(&place, &pack, 1);
}
