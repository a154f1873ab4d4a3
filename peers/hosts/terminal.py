"""A host at a terminal: its screen as text, and somebody who types."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[=>78cDEHMNOZ])")
# Only decides how late a check fails.
PATIENCE_SECONDS = 120
PAUSE_SECONDS = 0.3
ROWS, COLUMNS = 50, 200
# How often it is looked at what has changed before all of the screen is looked at.
LOOKS_AT_CHANGES = 25
END_OF_FRAME = b"\x1b[?2026l"


class Terminal:
    """A program that believes that a person sits in front of it."""

    def __init__(self, host, arguments, environment, folder):
        """`host.is_taken` says of a line that was typed and ended here whether it is no longer being written."""
        self.raw = b""
        self.host, self.home = host, environment["HOME"]
        arguments = [host.program, *arguments]
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(arguments[0], arguments, environment)
        self.columns = COLUMNS
        self._resize(COLUMNS)

    def _resize(self, columns):
        self.columns = columns
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))

    def read(self, seconds):
        """Takes in what is shown for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([self.screen], [], [], min(left, 0.1))
            if not ready:
                continue
            try:
                more = os.read(self.screen, 65536)
            except OSError:
                return
            if not more:
                return
            self.raw += more
            # Programs ask what the terminal is and wait for an answer.
            if b"\x1b[c" in more:
                os.write(self.screen, b"\x1b[?1;2c")
            if b"\x1b[6n" in more:
                os.write(self.screen, b"\x1b[1;1R")

    def text(self, start=0):
        """What was shown, without colours, blanks and places."""
        shown = ESCAPES.sub("", self.raw[start:].decode(errors="replace"))
        return re.sub(r"\s+", "", shown)

    def whole(self):
        """All that stands on the screen now. A program that has a screen to itself writes what changes, and nothing that
        stands there already: all of it is written when its window gets another size."""
        start = len(self.raw)
        self._resize(COLUMNS - 1 if self.columns == COLUMNS else COLUMNS)
        end = time.monotonic() + PATIENCE_SECONDS
        while END_OF_FRAME not in self.raw[start:] and time.monotonic() < end:
            self.read(0.05)
        self.read(PAUSE_SECONDS)
        return self.text(start)

    def wait_for(self, *wanted, start=0, patience=PATIENCE_SECONDS):
        """Waits until one of these texts is shown, blanks aside. Which."""
        end = time.monotonic() + patience
        looks = 0
        while time.monotonic() < end:
            text = self.text(start)
            # Letters that stood in their places already are not written again.
            looks += 1
            if self.host.writes_only_changes and looks % LOOKS_AT_CHANGES == 0:
                text += self.whole()
            for one in wanted:
                if re.sub(r"\s+", "", one) in text:
                    return one
            self.read(0.2)
        raise TimeoutError(f"none of {wanted} was shown, but: …{self.text(start)[-600:]}")

    def type(self, text):
        """Types a line and ends it. Pasted text and the key that ends it must not arrive as one: a program that had no time
        to read in between takes the key for a part of the text, and is given it again."""
        start = len(self.raw)
        for part in (text.encode(), b"\r"):
            os.write(self.screen, part)
            self.read(PAUSE_SECONDS)
        end = time.monotonic() + PATIENCE_SECONDS
        line = re.sub(r"\s+", "", text)
        while not self.host.is_taken(self, line) and time.monotonic() < end:
            os.write(self.screen, b"\r")
            self.read(PAUSE_SECONDS)
        return start

    def close(self):
        """Ends the program and all that it started in its session."""
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                break
            self.read(0.5)
            if os.waitpid(self.pid, os.WNOHANG) != (0, 0):
                break
        os.close(self.screen)
