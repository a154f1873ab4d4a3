//! How a server is reached, as people are shown it: whole, but for what looks like a secret. Whoever approves a program
//! should see what it is started with.

use highwater_config::{ServerSettings, Transport};
use highwater_pins::visible;

/// What stands in place of a secret.
const MASK: &str = "***";

/// Words in the name of an option, a variable or a parameter that holds a secret.
const SECRET_NAMES: [&str; 11] = [
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "apikey",
    "api-key",
    "api_key",
    "credential",
    "auth",
    "bearer",
];

/// What the secrets of common services begin with.
const SECRET_STARTS: [&str; 10] =
    ["sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xox", "AKIA", "eyJ", "npm_", "hf_"];

/// So long is no word, and what is as long and mixed is a key.
const LONG: usize = 24;

/// The command line or the address of a server, with secrets masked.
pub(crate) fn reached_words(server: &ServerSettings) -> String {
    match &server.transport {
        Transport::Stdio { command, args, .. } => {
            let mut words = vec![quoted(command)];
            words.extend(masked_arguments(args).iter().map(|argument| quoted(argument)));
            words.join(" ")
        }
        Transport::Http { url, .. } => visible(&masked_url(url)),
    }
}

/// Arguments of a program with secrets masked.
fn masked_arguments(arguments: &[String]) -> Vec<String> {
    let mut masked = Vec::with_capacity(arguments.len());
    let mut is_value = false;
    for argument in arguments {
        let was_value = std::mem::take(&mut is_value);
        masked.push(match argument.split_once('=') {
            _ if was_value && !argument.starts_with('-') => MASK.to_owned(),
            Some((name, value)) if is_secret_name(name) && !value.is_empty() => format!("{name}={MASK}"),
            Some((name, value)) if !argument.contains("://") => format!("{name}={}", masked_text(value)),
            Some(_) => masked_text(argument),
            None => {
                is_value = argument.starts_with('-') && is_secret_name(argument);
                masked_text(argument)
            }
        });
    }
    masked
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| name.contains(secret))
        || name.split(['-', '_']).any(|word| word == "key" || word == "pat")
}

/// A text, or a mask where it looks like a secret; of an address the parts that hold one.
fn masked_text(text: &str) -> String {
    if text.contains("://") {
        return masked_url(text);
    }
    let mut masked: Vec<&str> = Vec::new();
    // All that stands behind the name of a header that holds a secret is one.
    let mut is_value = false;
    for word in text.split(' ') {
        masked.push(if is_value || looks_secret(word) { MASK } else { word });
        is_value |=
            word.ends_with(':') && is_secret_name(word) || matches!(word, "Bearer" | "Basic" | "bearer");
    }
    masked.join(" ")
}

fn looks_secret(word: &str) -> bool {
    let starts = SECRET_STARTS.iter().any(|start| {
        word.strip_prefix(start).is_some_and(|rest| rest.len() >= 8 && !rest.contains(['/', '.', ' ']))
    });
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '=');
    let mixed = word.len() >= LONG
        && word.chars().all(plain)
        && word.chars().any(|c| c.is_ascii_digit())
        && word.chars().filter(|c| c.is_ascii_digit()).count() * 8 >= word.len()
        && word.chars().any(|c| c.is_ascii_alphabetic());
    starts || mixed || (word.starts_with("eyJ") && word.len() >= LONG)
}

/// An address without the password and the values of its query; a path may hold a key as well.
fn masked_url(url: &str) -> String {
    let (address, fragment) = url.split_once('#').map_or((url, None), |(a, f)| (a, Some(f)));
    let (address, query) = address.split_once('?').map_or((address, None), |(a, q)| (a, Some(q)));
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = match host.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => host.to_owned(),
    };
    let mut masked = format!("{scheme}://{host}");
    if let Some(path) = path {
        let parts = path.split('/').map(|part| if looks_secret(part) { MASK } else { part });
        masked.push('/');
        masked.push_str(&parts.collect::<Vec<_>>().join("/"));
    }
    if let Some(query) = query {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) => format!("{name}={MASK}"),
            None => MASK.to_owned(),
        });
        masked.push('?');
        masked.push_str(&pairs.collect::<Vec<_>>().join("&"));
    }
    if fragment.is_some() {
        masked.push('#');
        masked.push_str(MASK);
    }
    masked
}

/// A word of a command line as a shell would take it, with what people do not see made visible.
fn quoted(word: &str) -> String {
    let word = visible(word);
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@,+%*~?&#".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(arguments: &[&str]) -> String {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        masked_arguments(&arguments).join(" ")
    }

    #[test]
    fn what_looks_like_a_secret_is_masked_and_nothing_else() {
        for (arguments, shown) in [
            (&["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/src"][..], None),
            (&["mcp-server-git", "--repository", "/srv/repository-of-things-2024"], None),
            (&["--token", "hunter2", "--verbose"], Some("--token *** --verbose")),
            (&["--api-key=hunter2"], Some("--api-key=***")),
            (&["API_TOKEN=hunter2"], Some("API_TOKEN=***")),
            (&["--header", "Authorization: Bearer abc"], Some("--header Authorization: *** ***")),
            (&["postgres://ada:pw@db/notes?sslmode=x"], Some("postgres://***@db/notes?sslmode=***")),
            (&["ghp_0123456789abcdefABCDEF"], Some("***")),
            (&["A1b2C3d4E5f6G7h8I9j0K1l2"], Some("***")),
            (&["https://x.example/mcp/A1b2C3d4E5f6G7h8I9j0K1l2"], Some("https://x.example/mcp/***")),
        ] {
            let shown = shown.map_or_else(|| arguments.join(" "), str::to_owned);
            assert_eq!(masked(arguments), shown);
        }
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_split_it() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("--root=/srv"), "--root=/srv");
        assert_eq!(quoted("a\u{200b}"), "'a⟨U+200B⟩'");
    }
}
