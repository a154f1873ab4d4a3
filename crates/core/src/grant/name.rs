//! Names of tokens. A token's name is its principal's, so it must not be one that we give ourselves.

/// Principals that have no token of their own.
const RESERVED: [&str; 5] = ["agent", "anonymous", "highwater", "local", "operator"];

/// The longest name.
pub const LONGEST_NAME: usize = 64;

/// What a name may be, for people.
pub const NAME_RULE: &str =
    "a name has at most 64 letters, digits, `_`, `-` and `.`, and starts with a letter or digit";

/// Why a token cannot have this name, or nothing if it can.
pub fn name_fault(name: &str) -> Option<&'static str> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let fits = (1..=LONGEST_NAME).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(allowed);
    if !fits {
        Some("cannot be used as a name")
    } else if RESERVED.contains(&name) {
        Some("is a name that Highwater uses itself")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_plain_and_nobody_elses() {
        for name in ["a", "reporting-bot", "my.bot_2", "my-read-only-agent", &"a".repeat(64)] {
            assert_eq!(name_fault(name), None, "{name}");
        }
        for name in ["", "-a", "a/b", "a b", "é", "agent", "local", &"a".repeat(65)] {
            assert!(name_fault(name).is_some(), "{name}");
        }
    }
}
