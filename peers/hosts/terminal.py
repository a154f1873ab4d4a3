"""A host at a terminal: its screen, and somebody who looks at it and types."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import threading
import time

from screen import Screen

# Only decides how late a check fails.
PATIENCE_SECONDS = 120
# How long a program may take to end by itself before it is ended.
LEAVE_SECONDS = 5
ROWS, COLUMNS = 50, 200
# How often is looked whether something has changed elsewhere than on the screen.
LOOK_SECONDS = 0.05


def squeezed(text):
    """Text without blanks: a host breaks lines where it likes."""
    return "".join(text.split())


class Terminal:
    """A program that believes that a person sits in front of it.

    What it writes is taken in all the time: one whose writing is not taken in stops.
    """

    def __init__(self, host, arguments, environment, folder):
        """A host says what stands in the place where lines are written, whether it waits for one, and whether it took one."""
        self.host, self.home = host, environment["HOME"]
        self.picture = Screen(ROWS, COLUMNS)
        self.ended = threading.Event()
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(folder)
            os.execvpe(host.program, [host.program, *arguments], environment)
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        """Takes in what is shown until the program or the story ends."""
        while not self.ended.is_set():
            ready, _, _ = select.select([self.screen], [], [], LOOK_SECONDS)
            if not ready:
                continue
            try:
                more = os.read(self.screen, 65536)
            except OSError:
                more = b""
            if not more:
                return
            with self.changed:
                self.picture.feed(more)
                self.changed.notify_all()
            # Programs ask what the terminal is and wait for an answer.
            for asked, answer in ((b"\x1b[c", b"\x1b[?1;2c"), (b"\x1b[6n", b"\x1b[1;1R")):
                if asked in more:
                    os.write(self.screen, answer)

    def lines(self):
        """What stands on the screen, row by row."""
        return self.picture.lines

    def told(self, number):
        """What the program last told the terminal by a control of this number."""
        return self.picture.told.get(number, "")

    def wait_until(self, condition, what, patience=PATIENCE_SECONDS):
        """Waits until something holds, which may be something on the screen; what it is then."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            with self.changed:
                if found := condition():
                    return found
                self.changed.wait(LOOK_SECONDS)
        shown = "\n".join(line for line in self.lines() if line)
        raise TimeoutError(f"this did not happen: {what}. On the screen: …{shown[-1500:]}")

    def wait_for(self, *wanted):
        """Waits until one of these texts is shown, blanks aside. Which."""

        def shown():
            text = squeezed("".join(self.lines()))
            return next((one for one in wanted if squeezed(one) in text), None)

        return self.wait_until(shown, f"one of {wanted} is shown")

    def type(self, text):
        """Types a line and ends it. Each key is hit when what shows that the one before has arrived is seen."""
        self.wait_until(lambda: self.host.is_ready(self), "it waits for a line")
        self.press(text)
        self.wait_until(lambda: self.host.written(self) == squeezed(text), f"`{text}` is written")
        self.press("\r")
        self.wait_until(lambda: self.host.is_taken(self, text), f"`{text}` is taken")

    def press(self, keys):
        os.write(self.screen, keys.encode())

    def close(self):
        """Ends the program and all that it started in its session."""
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                break
            if self._has_left():
                break
        self.ended.set()
        self.reader.join()
        os.close(self.screen)

    def _has_left(self):
        end = time.monotonic() + LEAVE_SECONDS
        while time.monotonic() < end:
            if os.waitpid(self.pid, os.WNOHANG) != (0, 0):
                return True
            self.ended.wait(LOOK_SECONDS)
        return False
