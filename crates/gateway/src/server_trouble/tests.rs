//! What is said of servers that do not work, for each way in which they do not.

use std::collections::BTreeMap;
use std::time::Duration;

use highwater_core::id::UpstreamId;
use highwater_upstream::{EraSetting, Retries, Timeouts};

use super::*;

fn spec(transport: Transport) -> ServerSpec {
    let while_long = Duration::from_secs(60);
    ServerSpec {
        id: UpstreamId::new("x"),
        transport,
        era: EraSetting::Auto,
        timeouts: Timeouts { start: while_long, probe: while_long, call: while_long, silence: while_long },
        concurrency: 1,
        max_reply: 1,
        retries: Retries::NEVER,
        ordered_writes: false,
    }
}

fn child(command: &str) -> ServerSpec {
    spec(Transport::Stdio { command: command.to_owned(), args: Vec::new(), env: BTreeMap::new(), cwd: None })
}

fn web(headers: &[(&str, &str)]) -> ServerSpec {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    spec(Transport::Http { url: "https://example.com/mcp".to_owned(), headers })
}

/// What is said of a child that ended after these lines.
fn after(command: &str, stderr: &[&str]) -> ServerTrouble {
    let lines: Vec<String> = stderr.iter().map(|line| (*line).to_owned()).collect();
    ServerTrouble::of(&child(command), Some(&Cause::Gone("exit code 1".to_owned())), &lines)
}

#[test]
fn what_children_write_before_they_end_is_told_apart() {
    use TroubleCause::{Certificate, Ended, Name, Package, Proxy, Refused, Setting, TimedOut};
    for (line, cause) in [
        ("  Caused by: invalid peer certificate: UnknownIssuer", Certificate),
        (
            "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed",
            Certificate,
        ),
        ("npm error code UNABLE_TO_GET_ISSUER_CERT_LOCALLY", Certificate),
        ("Error: self-signed certificate in certificate chain", Certificate),
        ("x509: certificate signed by unknown authority", Certificate),
        ("OSError('Tunnel connection failed: 407 Proxy Authentication Required')", Proxy),
        ("npm error 404 Not Found - GET https://registry.npmjs.org/@x%2fy", Package),
        ("  Because mcp-server-tmie was not found in the package registry", Package),
        ("Error: getaddrinfo ENOTFOUND api.example.com", Name),
        ("Error: connect ECONNREFUSED 127.0.0.1:5432", Refused),
        ("Error: connect ETIMEDOUT 10.0.0.1:443", TimedOut),
        ("GITHUB_PERSONAL_ACCESS_TOKEN not set", Setting),
        ("Please set the BRAVE_API_KEY environment variable: it is required", Setting),
        ("Segmentation fault", Ended),
    ] {
        let trouble = after("uvx", &[line]);
        assert_eq!(trouble.cause, cause, "{line}");
        assert_eq!(trouble.last_words.as_deref(), Some(line.trim()));
        assert_eq!(trouble.fix.is_none(), cause == Ended, "{line}");
    }
}

#[test]
fn the_variable_that_helps_is_the_one_that_the_program_reads() {
    let fix = |command| after(command, &["UNABLE_TO_VERIFY_LEAF_SIGNATURE"]).fix.unwrap_or_default();
    assert!(fix("/usr/bin/npx").starts_with("set NODE_EXTRA_CA_CERTS to"), "{}", fix("/usr/bin/npx"));
    assert!(fix("uvx").starts_with("set SSL_CERT_FILE to"), "{}", fix("uvx"));
}

#[test]
fn a_path_that_only_a_shell_understands_is_told() {
    let mut spec = child("ls");
    if let Transport::Stdio { args, .. } = &mut spec.transport {
        args.push("~/notes".to_owned());
    }
    let lines = ["ls: cannot access '~/notes': No such file or directory".to_owned()];
    let trouble = ServerTrouble::of(&spec, Some(&Cause::Gone("exit code 2".to_owned())), &lines);
    assert_eq!(trouble.fix.as_deref(), Some("nothing expands `~/notes` here: write `${HOME}/notes`"));
}

