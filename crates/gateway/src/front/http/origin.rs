//! The checks against pages in a browser that speak to us through a name of their own choosing (DNS rebinding) or from
//! an origin of their own. On by default.

use highwater_config::Settings;
use highwater_http1::headers::{Headers, plain};
use http::StatusCode;

use super::response::{self, Refused};

/// Names by which this machine may be addressed without being configured.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Refuses a request whose `Host` or `Origin` is not ours.
pub(super) fn check(headers: &Headers, settings: &Settings) -> Result<(), Refused> {
    // One Host header, and one that names us: a loopback name, the address we listen on, or one the operator added.
    let mut hosts = headers.get_all("host");
    let host = hosts.next().and_then(plain).filter(|_| hosts.next().is_none());
    let known = host.is_some_and(|host| {
        is_loopback(host) || allowed(host, &settings.allowed_hosts) || is_listen(host, settings)
    });
    if !known {
        return Err(Box::new(response::text(
            StatusCode::FORBIDDEN,
            "this Host is not served here; add it to `allowed_hosts`",
        )));
    }
    for origin in headers.get_all("origin") {
        let origin = plain(origin).unwrap_or_default();
        let local = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"))
            .is_some_and(is_loopback);
        if !local && !allowed(origin, &settings.allowed_origins) {
            return Err(Box::new(response::text(
                StatusCode::FORBIDDEN,
                "this Origin is not served here; add it to `allowed_origins`",
            )));
        }
    }
    Ok(())
}

/// A loopback name with or without a port.
pub(super) fn is_loopback(authority: &str) -> bool {
    LOOPBACK.iter().any(|name| {
        let rest = authority
            .get(..name.len())
            .filter(|start| start.eq_ignore_ascii_case(name))
            .map(|_| authority.get(name.len()..));
        match rest.flatten() {
            Some("") => true,
            Some(port) => port
                .strip_prefix(':')
                .is_some_and(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())),
            None => false,
        }
    })
}

/// The address we were told to listen on is a name of ours, unless it stands for all addresses.
fn is_listen(host: &str, settings: &Settings) -> bool {
    settings
        .listen
        .addresses()
        .iter()
        .any(|address| !address.ip().is_unspecified() && address.to_string() == host)
}

fn allowed(value: &str, list: &[String]) -> bool {
    list.iter().any(|entry| entry.eq_ignore_ascii_case(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_names_are_ours_and_lookalikes_are_not() {
        for host in ["localhost", "LOCALHOST:7411", "127.0.0.1:1", "[::1]", "[::1]:7411"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:",
            "localhost:x",
            "evil.example",
            "",
            "[::1]x",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
