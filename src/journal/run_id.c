#include "journal/run_id.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/sys.h"

static bool is_id_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

bool rk_run_id_valid(const char *run) {
    size_t len = 0;
    while (len <= RK_RUN_ID_MAX_CHARS && is_id_char(run[len]))
        len++;
    return len > 0 && len <= RK_RUN_ID_MAX_CHARS && run[len] == '\0' && run[0] != '.';
}

static void add_short_host(rk_buf *out) {
    enum { HOST_MAX_CHARS = 32 };
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0' || host[0] == '.') {
        rk_buf_add_text(out, "host");
        return;
    }
    for (size_t i = 0; i < HOST_MAX_CHARS && host[i] && host[i] != '.'; i++)
        rk_buf_add_byte(out, (uint8_t)(is_id_char(host[i]) ? host[i] : '-'));
}

rk_err *rk_run_id_make(char **out_run) {
    time_t now = (time_t)(rk_realtime_ns() / 1000000000u);
    struct tm utc;
    if (!gmtime_r(&now, &utc))
        return rk_error_errno(errno, "cannot convert the clock's time to a date");
    RK_AUTO(rk_buf) run = {0};
    rk_buf_add_format(&run, "%04d%02d%02dT%02d%02d%02dZ-", utc.tm_year + 1900, utc.tm_mon + 1,
                      utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
    add_short_host(&run);
    rk_buf_add_format(&run, "-%ld", (long)getpid());
    RK_TRY(rk_buf_status(&run));
    size_t len = 0;
    *out_run = (char *)rk_buf_detach(&run, &len);
    return NULL;
}
