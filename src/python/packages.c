#include "python/packages.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"

enum { NAMES_MAX = 4096, VALUE_MAX_BYTES = 128 };

rk_err *rk_python_read_text(const char *folder, const char *name, rk_buf *out) {
    rk_autofree char *path = rk_path_join(folder, name);
    if (!path)
        return rk_err_no_memory();
    char real[PATH_MAX];
    rk_err *err = realpath(path, real) ? rk_fs_read(real, RK_PYTHON_FILE_MAX_BYTES, out) : NULL;
    if (rk_err_code(err) == RK_RESOURCE_EXHAUSTED)
        return err;
    rk_err_drop(err, "a file that cannot be read says nothing");
    return NULL;
}

rk_err *rk_python_take_value(const char *text, const char *name, char **out_value) {
    size_t len = strlen(name);
    const char *begin = "";
    size_t value_len = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) != 0 || !strchr(" :=", line[len]) || !line[len])
            continue;
        const char *equals = line + strcspn(line, "=\n");
        const char *quote = *equals == '=' ? equals + strcspn(equals, "'\"\n") : "";
        if (*quote != '\'' && *quote != '"')
            break;
        begin = quote + 1;
        value_len = strcspn(begin, "'\"\n");
        break;
    }
    *out_value = rk_strndup(begin, value_len < VALUE_MAX_BYTES ? value_len : VALUE_MAX_BYTES);
    return *out_value ? NULL : rk_err_no_memory();
}

// One call of rk_python_packages_search.
typedef struct search {
    rk_python_look_fn look;
    void *context;
    bool found;
    const char *library; // ".../lib", while its folders are visited
    const char *leaf;    // "site-packages"
    const char *wanted;  // the version in the interpreter's name; "" if it has none
} search;

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// Visits "python3.11" in a folder of libraries.
static rk_err *visit_version(void *context, const char *name) {
    static const char stem[] = "python";
    search *s = context;
    const char *version = name + sizeof stem - 1;
    if (s->found || strncmp(name, stem, sizeof stem - 1) != 0 || *version != '3' ||
        (strchr(s->wanted, '.') && strcmp(version, s->wanted) != 0))
        return NULL;
    RK_AUTO(rk_buf) folder = {0};
    rk_buf_add_format(&folder, "%s/%s/%s", s->library, name, s->leaf);
    RK_TRY(rk_buf_status(&folder));
    return s->look(s->context, rk_buf_text(&folder), version, &s->found);
}

// The folder of the interpreter's version, if its name tells it. A folder of libraries may have too
// many names to list.
static rk_err *look_at_wanted(search *s) {
    RK_AUTO(rk_buf) name = {0};
    if (!strchr(s->wanted, '.'))
        return NULL;
    rk_buf_add_format(&name, "python%s", s->wanted);
    RK_TRY(rk_buf_status(&name));
    return visit_version(s, rk_buf_text(&name));
}

// Looks into PREFIX/lib/python3.*/site-packages and the like.
static rk_err *look_below(search *s, const char *prefix) {
    static const struct {
        const char *library, *leaf;
    } places[] = {{"lib", "site-packages"},
                  {"lib64", "site-packages"},
                  {"lib", "dist-packages"},
                  {"local/lib", "dist-packages"}};
    for (size_t i = 0; i < RK_ARRAY_LEN(places) && !s->found; i++) {
        rk_autofree char *library = rk_path_join(prefix, places[i].library);
        if (!library)
            return rk_err_no_memory();
        if (!is_folder(library))
            continue;
        s->library = library;
        s->leaf = places[i].leaf;
        RK_TRY(look_at_wanted(s));
        if (s->found)
            break;
        rk_err *err = rk_fs_list(library, NAMES_MAX, visit_version, s);
        if (rk_err_code(err) == RK_RESOURCE_EXHAUSTED)
            return err;
        rk_err_drop(err, "a folder that cannot be listed has no packages");
    }
    return NULL;
}

// Debian's packages are not in a folder of a version.
static rk_err *look_at_debian(search *s, const char *prefix) {
    RK_AUTO(rk_buf) folder = {0};
    rk_buf_add_format(&folder, "%s/lib/python3/dist-packages", prefix);
    RK_TRY(rk_buf_status(&folder));
    return s->found
               ? NULL
               : s->look(s->context, rk_buf_text(&folder), *s->wanted ? s->wanted : "3", &s->found);
}

static rk_err *look_at_path(search *s, const char *python_path) {
    for (const char *at = python_path; at && *at && !s->found;) {
        size_t len = strcspn(at, ":");
        rk_autofree char *folder = rk_strndup(at, len);
        if (!folder)
            return rk_err_no_memory();
        if (len)
            RK_TRY(s->look(s->context, folder, *s->wanted ? s->wanted : "3", &s->found));
        at += len + (at[len] == ':');
    }
    return NULL;
}

// Cuts the last `parts` parts off a path. False if it has fewer.
static bool cut(char *path, int parts) {
    for (; parts > 0; parts--) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return false;
        *slash = '\0';
    }
    return true;
}

