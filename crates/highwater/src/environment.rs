//! The environment: read here and nowhere else.

use std::path::PathBuf;

/// What a child gets of our environment without being told to. Enough to find programs, a home and a language;
/// nothing in which people keep secrets.
const SAFE: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TMPDIR",
    "TZ",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Beginnings of further such names.
const SAFE_BEGINNINGS: &[&str] = &["LC_"];

/// A variable. One that is not text counts as missing.
#[expect(clippy::disallowed_methods, reason = "this is the place where the environment is read")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A variable that names a directory. As the XDG rules say, one that is not absolute counts as missing.
pub(crate) fn directory(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The variables that every child gets.
pub(crate) fn for_children() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_safe(name))
        .collect()
}

fn is_safe(name: &str) -> bool {
    SAFE.contains(&name) || SAFE_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_get_no_secrets_unasked() {
        for name in ["PATH", "HOME", "LC_ALL", "LANG", "TMPDIR", "XDG_CACHE_HOME"] {
            assert!(is_safe(name), "{name}");
        }
        for name in
            ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"]
        {
            assert!(!is_safe(name), "{name}");
        }
    }
}
