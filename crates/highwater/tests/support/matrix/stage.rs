//! One cell of the matrix, built from the real programs: a server, the gateway, and a way to come as a client.
#![expect(clippy::panic, reason = "a test fails by panicking")]

use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context;
use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{HttpFixture, Journal, fixture_program};
use highwater_testkit::client::{Client, Era, Setup};
use serde_json::{Value, json};

/// No story takes longer, even on a machine with other things to do.
const LONGEST: Duration = Duration::from_secs(90);

/// The name of the server in the configuration, and so the prefix of everything it has.
pub(crate) const ALIAS: &str = "fx";

/// How clients come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    Stdio,
    Http,
}

/// What stands behind the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upstream {
    StdioLegacy,
    StdioModern,
    HttpLegacy,
    HttpModern,
    Sse,
}

/// One of the twenty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) front: Front,
    pub(crate) era: Era,
    pub(crate) upstream: Upstream,
}

/// A cell, built. Fields are dropped in this order: the gateway before the server it talks to.
pub(crate) struct Stage {
    pub(crate) cell: Cell,
    pub(crate) journal: Journal,
    house: House,
    _fixture: Option<HttpFixture>,
}

/// A client over stdio starts the gateway itself; one over HTTP finds it.
enum House {
    Home(Home),
    Gateway(Box<Gateway>),
}

/// Tells a story in a cell, and fails with everything that is known if it does not go as told.
pub(crate) async fn tell<F>(cell: Cell, story: F)
where
    F: for<'a> FnOnce(&'a Stage) -> Pin<Box<dyn Future<Output = anyhow::Result<()>> + 'a>>,
{
    let stage = match Stage::build(cell).await {
        Ok(stage) => stage,
        Err(error) => panic!("{cell}: {error:#}"),
    };
    let told = match tokio::time::timeout(LONGEST, story(&stage)).await {
        Ok(told) => told,
        Err(_) => Err(anyhow::anyhow!("took longer than {LONGEST:?}")),
    };
    if let Err(error) = told {
        let notes: Vec<String> =
            stage.journal.notes().iter().map(|note| format!("  {:?} {}", note.method, note.raw)).collect();
        panic!(
            "{cell}: {error:#}\nthe server saw:\n{}\nthe gateway said:\n{}",
            notes.join("\n"),
            stage.log()
        );
    }
}

// === impl Stage ===

impl Stage {
    async fn build(cell: Cell) -> anyhow::Result<Self> {
        let program = Path::new(env!("CARGO_BIN_EXE_highwater"));
        let fixture_program = fixture_program(program)?;
        let home = Home::new(program, "{}")?;
        let journal = Journal::at(home.path().join("journal"));
        let arguments = cell.upstream.arguments();
        let (fixture, entry) = match cell.upstream {
            Upstream::StdioLegacy | Upstream::StdioModern => {
                let entry = json!({ "command": fixture_program, "args": arguments,
                    "env": { "FIXTURE_LOG": journal.path() } });
                (None, entry)
            }
            Upstream::HttpLegacy | Upstream::HttpModern | Upstream::Sse => {
                let fixture = HttpFixture::start(&fixture_program, &arguments, &journal).await?;
                let entry = json!({ "url": fixture.url() });
                (Some(fixture), entry)
            }
        };
        home.configure(&json!({ "servers": { ALIAS: entry } }).to_string())?;
        let house = match cell.front {
            Front::Stdio => House::Home(home),
            Front::Http => House::Gateway(Box::new(home.serve().await?)),
        };
        Ok(Self { cell, journal, house, _fixture: fixture })
    }

    /// A client that is not connected yet.
    pub(crate) fn setup(&self) -> Setup {
        match &self.house {
            House::Home(home) => home.stdio(self.cell.era),
            House::Gateway(gateway) => gateway.http(self.cell.era),
        }
    }

    /// A client that can do nothing special.
    pub(crate) async fn client(&self) -> anyhow::Result<Client> {
        self.setup().connect().await.context("the client cannot connect")
    }

    pub(crate) fn modern(&self) -> bool {
        self.cell.era == Era::Modern
    }

    /// How many times the server was asked to do this.
    pub(crate) fn ran(&self, method: &str) -> usize {
        self.journal.of(method).len()
    }

    fn log(&self) -> String {
        match &self.house {
            House::Home(home) => home.background_log(),
            House::Gateway(gateway) => gateway.log(),
        }
    }
}

// === impl Upstream ===

impl Upstream {
    fn arguments(self) -> Vec<&'static str> {
        let mut arguments = vec!["--extras"];
        arguments.extend(match self {
            Self::StdioLegacy => ["--stdio", "--era", "legacy"].as_slice(),
            Self::StdioModern => &["--stdio", "--era", "modern"],
            Self::HttpLegacy => &["--era", "legacy"],
            Self::HttpModern => &["--era", "modern"],
            Self::Sse => &["--sse", "--era", "legacy"],
        });
        arguments
    }
}

// === impl Cell ===

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {:?} in front of {:?}", self.front, self.era, self.upstream)
    }
}

/// The name a client knows a tool or prompt by.
pub(crate) fn shown(name: &str) -> String {
    format!("{ALIAS}__{name}")
}

/// The URI a client knows a resource by.
pub(crate) fn shown_uri(uri: &str) -> String {
    format!("{ALIAS}+{uri}")
}

/// The entry of a list with this member.
pub(crate) fn entry<'a>(list: &'a Value, member: &str, value: &str) -> anyhow::Result<&'a Value> {
    let entries = list.as_array().context("no list")?;
    let found = entries.iter().find(|entry| entry.get(member).is_some_and(|found| found == value));
    found.with_context(|| format!("nothing with `{member}` `{value}` is listed: {list}"))
}
