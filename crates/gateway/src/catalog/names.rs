//! Names that every client accepts: `^[a-zA-Z0-9_-]{1,64}$`, unique within a virtual server, the same on every
//! start. Which upstream a name belongs to is looked up, never read out of the name.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use highwater_config::Prefix;

/// The longest name that every client accepts.
const MAX_NAME: usize = 64;

/// The longest name MCP allows a server to use.
const MAX_UPSTREAM_NAME: usize = 128;

/// How many hexadecimal digits tell apart two names that would look the same.
const SUFFIX: usize = 8;

/// Gives each (alias, upstream name) its client-visible name, in the order given. `None` means that the item
/// cannot be shown: its own name is outside MCP, or it collides where nothing may be put in front. Names that are
/// `taken` collide with whoever has them.
pub(crate) fn assign(prefix: Prefix, items: &[(&str, &str)], taken: &[&str]) -> Vec<Option<String>> {
    let mut owners: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, name) in items {
        *owners.entry(name).or_default() += 1;
    }
    let wished: Vec<Option<String>> = items
        .iter()
        .map(|(alias, name)| {
            let collides = taken.contains(name) || owners.get(name).is_some_and(|count| *count > 1);
            match prefix {
                _ if !is_allowed_upstream(name) => None,
                Prefix::Never if collides => None,
                Prefix::Never => Some((*name).to_owned()),
                Prefix::OnCollision if !collides => Some(fit(name, name)),
                Prefix::OnCollision | Prefix::Always => {
                    let full = format!("{alias}__{name}");
                    Some(fit(&full, &full))
                }
            }
        })
        .collect();
    // Two different pairs can wish for one name (`a` + `b__c`, `a__b` + `c`): both get the digest of their pair.
    let mut wishes: BTreeMap<&str, usize> = BTreeMap::new();
    for wish in wished.iter().flatten() {
        *wishes.entry(wish).or_default() += 1;
    }
    wished
        .iter()
        .zip(items)
        .map(|(wish, (alias, name))| {
            let wish = wish.as_deref()?;
            match (prefix, wishes.get(wish)) {
                (Prefix::Never, Some(count)) if *count > 1 => None,
                (_, Some(count)) if *count > 1 => Some(with_suffix(wish, &format!("{alias}\0{name}"))),
                _ => Some(wish.to_owned()),
            }
        })
        .collect()
}

/// Whether MCP allows a server to use this name at all.
fn is_allowed_upstream(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
    !name.is_empty() && name.len() <= MAX_UPSTREAM_NAME && name.bytes().all(allowed)
}

/// The name as it is if every client accepts it, otherwise mapped and marked with the digest of the whole.
fn fit(name: &str, whole: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.len() <= MAX_NAME && name.bytes().all(plain) {
        name.to_owned()
    } else {
        let mapped: String =
            name.bytes().map(|byte| if plain(byte) { char::from(byte) } else { '_' }).collect();
        with_suffix(&mapped, whole)
    }
}

fn with_suffix(name: &str, whole: &str) -> String {
    let kept: String = name.chars().take(MAX_NAME - SUFFIX - 1).collect();
    let digest = digest(&SHA256, whole.as_bytes());
    let hex: String = digest.as_ref().iter().take(SUFFIX / 2).map(|byte| format!("{byte:02x}")).collect();
    format!("{kept}_{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(prefix: Prefix, items: &[(&str, &str)]) -> Vec<String> {
        assign(prefix, items, &[]).into_iter().map(|name| name.unwrap_or_else(|| "-".into())).collect()
    }

    #[test]
    fn a_name_has_its_alias_in_front() {
        assert_eq!(names(Prefix::Always, &[("mail", "send")]), ["mail__send"]);
    }

    #[test]
    fn a_name_that_is_taken_collides() {
        let items = [("a", "call_tool_read"), ("a", "read")];
        let named = |prefix| assign(prefix, &items, &["call_tool_read"]);
        let read = Some("read".to_owned());
        assert_eq!(named(Prefix::OnCollision), [Some("a__call_tool_read".to_owned()), read.clone()]);
        assert_eq!(named(Prefix::Never), [None, read]);
    }

    #[test]
    fn only_colliding_names_are_prefixed_on_collision() {
        let items = [("a", "read"), ("b", "read"), ("b", "write")];
        assert_eq!(names(Prefix::OnCollision, &items), ["a__read", "b__read", "write"]);
    }

    #[test]
    fn without_prefixes_a_collision_hides_both() {
        assert_eq!(names(Prefix::Never, &[("a", "read"), ("b", "read"), ("b", "x")]), ["-", "-", "x"]);
    }

    #[test]
    fn long_and_dotted_names_are_mapped_and_stay_apart() {
        let long = "x".repeat(100);
        let items = [("a", long.as_str()), ("a", "b.c"), ("a", "b/c")];
        let names = names(Prefix::Always, &items);
        for name in &names {
            assert!(
                name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
                "{name}"
            );
        }
        assert_ne!(names[1], names[2]);
    }

    #[test]
    fn two_pairs_that_read_the_same_get_two_names() {
        let names = names(Prefix::Always, &[("a", "b__c"), ("a__b", "c")]);
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn names_outside_mcp_are_not_shown() {
        assert_eq!(
            names(Prefix::Always, &[("a", "with space"), ("a", ""), ("a", "x\u{7}")]),
            ["-", "-", "-"]
        );
    }
}
