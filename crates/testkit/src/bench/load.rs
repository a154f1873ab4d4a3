//! The load generator: N sessions, each with one connection and at most one call in flight, every answer
//! checked. It says what the calls took; what they cost is read from outside.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;
use tokio::task::JoinSet;

use super::answer::{self, Expected};
use super::client::{Endpoint, McpClient, Prepared};
use super::host_hooks::{Conversation, HostHooks};
use super::payload;

/// How many sessions are opened at the same time, so that a burst of handshakes overruns no listen queue.
const OPENED_AT_ONCE: usize = 64;
/// An answer that takes longer than this is none.
const PATIENCE: Duration = Duration::from_secs(60);
/// No listing the benchmark makes has more pages.
const MOST_PAGES: usize = 1_000;

/// What a client without a host calls itself.
const CLIENT: &str = "bench-load";

/// How many names things are kept under.
pub const KEPT: usize = 256;

/// What every session asks, over and over.
#[derive(Clone, Debug)]
pub enum Ask {
    /// Call the tool for a text of this size.
    Echo { tool: String, size: usize },
    /// Call the tool with a text of this size.
    Upload { tool: String, size: usize },
    /// Call the tool with a text of this size and a name, each of [`KEPT`] in turn.
    Keep { tool: String, size: usize },
    /// List all tools; there must be this many.
    List { tools: usize },
}

/// When the loop ends: after so many calls of each session, or after so long, whichever comes first.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    pub calls: u64,
    pub time: Duration,
}

/// What the calls took.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub calls: u64,
    pub errors: u64,
    /// The first thing that went wrong, for the person reading.
    pub first_error: Option<String>,
    pub seconds: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub mean_us: f64,
    pub calls_per_second: f64,
    /// Where calls are announced by hooks: how long an answer to a hook took, on the connection and as a command.
    pub hooks: Option<HookSummary>,
}

/// What the hooks of a host took.
#[derive(Debug, Serialize)]
pub struct HookSummary {
    pub count: u64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub command_p50_us: f64,
    pub command_p99_us: f64,
}

/// The sessions, open and warm.
pub struct Load {
    sessions: Vec<Session>,
    work: Arc<Work>,
}

/// A session, and the conversation of a host that it belongs to.
struct Session {
    client: McpClient,
    conversation: Option<Conversation>,
    /// How long the command took that began the conversation.
    begun: Duration,
}

struct Work {
    endpoint: Arc<Endpoint>,
    /// Asked in turn; one, unless what is asked has a name.
    requests: Vec<Prepared>,
    /// What is called and with what, where calls are announced.
    announced: Vec<(String, String)>,
    check: Check,
}

enum Check {
    Text(Expected),
    Tools(usize),
}

#[derive(Default)]
struct Tally {
    nanos: Vec<u64>,
    /// Of the hooks among them.
    hook_nanos: Vec<u64>,
    command_nanos: Vec<u64>,
    errors: u64,
    first_error: Option<String>,
}

// === impl Load ===

impl Load {
    /// Opens `sessions` sessions and makes `warm_up` calls on each; any failure here ends the benchmark.
    pub async fn open(
        endpoint: Endpoint,
        ask: &Ask,
        sessions: usize,
        warm_up: u64,
        hooks: Option<HostHooks>,
    ) -> anyhow::Result<Self> {
        ensure!(sessions > 0, "at least one session is needed");
        let work = Arc::new(Work::new(Arc::new(endpoint), ask)?);
        let hooks = hooks.map(Arc::new);
        let mut opened = Vec::with_capacity(sessions);
        while opened.len() < sessions {
            let mut opening = JoinSet::new();
            for _ in 0..OPENED_AT_ONCE.min(sessions - opened.len()) {
                let (work, hooks) = (Arc::clone(&work), hooks.clone());
                opening.spawn(async move {
                    let mut session = Session::open(&work.endpoint, hooks.as_deref()).await?;
                    for _ in 0..warm_up {
                        let mut ignored = Tally::default();
                        work.once(&mut session, &mut ignored).await.context("a warm-up call failed")?;
                    }
                    anyhow::Ok(session)
                });
            }
            while let Some(session) = opening.join_next().await {
                opened.push(session.context("a session's task ended early")??);
            }
        }
        Ok(Self { sessions: opened, work })
    }

