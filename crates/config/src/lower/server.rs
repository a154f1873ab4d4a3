//! One server: how it is reached, and how it is treated.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use highwater_core::profile::Profile;

use super::trust::Trust;
use super::{Lowering, Refused, name};
use crate::diagnose::Problem;
use crate::file::{ConfigFile, KindFile, RetryFile, ServerFile, TimeoutsFile};
use crate::node::Span;
use crate::read::{Deliberate, Entries, Field, Written};
use crate::settings::{
    Era, HttpKind, Limits, Retry, ServerSettings, ShareContext, Start, Timeouts, Transport, Writes,
};

/// The alias of the gateway's own tools.
const RESERVED: &str = "highwater";

/// The usual bounds on parallel calls to one server: to a program, over its one pipe, and to an URL, over a connection
/// each. Whoever waits for a place is woken from another thread, which costs more than the call; so that happens only
/// beyond what a server behind an URL is likely to be asked at once. A connection that is idle costs us next to nothing.
const CONCURRENCY: usize = 64;
const CONCURRENCY_OVER_HTTP: usize = 512;

/// How long what a server lists is relied on while it is used, where nobody says.
const REFRESH: Duration = Duration::from_secs(30);

/// How often a call may be sent again. More would hammer at a server that is gone.
const MOST_RETRIES: usize = 10;

/// The families of methods that MCP defines. They have contracts of their own and take their own road.
const MCP_METHODS: [&str; 15] = [
    "completion",
    "elicitation",
    "initialize",
    "logging",
    "messages",
    "notifications",
    "ping",
    "prompts",
    "resources",
    "roots",
    "sampling",
    "server",
    "subscriptions",
    "tasks",
    "tools",
];

