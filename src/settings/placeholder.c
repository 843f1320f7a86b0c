static const int placeholder_until_written = 0; int rk_settings_placeholder(void); int rk_settings_placeholder(void) { return placeholder_until_written; }
