//! A server at a URL: the URL and its headers.

use std::net::IpAddr;

use super::listen::{is_host, split_port};
use super::server::{collect, span_of};
use super::{Lowering, Refused};
use crate::file::{KindFile, ServerFile};
use crate::read::{Entries, Written};
use crate::settings::{HttpKind, Transport};

/// Headers that the gateway and its HTTP client set themselves.
const OWN_HEADERS: [&str; 14] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

impl Lowering<'_> {
    pub(super) fn http(&self, url: &Written<String>, file: &ServerFile, subject: &str) -> Option<Transport> {
        self.refuse_key("args", span_of(&file.args), "url", subject);
        self.refuse_key("env", span_of(&file.env), "url", subject);
        self.refuse_key("cwd", span_of(&file.cwd), "url", subject);
        let kind = match file.kind.read() {
            None => HttpKind::Detect,
            Some(Written { value: KindFile::Sse, .. }) => HttpKind::Sse,
            Some(Written { value: KindFile::Stdio, span }) => {
                let help = "remove `type`, or write `command` in place of `url`";
                self.report(*span, format!("{subject} has a `url`, but its `type` is `stdio`"), help);
                HttpKind::Detect
            }
            Some(Written { value: KindFile::Http, .. })
            | Some(Written { value: KindFile::StreamableHttp, .. })
            | Some(Written { value: KindFile::StreamableHttpInCamelCase, .. }) => HttpKind::Streamable,
        };
        let headers = self.headers(file, subject);
        let expanded = self.text(&format!("`url` of {subject}"), url)?;
        let allow_plain = file.allow_plain_http.value().copied().unwrap_or(false);
        if let Err(refused) = check_url(&expanded, allow_plain) {
            self.report(url.span, format!("`url` of {subject} {}", refused.message), refused.help);
            return None;
        }
        Some(Transport::Http { url: expanded, headers: headers?, kind })
    }

    fn headers(&self, file: &ServerFile, subject: &str) -> Option<Vec<(String, String)>> {
        let mut seen = Vec::new();
        let entries = file.headers.value().into_iter().flat_map(|Entries(all)| all);
        collect(entries.map(|(key, written)| {
            let name = key.value.to_ascii_lowercase();
            if let Err(refused) = check_header_name(&name, &seen) {
                self.report(key.span, format!("`headers` of {subject}: {}", refused.message), refused.help);
            }
            seen.push(name.clone());
            let value = self.text(&format!("`headers.{}` of {subject}", key.value), written)?;
            // A line break in a variable would otherwise write headers of its own.
            if !value.chars().all(|c| c == '\t' || c == ' ' || c.is_ascii_graphic()) {
                let help = "a value has printable ASCII characters only; look for a line break at its end";
                self.report(
                    written.span,
                    format!("`headers.{}` of {subject} cannot be sent", key.value),
                    help,
                );
            }
            Some((name, value))
        }))
    }
}

fn check_header_name(name: &str, seen: &[String]) -> Result<(), Refused> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Err(Refused::new(
            format!("`{name}` cannot name a header"),
            "write a name such as `Authorization`",
        ));
    }
    if OWN_HEADERS.contains(&name) || name.starts_with("mcp-") {
        return Err(Refused::new(format!("`{name}` is set by Highwater itself"), "remove it"));
    }
    if seen.iter().any(|other| other == name) {
        return Err(Refused::new(
            format!("`{name}` is listed twice"),
            "remove one of the two; case does not matter",
        ));
    }
    Ok(())
}

/// Judges a URL. What it says never repeats the URL: variables may have put secrets into it.
pub(super) fn check_url(url: &str, allow_plain: bool) -> Result<(), Refused> {
    let example = "write it in full, such as `https://example.com/mcp`";
    let lower = url.to_ascii_lowercase();
    let (plain, rest) = match (lower.strip_prefix("https://"), lower.strip_prefix("http://")) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        _ => return Err(Refused::new("is not an `http` or `https` URL", example)),
    };
    if !url.chars().all(|c| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c)) {
        return Err(Refused::new(
            "contains a character that a URL cannot have",
            "percent-encode it, such as `%20` for a space",
        ));
    }
    if rest.contains('#') {
        return Err(Refused::new("has a fragment, which is never sent", "remove `#` and what follows it"));
    }
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(Refused::new(
            "contains a user name or password",
            "put it into `headers`: `Authorization: \"Basic ${CREDENTIALS}\"`",
        ));
    }
    let (host, port) = split_port(authority);
    if !is_host(host) || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(Refused::new("has no valid host and port", example));
    }
    if plain && !allow_plain && !is_loopback(host) {
        return Err(Refused::new(
            "would send everything unencrypted to another machine",
            "use `https`, or write `allow_plain_http: true` if the network between is yours",
        ));
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_accepted_or_refused_for_one_reason() {
        for (url, reason) in [
            ("https://example.com/mcp", None),
            ("HTTPS://Example.com", None),
            ("https://example.com:8443/mcp?key=%20x", None),
            ("http://localhost:3000/mcp", None),
            ("http://127.0.0.1/mcp", None),
            ("http://[::1]:80/", None),
            ("http://example.com/mcp", Some("would send everything unencrypted to another machine")),
            ("http://localhost.example.com/", Some("would send everything unencrypted to another machine")),
            ("http://127.1/", Some("would send everything unencrypted to another machine")),
            ("http://localhost@example.com/", Some("contains a user name or password")),
            ("http://example.com\\@localhost/", Some("contains a character that a URL cannot have")),
            ("https://user:pass@example.com/", Some("contains a user name or password")),
            ("https://example.com/#x", Some("has a fragment, which is never sent")),
            ("https://example.com/a b", Some("contains a character that a URL cannot have")),
            ("https:///mcp", Some("has no valid host and port")),
            ("https://example.com:port/", Some("has no valid host and port")),
            ("https://[::1/", Some("has no valid host and port")),
            ("example.com/mcp", Some("is not an `http` or `https` URL")),
            ("ws://example.com", Some("is not an `http` or `https` URL")),
            ("", Some("is not an `http` or `https` URL")),
        ] {
            let refused = check_url(url, false).err().map(|refused| refused.message);
            assert_eq!(refused.as_deref(), reason, "{url}");
        }
        assert!(check_url("http://example.com/mcp", true).is_ok());
    }
}
