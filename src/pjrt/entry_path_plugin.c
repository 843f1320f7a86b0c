// The name of the plugin entry path.
#include "pjrt/entry_path.h"

const char rk_entry_path[] = "plugin";
