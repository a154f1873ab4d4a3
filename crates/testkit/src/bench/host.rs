//! Starts the program that stands in the middle, times how long it takes to answer, keeps it until standard
//! input closes and then ends it. So nothing a benchmark starts outlives the benchmark, however that ends.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use http::uri::Uri;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use tokio::process::{Child, Command};

use super::client::{Endpoint, McpClient, get_succeeds};
use super::{Era, answer, serve};

/// Between two attempts. Short, because it is the resolution of what is measured.
const PAUSE: Duration = Duration::from_micros(250);
/// How long a program may take to end by itself before it is ended.
const GRACE: Duration = Duration::from_secs(5);
/// How much of a failed program's log is repeated.
const LAST_LINES: usize = 12;
/// Stands for the chosen port in the program's arguments.
pub const PORT: &str = "{port}";

/// What to start and when it counts as started.
#[derive(Clone, Debug)]
pub struct Start {
    /// The program and its arguments; `{port}` stands for a free port.
    pub command: Vec<String>,
    /// Where its standard error goes.
    pub log: PathBuf,
    /// A file that holds the agent's token once the program is up; without one no token is sent.
    pub token_file: Option<PathBuf>,
    pub era: Era,
    /// How many tools must be listed.
    pub tools: usize,
    pub patience: Duration,
}

/// What the starter is told.
#[derive(Debug, Serialize)]
pub struct Started {
    pub pid: u32,
    pub url: String,
    pub token: Option<String>,
    /// From the start of the program to the first good answer to `GET /healthz`.
    pub healthz_us: f64,
    /// To the first answered handshake.
    pub hello_us: f64,
    /// To the first listing with every tool in it.
    pub listed_us: f64,
}

/// Starts the program, says what was measured, and keeps it until standard input closes.
pub async fn run(start: &Start) -> anyhow::Result<()> {
    let port = free_port().await?;
    let mut words = start.command.iter().map(|word| word.replace(PORT, &port.to_string()));
    let program = words.next().context("no program was named")?;
    let log = std::fs::File::create(&start.log)
        .with_context(|| format!("cannot write `{}`", start.log.display()))?;
    let begun = Instant::now();
    let mut child = Command::new(&program)
        .args(words)
        // Held open for as long as the program may run: the floor ends when it closes.
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start `{program}`"))?;
    let pid = child.id().context("the program ended at once")?;
    let url: Uri = format!("http://127.0.0.1:{port}/mcp").parse().context("the address is no URL")?;

    let started = until_listed(start, &mut child, begun, pid, url).await;
    let outcome = match started {
        Ok(started) => {
            serve::say(&serde_json::to_string(&started)?)?;
            serve::input_closed().await;
            Ok(())
        }
        Err(error) => Err(error),
    };
    end(child).await?;
    outcome
}

async fn until_listed(
    start: &Start,
    child: &mut Child,
    begun: Instant,
    pid: u32,
    url: Uri,
) -> anyhow::Result<Started> {
    let deadline = begun + start.patience;
    while !matches!(get_succeeds(&url, "/healthz").await, Ok(true)) {
        wait_a_little(child, deadline, "healthz", &start.log)?;
    }
    let healthz_us = micros_since(begun);

    let token = match &start.token_file {
        Some(file) => Some(read_token(file, child, deadline, &start.log)?),
        None => None,
    };
    let endpoint = Arc::new(Endpoint { url: url.clone(), token: token.clone(), era: start.era });
    let mut hello_us = None;
    loop {
        let listed = match McpClient::open(Arc::clone(&endpoint), "bench-host").await {
            Ok(mut client) => {
                hello_us.get_or_insert_with(|| micros_since(begun));
                let listed = count_tools(&endpoint, &mut client).await;
                let measured = micros_since(begun);
                drop(client.close().await);
                listed.map(|count| (count, measured))
            }
            Err(error) => Err(error),
        };
        match listed {
            Ok((count, listed_us)) if count == start.tools => {
                let hello_us = hello_us.unwrap_or(listed_us);
                return Ok(Started { pid, url: url.to_string(), token, healthz_us, hello_us, listed_us });
            }
            Ok((count, _)) => {
                let state = format!("{count} of {} tools", start.tools);
                wait_a_little(child, deadline, &state, &start.log)?;
            }
            Err(error) => wait_a_little(child, deadline, &format!("{error:#}"), &start.log)?,
        }
    }
}

async fn count_tools(endpoint: &Endpoint, client: &mut McpClient) -> anyhow::Result<usize> {
    let mut tools = 0;
    let mut params = "{}".to_owned();
    loop {
        let (id, body) = client.ask(&endpoint.prepare("tools/list", &params, None)?).await?;
        let page = answer::read_page(&body, id)?;
        tools += page.tools;
        let Some(cursor) = page.next else { return Ok(tools) };
        ensure!(page.tools > 0, "the listing has an empty page");
        params = serde_json::json!({ "cursor": cursor }).to_string();
    }
}

/// Sleeps for one pause; fails when the program has ended or its time is up.
fn wait_a_little(child: &mut Child, deadline: Instant, state: &str, log: &Path) -> anyhow::Result<()> {
    if let Some(status) = child.try_wait().context("the program cannot be watched")? {
        let (path, said) = (log.display(), last_words(log));
        bail!("the program ended with {status} before it answered ({state}); see `{path}`{said}");
    }
    if Instant::now() >= deadline {
        let (path, said) = (log.display(), last_words(log));
        bail!("the program did not answer in time ({state}); see `{path}`{said}");
    }
    // This runtime has nothing else to do, and its own timer ticks four times slower than this.
    std::thread::sleep(PAUSE);
    Ok(())
}

/// The end of what the program wrote, for the person who has to find out why it failed.
fn last_words(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines.iter().skip(lines.len().saturating_sub(LAST_LINES)).map(|line| format!("\n    {line}")).collect()
}

fn read_token(file: &Path, child: &mut Child, deadline: Instant, log: &Path) -> anyhow::Result<String> {
    loop {
        match std::fs::read_to_string(file) {
            Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
            _ => wait_a_little(child, deadline, "no agent token yet", log)?,
        }
    }
}

async fn free_port() -> anyhow::Result<u16> {
    let listener = serve::listen(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    Ok(listener.local_addr().context("the listener has no address")?.port())
}

/// Asks the program to end, and ends it if it does not.
async fn end(mut child: Child) -> anyhow::Result<ExitStatus> {
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended meanwhile, which is what is wanted.
        kill_process(pid, Signal::TERM)
            .or_else(|error| if error == Errno::SRCH { Ok(()) } else { Err(error) })?;
    }
    if let Ok(status) = tokio::time::timeout(GRACE, child.wait()).await {
        return status.context("the program cannot be waited for");
    }
    child.kill().await.context("the program cannot be ended")?;
    child.wait().await.context("the program cannot be waited for")
}

fn micros_since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e6
}
