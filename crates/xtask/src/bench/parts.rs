//! The processes of a benchmark. Each is held by a value; when the value goes, for whatever reason, the process
//! is ended by its id. Each also watches its standard input, so that it ends even if we are killed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use super::plan::{Ask, Era, Point};

/// How long a process may take to end after its standard input has closed. The host gives the program it keeps
/// five seconds, and must not be killed before it has ended it.
const GRACE: Duration = Duration::from_secs(8);

/// The programs a benchmark runs.
#[derive(Clone, Debug)]
pub(super) struct Binaries {
    pub(super) upstream: PathBuf,
    pub(super) floor: PathBuf,
    pub(super) load: PathBuf,
    pub(super) host: PathBuf,
    pub(super) judge: PathBuf,
    /// Nothing if a second floor stands in.
    pub(super) gateway: Option<PathBuf>,
}

/// A running process with both ends of its conversation.
pub(super) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    name: &'static str,
}

/// An upstream and its address.
pub(super) struct Upstream {
    process: Process,
    pub(super) url: String,
}

/// A program in the middle, kept by the host.
pub(super) struct Hosted {
    host: Process,
    pub(super) started: Started,
}

/// What the host says of the program it started.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Started {
    pub(super) pid: u32,
    pub(super) url: String,
    pub(super) token: Option<String>,
    pub(super) healthz_us: f64,
    pub(super) hello_us: f64,
    pub(super) listed_us: f64,
}

/// Where the load goes.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) url: String,
    pub(super) token: Option<String>,
    /// What stands before a tool's name here.
    pub(super) prefix: String,
    /// The host that the load comes from, where one tells the user's words.
    pub(super) hooks: Option<HostHooks>,
}

/// A host with hooks.
#[derive(Clone, Debug)]
pub(super) struct HostHooks {
    /// The load generator, under the host's name.
    pub(super) load: PathBuf,
    /// The program that is its hook, and the data directory of the gateway that it tells.
    pub(super) program: PathBuf,
    pub(super) data: PathBuf,
    pub(super) transcripts: PathBuf,
}

/// The load generator, with its sessions open.
pub(super) struct LoadGenerator {
    process: Process,
}

/// What the load generator says its calls took.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Taken {
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) first_error: Option<String>,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) mean_us: f64,
    pub(super) calls_per_second: f64,
    pub(super) hooks: Option<HooksTaken>,
}

/// What answers to the hooks of a host took: on its connection, and as a command.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct HooksTaken {
    pub(super) count: u64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) command_p50_us: f64,
    pub(super) command_p99_us: f64,
}

/// What the judgement takes without a wire.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Judged {
    pub(super) decide_us: f64,
    pub(super) label_us: f64,
    pub(super) search_us: f64,
}

// === impl Binaries ===

impl Binaries {
    pub(super) fn find(release: &Path, gateway: Option<&Path>, stand_in: bool) -> anyhow::Result<Self> {
        let existing = |path: PathBuf| {
            ensure!(path.is_file(), "`{}` is not there; run without `--no-build`", path.display());
            Ok(path)
        };
        let gateway = match (gateway, stand_in) {
            (_, true) => None,
            (Some(path), false) => Some(existing(path.to_owned())?),
            (None, false) => Some(existing(release.join("highwater"))?),
        };
        Ok(Self {
            upstream: existing(release.join("bench_upstream"))?,
            floor: existing(release.join("bench_floor"))?,
            load: existing(release.join("bench_load"))?,
            host: existing(release.join("bench_host"))?,
            judge: existing(release.join("bench_judge"))?,
            gateway,
        })
    }

    /// An upstream that lists `tools` tools; it speaks both eras unless one is named.
    pub(super) fn start_upstream(&self, tools: usize, era: Option<Era>) -> anyhow::Result<Upstream> {
        let mut command = Command::new(&self.upstream);
        command.args(["--tools", &tools.to_string()]);
        if let Some(era) = era {
            command.args(["--era", era.name()]);
        }
        let mut process = Process::start(command, "the upstream")?;
        let line = process.line()?;
        let url = line.strip_prefix("listening ").context("the upstream does not say where it listens")?;
        Ok(Upstream { url: url.to_owned(), process })
    }

    /// A floor in front of `to`.
    pub(super) fn start_floor(&self, to: &str, tools: usize, era: Era, log: &Path) -> anyhow::Result<Hosted> {
        let mut command = self.host_command(log, tools, era);
        command.arg("--").arg(&self.floor);
        command.args(["--to", to, "--listen", "127.0.0.1:{port}"]);
        Hosted::start(command)
    }

