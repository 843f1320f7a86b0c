"""A shell in a terminal of its own, as a person uses it: types keys, and reads what the shell shows."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

# What moves the cursor, colours text or asks the terminal something.
CONTROL = re.compile(r"\x1b\[[0-9;?>=]*[a-zA-Z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>()][0-9AB]?|[\x00\x07\r]")
LINES, COLUMNS = 50, 150
PATIENCE_S = 20


class Terminal:
    def __init__(self, argv, environment):
        self.shown = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def wait_for(self, pattern):
        """Reads until the pattern is shown, returns its match, and forgets everything up to it."""
        end = time.monotonic() + PATIENCE_S
        while True:
            match = re.search(pattern, self.shown, re.M)
            if match:
                self.shown = self.shown[match.end() :]
                return match
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            assert ready, f"{pattern!r} was not shown, but: {self.shown!r}"
            try:
                data = os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the shell ended: {self.shown!r}") from None
            self.shown = CONTROL.sub("", self.shown + data)

    def completed(self, typed):
        """Returns the line that the shell makes of what was typed and a tab."""
        # Ctrl-A and Ctrl-E make the line an argument of echo.
        self.type(f'{typed}\t\x01echo "<\x05>"\r')
        return self.wait_for(r"^<(.*)>$")[1].rstrip()
