//! Mail addresses, URLs and host names in a text.

use super::Carrier;
use crate::normal::lower;
use crate::top_level::is_top_level;

/// How people keep a program from seeing a stop or an at sign.
const BRACKETED: [(&str, &str); 7] =
    [("[.]", "."), ("(.)", "."), ("{.}", "."), ("[dot]", "."), ("(dot)", "."), ("[at]", "@"), ("(at)", "@")];

/// The text with stops and at signs taken out of their brackets.
pub(super) fn open_brackets(text: &str) -> String {
    let mut opened = text.to_owned();
    if !text.contains(['[', '(', '{']) {
        return opened;
    }
    for (bracketed, plain) in BRACKETED {
        for form in [format!(" {bracketed} "), bracketed.to_owned()] {
            opened = opened.replace(&form, plain).replace(&form.to_uppercase(), plain);
        }
    }
    opened
}

/// The addresses and pages in a text, and the text without them.
pub(super) fn addresses(text: &str) -> (Vec<Carrier>, String) {
    let mut found = Vec::new();
    let mut rest = String::with_capacity(text.len());
    for piece in text.split_inclusive(is_border) {
        let before = found.len();
        let chunk = piece.trim_end_matches(is_border);
        in_chunk(chunk, &mut found);
        if found.len() == before {
            rest.push_str(piece);
        } else {
            rest.push('\n');
        }
    }
    (found, rest)
}

/// The value as a mail address, if it is one and nothing else.
pub(crate) fn mail(composed: &str) -> Option<String> {
    let trimmed = composed.trim();
    let (local, domain) = trimmed.split_once('@')?;
    let is_mail = !local.is_empty() && local.chars().all(is_local) && is_domain(domain);
    is_mail.then(|| lower(trimmed))
}

/// The value as a page, if it is a URL or a host and nothing else.
pub(crate) fn page(composed: &str) -> Option<Carrier> {
    let trimmed = composed.trim();
    if trimmed.is_empty() || trimmed.chars().any(char::is_whitespace) {
        return None;
    }
    if let Some((scheme, after)) = trimmed.split_once("://") {
        return scheme
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '+')
            .then(|| url(after))
            .flatten();
    }
    let name: String = trimmed.chars().take_while(|letter| is_label(*letter) || *letter == '.').collect();
    let (host, length) = host_prefix(&name)?;
    let after = trimmed.get(length..)?;
    let after = after.strip_prefix('.').unwrap_or(after);
    (length == name.trim_end_matches('.').len()
        && (after.is_empty() || after.starts_with([':', '/', '?', '#'])))
    .then(|| Carrier::Page { host, rest: tail(without_port(after)) })
}

/// The host of a page.
pub(crate) fn host_of(carrier: &Carrier) -> Option<&str> {
    match carrier {
        Carrier::Page { host, .. } => Some(host),
        Carrier::Mail(_) | Carrier::Code(_) => None,
    }
}

fn in_chunk(chunk: &str, found: &mut Vec<Carrier>) {
    if let Some((before, after)) = chunk.split_once("://") {
        hosts(before, found);
        found.extend(url(after.trim_end_matches(is_final)));
        return;
    }
    let mut rest = chunk;
    while let Some((before, after)) = rest.split_once('@') {
        let start = before.char_indices().rev().take_while(|(_, letter)| is_local(*letter)).last();
        let (prefix, local) = before.split_at(start.map_or(before.len(), |(at, _)| at));
        let end = after.find(|letter: char| !is_label(letter) && letter != '.').unwrap_or(after.len());
        let domain = after.get(..end).unwrap_or_default().trim_end_matches(['.', '-', '_']);
        let domain = host_prefix(domain).map_or(domain, |(_, length)| domain.get(..length).unwrap_or(domain));
        let name = local.trim_start_matches(['.', '-']);
        hosts(prefix, found);
        if !name.is_empty() && is_domain(domain) {
            found.push(Carrier::Mail(lower(&format!("{name}@{domain}"))));
            rest = after.get(end..).unwrap_or_default();
        } else {
            hosts(local, found);
            rest = after;
        }
    }
    hosts(rest, found);
}

