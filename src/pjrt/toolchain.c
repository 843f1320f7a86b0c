#include "pjrt/toolchain.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sys.h"

enum { FOLDERS_MAX = 4, PATH_FOLDERS_MAX = 16, ENTRIES_MAX = 1 << 14, PATH_MAX_BYTES = 4096 };

// Packages whose versions decide which programs are made. A framework is recorded only if the
// process has loaded one of its libraries (from the named folder). Another package is a library
// whose code becomes part of programs.
static const struct {
    const char *name, *folder;
} packages[] = {
    {"jax", "jaxlib/"},      {"jaxlib", "jaxlib/"},  {"libtpu", "libtpu/"}, {"torch", "torch/"},
    {"torch_xla", "torch/"}, {"flax", NULL},         {"optax", NULL},       {"equinox", NULL},
    {"keras", NULL},         {"diffrax", NULL},      {"dm_haiku", NULL},    {"optimistix", NULL},
    {"lineax", NULL},        {"numpyro", NULL},      {"brax", NULL},        {"distrax", NULL},
    {"blackjax", NULL},      {"transformers", NULL},
};

typedef struct folders {
    char paths[FOLDERS_MAX][PATH_MAX_BYTES]; // ".../site-packages"
    size_t count;
    bool loaded[RK_ARRAY_LEN(packages)]; // a library of the package is loaded
} folders;

static bool is_known(const folders *list, const char *path, size_t len) {
    for (size_t i = 0; i < list->count; i++)
        if (strlen(list->paths[i]) == len && memcmp(list->paths[i], path, len) == 0)
            return true;
    return false;
}

// `part`: path of a library, from the folder of its package on.
static void note_loaded(folders *list, const char *part) {
    for (size_t i = 0; i < RK_ARRAY_LEN(packages); i++)
        if (packages[i].folder &&
            strncmp(part, packages[i].folder, strlen(packages[i].folder)) == 0)
            list->loaded[i] = true;
}

// Records the folder in which a library's package is installed. Each package's libraries are in a
// folder of their own below it.
static int note_library(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    folders *list = context;
    static const char *const places[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < RK_ARRAY_LEN(places); i++) {
        const char *found = info->dlpi_name ? strstr(info->dlpi_name, places[i]) : NULL;
        if (!found)
            continue;
        size_t len = (size_t)(found - info->dlpi_name) + strlen(places[i]) - 1;
        note_loaded(list, info->dlpi_name + len + 1);
        if (list->count < FOLDERS_MAX && len < PATH_MAX_BYTES &&
            !is_known(list, info->dlpi_name, len)) {
            memcpy(list->paths[list->count], info->dlpi_name, len);
            list->paths[list->count++][len] = '\0';
        }
    }
    return 0;
}

typedef struct writer {
    rk_json *json;
    const folders *folders;
    bool written[RK_ARRAY_LEN(packages)];
} writer;

// Parses a folder name like "jaxlib-0.10.2.dist-info".
static rk_err *note_package(void *context, const char *name) {
    writer *w = context;
    static const char suffix[] = ".dist-info";
    size_t len = strlen(name);
    if (len <= sizeof suffix || strcmp(name + len - (sizeof suffix - 1), suffix) != 0)
        return NULL;
    const char *dash = strchr(name, '-');
    size_t end = len - (sizeof suffix - 1);
    for (size_t i = 0; dash && i < RK_ARRAY_LEN(packages); i++) {
        size_t wanted = strlen(packages[i].name);
        if (w->written[i] || (size_t)(dash - name) != wanted ||
            memcmp(name, packages[i].name, wanted) != 0 || end <= wanted + 1 ||
            (packages[i].folder && !w->folders->loaded[i]))
            continue;
        w->written[i] = true;
        rk_json_member_text(w->json, packages[i].name, rk_span_of(dash + 1, end - wanted - 1));
    }
    return NULL;
}

// Python's version, from a path like "/lib/python3.11/site-packages" of a loaded library; empty if
// unknown.
static rk_span find_python(const folders *list) {
    static const char part[] = "/lib/python";
    for (size_t i = 0; i < list->count; i++) {
        const char *found = strstr(list->paths[i], part);
        const char *version = found ? found + sizeof part - 1 : NULL;
        size_t len = version ? strspn(version, "0123456789.") : 0;
        if (len)
            return rk_span_of(version, len);
    }
    return (rk_span){0};
}

static void note_folder(writer *w, const char *path) {
    rk_err_drop(rk_fs_list(path, ENTRIES_MAX, note_package, w),
                "versions that cannot be found out are not known");
}

// Visits the parts of a list of folders such as PYTHONPATH. Stops if `visit` returns true.
static void each_folder(const char *rest, bool (*visit)(void *context, const char *path),
                        void *context) {
    bool done = false;
    for (size_t i = 0; rest && *rest && !done && i < PATH_FOLDERS_MAX; i++) {
        char path[PATH_MAX_BYTES];
        size_t len = strcspn(rest, ":");
        if (len && len < sizeof path) {
            memcpy(path, rest, len);
            path[len] = '\0';
            done = visit(context, path);
        }
        rest += len + (rest[len] == ':');
    }
}

static bool visit_python_path(void *context, const char *path) {
    note_folder(context, path);
    return false;
}

typedef struct search {
    const char *name;
    char found[PATH_MAX_BYTES]; // "" if it was not found
} search;

static bool visit_path(void *context, const char *path) {
    search *self = context;
    int len = snprintf(self->found, sizeof self->found, "%s/%s", path, self->name);
    bool fits = len > 0 && (size_t)len < sizeof self->found;
    if (fits && rk_sys()->eaccess_fn(self->found, X_OK) == 0)
        return true;
    self->found[0] = '\0';
    return false;
}

// The packages of a virtual environment, which contains the program that the user called. The
// loaded libraries may be of another environment below it.
static void note_environment(writer *w, rk_span python) {
    search self = {.name = program_invocation_name ? program_invocation_name : ""};
    if (strchr(self.name, '/'))
        (void)snprintf(self.found, sizeof self.found, "%s", self.name);
    else if (*self.name)
        each_folder(getenv("PATH"), visit_path, &self);
    for (unsigned up = 0; up < 2; up++) { // "prefix/bin/python"
        char *slash = strrchr(self.found, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
    char path[PATH_MAX_BYTES];
    int len = snprintf(path, sizeof path, "%s/lib/python%.*s/site-packages", self.found,
                       (int)python.len, (const char *)python.data);
    if (python.len && len > 0 && (size_t)len < sizeof path)
        note_folder(w, path);
}

void rk_toolchain_write(rk_json *json) {
    folders list = {.count = 0};
    writer w = {.json = json, .folders = &list};
    (void)dl_iterate_phdr(note_library, &list);
    rk_json_begin_object(json);
    rk_span python = find_python(&list);
    if (python.len)
        rk_json_member_text(json, "python", python);
    each_folder(getenv("PYTHONPATH"), visit_python_path, &w); // as Python does, before all others
    note_environment(&w, python);
    for (size_t i = 0; i < list.count; i++)
        note_folder(&w, list.paths[i]);
    rk_json_end_object(json);
}