// Reads "home = /usr/bin" and "include-system-site-packages = true" of a virtual environment.
// `*out_base` is owned: the prefix of the base if its packages count, else NULL.
static rk_err *read_environment(const char *prefix, bool *out_is_environment, char **out_base) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_PYTHON_FILE_MAX_BYTES + 4096);
    bool uses_base = false;
    *out_base = NULL;
    RK_TRY(rk_python_read_text(prefix, "pyvenv.cfg", &text));
    *out_is_environment = text.len > 0;
    for (char *line = (char *)text.data, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *equals = strchr(line, '=');
        if (!equals)
            continue;
        const char *value = equals + 1 + strspn(equals + 1, " \t");
        if (strncmp(line, "include-system-site-packages", 28) == 0)
            uses_base = strncmp(value, "true", 4) == 0;
        if (strncmp(line, "home", 4) == 0 && !*out_base) {
            *out_base = rk_strdup(value);
            if (!*out_base)
                return rk_err_no_memory();
        }
    }
    if (*out_base && (!uses_base || !cut(*out_base, 1)))
        rk_free(RK_TAKE(*out_base));
    return NULL;
}

// A base environment, whose path a .pth file adds. Only plain paths count.
static rk_err *look_at_links(search *s, const char *prefix);

static rk_err *look_at_prefix(search *s, const char *prefix) {
    RK_TRY(look_below(s, prefix));
    RK_TRY(look_at_debian(s, prefix));
    return s->found ? NULL : look_at_links(s, prefix);
}

static rk_err *visit_link(void *context, const char *name) {
    search *s = context;
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_PYTHON_FILE_MAX_BYTES + 4096);
    if (s->found || !rk_text_ends(name, ".pth"))
        return NULL;
    RK_TRY(rk_python_read_text(s->library, name, &text));
    for (char *line = (char *)text.data, *next; line && *line && !s->found; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (*line == '/')
            RK_TRY(s->look(s->context, line, s->leaf, &s->found));
    }
    return NULL;
}

// Visits "python3.11" and the .pth files in its packages.
static rk_err *visit_linked(void *context, const char *name) {
    search *s = context;
    RK_AUTO(rk_buf) folder = {0};
    if (s->found || strncmp(name, "python3.", 8) != 0)
        return NULL;
    rk_buf_add_format(&folder, "%s/%s/site-packages", s->library, name);
    RK_TRY(rk_buf_status(&folder));
    search inner = {
        .look = s->look, .context = s->context, .library = rk_buf_text(&folder), .leaf = name + 6};
    rk_err *err = rk_fs_list(inner.library, 1 << 16, visit_link, &inner);
    s->found = inner.found;
    if (rk_err_code(err) == RK_RESOURCE_EXHAUSTED)
        return err;
    rk_err_drop(err, "a folder that cannot be listed has no links");
    return NULL;
}

static rk_err *look_at_links(search *s, const char *prefix) {
    rk_autofree char *library = rk_path_join(prefix, "lib");
    if (!library)
        return rk_err_no_memory();
    search inner = {.look = s->look, .context = s->context, .library = library};
    rk_err *err = is_folder(library) ? rk_fs_list(library, NAMES_MAX, visit_linked, &inner) : NULL;
    s->found = inner.found;
    if (rk_err_code(err) == RK_RESOURCE_EXHAUSTED)
        return err;
    rk_err_drop(err, "a folder that cannot be listed has no packages");
    return NULL;
}

// The version in "python3.11"; "" if the name has none.
static const char *version_in(const char *python) {
    const char *slash = strrchr(python, '/'), *name = slash ? slash + 1 : python;
    return strncmp(name, "python", 6) == 0 ? name + 6 : "";
}

static rk_err *look_at_user(search *s, const char *home) {
    RK_AUTO(rk_buf) prefix = {0};
    if (!home || s->found)
        return NULL;
    rk_buf_add_format(&prefix, "%s/.local", home);
    RK_TRY(rk_buf_status(&prefix));
    return look_below(s, rk_buf_text(&prefix));
}

// Looks at what the interpreter behind the links has.
static rk_err *look_at_real(search *s, const char *python, const char *home) {
    char real[PATH_MAX];
    if (!realpath(python, real))
        return NULL;
    rk_autofree char *prefix = rk_strdup(real);
    if (!prefix)
        return rk_err_no_memory();
    if (!cut(prefix, 2))
        return NULL;
    s->wanted = version_in(real);
    RK_TRY(look_at_user(s, home));
    return s->found ? NULL : look_at_prefix(s, prefix);
}

rk_err *rk_python_packages_search(const rk_python_where *where, rk_python_look_fn look,
                                  void *context, bool *out_found) {
    char real[PATH_MAX];
    search s = {.look = look, .context = context, .wanted = version_in(where->python)};
    if (!strchr(s.wanted, '.') && realpath(where->python, real) && strchr(version_in(real), '.'))
        s.wanted = version_in(real); // "python3" is often a link to "python3.11"
    rk_autofree char *prefix = rk_strdup(where->python);
    rk_autofree char *base = NULL;
    bool is_environment = false;
    if (!prefix)
        return rk_err_no_memory();
    rk_err *err = look_at_path(&s, where->python_path);
    if (!err && !s.found && cut(prefix, 2)) {
        err = read_environment(prefix, &is_environment, &base);
        if (!err && is_environment)
            err = look_at_prefix(&s, prefix);
    }
    if (!err && !s.found && base)
        err = look_at_prefix(&s, base);
    if (!err && !s.found && !is_environment)
        err = look_at_real(&s, where->python, where->home);
    *out_found = s.found;
    return err;
}
