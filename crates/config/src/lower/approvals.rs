//! How people are asked, and who must sign.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use highwater_core::approval::Quorum;
use highwater_core::grant::{NAME_RULE, ToolPattern, name_fault};
use highwater_core::id::UserId;
use highwater_receipts::AuditorKey;

use super::listen::{self, ListenError};
use super::remote::check_url;
use super::{Lowering, Refused};
use crate::file::{ApprovalsFile, QuorumFile, ToolApprovalFile, WebhookFile};
use crate::human::{Period, Scalar};
use crate::read::{Entries, Field, Written};
use crate::settings::{ApprovalSettings, Listen, OWNER, ToolApproval, Webhook};

/// The word for no page.
const NONE: &str = "none";

impl Lowering<'_> {
    pub(super) fn approvals(&self, file: &Field<ApprovalsFile>) -> ApprovalSettings {
        let usual = ApprovalSettings::default();
        let Some(file) = file.value() else { return usual };
        let public_url = file.public_url.read().and_then(|written| {
            let url = self.text("`approvals.public_url`", written)?;
            self.refused(written, public_origin(&url))
        });
        let listen = match file.listen.read() {
            None => usual.listen,
            Some(written) => self.page(written, file.public_url.is_absent()),
        };
        let chosen = self.hold("`approvals.hold`", &file.hold);
        let hold = chosen.unwrap_or(usual.hold);
        let with_progress = self
            .hold("`approvals.hold_with_progress`", &file.hold_with_progress)
            .unwrap_or(usual.hold_with_progress);
        let (authenticators, authenticator_files) = self.authenticators(file);
        let auditor_key = file.auditor_key.read().and_then(|written| {
            let key = AuditorKey::parse(&written.value);
            if key.is_none() {
                let help = "write the public key that `highwater receipts keygen` prints: 43 characters";
                self.report(written.span, "`approvals.auditor_key` is no public key", help);
            }
            key
        });
        ApprovalSettings {
            listen,
            // Whoever has a name for the page counts on it being there.
            is_chosen: !(file.listen.is_absent() && file.public_url.is_absent()),
            public_url,
            extra_origins: self.each(&file.extra_origins, |origin| listen::origin(&origin.value)),
            flow: file.flow.value().copied().unwrap_or_default(),
            hold,
            hold_with_link: chosen.unwrap_or(usual.hold_with_link),
            hold_with_progress: with_progress.max(hold),
            open_browser: file.open_browser.value().copied().unwrap_or(usual.open_browser),
            notify: file.notify.value().copied().unwrap_or(usual.notify),
            webhook: self.webhook(&file.webhook),
            tools: self.tool_approvals(&file.tools, file.auditor_key.is_absent()),
            authenticators,
            authenticator_files,
            auditor_key,
            recovery_delay: self
                .wait("`approvals.recovery_delay`", &file.recovery_delay)
                .unwrap_or(usual.recovery_delay),
        }
    }

    /// The user whose agent a token is.
    pub(super) fn user(&self, subject: &str, field: &Field<String>) -> UserId {
        let Some(written) = field.read() else { return UserId::new(OWNER) };
        self.user_name(subject, written);
        UserId::new(written.value.as_str())
    }

    fn user_name(&self, subject: &str, written: &Written<String>) {
        // Our own names are no names of tokens, and one of them is the user who is there from the start.
        if written.value != OWNER
            && let Some(fault) = name_fault(&written.value)
        {
            self.report(written.span, format!("{subject}: `{}` {fault}", written.value), NAME_RULE);
        }
    }

    fn page(&self, written: &Written<Scalar>, unnamed: bool) -> Option<Listen> {
        if written.value.0 == NONE {
            return None;
        }
        let listen: Listen = written
            .value
            .0
            .parse()
            .map_err(|error: ListenError| {
                let help = format!("{}, or `none`", error.help());
                self.report(written.span, format!("`approvals.listen`: {error}"), help);
            })
            .ok()?;
        if unnamed && !listen.is_loopback() {
            let message =
                format!("no browser makes passkeys for `{listen}`: it is neither this machine nor a name");
            let help = "add `public_url: https://NAME`, or listen on `localhost`";
            self.report(written.span, message, help);
        }
        Some(listen)
    }

    fn webhook(&self, field: &Field<WebhookFile>) -> Option<Webhook> {
        let written = field.read()?;
        let Some(place) = written.value.url.read() else {
            if written.value.url.is_absent() {
                let help = "write where messages go: `url: https://…`";
                self.report(written.span, "`approvals.webhook` has no `url`", help);
            }
            return None;
        };
        let url = self.text("`approvals.webhook.url`", place)?;
        if let Err(refused) = check_url(&url, false) {
            let help = "write it in full, with `https` for every other machine than this";
            self.report(place.span, format!("`approvals.webhook.url` {}", refused.message), help);
            return None;
        }
        let secret = match &written.value.secret {
            Field::Absent => None,
            Field::Broken => return None,
            Field::Read(secret) => {
                let text = self.text("`approvals.webhook.secret`", secret)?;
                let Some(key) = webhook_key(&text) else {
                    let help = "use `whsec_` and the base64 of at least 16 bytes, or a text of at least 16";
                    self.report(secret.span, "`approvals.webhook.secret` is no secret", help);
                    return None;
                };
                Some(key)
            }
        };
        Some(Webhook { url, secret })
    }

    fn hold(&self, subject: &str, field: &Field<Period>) -> Option<Duration> {
        let Written { span, value: Period(time) } = field.read()?;
        if *time > ApprovalSettings::LONGEST_HOLD {
            let help = "write at most `5m`: after that the question itself has ended";
            self.report(*span, format!("{subject} is too long"), help);
        }
        Some(*time)
    }

    fn tool_approvals(
        &self,
        field: &Field<Entries<Field<ToolApprovalFile>>>,
        no_auditor: bool,
    ) -> Vec<ToolApproval> {
        let mut tools = Vec::new();
        for (glob, entry) in field.value().into_iter().flat_map(|Entries(all)| all) {
            let Some(pattern) = ToolPattern::new(&glob.value) else {
                self.report(glob.span, "a glob of `approvals.tools` is too long", "shorten it");
                continue;
            };
            let absent = ToolApprovalFile::default();
            let entry = match entry {
                Field::Absent => &absent,
                Field::Broken => continue,
                Field::Read(read) => &read.value,
            };
            let sensitive = entry.sensitive.value().copied();
            if sensitive == Some(true) && no_auditor {
                let message =
                    format!("`{}` is sensitive, and receipts of it can be sealed for nobody", glob.value);
                let help = "add `auditor_key` to `approvals`; `highwater receipts keygen` makes one";
                self.report(glob.span, message, help);
            }
            let quorum = entry.quorum.read().and_then(|written| self.quorum(glob, written));
            tools.push(ToolApproval {
                pattern,
                class: entry.class.value().copied().unwrap_or_default().into(),
                quorum,
                delegable: entry.delegable.value().copied(),
                sensitive,
            });
        }
        tools
    }

    fn quorum(&self, glob: &Written<String>, written: &Written<QuorumFile>) -> Option<Quorum> {
        let (file, subject) = (&written.value, format!("the quorum of `{}`", glob.value));
        let names = match &file.approvers {
            Field::Broken => return None,
            Field::Read(names) if !names.value.is_empty() => &names.value,
            Field::Absent | Field::Read(_) => {
                self.report(
                    written.span,
                    format!("{subject} has no `approvers`"),
                    "name the users who may sign",
                );
                return None;
            }
        };
        names.iter().for_each(|name| self.user_name(&subject, name));
        let approvers = self.each(&file.approvers, |name| Ok(name.value.clone()));
        let approvers: BTreeSet<UserId> = approvers.into_iter().map(UserId::new).collect();
        if file.n.is_absent() {
            let help = format!("write `n`, a number from 1 to {}", approvers.len());
            self.report(written.span, format!("{subject} does not say how many people"), help);
            return None;
        }
        let n = self.count(&format!("`n` of {subject}"), &file.n, 1, approvers.len())?;
        Some(Quorum {
            n,
            approvers,
            requester_counts: file.requester_counts.value().copied().unwrap_or(false),
        })
    }

    fn refused(&self, written: &Written<String>, judged: Result<String, Refused>) -> Option<String> {
        judged.map_err(|refused| self.report(written.span, refused.message, refused.help)).ok()
    }
}

