#include "store/fsck.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/temporary.h"
#include "base/tree.h"
#include "store/last_use_internal.h"
#include "store/loads.h"
#include "store/own_internal.h"
#include "store/pins.h"
#include "store/removals.h"
#include "store/usage_internal.h"

enum { MAX_NAMES = 1 << 20, OTHERS_MAY_WRITE = S_IWGRP | S_IWOTH };

typedef struct check {
    rk_store *store;
    const rk_fsck_options *options;
    rk_fsck_report *report;
    rk_last_use_clock clock;
    rk_usage_state *state; // owned; the account, which is compared with `found`
    rk_usage_table *found; // owned; the counted files and bytes
    uint64_t expected;     // number of entries by the account
    bool partial;          // a folder could not be entered: `found` is incomplete
} check;

static void check_cleanup(check *self) {
    rk_usage_state_free(self->state);
    rk_free(self->found);
}

const char *rk_fsck_kind_name(rk_fsck_kind kind) {
    static const char *const names[RK_FSCK_KINDS] = {
        [RK_FSCK_DAMAGED] = "damaged",         [RK_FSCK_NOT_A_FILE] = "not_a_file",
        [RK_FSCK_PERMISSIONS] = "permissions", [RK_FSCK_OTHER_VERSION] = "other_version",
        [RK_FSCK_LEFTOVER] = "leftover",       [RK_FSCK_UNKNOWN] = "unknown",
        [RK_FSCK_ORPHAN] = "orphan",           [RK_FSCK_ACCOUNT] = "account",
    };
    return names[kind];
}

static void report_finding(check *self, rk_fsck_kind kind, const char *path, const char *detail,
                           bool repaired) {
    self->report->found[kind]++;
    self->report->repaired[kind] += repaired;
    const rk_fsck_finding finding = {kind, path, detail, repaired};
    if (self->options->found)
        self->options->found(self->options->context, &finding);
}

static bool try_remove(const check *self, const char *path) {
    if (!self->options->repair)
        return false;
    rk_err *err = rk_tree_remove(self->store->directory, path);
    bool removed = !err;
    rk_err_drop(err, "reported as not repaired");
    return removed;
}

static bool take_from_others(const check *self, const char *path, const struct stat *info) {
    rk_autofd fd = -1;
    if (!S_ISREG(info->st_mode) && !S_ISDIR(info->st_mode))
        return false;
    rk_err *err = rk_tree_open(self->store->directory, path, O_RDONLY | O_NONBLOCK, 0, &fd);
    mode_t mode = info->st_mode & 07777 & ~(mode_t)OTHERS_MAY_WRITE;
    bool taken = !err && rk_sys()->fchmod_fn(fd, mode) == 0;
    rk_err_drop(err, "reported as not repaired");
    return taken;
}

// Reports a file or folder of another user, or one that others may write to. True if it may be
// used, also after a repair.
static bool check_owner(check *self, const char *path, const struct stat *info) {
    if (info->st_uid != geteuid() && info->st_uid != 0) {
        report_finding(self, RK_FSCK_PERMISSIONS, path, "belongs to another user", false);
        return false;
    }
    if (S_ISLNK(info->st_mode) || !(info->st_mode & OTHERS_MAY_WRITE)) // a link has no mode
        return true;
    bool repaired = self->options->repair && take_from_others(self, path, info);
    report_finding(self, RK_FSCK_PERMISSIONS, path, "is writable by other users", repaired);
    return repaired;
}

// A folder whose files are visited.
typedef struct folder {
    check *of;
    rk_entry_kind kind;
    const char *path, *digits; // "objects/ab", "ab"; borrowed
    rk_usage_count *count;
} folder;

// Checks every byte of an entry, and that it is filed under its own key.
static rk_err *check_entry(check *self, rk_entry_kind kind, const char *path, const char *hex) {
    rk_store_lookup lookup = {0};
    rk_err *err = rk_store_read(self->store, kind, hex, RK_WANT_PAYLOAD, &lookup);
    rk_entry_fault fault = lookup.fault;
    bool absent = rk_err_code(err) == RK_NOT_FOUND || (!err && !lookup.found && !fault);
    bool unreadable = err && !absent && rk_err_code(err) != RK_RESOURCE_EXHAUSTED;
    self->report->entries += !absent;
    self->report->bytes += lookup.view.stored_bytes;
    rk_store_lookup_cleanup(&lookup);
    if (unreadable) {
        report_finding(self, RK_FSCK_DAMAGED, path, rk_err_message(err), false);
        rk_err_drop(err, "told");
        return NULL;
    }
    if (absent) {
        rk_err_drop(err, "removed since it was listed");
        return NULL;
    }
    RK_TRY(err);
    if (fault == RK_ENTRY_UNKNOWN_VERSION)
        report_finding(self, RK_FSCK_OTHER_VERSION, path, rk_entry_fault_text(fault), false);
    else if (fault)
        report_finding(self, RK_FSCK_DAMAGED, path, rk_entry_fault_text(fault),
                       self->options->repair && rk_removals_set_aside(self->store, kind, hex));
    return NULL;
}

