"""An ordinary day of work with ordinary servers, and a person who answers what they are asked.

Nobody labelled a tool and nobody's words are known; the servers were approved and believed as the guide says. With one
word per server (`--day described`) the work on this machine costs no question, and what follows a fetched page at most
two. Without (`--day undescribed`) there are questions, each with a way to say the word, and no wall. A day of which is
known what it costs (`--day counted --questions N`) costs that. Twenty days in a row (`--day twenty --quiet SECONDS`), each
a new conversation after that silence, cost no more in the end than in the beginning. Says `ok NAME` or `not ok NAME: why`
once per check.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from approval_person import Operator, Person

# Only decides how late a check fails: far more than a busy machine needs.
CHECK_LIMIT_SECONDS = 300
POLL_SECONDS = 0.1
SERVERS = ["filesystem", "git", "memory", "time", "sqlite", "fetch", "wiki"]
OFFERED = "highwater servers describe"
ASKED_ON_PAGE = "Can anybody but you put text there?"
HOST_ON_PAGE = 'name="remember" value="host"'
SILENCE_ON_PAGE = "There was a silence."
NO_MATTER_ON_PAGE = "It makes no difference to this call."
DAYS = 20


class Day:
    def __init__(self, options: argparse.Namespace, operator: Operator, person: Person | None) -> None:
        # Where nothing is asked, nobody has to be there.
        self.options, self.operator, self.person = options, operator, person
        self.failures = 0
        # What was asked since the last count: the server it was about, and whether it said how to end such questions.
        self.asked: list[tuple[str, bool]] = []
        # Whether it was said of this day that it is a new conversation, or goes without saying.
        self.begun = True
        self.client: Client

    async def check(self, name: str, body: Callable[[], Awaitable[None]]) -> None:
        """Runs one check. One that raises or does not end has failed; the others still run."""
        try:
            await asyncio.wait_for(body(), CHECK_LIMIT_SECONDS * (DAYS if self.options.day == "twenty" else 1))
        except Exception as error:
            self.failures += 1
            print(f"not ok {name}: {' '.join(repr(error).split())[:600]}", flush=True)
        else:
            print(f"ok {name}", flush=True)

    async def approved(self, server: str) -> None:
        """Looks at a server, approves it and believes it."""
        seen = await self.operator.ask("GET", f"/servers/{server}")
        said = {"digest": seen["digest"], "believe": True, "reason": "read it"}
        await self.operator.ask("POST", f"/servers/{server}/approve", said)

    async def on_form(self, _context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        # It leads to the page, where it is counted.
        if params.mode == "url":
            return types.ElicitResult(action="accept")
        server = params.message.split("of server `")[1].split("`")[0]
        self.asked.append((server, OFFERED in params.message))
        return types.ElicitResult(action="accept", content={"allow": True})

    async def at_the_page(self) -> None:
        """Answers what comes to the page, for as long as the day lasts."""
        answered = set()
        while True:
            for waiting in await self.operator.ask("GET", "/approvals"):
                if waiting["state"] != "pending" or waiting["id"] in answered:
                    continue
                answered.add(waiting["id"])
                page = await self.person.look(f"/approve/{waiting['id']}")
                self.asked.append((waiting["server"], ASKED_ON_PAGE in page))
                matters = SILENCE_ON_PAGE in page and NO_MATTER_ON_PAGE not in page
                if matters and not self.begun:
                    self.begun = True
                    await self.person.post(f"/approve/{waiting['id']}/new-conversation", {})
                else:
                    # Whoever lets the agent read one page of a host lets it read the next.
                    await self.person.confirm(waiting["id"], "host" if HOST_ON_PAGE in page else None)
            await asyncio.sleep(POLL_SECONDS)

    async def work(self, calls: list[tuple[str, dict]]) -> list[tuple[str, bool]]:
        """Does some work; all of it has to be done. What was asked meanwhile."""
        self.asked = []
        for tool, arguments in calls:
            result = await self.client.call_tool(tool, arguments)
            said = " ".join(part.text for part in result.content if isinstance(part, types.TextContent))
            assert not result.is_error, f"`{tool}` was not done: {said}"
        return self.asked

    def morning(self) -> list[tuple[str, dict]]:
        project = self.options.project
        readme = f"{project}/README.md"
        return [
            ("filesystem__list_directory", {"path": project}),
            ("filesystem__read_text_file", {"path": readme}),
            ("filesystem__search_files", {"path": project, "pattern": "*.md"}),
            ("filesystem__write_file", {"path": f"{project}/notes.txt", "content": "to do"}),
            ("filesystem__edit_file", {"path": readme, "edits": [{"oldText": "first", "newText": "second"}]}),
            ("git__git_status", {"repo_path": project}),
            ("git__git_diff_unstaged", {"repo_path": project}),
            ("git__git_add", {"repo_path": project, "files": ["README.md"]}),
            ("git__git_commit", {"repo_path": project, "message": "Second"}),
            ("git__git_log", {"repo_path": project}),
            ("memory__create_entities", {"entities": [entity("site", "is a project")]}),
            ("memory__add_observations", {"observations": [{"entityName": "site", "contents": ["was edited"]}]}),
            ("memory__read_graph", {}),
            ("time__get_current_time", {"timezone": "UTC"}),
            ("time__get_current_time", {"timezone": "Europe/Paris"}),
            ("sqlite__list_tables", {}),
            ("sqlite__read_query", {"query": "SELECT name FROM visits"}),
        ]

    def afternoon(self) -> list[tuple[str, dict]]:
        project = self.options.project
        edits = [{"oldText": "second", "newText": "third"}]
        return [
            ("fetch__fetch", {"url": f"{self.options.page}/one.html"}),
            ("filesystem__edit_file", {"path": f"{project}/README.md", "edits": edits}),
            ("git__git_add", {"repo_path": project, "files": ["README.md"]}),
            ("git__git_commit", {"repo_path": project, "message": "Third"}),
            ("memory__add_observations", {"observations": [{"entityName": "site", "contents": ["has a page"]}]}),
            ("fetch__fetch", {"url": f"{self.options.page}/two.html"}),
            ("wiki__search_pages", {"query": "start"}),
            ("wiki__get_page", {"title": "Onboarding"}),
            ("filesystem__read_text_file", {"path": f"{project}/README.md"}),
        ]

    async def described(self) -> None:
        async def morning() -> None:
            asked = await self.work(self.morning())
            assert asked == [], f"17 calls on this machine cost {len(asked)} questions: {asked}"

        async def afternoon() -> None:
            asked = await self.work(self.afternoon())
            assert len(asked) <= 2, f"what follows a page cost {len(asked)} questions: {asked}"

        await self.check("17 calls on this machine are done without a question", morning)
        await self.check("a page and the work after it cost at most two questions", afternoon)

    async def twenty(self) -> None:
        async def days() -> None:
            costs = []
            for number in range(DAYS):
                if number > 0:
                    await asyncio.sleep(self.options.quiet + 1)
                    self.write_readme()
                self.begun = number == 0
                morning, afternoon = await self.work(self.morning()), await self.work(self.afternoon())
                costs.append((len(morning), len(afternoon)))
            print(f"questions in the mornings and afternoons: {costs}", flush=True)
            assert costs[0][0] == 0, f"the first morning cost questions: {costs}"
            assert all(morning <= 1 for morning, _ in costs), f"a morning cost more than whether it is new: {costs}"
            assert all(afternoon <= 2 for _, afternoon in costs), f"a page and the work after it cost more: {costs}"
            first, last = (sum(map(sum, some)) for some in (costs[:5], costs[-5:]))
            assert last <= first, f"the last five days cost {last} questions, the first five {first}: {costs}"

        await self.check("twenty days on one data directory cost no more in the end than in the beginning", days)

    async def undescribed(self) -> None:
        async def whole_day() -> None:
            asked = await self.work([*self.morning(), *self.afternoon()])
            silent = {server for server, offered in asked if not offered and server in ("sqlite", "wiki")}
            assert not silent, f"questions about {silent} do not say how to describe them: {asked}"
            assert {"sqlite", "wiki"} <= {server for server, _ in asked}, f"who was asked about: {asked}"

        await self.check("a day without a word per server meets questions with a way out, and no wall", whole_day)

    async def counted(self) -> None:
        async def whole_day() -> None:
            asked = await self.work([*self.morning(), *self.afternoon()])
            assert len(asked) == self.options.questions, f"the day cost {len(asked)} questions: {asked}"

        await self.check(f"the day is done with {self.options.questions} questions", whole_day)

    def write_readme(self) -> None:
        """What the person does without the agent before the day begins."""
        Path(self.options.project, "README.md").write_text("The first version.\n")

    async def run(self) -> None:
        self.write_readme()
        for server in SERVERS:
            await self.approved(server)
        async with AsyncExitStack() as stack:
            headers = {"Authorization": f"Bearer {self.options.token}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=CHECK_LIMIT_SECONDS))
            self.client = await stack.enter_async_context(
                Client(
                    streamable_http_client(self.options.http, http_client=http),
                    mode="legacy" if self.options.era == "legacy" else "auto",
                    elicitation_callback=self.on_form,
                    cache=None,
                )
            )
            if self.person is not None:
                page = asyncio.create_task(self.at_the_page())
                stack.callback(page.cancel)
            await getattr(self, self.options.day)()


def entity(name: str, observation: str) -> dict:
    return {"name": name, "entityType": "project", "observations": [observation]}


async def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ["era", "day", "http", "token", "operator", "project", "page"]:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--questions", type=int)
    parser.add_argument("--quiet", type=int)
    options = parser.parse_args()
    operator = Operator(options.http, options.operator)
    day = Day(options, operator, None if options.questions == 0 else await Person.enrolled(operator))
    await day.run()
    return 1 if day.failures else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
