//! How far each server is trusted, wherever that is written.

use std::collections::BTreeSet;

use highwater_core::policy::suggest::{choose, nearest};
use highwater_core::trust::{ServerTrust, TrustLevel};

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
        let level = |field: &Field<_>| field.value().copied().map_or(TrustLevel::None, TrustLevel::from);
        let verified = file.verified.value().copied().unwrap_or(false);
        let Deliberate(listed) = &file.allowed_tools;
        let allowed_tools = listed.read().map(|written| (written.span, self.tools(listed, alias)));
        for (key, field) in [("server_trust", &file.server_trust), ("resource_trust", &file.resource_trust)] {
            if let Some(written) = field.read()
                && written.value != TrustWord::None
                && !verified
            {
                self.problems.warn(Problem {
                    code: Some("capped-trust"),
                    message: format!("`{key}` counts for nothing without `verified: true`"),
                    help: Some(
                        "write `verified: true` if you stand for this server, or remove it".to_owned(),
                    ),
                    span: Some(written.span),
                    also: None,
                });
            }
        }
        Trust {
            level: ServerTrust::new(level(&file.server_trust), level(&file.resource_trust), verified),
            title: file.label.value().cloned(),
            allowed_tools,
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
            let help = match nearest(&key.value, candidates.iter().copied()) {
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

/// Whether an entry's key means this server.
fn names(key: &str, alias: &str, transport: Option<&Transport>) -> bool {
    let same_url = |url: &str| url.trim_end_matches('/') == key.trim_end_matches('/');
    key == alias || matches!(transport, Some(Transport::Http { url, .. }) if same_url(url))
}
