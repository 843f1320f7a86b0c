#include "cli/bundle_plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/tree.h"
#include "bundle/limits.h"
#include "cli/fail.h"
#include "cli/pack_about.h"
#include "cli/term.h"
#include "store/store_file.h"

void rk_bundle_plan_cleanup(rk_bundle_plan *plan) {
    rk_free(plan->items);
    rk_bundle_groups_cleanup(&plan->groups);
}

static void decide(rk_bundle_planned *planned, const rk_bundle_verdict *verdict, bool force) {
    if (verdict->use != RK_USE_NO && (force || !verdict->differs))
        return;
    planned->fate = RK_FATE_REFUSED;
    planned->why = verdict->why;
}

// A pack must be of the module in which it lies.
static rk_err *check_pack(rk_bundle_planned *planned, const rk_entry_view *view) {
    RK_AUTO(rk_pack_about) about = {0};
    rk_pack_about_entry(view, &about);
    planned->family = about.family;
    bool is_in_place =
        planned->part.kind != RK_PART_PACK
            ? !about.is_pack
            : about.is_pack && rk_span_is(planned->module->name, rk_pack_module_name(about.module));
    if (is_in_place)
        return NULL;
    return rk_error(RK_DATA_LOSS, "its item %.*s does not belong to the module %.*s",
                    (int)planned->item->name.len, (const char *)planned->item->name.data,
                    (int)planned->module->name.len, (const char *)planned->module->name.data);
}

static rk_err *plan_entry(rk_bundle_plan *plan, rk_bundle_planned *planned, bool force) {
    __attribute__((cleanup(rk_bundle_entry_cleanup))) rk_bundle_entry entry = {0};
    size_t group;
    RK_TRY(rk_bundle_part_peek_entry(plan->bundle, planned->item, &planned->part, &entry));
    rk_digest_of(rk_buf_span(&entry.start), &planned->start);
    RK_TRY(check_pack(planned, &entry.view));
    RK_TRY(rk_bundle_groups_of_entry(&plan->groups, &entry.view.entry, &group));
    decide(planned, &plan->groups.items[group].verdict, force);
    return NULL;
}

static rk_err *plan_item(rk_bundle_plan *plan, rk_bundle_planned *planned, bool force) {
    const rk_bundle_item *item = planned->item;
    planned->bytes = rk_bundle_blob_of(plan->bundle, item).raw_bytes;
    bool is_pjrt = rk_span_is(planned->module->name, RK_BUNDLE_PJRT);
    if (!rk_bundle_part_parse(item->name, &planned->part) ||
        is_pjrt == (planned->part.kind == RK_PART_PACK))
        return rk_error(RK_INVALID_ARGUMENT, "its module %.*s has no place for an item %.*s",
                        (int)planned->module->name.len, (const char *)planned->module->name.data,
                        (int)item->name.len, (const char *)item->name.data);
    if (planned->part.kind != RK_PART_MANIFEST)
        return plan_entry(plan, planned, force);
    RK_AUTO(rk_manifest) manifest = {0};
    return rk_bundle_part_read_manifest(plan->bundle, planned->module, item, &manifest);
}

static rk_err *plan_items(rk_bundle_plan *plan, bool force) {
    rk_progress progress = rk_progress_start("checking the bundle");
    rk_err *err = NULL;
    for (size_t i = 0; i < plan->count && !err; i++) {
        rk_progress_step(&progress, i, plan->count);
        err = plan_item(plan, &plan->items[i], force);
    }
    rk_progress_end(&progress);
    return err;
}

static bool is_wanted(const rk_bundle_plan *plan, const rk_bundle_module *module) {
    char name[RK_BUNDLE_MODULE_NAME_MAX_BYTES + 1];
    (void)snprintf(name, sizeof name, "%.*s", (int)module->name.len,
                   (const char *)module->name.data);
    return rk_bundle_module_is_known(module->name) &&
           rk_bundle_module_is_wanted(plan->modules, name);
}

