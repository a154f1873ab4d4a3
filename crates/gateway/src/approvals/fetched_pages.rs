//! The pages that an answer about one page may cover: those of the same host, without a query.

use highwater_mcp::text::{members, quote, unquote};
use highwater_notation::CanonicalArguments;
use serde::{Deserialize, Serialize};

use super::scope::hashed;

/// Pages of one host, fetched in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pages {
    /// With its scheme, and its port where it has one.
    host: String,
    /// The digest of every other argument.
    others: String,
}

// === impl Pages ===

impl Pages {
    /// The pages that the one at this argument is one of; nothing where its address could carry more than a path, or
    /// programs may differ over which host it names.
    pub(crate) fn of(arguments: &CanonicalArguments, url: &str) -> Option<Self> {
        let (mut host, mut others) = (None, String::new());
        for (name, value) in members(arguments.as_str()) {
            if name == url {
                host = host_of(&unquote(value)?);
            } else {
                others.push_str(&format!("{}:{value},", quote(&name)));
            }
        }
        Some(Self { host: host?, others: hashed(&others) })
    }

    /// The host, with its scheme and port.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// How an answer about them is kept. No digest of arguments has a blank in it.
    pub(crate) fn kept(&self) -> String {
        format!("{} {}", self.host, self.others)
    }
}

/// The scheme and host of an address without a query.
fn host_of(url: &str) -> Option<String> {
    let is_plain = |letter: char| {
        letter.is_ascii_graphic() && !matches!(letter, '?' | '#' | '@' | '\\' | '"' | '<' | '>')
    };
    if !url.chars().all(is_plain) {
        return None;
    }
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let host = rest.split('/').next()?.to_ascii_lowercase();
    let is_host =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | ':' | '[' | ']');
    let known = matches!(scheme.as_str(), "http" | "https") && !host.is_empty() && host.chars().all(is_host);
    known.then(|| format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(arguments: &str) -> Option<Pages> {
        Pages::of(&CanonicalArguments::read(Some(arguments)).unwrap(), "url")
    }

    #[test]
    fn pages_of_one_host_are_alike_whatever_their_path() {
        let one = pages(r#"{"url":"https://example.com/a/b.html"}"#).unwrap();
        assert_eq!(pages(r#"{"url":"HTTPS://Example.COM/c"}"#).unwrap(), one);
        assert_eq!(pages(r#"{"url":"https://example.com"}"#).unwrap(), one);
        for other in [
            r#"{"url":"http://example.com/a"}"#,
            r#"{"url":"https://example.com:8443/a"}"#,
            r#"{"url":"https://sub.example.com/a"}"#,
            r#"{"url":"https://example.com.evil.net/a"}"#,
            r#"{"url":"https://example.com/a","headers":"x"}"#,
        ] {
            assert_ne!(pages(other).unwrap(), one, "{other}");
        }
    }

    #[test]
    fn an_address_that_could_carry_more_than_a_path_is_asked_about_each_time() {
        for url in [
            "https://example.com/?q=secret",
            "https://example.com/a#secret",
            "https://user:secret@example.com/",
            "https://example.com\\\\@evil.net/",
            "https://exаmple.com/",
            "ftp://example.com/a",
            "example.com/a",
            "https:///a",
            "https://%65xample.com/",
            "",
        ] {
            assert_eq!(pages(&format!(r#"{{"url":"{url}"}}"#)), None, "{url}");
        }
        assert_eq!(pages(r#"{"url":["https://example.com/"]}"#), None);
        assert_eq!(pages(r#"{"address":"https://example.com/"}"#), None);
    }
}