/// The hosts in a text without schemes and at signs; what follows the first one with a path belongs to it.
fn hosts(text: &str, found: &mut Vec<Carrier>) {
    let mut rest = text;
    while let Some(start) = rest.find(is_label) {
        let name_on = rest.get(start..).unwrap_or_default();
        let end = name_on.find(|letter: char| !is_label(letter) && letter != '.').unwrap_or(name_on.len());
        let name = name_on.get(..end).unwrap_or_default();
        let Some((host, length)) = host_prefix(name) else {
            rest = name_on.get(end..).unwrap_or_default();
            continue;
        };
        let after = without_port(name_on.get(length..).unwrap_or_default());
        if after.starts_with(['/', '?', '#']) {
            found.push(Carrier::Page { host, rest: tail(after.trim_end_matches(is_final)) });
            return;
        }
        found.push(Carrier::Page { host, rest: String::new() });
        rest = name_on.get(end..).unwrap_or_default();
    }
}

/// What stands behind `://`: user, host, port and the rest.
fn url(after: &str) -> Option<Carrier> {
    let end = after.find(['/', '?', '#', '\\']).unwrap_or(after.len());
    let authority = after.get(..end)?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(literal) => literal.split(']').next().unwrap_or(literal),
        None => host.split(':').next().unwrap_or(host),
    };
    let host = lower(host.trim_end_matches('.'));
    let host = host.strip_prefix("www.").unwrap_or(&host);
    (!host.is_empty())
        .then(|| Carrier::Page { host: host.to_owned(), rest: tail(after.get(end..).unwrap_or_default()) })
}

/// Path, query and fragment in the form in which they are compared.
fn tail(rest: &str) -> String {
    rest.trim_end_matches('/').to_owned()
}

fn without_port(after: &str) -> &str {
    match after.strip_prefix(':') {
        Some(port) => port.trim_start_matches(|letter: char| letter.is_ascii_digit()),
        None => after,
    }
}

/// The longest beginning of a name with stops that is a host, and its length.
fn host_prefix(name: &str) -> Option<(String, usize)> {
    let name = name.trim_end_matches('.');
    if !name.contains('.') {
        return None;
    }
    let lowered = lower(name);
    let labels: Vec<&str> = lowered.split('.').collect();
    let is_number = |label: &&str| label.parse::<u8>().is_ok();
    if labels.len() == 4 && labels.iter().all(is_number) {
        return Some((lowered.clone(), name.len()));
    }
    let count = (2..=labels.len())
        .rev()
        .find(|count| labels.get(count - 1).is_some_and(|label| is_top_level(label)))?;
    let parts = labels.get(..count)?;
    if parts.iter().any(|label| label.is_empty()) {
        return None;
    }
    let length = name.split('.').take(count).map(str::len).sum::<usize>() + count - 1;
    let host = parts.join(".");
    Some((
        host.strip_prefix("www.").filter(|rest| rest.contains('.')).map(str::to_owned).unwrap_or(host),
        length,
    ))
}

fn is_domain(domain: &str) -> bool {
    domain.contains('.') && domain.split('.').all(|label| !label.is_empty() && label.chars().all(is_label))
}

fn is_label(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '-' || letter == '_'
}

fn is_local(letter: char) -> bool {
    is_label(letter) || matches!(letter, '.' | '+' | '%')
}

/// What ends an address in running text.
fn is_border(letter: char) -> bool {
    letter.is_whitespace()
        || letter.is_control()
        || matches!(
            letter,
            '<' | '>'
                | '"'
                | '\''
                | '`'
                | '('
                | ')'
                | '['
                | ']'
                | '{'
                | '}'
                | '|'
                | '“'
                | '”'
                | '‘'
                | '«'
                | '»'
                | '„'
                | '，'
                | '、'
                | '「'
                | '」'
        )
}

/// What ends a sentence rather than an address.
fn is_final(letter: char) -> bool {
    matches!(letter, '.' | ',' | ';' | ':' | '!' | '?' | '…' | '*')
}
