//! The file as read to the settings as run: checks what one value alone cannot tell, and fills in defaults.
//!
//! Every function reports what it finds and returns `None` for what it could not make; [`Field::Broken`] has
//! been reported already and is passed over in silence.

mod approvals;
mod audit;
mod authenticators;
pub(crate) mod condition;
mod flow;
mod keeps_with;
mod label;
mod labels;
pub(crate) mod listen;
mod manifest;
mod permits;
mod program;
mod projects;
mod provenance;
mod remote;
pub(crate) mod rules;
mod server;
pub(crate) mod shipped;
mod store;
mod token;
mod trust;
mod virtual_server;

use std::collections::BTreeMap;
use std::time::Duration;

use highwater_core::decide::FlowPolicy;
use highwater_core::provenance::People;

use crate::diagnose::{Problem, Problems};
use crate::expand::{Environment, expand};
use crate::file::{ConfigFile, LimitsFile, ServerFile};
use crate::human::{Period, Scalar, Size};
use crate::load::{NO_SERVERS_HELP, Surroundings};
use crate::node::{Node, Span};
use crate::read::{Entries, Field, Trees, Written};
use crate::settings::{Auth, DEFAULT_QUIET, Expose, Exposed, Limits, Prefix, ServerSettings, Settings};
use virtual_server::Common;

/// Makes the settings. What is returned counts only if nothing was reported.
pub(crate) fn lower<'r>(
    read: &Read<'r>,
    text: &'r str,
    surroundings: &'r Surroundings<'r>,
    problems: &'r Problems,
) -> Option<Settings> {
    let Read { file, rules_files, trees } = *read;
    let Surroundings { environment, files } = *surroundings;
    let lowering = Lowering { text, environment, files, problems, trees };
    let listen = lowering.listen(file);
    let limits = lowering.limits(file.limits.value().unwrap_or(&LimitsFile::default()));
    let (names, servers) = lowering.servers(file, &limits);
    if let Some(written) = file.quarantine.read()
        && !written.value
    {
        lowering.problems.warn(Problem {
            code: Some("quarantine-off"),
            message: "whatever servers say of their tools counts at once, and again when it changes"
                .to_owned(),
            help: Some(
                "remove `quarantine: false`, and approve servers with `highwater servers approve`".to_owned(),
            ),
            span: Some(written.span),
            also: None,
        });
    }
    let prefix = file.prefix.value().copied().unwrap_or(Prefix::Always);
    lowering.unused_trust(file, &names, &servers);
    let flow = lowering.flow(FlowPolicy::default(), "", &file.flow, &file.clearance, &file.sole_gateway);
    let expose = file.expose.value().copied().unwrap_or(Expose::Direct);
    let common = Common { prefix, expose, flow, provenance: provenance::is_on(&file.provenance, true) };
    let virtual_servers = lowering.virtual_servers(file, common, &names, &servers);
    let agent_tokens = lowering.agent_tokens(file, &names, &virtual_servers);
    let permits = lowering.permits(file, &names, &agent_tokens);
    let allowed_hosts = lowering.each(&file.allowed_hosts, |host| listen::host(&host.value));
    let allowed_origins = lowering.each(&file.allowed_origins, |origin| listen::origin(&origin.value));
    let auth = file.auth.value().copied().unwrap_or(Auth::Token);
    let rules = lowering.rules(file, rules_files);
    let rules_files = lowering.each(&file.rules_files, |path| Ok(path.value.clone()));
    let store = lowering.store(file);
    let projects = lowering.projects(file);
    let identity = lowering.identity(file);
    let directory = lowering.directory(file, &names);
    let approvals = lowering.approvals(&file.approvals);
    let partition = file.partition.value().copied().unwrap_or_default();
    let quiet = file.sessions.value().and_then(|sessions| lowering.wait("`sessions.quiet`", &sessions.quiet));
    let quiet = quiet.unwrap_or(DEFAULT_QUIET);
    Some(Settings {
        listen: listen?,
        auth,
        allowed_hosts,
        allowed_origins,
        limits,
        servers,
        virtual_servers,
        agent_tokens,
        permits,
        approvals,
        rules: rules?,
        rules_files,
        store: store?,
        audit: lowering.audit(file.audit.value()),
        partition,
        quiet,
        projects,
        identity,
        directory,
        people: file.people.value().copied().map_or(People::Directory, Into::into),
    })
}

