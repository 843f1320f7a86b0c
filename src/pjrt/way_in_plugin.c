// The name of the plugin entry path.
#include "pjrt/way_in.h"

const char rk_way_in[] = "plugin";
