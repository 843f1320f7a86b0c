#include "support/powerloss.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"

// Files and directories have numbers in the order of their creation. The top directory is 0.
enum { TOP = 0 };
#define NONE UINT_MAX

typedef enum change_kind { WRITE, NAME, UNNAME, RENAME, SYNC, MARK } change_kind;

typedef struct change {
    change_kind kind;
    unsigned node;                // written, synced or named; for RENAME: the moved node
    unsigned directory;           // of NAME, UNNAME and RENAME (the target)
    unsigned from_directory;      // of RENAME
    char name[NAME_MAX + 1];      // in `directory`
    char from_name[NAME_MAX + 1]; // of RENAME
    size_t offset, len;           // of WRITE
    uint8_t *data;                // owned; of WRITE
} change;

typedef struct node {
    ino_t inode;
    bool is_directory;
} node;

struct rk_powerloss {
    node *nodes;
    unsigned node_count;
    change *changes;
    unsigned change_count;
};

static rk_powerloss *current;

static void *need(void *memory) {
    if (!memory)
        abort();
    return memory;
}

static change *add(change_kind kind, unsigned number) {
    current->changes =
        need(realloc(current->changes, (current->change_count + 1) * sizeof *current->changes));
    change *made = &current->changes[current->change_count++];
    *made = (change){.kind = kind, .node = number};
    return made;
}

static unsigned add_node(ino_t inode, bool is_directory) {
    current->nodes =
        need(realloc(current->nodes, (current->node_count + 1) * sizeof *current->nodes));
    current->nodes[current->node_count] = (node){inode, is_directory};
    return current->node_count++;
}

// The latest node with this inode, because the file system reuses inode numbers. All nodes must lie
// on one file system.
static unsigned find_node(ino_t inode) {
    for (unsigned i = current->node_count; i-- > 0;)
        if (current->nodes[i].inode == inode)
            return i;
    return NONE;
}

static unsigned node_of_fd(int fd) {
    struct stat info;
    return fstat(fd, &info) == 0 ? find_node(info.st_ino) : NONE;
}

static unsigned node_at(int dir_fd, const char *path) {
    struct stat info;
    return fstatat(dir_fd, path, &info, AT_SYMLINK_NOFOLLOW) == 0 ? find_node(info.st_ino) : NONE;
}

// Returns the directory of `path` and writes the last component into `out_name`.
static unsigned split(int dir_fd, const char *path, char out_name[NAME_MAX + 1]) {
    char copy[PATH_MAX], again[PATH_MAX];
    (void)snprintf(copy, sizeof copy, "%s", path);
    (void)snprintf(again, sizeof again, "%s", path);
    (void)snprintf(out_name, NAME_MAX + 1, "%s", basename(again));
    struct stat info;
    return fstatat(dir_fd, dirname(copy), &info, 0) == 0 ? find_node(info.st_ino) : NONE;
}

static void note_name(int dir_fd, const char *path, unsigned number) {
    char name[NAME_MAX + 1];
    unsigned directory = split(dir_fd, path, name);
    if (directory == NONE || number == NONE)
        return;
    change *made = add(NAME, number);
    made->directory = directory;
    memcpy(made->name, name, sizeof name);
}