static void check_temporary(check *self, const char *path, const char *name,
                            const struct stat *info) {
    if (rk_temporary_is_abandoned(name, rk_last_use_age(&self->clock, rk_stat_modified_ns(info))))
        report_finding(self, RK_FSCK_LEFTOVER, path, "temporary file of a dead process",
                       try_remove(self, path));
}

static rk_err *stat_below(const check *self, const char *path, struct stat *out_info,
                          bool *out_there) {
    rk_err *err = rk_tree_stat(self->store->directory, path, out_info);
    *out_there = !err;
    if (err && rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "removed since it was listed");
    return NULL;
}

static rk_err *visit_file(void *context, const char *name) {
    folder *in = context;
    check *self = in->of;
    rk_autofree char *path = rk_path_join(in->path, name);
    struct stat info;
    bool there = false;
    if (!path)
        return rk_err_no_memory();
    RK_TRY(stat_below(self, path, &info, &there));
    if (!there)
        return NULL;
    bool is_entry = rk_store_name_is_entry(in->kind, in->digits, name);
    char hex[RK_DIGEST_HEX_CHARS + 1] = "";
    (void)memcpy(hex, name, strnlen(name, RK_DIGEST_HEX_CHARS));
    if (!S_ISREG(info.st_mode)) {
        report_finding(
            self, is_entry ? RK_FSCK_NOT_A_FILE : RK_FSCK_UNKNOWN, path, "is not a regular file",
            is_entry && self->options->repair && rk_removals_set_aside(self->store, in->kind, hex));
        return NULL;
    }
    if (rk_temporary_is_name(name)) {
        check_temporary(self, path, name, &info);
        return NULL;
    }
    if (!is_entry) {
        report_finding(self, RK_FSCK_UNKNOWN, path, "is not a file of rekindle", false);
        return NULL;
    }
    in->count->files++;
    in->count->bytes += info.st_size;
    if (!check_owner(self, path, &info))
        return NULL;
    if (self->options->progress)
        self->options->progress(self->options->context, self->report->entries, self->expected);
    return check_entry(self, in->kind, path, hex);
}

// Sets `*out_usable` if `path` is a folder that may be used. Reports any other existing file.
static rk_err *check_folder(check *self, const char *path, bool *out_usable) {
    struct stat info;
    RK_TRY(stat_below(self, path, &info, out_usable));
    if (!*out_usable)
        return NULL;
    if (!S_ISDIR(info.st_mode)) {
        report_finding(self, RK_FSCK_NOT_A_FILE, path, "is not a folder", false);
        *out_usable = false;
    } else {
        *out_usable = check_owner(self, path, &info);
    }
    self->partial = self->partial || !*out_usable;
    return NULL;
}

static rk_err *check_kind(check *self, rk_entry_kind kind) {
    static const char hex[] = "0123456789abcdef";
    bool usable = false;
    RK_TRY(check_folder(self, rk_store_kind_folder(kind), &usable));
    for (unsigned i = 0; usable && i < RK_STORE_FOLDERS; i++) {
        const char digits[3] = {hex[i >> 4], hex[i & 15], '\0'};
        rk_autofree char *path = rk_path_join(rk_store_kind_folder(kind), digits);
        bool enter = false;
        if (!path)
            return rk_err_no_memory();
        RK_TRY(check_folder(self, path, &enter));
        folder in = {self, kind, path, digits, &self->found->places[rk_place_of(kind, digits)]};
        if (enter)
            RK_TRY(rk_tree_list(self->store->directory, path, MAX_NAMES, visit_file, &in));
    }
    return NULL;
}

// Drops RK_PERMISSION_DENIED of a folder that others may write to, which check_folder has reported.
static rk_err *ignore_refusal(rk_err *err) {
    if (rk_err_code(err) != RK_PERMISSION_DENIED)
        return err;
    rk_err_drop(err, "reported as permissions");
    return NULL;
}

static rk_err *check_pins(check *self) {
    RK_AUTO(rk_pins) pins = {0};
    RK_TRY(ignore_refusal(rk_pins_load(self->store, &pins)));
    for (size_t i = 0; i < pins.count; i++) {
        rk_key key = {0};
        if (!rk_digest_from_hex(rk_span_text(pins.keys[i]), &key.digest) ||
            rk_store_has(self->store, RK_ENTRY_EXECUTABLE, &key) ||
            rk_store_has(self->store, RK_ENTRY_PROGRAM, &key))
            continue;
        rk_autofree char *path = rk_path_join("pins", pins.keys[i]);
        if (!path)
            return rk_err_no_memory();
        struct stat info;
        bool there = false;
        RK_TRY(stat_below(self, path, &info, &there));
        if (!there || !rk_own_other(self->store, "pins", pins.keys[i], &info))
            continue;
        report_finding(self, RK_FSCK_ORPHAN, path, "pins a key that has no entry",
                       try_remove(self, path));
    }
    return NULL;
}

