"""What stands on a terminal, made from what a program writes to it: as far as the hosts use it."""

import codecs
import re
import unicodedata

SEQUENCE = re.compile(
    r"\x1b\[(?P<private>[<=>?]?)(?P<numbers>[0-9;:]*)[ -/]*(?P<control>[@-~])"
    r"|\x1b\](?P<told>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[PX^_][^\x1b]*\x1b\\"
    r"|\x1b[()*+].|\x1b(?P<escape>[^\[\]PX^_()*+])",
    re.DOTALL,
)
FRAMES = "2026"


class Screen:
    """Rows of cells. A cell behind a letter that is two cells wide is empty text."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row, self.column, self.kept = 0, 0, (0, 0)
        self.top, self.bottom = 0, rows - 1
        self.drawing, self.left = False, ""
        # The lines as they stood when the last change was complete.
        self.lines = [""] * rows
        # What the program last said of itself, by the number of the control that says it.
        self.told = {}

    def feed(self, data):
        """Takes in what was written. The end of it may be the beginning of something."""
        text = self.left + self.decode(data)
        place = 0
        while place < len(text):
            letter = text[place]
            if letter != "\x1b":
                self._letter(letter)
                place += 1
                continue
            found = SEQUENCE.match(text, place)
            if not found:
                break
            self._sequence(found)
            place = found.end()
        self.left = text[place:]
        if not self.drawing:
            self._complete()

    def _complete(self):
        self.lines = ["".join(row).rstrip() for row in self.cells]

    def _letter(self, letter):
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self._down()
        elif letter == "\b":
            self.column = max(0, self.column - 1)
        elif letter >= " " and not unicodedata.combining(letter) and unicodedata.category(letter) not in ("Mn", "Cf"):
            wide = 1 + (unicodedata.east_asian_width(letter) in "WF")
            if self.column + wide > self.columns:
                self.column = 0
                self._down()
            self.cells[self.row][self.column : self.column + wide] = [letter, ""][:wide]
            self.column += wide

    def _down(self):
        if self.row == self.bottom:
            del self.cells[self.top]
            self.cells.insert(self.bottom, [" "] * self.columns)
        else:
            self.row = min(self.row + 1, self.rows - 1)

    def _sequence(self, found):
        if found["told"] is not None:
            number, _, what = found["told"].partition(";")
            self.told[number] = what
        elif found["escape"] == "7":
            self.kept = self.row, self.column
        elif found["escape"] == "8":
            self.row, self.column = self.kept
        elif found["private"]:
            self._mode(found["private"], found["numbers"].split(";"), found["control"])
        elif found["control"]:
            numbers = [int(number) if number.isdigit() else 0 for number in found["numbers"].split(";")]
            self._control(found["control"], numbers[0], numbers[1] if len(numbers) > 1 else 0)

    def _mode(self, private, numbers, control):
        if private != "?":
            return
        if FRAMES in numbers:
            self.drawing = control == "h"
            self._complete()
        if "1049" in numbers:
            self._erase(0, 0, self.rows, 0)

    def _control(self, control, first, second):
        count = first or 1
        if control in "Hf":
            self.row, self.column = count - 1, (second or 1) - 1
        elif control in "AB":
            self.row += -count if control == "A" else count
        elif control in "CD":
            self.column = min(self.column, self.columns - 1) + (count if control == "C" else -count)
        elif control == "G":
            self.column = count - 1
        elif control == "d":
            self.row = count - 1
        elif control == "r":
            self.top, self.bottom = count - 1, (second or self.rows) - 1
            self.row = self.column = 0
        elif control in "JK":
            last = (self.row, self.columns) if control == "K" else (self.rows, 0)
            before = (self.row, 0) if control == "K" else (0, 0)
            here = self.row, self.column
            start, end = ((here, last), (before, (here[0], here[1] + 1)), (before, last))[min(first, 2)]
            self._erase(*start, *end)
            return
        self.row = max(0, min(self.row, self.rows - 1))
        self.column = max(0, min(self.column, self.columns - 1))

    def _erase(self, row, column, last_row, last_column):
        """From a cell to another, which stays."""
        for number in range(row, min(last_row + 1, self.rows)):
            start = column if number == row else 0
            end = min(last_column if number == last_row else self.columns, self.columns)
            self.cells[number][start:end] = [" "] * max(0, end - start)