/// What was read.
#[derive(Clone, Copy)]
pub(crate) struct Read<'r> {
    pub(crate) file: &'r ConfigFile,
    pub(crate) rules_files: &'r [Node],
    pub(crate) trees: &'r Trees<'r>,
}

/// What every step needs.
struct Lowering<'l> {
    text: &'l str,
    environment: Environment<'l>,
    files: &'l dyn Fn(&str) -> Result<String, String>,
    problems: &'l Problems,
    trees: &'l Trees<'l>,
}

/// Why a value is refused: the message after its subject, and the way out.
struct Refused {
    message: String,
    help: String,
}

impl Refused {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

impl<'l> Lowering<'l> {
    fn report(&self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.problems.report(span, message, help);
    }

    fn listen(&self, file: &ConfigFile) -> Option<crate::Listen> {
        let Some(written) = file.listen.read() else { return listen::DEFAULT.parse().ok() };
        let listen: crate::Listen = written
            .value
            .0
            .parse()
            .map_err(|error: listen::ListenError| {
                self.report(written.span, format!("`listen`: {error}"), error.help())
            })
            .ok()?;
        if let (Some(auth), false) = (file.auth.read(), listen.is_loopback())
            && auth.value == Auth::None
        {
            self.report(
                auth.span,
                Exposed(listen).to_string(),
                "write `auth: token`, or listen on `localhost`",
            );
        }
        Some(listen)
    }

    fn limits(&self, file: &LimitsFile) -> Limits {
        let usual = Limits::default();
        let max_message = self.size("`limits.max_message`", &file.max_message).unwrap_or(usual.max_message);
        let sessions =
            self.count("`limits.sessions`", &file.sessions, 1, usize::MAX).unwrap_or(usual.sessions);
        // A message of the greatest length must find room.
        let bytes = |key: &str, field: &Field<Size>, usual: usize| {
            let written = field.read().map(|written| written.span);
            let bytes = self.size(&format!("`limits.{key}`"), field).unwrap_or(usual.max(max_message));
            if let Some(span) = written.filter(|_| bytes < max_message && bytes > 0) {
                let help = "write at least as much as `limits.max_message`";
                self.report(span, format!("`limits.{key}` has no room for one message"), help);
            }
            bytes
        };
        Limits {
            max_message,
            request_silence: self
                .wait("`limits.request_silence`", &file.request_silence)
                .unwrap_or(usual.request_silence),
            request_time: self
                .wait("`limits.request_time`", &file.request_time)
                .unwrap_or(usual.request_time),
            request_bytes: bytes("request_bytes", &file.request_bytes, usual.request_bytes),
            request_bytes_per_token: bytes(
                "request_bytes_per_token",
                &file.request_bytes_per_token,
                usual.request_bytes_per_token,
            ),
            max_depth: self.count("`limits.max_depth`", &file.max_depth, 8, 127).unwrap_or(usual.max_depth),
            max_reply: self.size("`limits.max_reply`", &file.max_reply).unwrap_or(usual.max_reply),
            sessions,
            sessions_per_token: self
                .count("`limits.sessions_per_token`", &file.sessions_per_token, 1, usize::MAX)
                .unwrap_or(sessions.div_ceil(2)),
            session_idle: self
                .wait("`limits.session_idle`", &file.session_idle)
                .unwrap_or(usual.session_idle),
            drain: file.drain.value().map_or(usual.drain, |period| period.0),
        }
    }