static int recorded_openat(int dir_fd, const char *path, int flags, mode_t mode) {
    bool existed = faccessat(dir_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    int fd = rk_sys_libc.openat_fn(dir_fd, path, flags, mode);
    char name[NAME_MAX + 1];
    struct stat info;
    if (fd >= 0 && (flags & O_CREAT) && !existed && split(dir_fd, path, name) != NONE &&
        fstat(fd, &info) == 0)
        note_name(dir_fd, path, add_node(info.st_ino, false));
    return fd;
}

static int recorded_open(const char *path, int flags, mode_t mode) {
    return recorded_openat(AT_FDCWD, path, flags, mode);
}

static int recorded_mkdirat(int dir_fd, const char *path, mode_t mode) {
    int status = rk_sys_libc.mkdirat_fn(dir_fd, path, mode);
    char name[NAME_MAX + 1];
    struct stat info;
    if (status == 0 && split(dir_fd, path, name) != NONE && fstatat(dir_fd, path, &info, 0) == 0)
        note_name(dir_fd, path, add_node(info.st_ino, true));
    return status;
}

static int recorded_mkdir(const char *path, mode_t mode) {
    return recorded_mkdirat(AT_FDCWD, path, mode);
}

static ssize_t recorded_write(int fd, const void *data, size_t len) {
    struct stat info;
    off_t offset = lseek(fd, 0, SEEK_CUR);
    if ((fcntl(fd, F_GETFL) & O_APPEND) && fstat(fd, &info) == 0)
        offset = info.st_size;
    ssize_t written = rk_sys_libc.write_fn(fd, data, len);
    unsigned number = node_of_fd(fd);
    if (written <= 0 || offset < 0 || number == NONE)
        return written;
    change *made = add(WRITE, number);
    made->offset = (size_t)offset;
    made->len = (size_t)written;
    made->data = need(malloc(made->len));
    memcpy(made->data, data, made->len);
    return written;
}

static int recorded_fsync(int fd) {
    int status = rk_sys_libc.fsync_fn(fd);
    unsigned number = node_of_fd(fd);
    if (status == 0 && number != NONE)
        (void)add(SYNC, number);
    return status;
}

static int recorded_renameat(int from_fd, const char *from, int to_fd, const char *to) {
    unsigned number = node_at(from_fd, from);
    int status = rk_sys_libc.renameat_fn(from_fd, from, to_fd, to);
    char from_name[NAME_MAX + 1], name[NAME_MAX + 1];
    unsigned from_directory = split(from_fd, from, from_name);
    unsigned directory = split(to_fd, to, name);
    if (status != 0 || number == NONE || directory == NONE || from_directory == NONE)
        return status;
    change *made = add(RENAME, number);
    made->from_directory = from_directory;
    made->directory = directory;
    memcpy(made->name, name, sizeof name);
    memcpy(made->from_name, from_name, sizeof from_name);
    return status;
}

static int recorded_rename(const char *from, const char *to) {
    return recorded_renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static int recorded_linkat(int from_fd, const char *from, int to_fd, const char *to) {
    int status = rk_sys_libc.linkat_fn(from_fd, from, to_fd, to);
    if (status == 0)
        note_name(to_fd, to, node_at(to_fd, to));
    return status;
}

static int recorded_unlinkat(int dir_fd, const char *path, int flags) {
    unsigned number = node_at(dir_fd, path);
    int status = rk_sys_libc.unlinkat_fn(dir_fd, path, flags);
    char name[NAME_MAX + 1];
    unsigned directory = split(dir_fd, path, name);
    if (status != 0 || number == NONE || directory == NONE)
        return status;
    change *made = add(UNNAME, number);
    made->directory = directory;
    memcpy(made->name, name, sizeof name);
    return status;
}

static int recorded_unlink(const char *path) {
    return recorded_unlinkat(AT_FDCWD, path, 0);
}

static int recorded_rmdir(const char *path) {
    return recorded_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

rk_powerloss *rk_powerloss_begin(const char *directory) {
    static rk_sys_table table;
    table = rk_sys_libc;
    table.open_fn = recorded_open;
    table.openat_fn = recorded_openat;
    table.mkdir_fn = recorded_mkdir;
    table.mkdirat_fn = recorded_mkdirat;
    table.write_fn = recorded_write;
    table.fsync_fn = recorded_fsync;
    table.rename_fn = recorded_rename;
    table.renameat_fn = recorded_renameat;
    table.linkat_fn = recorded_linkat;
    table.unlink_fn = recorded_unlink;
    table.unlinkat_fn = recorded_unlinkat;
    table.rmdir_fn = recorded_rmdir;
    struct stat info;
    if (current || stat(directory, &info) != 0)
        abort();
    current = need(calloc(1, sizeof *current));
    (void)add_node(info.st_ino, true);
    rk_sys_replace(&table);
    return current;
}

void rk_powerloss_end(rk_powerloss *record) {
    if (current == record)
        current = NULL;
    rk_sys_replace(NULL);
}

void rk_powerloss_free(rk_powerloss *record) {
    for (unsigned i = 0; i < record->change_count; i++)
        free(record->changes[i].data);
    free(record->changes);
    free(record->nodes);
    free(record);
}

void rk_powerloss_mark(rk_powerloss *record) {
    if (record == current)
        (void)add(MARK, NONE);
}

unsigned rk_powerloss_count(const rk_powerloss *record) {
    return record->change_count;
}

unsigned rk_powerloss_marks(const rk_powerloss *record, unsigned cut) {
    unsigned marks = 0;
    for (unsigned i = 0; i < cut; i++)
        marks += record->changes[i].kind == MARK;
    return marks;
}

// Names after the cut. There are few, so a list is enough.
typedef struct name {
    unsigned directory, node;
    const char *text;
} name;

typedef struct state {
    const rk_powerloss *record;
    unsigned cut, choice;
    uint64_t random;
    name *names;
    unsigned name_count;
} state;

static bool synced_after(const state *self, unsigned at, unsigned number) {
    for (unsigned i = at + 1; i < self->cut; i++)
        if (self->record->changes[i].kind == SYNC && self->record->changes[i].node == number)
            return true;
    return false;
}

static bool is_durable(const state *self, unsigned at) {
    const change *made = &self->record->changes[at];
    if (made->kind == WRITE)
        return synced_after(self, at, made->node);
    return synced_after(self, at, made->directory) &&
           (made->kind != RENAME || synced_after(self, at, made->from_directory));
}

// How much of the change survives: 0 nothing, 1 half, 2 all.
static unsigned survival(state *self, unsigned at) {
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    if (is_durable(self, at) || self->choice == 1)
        return 2;
    return self->choice == 0 ? 0 : (unsigned)(self->random >> 33) % 3;
}

static void set_name(state *self, unsigned directory, const char *text, unsigned number) {
    unsigned at = 0;
    while (at < self->name_count &&
           (self->names[at].directory != directory || strcmp(self->names[at].text, text) != 0))
        at++;
    if (at == self->name_count) {
        self->names = need(realloc(self->names, (at + 1) * sizeof *self->names));
        self->name_count++;
    }
    self->names[at] = (name){directory, number, text};
}

static void apply_names(state *self) {
    for (unsigned i = 0; i < self->cut; i++) {
        const change *made = &self->record->changes[i];
        if ((made->kind != NAME && made->kind != UNNAME && made->kind != RENAME) ||
            survival(self, i) == 0)
            continue;
        if (made->kind == RENAME)
            set_name(self, made->from_directory, made->from_name, NONE);
        set_name(self, made->directory, made->name, made->kind == UNNAME ? NONE : made->node);
    }
}

static void build_file(state *self, unsigned number, const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        abort();
    for (unsigned i = 0; i < self->cut; i++) {
        const change *made = &self->record->changes[i];
        if (made->kind != WRITE || made->node != number)
            continue;
        size_t len = made->len * survival(self, i) / 2;
        if (len && pwrite(fd, made->data, len, (off_t)made->offset) != (ssize_t)len)
            abort();
    }
    (void)close(fd);
}

static void build_directory(state *self, unsigned number, const char *path) {
    for (unsigned i = 0; i < self->name_count; i++) {
        const name *entry = &self->names[i];
        if (entry->directory != number || entry->node == NONE)
            continue;
        char below[PATH_MAX];
        (void)snprintf(below, sizeof below, "%s/%s", path, entry->text);
        if (!self->record->nodes[entry->node].is_directory) {
            build_file(self, entry->node, below);
            continue;
        }
        if (mkdir(below, 0700) != 0)
            abort();
        build_directory(self, entry->node, below);
    }
}

void rk_powerloss_build(const rk_powerloss *record, unsigned cut, unsigned choice,
                        const char *directory) {
    state self = {.record = record, .cut = cut, .choice = choice};
    self.random = ((uint64_t)cut << 32 | choice) * 0x9e3779b97f4a7c15u + 1;
    apply_names(&self);
    build_directory(&self, TOP, directory);
    free(self.names);
}