// Lists the items of the wanted modules.
static void list_items(rk_bundle_plan *plan) {
    size_t module_count, all = 0;
    const rk_bundle_module *modules = rk_bundle_modules(plan->bundle, &module_count);
    for (size_t i = 0; i < module_count; i++)
        all += modules[i].item_count;
    plan->items = rk_need(rk_calloc(all + 1, sizeof *plan->items));
    for (size_t i = 0; i < module_count; i++)
        for (size_t k = 0; is_wanted(plan, &modules[i]) && k < modules[i].item_count; k++)
            plan->items[plan->count++] =
                (rk_bundle_planned){.module = &modules[i], .item = &modules[i].items[k]};
}

// The error if all entries are refused, with the table of the differences.
static rk_err *refuse_all(const rk_bundle_plan *plan) {
    const rk_bundle_group *group = rk_bundle_groups_main(&plan->groups), *open = NULL;
    for (size_t i = 0; i < plan->groups.count && !open; i++)
        if (plan->groups.items[i].verdict.use != RK_USE_NO)
            open = &plan->groups.items[i];
    if (open && group->verdict.use == RK_USE_NO)
        group = open; // --force imports these
    char *table = rk_bundle_mismatches_text(group->verdict.mismatches);
    rk_fail_set_details(table);
    free(table);
    if (!open)
        return rk_error(RK_ABORTED, "nothing in it can be used on this machine: %s",
                        group->verdict.why);
    return rk_error(RK_ABORTED,
                    "it was made with something else than this machine has: %s; --force "
                    "imports it nevertheless",
                    group->verdict.why);
}

rk_err *rk_bundle_plan_make(rk_bundle_plan *plan, bool force) {
    size_t entries = 0, refused = 0;
    list_items(plan);
    RK_TRY(plan_items(plan, force));
    RK_TRY(rk_bundle_groups_check_python(&plan->groups));
    for (size_t i = 0; i < plan->count; i++) {
        entries += plan->items[i].part.kind != RK_PART_MANIFEST;
        refused += plan->items[i].fate == RK_FATE_REFUSED;
    }
    return entries && refused == entries ? refuse_all(plan) : NULL;
}

// A rank without a manifest would get that of rank 0, so its file must exist too.
static rk_err *has_manifest(rk_store *store, const rk_bundle_part *part, bool *out_has) {
    RK_AUTO(rk_manifest) manifest = {0};
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    struct stat info;
    *out_has = false;
    rk_bundle_part_add_name(part, &path);
    rk_err *err = rk_tree_stat(rk_store_directory(store), rk_need_text(&path), &info);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "the job has none");
        return NULL;
    }
    RK_TRY(err);
    RK_TRY(rk_manifest_read(store, part->job, part->rank, &manifest));
    *out_has = manifest.use_count > 0;
    return NULL;
}

rk_err *rk_bundle_plan_is_present(rk_store *store, rk_bundle_planned *planned,
                                  bool *out_is_present) {
    const rk_bundle_part *part = &planned->part;
    bool there = false;
    if (part->kind == RK_PART_MANIFEST)
        return has_manifest(store, part, out_is_present);
    RK_TRY(rk_store_has_sound(store, rk_bundle_part_entry_kind(part->kind), part->hex,
                              out_is_present, &there));
    planned->is_replaced = there && !*out_is_present;
    return NULL;
}

rk_err *rk_bundle_plan_find_present(rk_bundle_plan *plan, rk_store *store) {
    for (size_t i = 0; store && i < plan->count; i++) {
        rk_bundle_planned *one = &plan->items[i];
        bool is_present = false;
        if (one->fate == RK_FATE_IMPORT)
            RK_TRY(rk_bundle_plan_is_present(store, one, &is_present));
        if (is_present)
            one->fate = RK_FATE_PRESENT;
    }
    return NULL;
}

uint64_t rk_bundle_plan_bytes(const rk_bundle_plan *plan) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].fate == RK_FATE_IMPORT)
            bytes += plan->items[i].bytes;
    return bytes;
}
