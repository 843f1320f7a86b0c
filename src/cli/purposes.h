// What each setting is for, in a few words, for `rekindle config` and the man page.
#pragma once

#include "settings/settings.h"

// docs/settings.md says more. Static.
const char *rk_setting_purpose(rk_setting_id id);