#[test]
fn the_last_words_are_those_that_tell_something() {
    let trouble = after(
        "node",
        &[
            "Error: Cannot find module 'x'",
            "    at Module._load (node:internal)",
            "  code: 'MODULE_NOT_FOUND',",
            "",
            "Node.js v22.1.0",
        ],
    );
    // The last line that speaks of a failure, and not the version or the stack.
    assert_eq!(trouble.last_words.as_deref(), Some("Error: Cannot find module 'x'"));
    let trouble = after(
        "npx",
        &["npm error 404 Not Found", "npm error A complete log of this run can be found in: /x"],
    );
    assert_eq!(trouble.last_words.as_deref(), Some("npm error 404 Not Found"));
    assert_eq!(after("x", &["bye"]).last_words.as_deref(), Some("bye"));
    assert_eq!(after("x", &[]).last_words, None);
}

#[test]
fn a_missing_program_is_told_where_it_was_looked_for_and_where_it_comes_from() {
    let missing = |command: &str, searched: Option<&str>, hint| {
        let cause =
            Cause::NoProgram { command: command.to_owned(), searched: searched.map(str::to_owned), hint };
        assert!(!cause.to_string().contains("/opt/bin"), "a model need not know the search path: {cause}");
        let trouble = ServerTrouble::of(&child(command), Some(&cause), &[]);
        assert_eq!(trouble.cause, TroubleCause::NotFound);
        trouble.fix.unwrap_or_default()
    };
    assert_eq!(
        missing("uvx", Some("/usr/bin:/opt/bin"), "; it comes with uv"),
        "install it (it comes with uv), or write its whole path as `command`; it was looked for in /usr/bin, /opt/bin"
    );
    assert!(missing("uvx mcp-server-time", Some("/usr/bin"), "").contains("write `command: uvx`"));
    assert!(missing("./x", None, "").contains("`cwd`"));
    assert!(missing("x", Some(""), "").contains("`PATH` under `env`"));
}

#[test]
fn what_servers_over_http_answer_is_told_as_what_it_is() {
    let of = |cause: Cause, spec: &ServerSpec| {
        let trouble = ServerTrouble::of(spec, Some(&cause), &[]);
        (trouble.cause, trouble.fix.unwrap_or_default())
    };
    let (open, closed) = (web(&[]), web(&[("Authorization", "Bearer x")]));
    for (cause, spec, word, words) in [
        (Cause::Status(401), &open, TroubleCause::Token, "headers: { Authorization:"),
        (Cause::Status(401), &closed, TroubleCause::Token, "is not accepted"),
        (Cause::WantsOauth, &open, TroubleCause::Oauth, "OAuth is not supported yet; if it takes a token"),
        (Cause::WantsOauth, &closed, TroubleCause::Oauth, "OAuth is not supported yet, and the token"),
        (Cause::Status(403), &closed, TroubleCause::Forbidden, "may not do this"),
        (Cause::Status(404), &open, TroubleCause::Path, "the path of its `url`"),
        (Cause::Status(301), &open, TroubleCause::Path, "it has moved"),
        (Cause::Status(503), &open, TroubleCause::Overloaded, "tried again"),
        (Cause::WebPage, &open, TroubleCause::WebPage, "the path of its `url`"),
        (Cause::NoConnection(NoConnection::NoName), &open, TroubleCause::Name, "the host of its `url`"),
        (Cause::NoConnection(NoConnection::Refused), &open, TroubleCause::Refused, "nobody listens there"),
        (
            Cause::NoConnection(NoConnection::Certificate("UnknownIssuer")),
            &open,
            TroubleCause::Certificate,
            "set SSL_CERT_FILE",
        ),
        (
            Cause::NoConnection(NoConnection::Certificate("Expired")),
            &open,
            TroubleCause::Certificate,
            "its operator",
        ),
    ] {
        let (told, fix) = of(cause.clone(), spec);
        assert_eq!(told, word, "{cause:?}");
        assert!(fix.contains(words), "{cause:?}: {fix}");
    }
}

#[test]
fn a_slow_first_start_is_no_riddle() {
    let silent = |command| {
        let cause = Cause::SilentStart(Duration::from_secs(30));
        ServerTrouble::of(&child(command), Some(&cause), &[]).fix.unwrap_or_default()
    };
    assert!(silent("npx").contains("fetches it"), "{}", silent("npx"));
    assert!(silent("my-tool").contains("is it an MCP server?"), "{}", silent("my-tool"));
}
