#include "identity/ignore.h"

#include "base/span.h"

static const char SEPARATORS[] = ", \t\r\n";

static bool word_matches(rk_span word, const char *name) {
    if (rk_span_is(word, name))
        return true;
    const char *flag = strstr(name, ":-");
    const char *last = flag ? flag + 1 : strrchr(name, '.');
    if (!last)
        return false;
    if (!flag)
        last++;
    return rk_span_is(word, last) || rk_span_is(word, last + strspn(last, "-"));
}

bool rk_ignore_matches(const char *ignore, const char *name) {
    if (!ignore)
        return false;
    const char *at = ignore + strspn(ignore, SEPARATORS);
    while (*at) {
        size_t len = strcspn(at, SEPARATORS);
        if (word_matches(rk_span_of(at, len), name))
            return true;
        at += len;
        at += strspn(at, SEPARATORS);
    }
    return false;
}