/// The key in a secret of a webhook, as the Standard Webhooks write it.
fn webhook_key(text: &str) -> Option<Vec<u8>> {
    const SHORTEST: usize = 16;
    let key = match text.strip_prefix("whsec_") {
        Some(encoded) => STANDARD.decode(encoded).ok()?,
        None => text.as_bytes().to_vec(),
    };
    (key.len() >= SHORTEST).then_some(key)
}

/// An origin that browsers make passkeys for, as they write it.
fn public_origin(url: &str) -> Result<String, Refused> {
    let refuse =
        |why: &str, help: &'static str| Err(Refused::new(format!("`approvals.public_url` {why}"), help));
    let lower = url.to_ascii_lowercase();
    let Some((scheme, rest)) =
        lower.split_once("://").filter(|(scheme, _)| matches!(*scheme, "https" | "http"))
    else {
        return refuse("does not begin with `https://`", WHOLE_URL);
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains(['?', '#']) {
        return refuse("has a query or a fragment", NO_PATH);
    }
    if rest.contains('/') {
        return refuse("has a path", NO_PATH);
    }
    if rest.contains('@') {
        return refuse("has the name of a user", WHOLE_URL);
    }
    let (host, port) = listen::split_port(rest);
    if host.starts_with('[') || host.parse::<IpAddr>().is_ok() {
        return refuse("is an address, and browsers make passkeys for names alone", NAME);
    }
    if listen::origin(&format!("{scheme}://{rest}")).is_err() {
        return refuse("is not an origin", WHOLE_URL);
    }
    match (scheme, host) {
        (_, "localhost") => {}
        ("http", _) => {
            return refuse("is not `https`, and browsers make passkeys on secure pages alone", WHOLE_URL);
        }
        _ if !host.contains('.') => {
            return refuse("has a name without a dot, for which browsers make no passkeys", NAME);
        }
        _ if host.ends_with(".local") => {
            return refuse("has a name under `.local`, for which browsers make no passkeys", NAME);
        }
        _ => {}
    }
    // Browsers leave the usual port out, and what they sign is compared letter by letter.
    let usual = if scheme == "https" { "443" } else { "80" };
    Ok(match port.filter(|port| *port != usual) {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    })
}

/// What to write for `public_url`.
const WHOLE_URL: &str = "write `https`, a full name and perhaps a port: `https://approve.example.com`";
const NO_PATH: &str =
    "the page is at the root of its origin: give it a name or a port of its own, and end the URL there";
const NAME: &str =
    "use a full name that leads to this machine, such as `https://approve.example.com`, or `localhost`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_signed_with_a_real_secret() {
        assert_eq!(webhook_key("whsec_MDEyMzQ1Njc4OWFiY2RlZg==").as_deref(), Some(&b"0123456789abcdef"[..]));
        assert_eq!(webhook_key("0123456789abcdef").as_deref(), Some(&b"0123456789abcdef"[..]));
        for none in ["", "short", "whsec_", "whsec_MDEy", "whsec_not base64 at all, but long"] {
            assert_eq!(webhook_key(none), None, "{none}");
        }
    }

    #[test]
    fn a_page_elsewhere_needs_a_name_that_browsers_accept() {
        for (url, accepted) in [
            ("https://approve.example.com", Some("https://approve.example.com")),
            ("https://Approve.Example.com:8443/", Some("https://approve.example.com:8443")),
            ("http://approve.example.com", None),
            ("https://approve.example.com:443", Some("https://approve.example.com")),
            ("http://localhost:9000", Some("http://localhost:9000")),
            ("http://localhost:80/", Some("http://localhost")),
            ("https://localhost", Some("https://localhost")),
            ("http://127.0.0.1:9000", None),
            ("ftp://approve.example.com", None),
            ("https://approve.example.com?a=b", None),
            ("https://approve.example.com/#a", None),
            ("https://approve.example.com:port", None),
            ("https://approve.example.com/page", None),
            ("https://192.0.2.1", None),
            ("https://[2001:db8::1]:8443", None),
            ("https://intranet", None),
            ("https://printer.local", None),
            ("https://me@example.com", None),
            ("", None),
        ] {
            assert_eq!(public_origin(url).ok().as_deref(), accepted, "{url}");
        }
    }

    #[test]
    fn each_way_in_which_a_public_url_cannot_be_is_named() {
        for (url, named) in [
            ("http://approve.example.com", "not `https`"),
            ("approve.example.com", "does not begin"),
            ("https://approve.example.com/page", "has a path"),
            ("https://approve.example.com/?a", "query"),
            ("https://192.0.2.1:8443", "an address"),
            ("https://intranet", "without a dot"),
            ("https://printer.local", "`.local`"),
            ("https://me@example.com", "name of a user"),
        ] {
            let refused = public_origin(url).unwrap_err();
            assert!(refused.message.contains(named), "{url}: {}", refused.message);
        }
    }
}
