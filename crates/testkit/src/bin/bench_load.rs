//! The load generator of a benchmark. Prints one line of JSON with what the calls took.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Parser;
use highwater_testkit::bench::client::Endpoint;
use highwater_testkit::bench::host_hooks::HostHooks;
use highwater_testkit::bench::load::{Ask, Load, Until};
use highwater_testkit::bench::{Era, serve};
use http::Uri;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

/// A loop that is bounded by calls alone still ends after this long.
const LONGEST: Duration = Duration::from_secs(600);

#[derive(Parser)]
struct Arguments {
    /// The MCP endpoint.
    #[arg(long)]
    url: Uri,
    /// Sent as a bearer token.
    #[arg(long)]
    token: Option<String>,
    /// Sessions, each with one connection and one call in flight.
    #[arg(long, default_value_t = 1)]
    sessions: usize,
    /// Calls of each session.
    #[arg(long, required_unless_present = "seconds")]
    calls: Option<u64>,
    /// How long to go on.
    #[arg(long)]
    seconds: Option<f64>,
    /// Bytes of text in each answer, or in each call with `--upload` or `--keep`.
    #[arg(long, default_value_t = 100)]
    size: usize,
    #[arg(long, default_value = "legacy")]
    era: Era,
    /// The name of the tool, as this endpoint lists it.
    #[arg(long, default_value = "echo")]
    tool: String,
    /// The tool takes the text and answers with its length.
    #[arg(long, conflicts_with = "list")]
    upload: bool,
    /// The tool takes the text and a name, and answers with the text's length.
    #[arg(long, conflicts_with_all = ["list", "upload"])]
    keep: bool,
    /// The sessions are conversations of a host that runs this program as its hook; every call is announced.
    #[arg(long, requires_all = ["data_dir", "transcripts"], conflicts_with_all = ["list", "upload"])]
    hook: Option<PathBuf>,
    /// The data directory of the gateway that the hook tells.
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// Where the host keeps its transcripts.
    #[arg(long)]
    transcripts: Option<PathBuf>,
    /// Lists all tools instead of calling one.
    #[arg(long)]
    list: bool,
    /// How many tools a listing must have.
    #[arg(long, default_value_t = 10)]
    tools: usize,
    /// Calls of each session before anything is counted.
    #[arg(long, default_value_t = 2)]
    warm_up: u64,
    /// Prints `ready` when all sessions are open and waits for a line; after the answer, keeps the sessions open
    /// until standard input closes.
    #[arg(long)]
    hold: bool,
    /// Worker threads; half the cores unless given.
    #[arg(long)]
    threads: Option<usize>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let threads = arguments.threads.unwrap_or_else(serve::half_of_the_cores);
    serve::runtime(Some(threads))?.block_on(run(arguments))
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let endpoint = Endpoint { url: arguments.url, token: arguments.token, era: arguments.era };
    let (tool, size) = (arguments.tool, arguments.size);
    let ask = match (arguments.list, arguments.upload, arguments.keep) {
        (true, _, _) => Ask::List { tools: arguments.tools },
        (_, true, _) => Ask::Upload { tool, size },
        (_, _, true) => Ask::Keep { tool, size },
        (false, false, false) => Ask::Echo { tool, size },
    };
    let time = match arguments.seconds {
        Some(seconds) => Duration::try_from_secs_f64(seconds).context("`--seconds` is out of range")?,
        None => LONGEST,
    };
    let until = Until { calls: arguments.calls.unwrap_or(u64::MAX), time: time.min(LONGEST) };

    let hooks = match (arguments.hook, arguments.data_dir, arguments.transcripts) {
        (Some(program), Some(data), Some(transcripts)) => Some(HostHooks { program, data, transcripts }),
        _ => None,
    };
    let mut load = Load::open(endpoint, &ask, arguments.sessions, arguments.warm_up, hooks).await?;
    let mut input = BufReader::new(tokio::io::stdin());
    if arguments.hold {
        serve::say("ready")?;
        let mut line = String::new();
        let read = input.read_line(&mut line).await.context("standard input cannot be read")?;
        ensure!(read > 0, "standard input was closed before the start");
    }
    let summary = load.run(until).await?;
    serve::say(&serde_json::to_string(&summary)?)?;
    if arguments.hold {
        let mut ignored = [0_u8; 64];
        while matches!(input.read(&mut ignored).await, Ok(1..)) {}
    }
    load.close().await;
    Ok(())
}
