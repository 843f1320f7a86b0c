#include "cli/key_operand.h"

#include <string.h>

#include "base/fs.h"
#include "cli/fail.h"

rk_err *rk_key_operand_read(const char *operand, rk_trusted_keys *out_keys) {
    rk_public_key key;
    if (rk_public_key_parse(rk_span_text(operand), &key))
        return rk_trusted_keys_add(out_keys, &key);
    rk_err *err = rk_trusted_keys_read(operand, out_keys);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "replaced by the message for the user");
        return rk_error(RK_INVALID_ARGUMENT,
                        "'%s' is neither a public key (\"ed25519 <64 hex digits> <name>\", as "
                        "`rekindle keys list` shows it, in quotes) nor a file of such lines",
                        operand);
    }
    if (!err && out_keys->count == 0)
        err = rk_error(RK_INVALID_ARGUMENT, "%s holds no key", operand);
    return err;
}

rk_err *rk_key_folder_make(const char *path) {
    rk_autofree char *folder = rk_need(rk_strdup(path));
    char *slash = strrchr(folder, '/');
    if (!slash || slash == folder)
        return NULL;
    *slash = '\0';
    return rk_fs_make_dirs(folder, 0700);
}
