"""The device itself. A module of its own, because torch_xla loads it while torch_xla is being imported."""

from torch_xla.experimental import plugins

from rekindle import _libraries


class RekindlePlugin(plugins.DevicePlugin):
    """One process with all devices of the plugin that REKINDLE_PLUGIN names, as torch_xla's own default is."""

    def library_path(self):
        return _libraries.plugin_library()

    def configure_single_process(self):
        """Nothing is to be configured for one process."""
