#include "torch/install.h"

#include "base/alloc.h"

void rk_torch_install_cleanup(rk_torch_install *install) {
    rk_free(install->folder);
    rk_free(install->python);
    rk_free(install->version);
    rk_free(install->git);
    rk_free(install->cuda);
    rk_free(install->hip);
    rk_free(install->triton);
    *install = (rk_torch_install){0};
}

static rk_err *read_triton(const char *folder, char **out_version) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_PYTHON_FILE_MAX_BYTES + 4096);
    RK_TRY(rk_python_read_text(folder, "triton/__init__.py", &text));
    return rk_python_take_value(rk_buf_text(&text), "__version__", out_version);
}

rk_err *rk_torch_install_look(const char *folder, const char *python_version,
                              rk_torch_install *out_install, bool *out_found) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_PYTHON_FILE_MAX_BYTES + 4096);
    RK_AUTO(rk_torch_install) found = {0};
    *out_found = false;
    RK_TRY(rk_python_read_text(folder, "torch/version.py", &text));
    RK_TRY(rk_python_take_value(rk_buf_text(&text), "__version__", &found.version));
    if (!found.version[0])
        return NULL;
    RK_TRY(rk_python_take_value(rk_buf_text(&text), "git_version", &found.git));
    RK_TRY(rk_python_take_value(rk_buf_text(&text), "cuda", &found.cuda));
    RK_TRY(rk_python_take_value(rk_buf_text(&text), "hip", &found.hip));
    RK_TRY(read_triton(folder, &found.triton));
    found.folder = rk_strdup(folder);
    found.python = rk_strdup(python_version);
    if (!found.folder || !found.python)
        return rk_err_no_memory();
    *out_install = found;
    found = (rk_torch_install){0};
    *out_found = true;
    return NULL;
}

static rk_err *look(void *context, const char *folder, const char *version, bool *out_found) {
    return rk_torch_install_look(folder, version, context, out_found);
}

rk_err *rk_torch_install_find(const rk_python_where *where, rk_torch_install *out_install,
                              bool *out_found) {
    return rk_python_packages_search(where, look, out_install, out_found);
}