    /// All servers that could be made, and the names of all that were written.
    fn servers<'f>(&self, file: &'f ConfigFile, limits: &Limits) -> (Vec<&'f str>, Vec<ServerSettings>) {
        let blocks = [&file.servers, &file.pasted_servers];
        let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
        let mut names = Vec::new();
        let mut servers = Vec::new();
        for (name, entry) in blocks.into_iter().filter_map(|block| block.value()).flat_map(|Entries(all)| all)
        {
            if seen.insert(&name.value, name.span).is_some() {
                self.report(
                    name.span,
                    format!("server `{}` is defined under `servers` and under `mcpServers`", name.value),
                    "remove one of the two, or rename it",
                );
                continue;
            }
            names.push(name.value.as_str());
            let empty = ServerFile::default();
            let entry = match entry {
                Field::Absent => &empty,
                Field::Broken => continue,
                Field::Read(written) => &written.value,
            };
            servers.extend(self.server(name, entry, file, limits));
        }
        self.keeps_with(file, &names, &mut servers);
        let misspelt = self.problems.has_unknown_keys("the file");
        if names.is_empty() && !misspelt && blocks.iter().all(|block| !matches!(block, Field::Broken)) {
            let nothing = Problem {
                message: "no servers are configured".to_owned(),
                help: Some(NO_SERVERS_HELP.to_owned()),
                ..Problem::default()
            };
            // A trust policy and tokens may stand alone, before there is anybody to trust or to reach.
            let trust = file.mcp_servers.value().is_some_and(|Entries(all)| !all.is_empty());
            let tokens = file.agent_tokens.value().is_some_and(|Entries(all)| !all.is_empty());
            if trust || tokens {
                self.problems.warn(nothing);
            } else {
                self.problems.push(nothing);
            }
        }
        (names, servers)
    }

    /// Checks each item of a list of texts; a wrong one is reported, and repeated ones are, too.
    fn each(
        &self,
        field: &Field<Vec<Written<String>>>,
        check: impl Fn(&Written<String>) -> Result<String, Refused>,
    ) -> Vec<String> {
        let mut list = Vec::new();
        for item in field.value().into_iter().flatten() {
            match check(item) {
                Ok(value) if list.contains(&value) => {
                    self.report(
                        item.span,
                        format!("`{}` is listed twice", item.value),
                        "remove one of the two",
                    );
                }
                Ok(value) => list.push(value),
                Err(refused) => self.report(item.span, refused.message, refused.help),
            }
        }
        list
    }

    /// A size of at least one byte.
    fn size(&self, subject: &str, field: &Field<Size>) -> Option<usize> {
        let Written { span, value: Size(bytes) } = field.read()?;
        if *bytes == 0 {
            self.report(*span, format!("{subject} must not be zero"), "write a size such as `4MiB`");
        }
        Some(*bytes)
    }

    /// A time of more than nothing.
    fn wait(&self, subject: &str, field: &Field<Period>) -> Option<Duration> {
        let Written { span, value: Period(time) } = field.read()?;
        if time.is_zero() {
            self.report(*span, format!("{subject} must not be zero"), "write a duration such as `30s`");
        }
        Some(*time)
    }

    /// A number between two bounds.
    fn count(&self, subject: &str, field: &Field<u64>, least: usize, most: usize) -> Option<usize> {
        let Written { span, value } = field.read()?;
        let count = usize::try_from(*value).ok().filter(|count| (least..=most).contains(count));
        if count.is_none() {
            let help = match most {
                usize::MAX => format!("write a number of at least {least}"),
                most => format!("write a number from {least} to {most}"),
            };
            self.report(*span, format!("{subject} cannot be {value}"), help);
        }
        count
    }

    /// Puts variables in and refuses what no program and no header can carry.
    fn text(&self, subject: &str, written: &Written<impl AsRef<str>>) -> Option<String> {
        match expand(written.value.as_ref(), self.environment) {
            Ok(text) if text.contains('\0') => {
                self.report(written.span, format!("{subject} contains a null character"), "remove it");
                None
            }
            Ok(text) => Some(text),
            Err(refused) => {
                let span = written.span.narrow(self.text, &refused.part);
                self.report(span, format!("{subject}: {}", refused.message), refused.help);
                None
            }
        }
    }
}

impl AsRef<str> for Scalar {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Names of servers and virtual servers: they become parts of tool names and of paths.
fn name(name: &str) -> Result<(), Refused> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.len() <= 32 && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(allowed)
    {
        return Ok(());
    }
    Err(Refused::new(
        format!("`{name}` cannot be used as a name"),
        "a name has at most 32 letters, digits, `_` and `-`, and starts with a letter or digit",
    ))
}
