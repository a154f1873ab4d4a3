//! What is wrong with a server that does not work, and what a person can do about it. The words are ours; the last words
//! of a server are its own and shown as such.

use highwater_upstream::error::{Cause, NoConnection};
use highwater_upstream::{ServerSpec, Transport};
use serde::Serialize;

/// What is wrong with a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerTrouble {
    /// In one word.
    pub cause: TroubleCause,
    /// What a person can do, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// What a child last wrote to its standard error that tells something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
}

/// Why a server does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TroubleCause {
    /// Its program is not there.
    NotFound,
    /// Its program cannot be started.
    NotStarted,
    /// Its program ended, or the connection closed.
    Ended,
    /// It does not answer the greeting.
    Silent,
    /// It did not answer in time.
    TimedOut,
    /// A certificate is not trusted, on its side or on ours.
    Certificate,
    /// A proxy is in the way, or is missing.
    Proxy,
    /// Its package is not to be had.
    Package,
    /// A setting that it needs is missing.
    Setting,
    /// It wants a token, or another one.
    Token,
    /// It wants OAuth.
    Oauth,
    /// It forbids it.
    Forbidden,
    /// Nothing is at this path.
    Path,
    /// A web page answers.
    WebPage,
    /// Its host name cannot be resolved.
    Name,
    /// Nobody listens at its address.
    Refused,
    /// It has too much to do, or fails by itself.
    Overloaded,
    /// It does not speak the protocol.
    Protocol,
    /// Something else.
    Other,
}

/// What stands in the words of children, in small letters, and what it means. The first row that fits counts.
const SIGNS: &[(TroubleCause, &[&str])] = &[
    (
        TroubleCause::Certificate,
        &[
            "unknownissuer",
            "certificate_verify_failed",
            "unable_to_get_issuer_cert",
            "unable_to_verify_leaf_signature",
            "self_signed_cert",
            "self signed certificate",
            "self-signed certificate",
            "unable to get local issuer certificate",
            "unable to get issuer certificate",
            "certificate signed by unknown authority",
            "invalid peer certificate",
        ],
    ),
    (
        TroubleCause::Proxy,
        &[
            "proxy authentication required",
            "proxyerror",
            "proxyconnect",
            "tunnel connection failed",
            "tunneling socket could not be established",
            "cannot connect to proxy",
        ],
    ),
    (
        TroubleCause::Package,
        &[
            "npm error 404",
            "npm error code e404",
            "npm err! 404",
            "not found in the package registry",
            "no matching distribution found",
            "no solution found when resolving",
        ],
    ),
    (
        TroubleCause::Name,
        &[
            "enotfound",
            "eai_again",
            "name or service not known",
            "temporary failure in name resolution",
            "failed to lookup address",
            "could not resolve host",
            "no such host",
            "dns error",
        ],
    ),
    (TroubleCause::Refused, &["econnrefused", "connection refused"]),
    (TroubleCause::TimedOut, &["etimedout", "connection timed out", "operation timed out"]),
];

/// What a line names that says a setting is missing, and how it says so.
const SETTINGS: &[&str] = &["environment variable", "api key", "api_key", "token", "credentials"];
const MISSING: &[&str] =
    &["required", "missing", "not set", "must be set", "not provided", "is unset", "please set"];

/// Lines of these kinds tell nothing of why a program ended.
const IDLE_BEGINNINGS: &[&str] =
    &["at ", "node.js v", "npm notice", "npm error a complete log", "npm err! a complete log", "help:"];

/// What a line holds that tells why a program ended.
const TELLING: &[&str] = &[
    "error",
    "exception",
    "fail",
    "denied",
    "not found",
    "cannot",
    "unable",
    "invalid",
    "required",
    "missing",
];

// === impl ServerTrouble ===