    /// Runs every session's loop and adds up what they saw.
    pub async fn run(&mut self, until: Until) -> anyhow::Result<Summary> {
        let started = Instant::now();
        let deadline = started + until.time;
        let mut loops = JoinSet::new();
        for session in self.sessions.drain(..) {
            loops.spawn(Arc::clone(&self.work).repeat(session, deadline, until.calls));
        }
        let mut total = Tally::default();
        while let Some(ended) = loops.join_next().await {
            let (session, tally) = ended.context("a session's task ended early")?;
            self.sessions.push(session);
            total.add(tally);
        }
        Ok(total.summarise(started.elapsed()))
    }

    /// Ends every session. One that cannot be ended has been counted as an error already.
    pub async fn close(self) {
        for session in self.sessions {
            drop(session.client.close().await);
        }
    }
}

// === impl Session ===

impl Session {
    /// Opens a session; where a host is named, as one of its conversations in which the user has said what is to be done.
    async fn open(endpoint: &Arc<Endpoint>, hooks: Option<&HostHooks>) -> anyhow::Result<Self> {
        let Some(hooks) = hooks else {
            let client = McpClient::open(Arc::clone(endpoint), CLIENT).await?;
            return Ok(Self { client, conversation: None, begun: Duration::ZERO });
        };
        let (conversation, begun) = hooks.begin().await?;
        let mut client = McpClient::open(Arc::clone(endpoint), "claude-code").await?;
        conversation.prompt(endpoint, &mut client).await?;
        Ok(Self { client, conversation: Some(conversation), begun })
    }
}

// === impl Work ===

