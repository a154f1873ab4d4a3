//! One cell of the matrix, built from the real programs: a server, the gateway, and a way to come as a client.
#![expect(clippy::panic, reason = "a test fails by panicking")]

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context;
use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{HttpFixture, Journal};
use highwater_testkit::client::{Client, Era, Setup};
use serde_json::json;

/// No story takes longer, even on a machine with other things to do.
const LONGEST: Duration = Duration::from_secs(600);

/// The name of the server in the configuration, and so the prefix of everything it has.
pub(crate) const ALIAS: &str = "fx";

/// The program that is tested.
pub(crate) fn highwater() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_highwater"))
}

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
    _server: Option<HttpFixture>,
}

/// The program behind the gateway, and its arguments besides the address to listen on.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
}

/// A client over stdio starts the gateway itself; one over HTTP finds it.
enum House {
    Home(Home),
    Gateway(Box<Gateway>),
}

/// Tells a story in a cell, and fails with everything that is known if it does not go as told. `server` is given the
/// directory of the test and chooses what stands behind the gateway.
pub(crate) async fn tell<P, S>(cell: Cell, server: P, story: S)
where
    P: FnOnce(Upstream, &Path, &Journal) -> anyhow::Result<Program>,
    S: for<'a> FnOnce(&'a Stage) -> Pin<Box<dyn Future<Output = anyhow::Result<()>> + 'a>>,
{
    let stage = match Stage::build(cell, server).await {
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
    async fn build<P>(cell: Cell, server: P) -> anyhow::Result<Self>
    where
        P: FnOnce(Upstream, &Path, &Journal) -> anyhow::Result<Program>,
    {
        let home = Home::new(highwater(), "{}")?;
        let journal = Journal::at(home.path().join("journal"));
        let Program { path, arguments } = server(cell.upstream, home.path(), &journal)?;
        // What passes through is looked at here, not what is made of it: the server's own words count, nothing is stopped.
        let trust = json!({ "server_trust": "tool", "verified": true });
        let (server, entry) = match cell.upstream {
            Upstream::StdioLegacy | Upstream::StdioModern => {
                let environment = json!({ "FIXTURE_LOG": journal.path() });
                (None, json!({ "command": path, "args": arguments, "env": environment, "trust": trust }))
            }
            Upstream::HttpLegacy | Upstream::HttpModern | Upstream::Sse => {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let server = HttpFixture::start(&path, &arguments, &journal).await?;
                let entry = json!({ "url": server.url(), "trust": trust });
                (Some(server), entry)
            }
        };
        home.configure(&json!({ "flow": "observe", "servers": { ALIAS: entry } }).to_string())?;
        let house = match cell.front {
            Front::Stdio => House::Home(home),
            Front::Http => House::Gateway(Box::new(home.serve().await?)),
        };
        Ok(Self { cell, journal, house, _server: server })
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

    fn log(&self) -> String {
        match &self.house {
            House::Home(home) => home.background_log(),
            House::Gateway(gateway) => gateway.log(),
        }
    }
}

// === impl Cell ===

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {:?} in front of {:?}", self.front, self.era, self.upstream)
    }
}
