// Stores the executable of one key under another key, in a valid entry. No check of the bytes can
// detect this.
//     swap_entry STORE KEY OTHER-KEY
// Afterwards KEY has the executable of OTHER-KEY.
#include <stdio.h>

#include "store/store.h"

static rk_err *swap(const char *directory, const char *hex, const char *other_hex) {
    rk_store *store = NULL;
    RK_AUTO(rk_store_lookup) entry = {0};
    RK_AUTO(rk_store_lookup) other = {0};
    RK_TRY(rk_store_open(directory, false, &store));
    rk_err *err = rk_store_read(store, RK_ENTRY_EXECUTABLE, hex, RK_WANT_PAYLOAD, &entry);
    if (!err)
        err = rk_store_read(store, RK_ENTRY_EXECUTABLE, other_hex, RK_WANT_PAYLOAD, &other);
    if (!err && (!entry.found || !other.found))
        err = rk_error(RK_NOT_FOUND, "no sound entry");
    if (!err) {
        entry.view.entry.payload = other.view.entry.payload;
        err = rk_store_put(store, &entry.view.entry, NULL);
    }
    rk_store_free(store);
    return err;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    rk_autoerr err = swap(argv[1], argv[2], argv[3]);
    if (err)
        (void)fprintf(stderr, "%s\n", rk_err_message(err));
    return err ? 1 : 0;
}