impl Work {
    fn new(endpoint: Arc<Endpoint>, ask: &Ask) -> anyhow::Result<Self> {
        let mut announced = Vec::new();
        let (requests, check) = match ask {
            Ask::Echo { tool, size } => {
                let arguments = format!(r#"{{"size":{size}}}"#);
                let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
                announced.push((tool.clone(), arguments));
                let expected = Expected::new(payload::text(*size), payload::escaped_text(*size));
                (vec![endpoint.prepare("tools/call", &params, Some(tool))?], Check::Text(expected))
            }
            Ask::Upload { tool, size } => {
                let text = payload::escaped_text(*size);
                let params = format!(r#"{{"name":"{tool}","arguments":{{"text":"{text}"}}}}"#);
                let expected = Expected::new(size.to_string(), size.to_string());
                (vec![endpoint.prepare("tools/call", &params, Some(tool))?], Check::Text(expected))
            }
            Ask::Keep { tool, size } => {
                let text = payload::escaped_text(*size);
                let named = |index: usize| {
                    let arguments = format!(r#"{{"path":"tables/{index:03}.txt","text":"{text}"}}"#);
                    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
                    announced.push((tool.clone(), arguments));
                    endpoint.prepare("tools/call", &params, Some(tool))
                };
                let expected = Expected::new(size.to_string(), size.to_string());
                ((0..KEPT).map(named).collect::<anyhow::Result<_>>()?, Check::Text(expected))
            }
            Ask::List { tools } => (vec![endpoint.prepare("tools/list", "{}", None)?], Check::Tools(*tools)),
        };
        Ok(Self { endpoint, requests, announced, check })
    }

    async fn repeat(
        self: Arc<Self>,
        mut session: Session,
        deadline: Instant,
        calls: u64,
    ) -> (Session, Tally) {
        let mut tally = Tally::default();
        for _ in 0..calls {
            if Instant::now() >= deadline {
                break;
            }
            match tokio::time::timeout(PATIENCE, self.once(&mut session, &mut tally)).await {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => tally.fail(&format!("{error:#}")),
                Err(_) => tally.fail("no answer in time"),
            }
            if let Err(error) = session.client.reconnect().await {
                tally.fail(&format!("{error:#}"));
                break;
            }
        }
        if session.conversation.is_some() {
            tally.command_nanos.push(nanos(session.begun));
        }
        (session, tally)
    }

    async fn once(&self, session: &mut Session, tally: &mut Tally) -> anyhow::Result<()> {
        let Session { client, conversation, .. } = session;
        let turn = usize::try_from(client.asked())? % self.requests.len().max(1);
        let announced = match conversation {
            Some(conversation) => {
                let turn = turn % self.announced.len().max(1);
                let (tool, arguments) =
                    self.announced.get(turn).context("nothing that is announced is asked")?;
                let before = Instant::now();
                let call = conversation.announce(&self.endpoint, client, tool, arguments).await?;
                tally.hook_nanos.push(nanos(before.elapsed()));
                Some(call)
            }
            None => None,
        };
        let request = match &announced {
            Some(call) => call,
            None => self.requests.get(turn).context("nothing is asked")?,
        };
        let before = Instant::now();
        let (id, body) = client.ask(request).await?;
        match &self.check {
            Check::Text(expected) => expected.check_call(&body, id)?,
            Check::Tools(count) => self.all_pages(client, answer::read_page(&body, id)?, *count).await?,
        }
        tally.nanos.push(nanos(before.elapsed()));
        Ok(())
    }

    async fn all_pages(
        &self,
        session: &mut McpClient,
        mut page: answer::Page,
        count: usize,
    ) -> anyhow::Result<()> {
        let mut tools = page.tools;
        for _ in 0..MOST_PAGES {
            let Some(cursor) = page.next else {
                ensure!(tools == count, "{tools} tools are listed instead of {count}");
                return Ok(());
            };
            let params = serde_json::json!({ "cursor": cursor }).to_string();
            let request = self.endpoint.prepare("tools/list", &params, None)?;
            let (id, body) = session.ask(&request).await?;
            page = answer::read_page(&body, id)?;
            tools += page.tools;
        }
        bail!("the listing has more than {MOST_PAGES} pages")
    }
}

// === impl Tally ===

impl Tally {
    fn fail(&mut self, error: &str) {
        self.errors += 1;
        self.first_error.get_or_insert_with(|| error.to_owned());
    }

    fn add(&mut self, other: Self) {
        self.nanos.extend(other.nanos);
        self.hook_nanos.extend(other.hook_nanos);
        self.command_nanos.extend(other.command_nanos);
        self.errors += other.errors;
        self.first_error = self.first_error.take().or(other.first_error);
    }

    fn summarise(mut self, elapsed: Duration) -> Summary {
        self.nanos.sort_unstable();
        self.hook_nanos.sort_unstable();
        self.command_nanos.sort_unstable();
        let hooks = (!self.hook_nanos.is_empty()).then(|| HookSummary {
            count: self.hook_nanos.len() as u64,
            p50_us: micros(quantile(&self.hook_nanos, 50)),
            p99_us: micros(quantile(&self.hook_nanos, 99)),
            command_p50_us: micros(quantile(&self.command_nanos, 50)),
            command_p99_us: micros(quantile(&self.command_nanos, 99)),
        });
        let calls = self.nanos.len() as u64;
        let sum: u64 = self.nanos.iter().sum();
        let seconds = elapsed.as_secs_f64();
        Summary {
            calls,
            errors: self.errors,
            first_error: self.first_error,
            seconds,
            p50_us: micros(quantile(&self.nanos, 50)),
            p99_us: micros(quantile(&self.nanos, 99)),
            mean_us: if calls == 0 { 0.0 } else { micros(sum) / calls as f64 },
            calls_per_second: if seconds > 0.0 { calls as f64 / seconds } else { 0.0 },
            hooks,
        }
    }
}

/// The smallest measured value that at least `percent` of a hundred values do not exceed.
fn quantile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_measured_values() {
        let values: Vec<u64> = (1..=200).collect();
        assert_eq!(quantile(&values, 50), 100);
        assert_eq!(quantile(&values, 99), 198);
        assert_eq!(quantile(&[7], 99), 7);
        assert_eq!(quantile(&[], 50), 0);
    }

    #[test]
    fn a_summary_counts_only_answered_calls() {
        let mut tally = Tally { nanos: vec![3_000, 1_000, 2_000], ..Tally::default() };
        tally.fail("lost");
        tally.fail("later");
        let summary = tally.summarise(Duration::from_secs(2));
        assert_eq!((summary.calls, summary.errors), (3, 2));
        assert_eq!(summary.first_error.as_deref(), Some("lost"));
        assert!((summary.p50_us - 2.0).abs() < 1e-9 && (summary.mean_us - 2.0).abs() < 1e-9);
        assert!((summary.calls_per_second - 1.5).abs() < 1e-9);
    }
}