// True if the file is rekindle's own. Foreign files may lie in the same folders.
static bool is_ours(const folder *in, const char *path, const char *name, const struct stat *info) {
    static const struct {
        const char *folder;
        unsigned place;
    } places[] = {{"quarantine", RK_PLACE_QUARANTINE}, {"plugins", RK_PLACE_PLUGINS}};
    for (size_t i = 0; i < RK_ARRAY_LEN(places); i++)
        if (strcmp(in->path, places[i].folder) == 0)
            return rk_own_file(in->of->store, places[i].place, path, info);
    return rk_own_other(in->of->store, in->path, name, info);
}

// Checks a file of a folder without entries: leftovers and permissions.
static rk_err *visit_other(void *context, const char *name) {
    folder *in = context;
    rk_autofree char *path = rk_path_join(in->path, name);
    struct stat info;
    bool there = false;
    if (!path)
        return rk_err_no_memory();
    RK_TRY(stat_below(in->of, path, &info, &there));
    if (there && S_ISREG(info.st_mode) && rk_temporary_is_name(name))
        check_temporary(in->of, path, name, &info);
    else if (there && is_ours(in, path, name, &info))
        (void)check_owner(in->of, path, &info);
    return NULL;
}

static rk_err *check_others(check *self) {
    static const char *const others[] = {"quarantine", "plugins", "runs", "usage",
                                         "pins",       "leases",  "jobs", RK_LOADS_FOLDER};
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++) {
        bool usable = false;
        RK_TRY(check_folder(self, others[i], &usable));
        folder in = {.of = self, .path = others[i]};
        if (usable)
            RK_TRY(rk_tree_list(self->store->directory, others[i], MAX_NAMES, visit_other, &in));
    }
    return NULL;
}

// Sums the places to compare. Entries and quarantine/ count together, since a move to quarantine/
// writes no line in a log. Runs grow without lines in a log, so they are not compared.
static int64_t compared_bytes(const rk_usage_table *table) {
    int64_t bytes = 0;
    for (unsigned place = 0; place <= RK_PLACE_QUARANTINE; place++)
        bytes += table->places[place].bytes;
    return bytes;
}

// Counts the store and publishes a new account. `*out_counted` is false if the disk is full.
static rk_err *count_again(check *self, bool *out_counted) {
    RK_AUTO_USAGE state = NULL;
    RK_TRY(rk_usage_read(self->store, &state));
    (void)rk_usage_find_finished(state, self->clock.now_ns);
    RK_TRY(rk_usage_count_all(self->store, &state->table));
    return rk_usage_publish_if_space(self->store, state, out_counted);
}

static rk_err *check_account(check *self) {
    RK_AUTO_USAGE after = NULL;
    RK_TRY(rk_usage_read(self->store, &after));
    int64_t known = compared_bytes(&self->state->table), found = compared_bytes(self->found);
    struct stat info;
    bool damaged = false; // a missing base is not damaged: it was never written
    RK_TRY(stat_below(self, "usage/base", &info, &damaged));
    damaged = damaged && !self->state->known;
    bool busy = known != compared_bytes(&after->table); // another process changes the store
    bool wrong = self->state->known && known != found && !busy && !self->partial;
    bool repaired = false;
    if (self->options->repair)
        RK_TRY(count_again(self, &repaired));
    RK_AUTO(rk_buf) detail = {0};
    rk_buf_add_format(&detail, "records %lld bytes, but the store has %lld", (long long)known,
                      (long long)found);
    RK_TRY(rk_buf_status(&detail));
    if (damaged || wrong)
        report_finding(self, RK_FSCK_ACCOUNT, "usage/base",
                       damaged ? "is damaged" : rk_buf_text(&detail), repaired);
    return NULL;
}

rk_err *rk_store_fsck(rk_store *store, const rk_fsck_options *options, rk_fsck_report *out_report) {
    *out_report = (rk_fsck_report){0};
    if (options->repair && store->readonly)
        return rk_error(RK_PERMISSION_DENIED, "the store %s is open for reading only",
                        store->directory);
    RK_AUTO(check) self = {.store = store, .options = options, .report = out_report};
    self.found = rk_calloc(1, sizeof *self.found);
    if (!self.found)
        return rk_err_no_memory();
    RK_TRY(rk_last_use_load_clock(store, &self.clock));
    RK_TRY(rk_usage_read(store, &self.state));
    for (unsigned place = 0; place < RK_PLACE_QUARANTINE; place++)
        self.expected += (uint64_t)(self.state->table.places[place].files > 0
                                        ? self.state->table.places[place].files
                                        : 0);
    RK_TRY(check_others(&self));
    RK_TRY(ignore_refusal(rk_usage_count_place(store, RK_PLACE_QUARANTINE,
                                               &self.found->places[RK_PLACE_QUARANTINE])));
    RK_TRY(check_kind(&self, RK_ENTRY_EXECUTABLE));
    RK_TRY(check_kind(&self, RK_ENTRY_PROGRAM));
    RK_TRY(check_pins(&self));
    return check_account(&self);
}