impl Lowering<'_> {
    pub(super) fn server(
        &self,
        alias: &Written<String>,
        file: &ServerFile,
        all: &ConfigFile,
        limits: &Limits,
    ) -> Option<ServerSettings> {
        let subject = format!("server `{}`", alias.value);
        if let Err(refused) = name(&alias.value) {
            self.report(alias.span, format!("server: {}", refused.message), refused.help);
        }
        if alias.value.eq_ignore_ascii_case(RESERVED) {
            self.report(
                alias.span,
                format!("the name `{}` is reserved", alias.value),
                "give the server another name",
            );
        }
        let transport = self.transport(alias, file, &subject);
        let era = self.era(file, transport.as_ref(), &subject);
        let timeouts = self.timeouts(file.timeouts.value().unwrap_or(&TimeoutsFile::default()), &subject);
        let concurrency =
            self.count(&format!("`concurrency` of {subject}"), &file.concurrency, 1, usize::MAX);
        let usual_concurrency = match &transport {
            Some(Transport::Stdio { .. }) | None => CONCURRENCY,
            Some(Transport::Http { .. }) => CONCURRENCY_OVER_HTTP,
        };
        let trust = self.trust(alias, file, transport.as_ref(), all);
        let profile = file.profile.value().copied().map(Profile::from);
        let allowed_tools = self.allowed_tools(file, &trust, &alias.value);
        let max_reply = self.size(&format!("`max_reply` of {subject}"), &file.max_reply);
        Some(ServerSettings {
            name: alias.value.clone(),
            transport: transport?,
            era,
            timeouts,
            concurrency: concurrency.unwrap_or(usual_concurrency),
            retry: self.retry(file.retry.value().unwrap_or(&RetryFile::default()), &subject),
            writes: file.writes.value().copied().unwrap_or(Writes::Parallel),
            refresh: self.wait(&format!("`refresh` of {subject}"), &file.refresh).unwrap_or(REFRESH),
            start: file.start.value().copied().unwrap_or(Start::Lazy),
            allowed_tools,
            extra_methods: self.extra_methods(file),
            max_reply: max_reply.unwrap_or(limits.max_reply),
            share_context: file.share_context.value().copied().unwrap_or(match trust.level.verified() {
                true => ShareContext::Full,
                false => ShareContext::Hints,
            }),
            quarantine: self.quarantine(file, all, &subject),
            manifest: self.manifest(file, &subject),
            trust: trust.level.with_profile(profile.unwrap_or(Profile::Unknown).replies()),
            profile,
            // Known once all servers are.
            keeps_with: BTreeSet::new(),
            title: trust.title,
            labels: self.labels(&alias.value, file),
            disabled: file.disabled.value().copied().unwrap_or(false),
        })
    }

    /// The tools of an allow-list.
    pub(super) fn tools(&self, listed: &Field<Vec<Written<String>>>, server: &str) -> BTreeSet<String> {
        let tool = |tool: &Written<String>| {
            self.warn_of_pattern(tool, "allowed_tools", server);
            Ok(tool.value.clone())
        };
        self.each(listed, tool).into_iter().collect()
    }

    fn quarantine(&self, file: &ServerFile, all: &ConfigFile, subject: &str) -> bool {
        if let Some(written) = file.quarantine.read()
            && !written.value
        {
            self.problems.warn(Problem {
                code: Some("quarantine-off"),
                message: format!(
                    "whatever {subject} says of its tools counts at once, and again when it changes"
                ),
                help: Some(
                    "remove `quarantine: false`, and approve it with `highwater servers approve`".to_owned(),
                ),
                span: Some(written.span),
                also: None,
            });
        }
        file.quarantine.value().or(all.quarantine.value()).copied().unwrap_or(true)
    }

    fn allowed_tools(&self, file: &ServerFile, trust: &Trust, alias: &str) -> Option<BTreeSet<String>> {
        let Deliberate(listed) = &file.allowed_tools;
        let own: Option<BTreeSet<String>> = match listed {
            Field::Absent => None,
            listed => Some(self.tools(listed, alias)),
        };
        match (own, &trust.allowed_tools) {
            (Some(own), None) => Some(own),
            (None, elsewhere) => elsewhere.as_ref().map(|(_, tools)| tools.clone()),
            (Some(own), Some((span, _))) => {
                let message = format!("`allowed_tools` of server `{alias}` is written twice");
                self.report(*span, message, "keep the one beside `trust`, or the one inside it");
                Some(own)
            }
        }
    }

    fn transport(&self, alias: &Written<String>, file: &ServerFile, subject: &str) -> Option<Transport> {
        match (&file.command, &file.url) {
            (Field::Absent, Field::Absent) if self.problems.has_unknown_keys(subject) => None,
            (Field::Absent, Field::Absent) => {
                let help = "give it a `command` to run, or a `url` to connect to";
                self.report(alias.span, format!("{subject} has neither `command` nor `url`"), help);
                None
            }
            (Field::Read(_), Field::Read(url)) => {
                let help = "remove `url` to run the program, or `command`, `args` and `env` to connect";
                self.report(url.span, format!("{subject} has both `command` and `url`"), help);
                None
            }
            (Field::Read(command), Field::Absent) => self.stdio(command, file, subject),
            (Field::Absent, Field::Read(url)) => self.http(url, file, subject),
            (Field::Broken, _) | (_, Field::Broken) => None,
        }
    }

    fn stdio(&self, command: &Written<String>, file: &ServerFile, subject: &str) -> Option<Transport> {
        self.refuse_key("headers", span_of(&file.headers), "command", subject);
        self.refuse_key("allow_plain_http", span_of(&file.allow_plain_http), "command", subject);
        if let Some(kind) = file.kind.read()
            && kind.value != KindFile::Stdio
        {
            let help = "remove `type`, or write `url` in place of `command`";
            self.report(kind.span, format!("{subject} has a `command`, but its `type` is not `stdio`"), help);
        }
        let program = self.text(&format!("`command` of {subject}"), command);
        if program.as_ref().is_some_and(|program| program.trim().is_empty()) {
            self.report(command.span, format!("`command` of {subject} is empty"), "write the program to run");
        }
        self.one_program(command, file, subject);
        self.unexpanded(command, file, subject);
        let args: Option<Vec<String>> = collect(
            file.args
                .value()
                .into_iter()
                .flatten()
                .map(|arg| self.text(&format!("`args` of {subject}"), arg)),
        );
        let env = self.environment(file, subject);
        let cwd = match &file.cwd {
            Field::Read(cwd) => self.text(&format!("`cwd` of {subject}"), cwd).map(|path| {
                if !path.starts_with('/') && !is_windows_absolute(&path) {
                    let help = match path.strip_prefix('~') {
                        Some(rest) => format!("nothing expands `~` here: write `${{HOME}}{rest}`"),
                        None => "write an absolute path; `${HOME}` can start it".to_owned(),
                    };
                    self.report(cwd.span, format!("`cwd` of {subject} is not an absolute path"), help);
                }
                Some(path)
            }),
            Field::Absent => Some(None),
            Field::Broken => None,
        };
        Some(Transport::Stdio { command: program?, args: args?, env: env?, cwd: cwd? })
    }

    fn environment(&self, file: &ServerFile, subject: &str) -> Option<BTreeMap<String, String>> {
        let entries = file.env.value().into_iter().flat_map(|Entries(all)| all);
        collect(entries.map(|(key, value)| {
            if key.value.is_empty() || key.value.contains(['=', '\0']) {
                let help = "a name is not empty and has no `=`";
                self.report(
                    key.span,
                    format!("`env` of {subject}: `{}` cannot name a variable", key.value),
                    help,
                );
            }
            let value = self.text(&format!("`env.{}` of {subject}", key.value), value)?;
            Some((key.value.clone(), value))
        }))
    }

    fn era(&self, file: &ServerFile, transport: Option<&Transport>, subject: &str) -> Era {
        let written = file.era.read().map_or(Era::Auto, |era| era.value);
        let (span, kind) = match (file.era.read(), transport) {
            (Some(era), Some(Transport::Http { kind, .. })) => (era.span, Some(*kind)),
            (Some(era), Some(Transport::Stdio { .. })) => (era.span, None),
            (_, Some(Transport::Http { kind: HttpKind::Sse, .. })) => return Era::Sse,
            _ => return written,
        };
        match (written, kind) {
            (Era::Sse, None) => {
                let help = "write `auto`, `modern` or `legacy`";
                self.report(span, format!("{subject} is a program and cannot speak `era: sse`"), help);
            }
            (Era::Modern, Some(HttpKind::Sse)) | (Era::Sse, Some(HttpKind::Streamable)) => {
                self.report(
                    span,
                    format!("`era` and `type` of {subject} contradict each other"),
                    "remove one of the two",
                );
            }
            (Era::Auto | Era::Legacy | Era::Sse, Some(HttpKind::Sse)) => return Era::Sse,
            (Era::Auto | Era::Modern | Era::Legacy | Era::Sse, _) => {}
        }
        written
    }

    fn timeouts(&self, file: &TimeoutsFile, subject: &str) -> Timeouts {
        let usual = Timeouts::default();
        let wait = |key: &str, field| self.wait(&format!("`timeouts.{key}` of {subject}"), field);
        Timeouts {
            start: wait("start", &file.start).unwrap_or(usual.start),
            probe: wait("probe", &file.probe).unwrap_or(usual.probe),
            call: wait("call", &file.call).unwrap_or(usual.call),
            silence: wait("silence", &file.silence).unwrap_or(usual.silence),
        }
    }

    fn retry(&self, file: &RetryFile, subject: &str) -> Retry {
        let usual = Retry::default();
        let times = self.count(&format!("`retry.times` of {subject}"), &file.times, 0, MOST_RETRIES);
        Retry {
            times: times.and_then(|times| times.try_into().ok()).unwrap_or(usual.times),
            wait: self.wait(&format!("`retry.wait` of {subject}"), &file.wait).unwrap_or(usual.wait),
        }
    }

    fn extra_methods(&self, file: &ServerFile) -> BTreeSet<String> {
        let check = |method: &Written<String>| {
            let method = &method.value;
            let family = method.split('/').next().unwrap_or_default();
            if MCP_METHODS.contains(&family) {
                return Err(Refused::new(
                    format!("`{method}` belongs to MCP and is no extra method"),
                    "remove it; methods of MCP are forwarded without being listed",
                ));
            }
            if method.is_empty() || !method.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\'))
            {
                return Err(Refused::new(
                    format!("`{method}` cannot be a method"),
                    "a method has printable characters without spaces, such as `acme/reindex`",
                ));
            }
            Ok(method.clone())
        };
        self.each(&file.extra_methods, check).into_iter().collect()
    }

    /// Refuses a key that means nothing beside `with`: it would be read by nobody.
    pub(super) fn refuse_key(&self, key: &str, span: Option<Span>, with: &str, subject: &str) {
        if let Some(span) = span {
            self.report(
                span,
                format!("`{key}` of {subject} means nothing beside `{with}`"),
                format!("remove `{key}`"),
            );
        }
    }
}

/// Where a field was written, if it was.
pub(super) fn span_of<T>(field: &Field<T>) -> Option<Span> {
    field.read().map(|written| written.span)
}

/// Looks at every item, so that each can report, before the first missing one makes the whole missing.
pub(super) fn collect<T, C: FromIterator<T>>(items: impl Iterator<Item = Option<T>>) -> Option<C> {
    items.collect::<Vec<_>>().into_iter().collect()
}

/// `C:\…` or a share; the gateway may run on Windows.
fn is_windows_absolute(path: &str) -> bool {
    let mut characters = path.chars();
    let drive = characters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && characters.next() == Some(':')
        && matches!(characters.next(), Some('\\' | '/'));
    drive || path.starts_with(r"\\")
}
