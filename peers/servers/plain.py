"""Servers as people write them in an afternoon: tools without a single annotation.

`plain.py wiki FOLDER | shell FOLDER | mail FOLDER | sql FILE | files FOLDER`. What they send and run
stays below the folder: mails are files, commands are written down and not run.
"""

import sqlite3
import sys
from pathlib import Path

from fastmcp import FastMCP


def wiki(folder: Path) -> FastMCP:
    server = FastMCP("wiki")

    @server.tool
    def search_pages(query: str) -> str:
        """Finds pages of the team's wiki."""
        return "\n".join(page.stem for page in sorted(folder.glob("*.md")) if query.lower() in page.read_text().lower())

    @server.tool
    def get_page(title: str) -> str:
        """Reads a page of the team's wiki."""
        return (folder / f"{title}.md").read_text()

    @server.tool
    def update_page(title: str, text: str) -> str:
        """Writes a page of the team's wiki."""
        (folder / f"{title}.md").write_text(text)
        return "saved"

    return server


def shell(folder: Path) -> FastMCP:
    server = FastMCP("shell")

    @server.tool
    def execute_command(command: str) -> str:
        """Runs a command."""
        with (folder / "commands.txt").open("a") as journal:
            journal.write(command + "\n")
        return "done"

    return server


def mail(folder: Path) -> FastMCP:
    server = FastMCP("mail")

    @server.tool
    def list_mails() -> str:
        """Lists the mails of my account."""
        return "\n".join(mail.name for mail in sorted(folder.glob("*.eml")))

    @server.tool
    def read_mail(name: str) -> str:
        """Reads a mail of my account."""
        return (folder / name).read_text()

    @server.tool
    def send_email(to: str, subject: str, body: str) -> str:
        """Sends a mail."""
        (folder / "sent.txt").open("a").write(f"{to}: {subject}\n{body}\n")
        return "sent"

    return server


def sql(file: Path) -> FastMCP:
    server = FastMCP("sql")

    @server.tool
    def query(sql: str) -> str:
        """Runs SQL against the database."""
        with sqlite3.connect(file) as database:
            return repr(database.execute(sql).fetchall())

    return server


def files(folder: Path) -> FastMCP:
    server = FastMCP("files")

    @server.tool
    def read_file(path: str) -> str:
        """Reads a file."""
        return (folder / path).read_text()

    @server.tool
    def write_file(path: str, content: str) -> str:
        """Writes a file."""
        # Where it may not write does not concern what is tested here, which is whether it is asked to.
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        return "written"

    @server.tool
    def git_push(repo_path: str, remote: str) -> str:
        """Pushes the commits of a repository."""
        with (folder / "pushes.txt").open("a") as journal:
            journal.write(f"{repo_path} {remote}\n")
        return "pushed"

    return server


if __name__ == "__main__":
    kind, place = sys.argv[1:]
    {"wiki": wiki, "shell": shell, "mail": mail, "sql": sql, "files": files}[kind](Path(place)).run(show_banner=False)