    /// Highwater with this configuration and data directory.
    pub(super) fn start_gateway(
        &self,
        program: &Path,
        config: &Path,
        data: &Path,
        tools: usize,
        log: &Path,
        token: bool,
    ) -> anyhow::Result<Hosted> {
        let mut command = self.host_command(log, tools, Era::Legacy);
        if token {
            command.arg("--token-file").arg(data.join("agent-token"));
        }
        command.arg("--").arg(program).arg("serve").arg("--config").arg(config);
        command.arg("--data-dir").arg(data).args(["--listen", "127.0.0.1:{port}"]);
        Hosted::start(command)
    }

    /// The load generator for `point`, its sessions open and warm.
    pub(super) fn start_load(
        &self,
        point: &Point,
        to: &Endpoint,
        seconds: f64,
    ) -> anyhow::Result<LoadGenerator> {
        let mut command = Command::new(to.hooks.as_ref().map_or(&self.load, |hooks| &hooks.load));
        if let Some(HostHooks { program, data, transcripts, .. }) = &to.hooks {
            command.arg("--hook").arg(program).arg("--data-dir").arg(data);
            command.arg("--transcripts").arg(transcripts);
        }
        command.args(["--hold", "--url", &to.url, "--era", point.era.name()]);
        command.args(["--sessions", &point.sessions.to_string(), "--seconds", &seconds.to_string()]);
        command.args(["--warm-up", &point.warm_up().to_string()]);
        if let Some(token) = &to.token {
            command.args(["--token", token]);
        }
        match point.ask {
            Ask::Call | Ask::WordsRead => command.args(["--tool", &format!("{}echo", to.prefix)]),
            Ask::Upload => command.args(["--upload", "--tool", &format!("{}upload", to.prefix)]),
            Ask::Keep | Ask::WordsAct => command.args(["--keep", "--tool", &format!("{}keep", to.prefix)]),
            Ask::List => command.args(["--list", "--tools", &point.size.to_string()]),
        };
        command.args(["--size", &point.size.to_string()]);
        let mut process = Process::start(command, "the load generator")?;
        let line = process.line()?;
        ensure!(line == "ready", "the load generator says `{line}` instead of `ready`");
        Ok(LoadGenerator { process })
    }

    /// Times the judgement alone.
    pub(super) fn judge(&self, rules: usize) -> anyhow::Result<Judged> {
        let mut command = Command::new(&self.judge);
        command.args(["--rules", &rules.to_string()]);
        let line = Process::start(command, "the judgement")?.line()?;
        serde_json::from_str(&line).context("what the judgement took cannot be read")
    }

    fn host_command(&self, log: &Path, tools: usize, era: Era) -> Command {
        let mut command = Command::new(&self.host);
        command.arg("--log").arg(log).args(["--tools", &tools.to_string(), "--era", era.name()]);
        command
    }
}

// === impl Process ===

impl Process {
    fn start(mut command: Command, name: &'static str) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{name} could not be started"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().with_context(|| format!("{name} has no output"))?;
        Ok(Self { child, input, output: BufReader::new(output), name })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line).with_context(|| format!("{} went silent", self.name))?;
        ensure!(read > 0, "{} ended without an answer", self.name);
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.input.take());
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // Both fail only if it has ended meanwhile.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

// === impl Upstream ===

impl Upstream {
    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }
}

// === impl Hosted ===

impl Hosted {
    fn start(command: Command) -> anyhow::Result<Self> {
        let mut host = Process::start(command, "the host")?;
        let line = host.line()?;
        let started = serde_json::from_str(&line).context("the host's answer cannot be read")?;
        Ok(Self { host, started })
    }

    pub(super) fn host_pid(&self) -> u32 {
        self.host.pid()
    }
}

// === impl LoadGenerator ===

impl LoadGenerator {
    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Lets it begin and waits for what it says; its sessions stay open until it is dropped.
    pub(super) fn go(&mut self) -> anyhow::Result<Taken> {
        let input = self.process.input.as_mut().context("the load generator was let go already")?;
        input.write_all(b"go\n").and_then(|()| input.flush()).context("the load generator is gone")?;
        let line = self.process.line()?;
        serde_json::from_str(&line).context("the load generator's answer cannot be read")
    }
}
