//! How far each server is trusted, wherever that is written.

use std::collections::BTreeSet;

use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_notation::suggest::{choose, nearest};

use super::Lowering;
use crate::diagnose::Problem;
use crate::file::words::TrustWord;
use crate::file::{ConfigFile, ServerFile, TrustFile};
use crate::node::Span;
use crate::read::{Deliberate, Entries, Field, Written};
use crate::settings::{ServerSettings, Transport};

/// What a `trust` block says.
pub(super) struct Trust {
    pub(super) level: ServerTrust,
    pub(super) title: Option<String>,
    /// As `allowed_tools` of a server, with the place it is written at.
    pub(super) allowed_tools: Option<(Span, BTreeSet<String>)>,
}

impl Lowering<'_> {
    /// The trust of one server, and its tools as far as that block limits them.
    pub(super) fn trust(
        &self,
        alias: &Written<String>,
        server: &ServerFile,
        transport: Option<&Transport>,
        file: &ConfigFile,
    ) -> Trust {
        let elsewhere = entries(file).filter(|(key, _)| names(&key.value, &alias.value, transport));
        let mut blocks: Vec<(Span, &TrustFile)> = Vec::new();
        if let Some(written) = server.trust.read() {
            blocks.push((written.span, &written.value));
        }
        for (key, entry) in elsewhere {
            if let Some(trust) = entry.value() {
                blocks.push((key.span, trust));
            }
        }
        if let [_, (span, _), ..] = blocks.as_slice() {
            self.report(
                *span,
                format!("the trust of server `{}` is written more than once", alias.value),
                "keep one place: `trust` of the server, or one entry of `mcp_servers`",
            );
        }
        match blocks.first() {
            Some((_, block)) => self.trust_block(&alias.value, block),
            None => Trust { level: ServerTrust::default(), title: None, allowed_tools: None },
        }
    }

    fn trust_block(&self, alias: &str, file: &TrustFile) -> Trust {
        let level = |field: &Field<_>| field.value().copied().map(TrustLevel::from);
        let verified = file.verified.value().copied();
        let Deliberate(listed) = &file.allowed_tools;
        let allowed_tools = listed.read().map(|written| (written.span, self.tools(listed, alias)));
        for (key, field) in [("server_trust", &file.server_trust), ("resource_trust", &file.resource_trust)] {
            if let Some(written) = field.read()
                && written.value != TrustWord::None
                && verified == Some(false)
            {
                self.problems.warn(Problem {
                    code: Some("capped-trust"),
                    message: format!("`{key}` counts for nothing beside `verified: false`"),
                    help: Some(
                        "write `verified: true` if you stand for this server, or remove one of the two"
                            .to_owned(),
                    ),
                    span: Some(written.span),
                    also: None,
                });
            }
        }
        self.warn_of_raised_resources(file);
        Trust {
            level: ServerTrust::new(
                level(&file.server_trust),
                level(&file.resource_trust).unwrap_or(TrustLevel::None),
                verified,
            ),
            title: file.label.value().cloned(),
            allowed_tools,
        }
    }

    /// A server passes on what others wrote, so that this is seldom meant.
    fn warn_of_raised_resources(&self, file: &TrustFile) {
        let Some(written) = file.resource_trust.read() else { return };
        if written.value != TrustWord::None && file.verified.value() != Some(&false) {
            self.problems.warn(Problem {
                code: Some("raised-resource-trust"),
                message: "`resource_trust` makes the contents of resources count as if nobody else had written them"
                    .to_owned(),
                help: Some("keep it only if both the server and everything it passes on are yours".to_owned()),
                span: Some(written.span),
                also: None,
            });
        }
    }

    /// Reports entries of `mcp_servers` that belong to no server.
    pub(super) fn unused_trust(&self, file: &ConfigFile, written: &[&str], servers: &[ServerSettings]) {
        for (key, _) in entries(file) {
            let known = |server: &ServerSettings| names(&key.value, &server.name, Some(&server.transport));
            // A server that is wrong in some other way is named all the same.
            if servers.iter().any(known) || written.contains(&key.value.as_str()) {
                continue;
            }
            let urls = servers.iter().filter_map(|server| match &server.transport {
                Transport::Http { url, .. } => Some(url.as_str()),
                Transport::Stdio { .. } => None,
            });
            let candidates: Vec<&str> = written.iter().copied().chain(urls).collect();
            let near = nearest(&key.value, candidates.iter().copied());
            // What is said of an address holds whether or not anybody goes there; a name that nobody has is a slip.
            if near.is_none() && is_address(&key.value) {
                self.problems.warn(Problem {
                    code: Some("unused-trust"),
                    message: format!("no server has the URL `{}`, so this counts for nothing yet", key.value),
                    help: Some("write a server with this `url` under `servers`, or remove it".to_owned()),
                    span: Some(key.span),
                    also: None,
                });
                continue;
            }
            let help = match near {
                Some(_) => choose(&key.value, &candidates),
                None => "write the alias or the URL of a server under `servers`".to_owned(),
            };
            self.report(key.span, format!("no server is called `{0}` or has the URL `{0}`", key.value), help);
        }
    }
}

fn entries(file: &ConfigFile) -> impl Iterator<Item = &(Written<String>, Field<TrustFile>)> {
    file.mcp_servers.value().into_iter().flat_map(|Entries(all)| all)
}

/// Whether an entry's key is a URL and no name.
fn is_address(key: &str) -> bool {
    let (scheme, _, _) = parts(key);
    scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
}

/// Whether an entry's key means this server.
fn names(key: &str, alias: &str, transport: Option<&Transport>) -> bool {
    key == alias || matches!(transport, Some(Transport::Http { url, .. }) if same_address(key, url))
}

/// Whether two URLs are one: capitals before the path, the usual port and a slash at the end make no difference.
fn same_address(one: &str, other: &str) -> bool {
    let ((scheme, place, path), (other_scheme, other_place, other_path)) = (parts(one), parts(other));
    scheme.eq_ignore_ascii_case(other_scheme)
        && place.eq_ignore_ascii_case(other_place)
        && path.trim_end_matches('/') == other_path.trim_end_matches('/')
}

/// Scheme, host with its port if that is not the usual one, and the rest.
fn parts(url: &str) -> (&str, &str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let (place, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let usual = if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
    (scheme, place.strip_suffix(usual).unwrap_or(place), path)
}
