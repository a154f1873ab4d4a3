//! Where the gateway listens, and under which names it answers.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use super::Refused;
use crate::settings::Listen;

/// Where the gateway listens unless told otherwise.
pub(super) const DEFAULT: &str = "localhost:7411";

/// A text that names no address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenError {
    written: String,
}

impl ListenError {
    /// What to write instead.
    pub fn help(&self) -> String {
        match self.written.parse::<u16>() {
            Ok(port) => format!("write `localhost:{port}`"),
            Err(_) => "write `localhost:PORT`, `ADDRESS:PORT` or `[IPV6-ADDRESS]:PORT`".to_owned(),
        }
    }
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not an address and a port", self.written)
    }
}

impl std::error::Error for ListenError {}

/// Names other than `localhost` are refused: what they resolve to is not known before it is too late.
impl FromStr for Listen {
    type Err = ListenError;

    fn from_str(text: &str) -> Result<Self, ListenError> {
        let localhost = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
        let address = || text.parse::<SocketAddr>().ok().map(Listen::Address);
        localhost
            .map(|port| Listen::Localhost { port })
            .or_else(address)
            .ok_or_else(|| ListenError { written: text.to_owned() })
    }
}

/// A host name or address, perhaps with a port, as a `Host` header carries it.
pub(super) fn host(text: &str) -> Result<String, Refused> {
    let refuse = || {
        Err(Refused::new(
            format!("`{text}` is not a host that a client can send"),
            "write a name or an address, with a port if the client uses one: `gateway.example.com:8443`",
        ))
    };
    let (name, port) = split_port(text);
    if port.is_some_and(|port| port.parse::<u16>().is_err()) || !is_host(name) {
        return refuse();
    }
    Ok(text.to_ascii_lowercase())
}

/// A scheme and a host, as an `Origin` header carries it.
pub(super) fn origin(text: &str) -> Result<String, Refused> {
    let host_part = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match host_part.map(host) {
        Some(Ok(_)) => Ok(text.to_ascii_lowercase()),
        _ => Err(Refused::new(
            format!("`{text}` is not an origin that a browser can send"),
            "write the scheme, the host and perhaps a port, without a path: `https://app.example.com`",
        )),
    }
}

/// Splits `host:port`; the port is what follows the last colon outside brackets.
pub(super) fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') && !host.is_empty() => (host, Some(port)),
        _ => (text, None),
    }
}

/// A DNS name, an IPv4 address or a bracketed IPv6 address; deliberately narrow, so that nothing that reads
/// the name later can read it differently.
pub(super) fn is_host(name: &str) -> bool {
    if let Some(inside) = name.strip_prefix('[') {
        return inside.strip_suffix(']').is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok());
    }
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_means_both_loopbacks() {
        let listen: Listen = "localhost:7411".parse().unwrap();
        let shown: Vec<_> = listen.addresses().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["127.0.0.1:7411", "[::1]:7411"]);
    }

    #[test]
    fn loopback_is_told_from_the_rest() {
        for (text, loopback) in [
            ("localhost:1", true),
            ("127.0.0.1:1", true),
            ("127.9.9.9:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("192.0.2.1:1", false),
        ] {
            assert_eq!(text.parse::<Listen>().unwrap().is_loopback(), loopback, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in
            ["", "7411", "localhost", "localhost:", "localhost:70000", "example.com:80", "::1:80", "*:80"]
        {
            assert!(text.parse::<Listen>().is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_and_origins_are_what_a_client_can_send() {
        for text in ["example.com", "Example.com:8443", "192.0.2.1", "[2001:db8::1]:80", "my_host"] {
            assert!(host(text).is_ok(), "{text}");
            assert!(origin(&format!("https://{text}")).is_ok(), "{text}");
        }
        for text in [
            "",
            "*",
            "*.example.com",
            "a b",
            "a/b",
            "example.com:",
            "example.com:99999",
            "::1",
            "a..b",
            "http://a",
        ] {
            assert!(host(text).is_err(), "{text}");
            assert!(origin(&format!("https://{text}")).is_err(), "{text}");
        }
        for text in ["example.com", "null", "ftp://example.com", "https://example.com/"] {
            assert!(origin(text).is_err(), "{text}");
        }
    }
}