impl ServerTrouble {
    /// What is wrong with a server that failed for this cause, and whose last process wrote this.
    pub(crate) fn of(spec: &ServerSpec, cause: Option<&Cause>, stderr: &[String]) -> Self {
        let of_child = || {
            let sign = sign(stderr);
            let fix = sign.and_then(|sign| fix_of_child(sign, spec)).or_else(|| fix_of_home(spec, stderr));
            (sign.unwrap_or(TroubleCause::Ended), fix)
        };
        let (word, fix) = match cause {
            None => (TroubleCause::Other, None),
            Some(cause) => match cause {
                Cause::NoProgram { command, searched, hint } => {
                    (TroubleCause::NotFound, Some(fix_of_missing(command, searched.as_deref(), hint)))
                }
                Cause::NotStarted(_) => (TroubleCause::NotStarted, None),
                Cause::Gone(_) => of_child(),
                Cause::SilentStart(_) | Cause::TimedOut(_) => match sign(stderr) {
                    Some(sign) => (sign, fix_of_child(sign, spec)),
                    None => (silence(cause), fix_of_silence(cause, spec)),
                },
                Cause::WantsOauth => (
                    TroubleCause::Oauth,
                    Some(match has_authorization(spec) {
                        true => format!("OAuth is not supported yet, and {NOT_ACCEPTED}"),
                        false => {
                            format!("OAuth is not supported yet; if it takes a token, too, {WRITE_TOKEN}")
                        }
                    }),
                ),
                Cause::Status(status) => of_status(*status, spec),
                Cause::WebPage => (
                    TroubleCause::WebPage,
                    Some(format!("{PATHS}, and one that wants you to sign in may show a page for that")),
                ),
                Cause::NoConnection(why) => of_connection(why),
                Cause::Malformed(_) | Cause::TooLarge { .. } => (
                    TroubleCause::Protocol,
                    match spec.transport {
                        Transport::Stdio { .. } => {
                            Some("a server writes nothing but messages to its standard output".to_owned())
                        }
                        Transport::Http { .. } => Some(PATHS.to_owned()),
                    },
                ),
                Cause::Silent(_) | Cause::Wedged(_) => (
                    TroubleCause::TimedOut,
                    Some("it is alive and answers nothing; if it stays silent it is started anew".to_owned()),
                ),
                Cause::Unreachable(_)
                | Cause::BackingOff(_)
                | Cause::Changed
                | Cause::Disconnected
                | Cause::ShuttingDown => (TroubleCause::Other, None),
            },
        };
        Self { cause: word, fix, last_words: last_words(stderr) }
    }
}

const WRITE_TOKEN: &str = "write it into its entry: `headers: { Authorization: \"Bearer ${TOKEN}\" }`";
const NOT_ACCEPTED: &str =
    "the token in its `headers` is not accepted: it may be over, or for something else";
const PATHS: &str = "look at the path of its `url`: many servers answer at `/mcp`, older ones at `/sse`";
const AUTHORITY: &str = "the file with your company's certificate, in PEM, where the gateway is started";

fn of_status(status: u16, spec: &ServerSpec) -> (TroubleCause, Option<String>) {
    let (cause, fix) = match status {
        401 if has_authorization(spec) => (TroubleCause::Token, NOT_ACCEPTED.to_owned()),
        401 => (TroubleCause::Token, format!("it wants a token; {WRITE_TOKEN}")),
        403 if has_authorization(spec) => {
            (TroubleCause::Forbidden, "what the token in its `headers` stands for may not do this".to_owned())
        }
        403 => {
            (TroubleCause::Forbidden, format!("it lets nobody in without a token, perhaps; {WRITE_TOKEN}"))
        }
        404 | 405 | 410 => (TroubleCause::Path, PATHS.to_owned()),
        407 => (TroubleCause::Proxy, "a proxy on the way wants a password".to_owned()),
        429 => (TroubleCause::Overloaded, "it has had too many requests; it is tried again later".to_owned()),
        300..=399 => {
            (TroubleCause::Path, "it has moved; write the address to which it leads as `url`".to_owned())
        }
        500.. => (TroubleCause::Overloaded, "it fails by itself; it is tried again later".to_owned()),
        _ => return (TroubleCause::Protocol, Some(PATHS.to_owned())),
    };
    (cause, Some(fix))
}

fn of_connection(why: &NoConnection) -> (TroubleCause, Option<String>) {
    match why {
        NoConnection::NoName => (
            TroubleCause::Name,
            Some("look at the host of its `url`, and whether this machine is online; proxies are not used for servers behind a `url`".to_owned()),
        ),
        NoConnection::Refused => {
            (TroubleCause::Refused, Some("nobody listens there: is it running, on this port?".to_owned()))
        }
        NoConnection::TimedOut => (
            TroubleCause::TimedOut,
            Some("nobody answers there; proxies are not used for servers behind a `url`".to_owned()),
        ),
        NoConnection::NoDescriptor => (
            TroubleCause::Other,
            Some("the gateway has too many open files: raise its limit (`ulimit -n`)".to_owned()),
        ),
        NoConnection::Certificate("UnknownIssuer") => {
            (TroubleCause::Certificate, Some(format!("set SSL_CERT_FILE to {AUTHORITY}")))
        }
        NoConnection::Certificate(_) => {
            (TroubleCause::Certificate, Some("its operator has to renew or replace it".to_owned()))
        }
        NoConnection::Tls => {
            (TroubleCause::Protocol, Some("does it speak TLS there? `http://` is without".to_owned()))
        }
        NoConnection::Other(_) => (TroubleCause::Other, None),
    }
}

fn fix_of_missing(command: &str, searched: Option<&str>, hint: &str) -> String {
    if let Some((program, _)) = command.split_once(char::is_whitespace)
        && !command.contains('/')
    {
        return format!(
            "`command` is the program alone: write `command: {program}`, and the rest under `args`"
        );
    }
    let from = hint.trim_start_matches("; ");
    let from = if from.is_empty() { String::new() } else { format!(" ({from})") };
    match searched {
        None => format!("is there such a file? A path counts from `cwd` of its entry{from}"),
        Some("") => format!("give it a `PATH` under `env`, or write the program's whole path{from}"),
        Some(path) => {
            let mut places: Vec<&str> = Vec::new();
            for place in path.split(':').filter(|place| !place.is_empty()) {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
            let places = places.join(", ");
            format!("install it{from}, or write its whole path as `command`; it was looked for in {places}")
        }
    }
}

/// What helps against what the words of a child tell.
fn fix_of_child(sign: TroubleCause, spec: &ServerSpec) -> Option<String> {
    Some(match sign {
        TroubleCause::Certificate => {
            format!("set {} to {AUTHORITY}, or under its `env`", authority_variable(spec))
        }
        TroubleCause::Proxy => {
            "look at HTTPS_PROXY where the gateway is started; a user and a password in it are not \
                                passed on: write it whole under its `env`"
                .to_owned()
        }
        TroubleCause::Package => "is the name of its package right?".to_owned(),
        TroubleCause::Name => {
            "is this machine online? Behind a proxy, set HTTPS_PROXY where the gateway is started".to_owned()
        }
        TroubleCause::Refused => "what it needs does not run where it looks for it".to_owned(),
        TroubleCause::TimedOut => {
            "what it needs does not answer it; behind a proxy, set HTTPS_PROXY where the gateway is started"
                .to_owned()
        }
        TroubleCause::Setting => {
            "a server gets no variable that is not named: write what it asks for under its `env`".to_owned()
        }
        _ => return None,
    })
}

/// What helps where a program complains of a path as a shell would have understood it.
fn fix_of_home(spec: &ServerSpec, stderr: &[String]) -> Option<String> {
    let Transport::Stdio { args, .. } = &spec.transport else { return None };
    let complained = |arg: &&String| stderr.iter().any(|line| line.contains(arg.as_str()));
    let arg = args.iter().filter(|arg| arg.starts_with("~/") || arg.starts_with("$HOME")).find(complained)?;
    let rest = arg.trim_start_matches("$HOME").trim_start_matches('~');
    Some(format!("nothing expands `{arg}` here: write `${{HOME}}{rest}`"))
}

/// The variable by which programs of this kind learn of more authorities.
fn authority_variable(spec: &ServerSpec) -> &'static str {
    let Transport::Stdio { command, .. } = &spec.transport else { return "SSL_CERT_FILE" };
    match command.rsplit('/').next().unwrap_or(command) {
        "npx" | "node" | "npm" | "bunx" | "bun" => "NODE_EXTRA_CA_CERTS",
        _ => "SSL_CERT_FILE",
    }
}

fn silence(cause: &Cause) -> TroubleCause {
    match cause {
        Cause::SilentStart(_) => TroubleCause::Silent,
        _ => TroubleCause::TimedOut,
    }
}

fn fix_of_silence(cause: &Cause, spec: &ServerSpec) -> Option<String> {
    let launchers = ["npx", "uvx", "bunx", "dnx", "docker", "podman"];
    let fetches = match &spec.transport {
        Transport::Stdio { command, .. } => {
            launchers.contains(&command.rsplit('/').next().unwrap_or(command))
        }
        Transport::Http { .. } => false,
    };
    match cause {
        Cause::SilentStart(_) if fetches => Some(
            "the first start fetches it and may take long: it is tried again; `timeouts: { start: 120s }` gives it more"
                .to_owned(),
        ),
        Cause::SilentStart(_) => Some("is it an MCP server? `timeouts: { start: 60s }` gives it more time".to_owned()),
        _ => None,
    }
}

fn has_authorization(spec: &ServerSpec) -> bool {
    match &spec.transport {
        Transport::Http { headers, .. } => !headers.is_empty(),
        Transport::Stdio { .. } => false,
    }
}

/// What a child's words tell of why it ended.
fn sign(stderr: &[String]) -> Option<TroubleCause> {
    let lines: Vec<String> = stderr.iter().map(|line| line.to_lowercase()).collect();
    let has = |signs: &[&str]| lines.iter().any(|line| signs.iter().any(|sign| line.contains(sign)));
    let by_table = SIGNS.iter().find(|(_, signs)| has(signs)).map(|(cause, _)| *cause);
    by_table.or_else(|| {
        let is_missing = |line: &String| {
            SETTINGS.iter().any(|word| line.contains(word)) && MISSING.iter().any(|word| line.contains(word))
        };
        lines.iter().any(is_missing).then_some(TroubleCause::Setting)
    })
}

/// The line of a child that tells most of why it ended: the last that speaks of a failure, else the last.
fn last_words(stderr: &[String]) -> Option<String> {
    let telling = |line: &&String| {
        let line = line.trim().to_lowercase();
        !IDLE_BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
    };
    let fails = |line: &&String| {
        let line = line.to_lowercase();
        TELLING.iter().any(|word| line.contains(word))
    };
    let mut lines = stderr.iter().rev().filter(telling);
    let last = lines.clone().next();
    lines.find(fails).or(last).or_else(|| stderr.last()).map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests;
