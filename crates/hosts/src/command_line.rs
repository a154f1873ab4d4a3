//! The shell command that a host runs for a hook.
//!
//! Hosts run the tool when the program is missing or dies, so the shell turns every failure of a hook that may
//! refuse into exit 2, with a reason: Codex runs the tool where standard error says nothing. A hook that was stopped (`kill -STOP`) would outlast the host's patience, and then the
//! tool runs: a watchdog kills it before that.

use crate::host::{HookName, Host};

/// What a gate does when its program fails.
const REFUSAL: &str = "|| { echo \"the hook of Highwater failed\" >&2; exit 2; }";

/// How our program is started as a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCommand {
    /// The path of the program. Hosts start hooks with a `PATH` of their own, so it should be absolute.
    pub program: String,
    /// Options that every command line gets, such as the data directory.
    pub options: Vec<String>,
    /// Whether `timeout` of coreutils is there to watch over the hook.
    pub watchdog: bool,
}

// === impl HookCommand ===

impl HookCommand {
    /// The command line for one event.
    pub fn line(&self, host: Host, hook: HookName) -> String {
        let mut line = String::new();
        if self.watchdog {
            line.push_str(&format!("timeout -s KILL {} ", hook.deadlines().watchdog_s));
        }
        line.push_str(&quoted(&self.program));
        line.push_str(&tail(host, hook, &self.options));
        line
    }
}

/// Whether a command line of a host's configuration is one of ours, wherever the program lies.
pub fn is_hook_line(line: &str, host: Host) -> bool {
    HookName::ALL.into_iter().any(|hook| {
        let marked = format!(" hook {host} {hook} ");
        let ends = ["|| exit 0", "|| exit 2", REFUSAL];
        line.contains(&marked) && ends.iter().any(|end| line.ends_with(end))
    })
}

fn tail(host: Host, hook: HookName, options: &[String]) -> String {
    let options: String = options.iter().map(|option| format!("{} ", quoted(option))).collect();
    // A hook that only informs says nothing to the user when it fails.
    let otherwise = if hook.is_gate() { REFUSAL } else { "|| exit 0" };
    format!(" hook {host} {hook} {options}{otherwise}")
}

/// A word of a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+:@%,".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(program: &str, options: &[&str], watchdog: bool) -> HookCommand {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        HookCommand { program: program.into(), options, watchdog }
    }

    #[test]
    fn a_gate_fails_closed_and_a_notice_stays_silent() {
        let plain = command("/usr/bin/highwater", &[], false);
        assert_eq!(
            plain.line(Host::ClaudeCode, HookName::PreToolUse),
            "/usr/bin/highwater hook claude-code PreToolUse || { echo \"the hook of Highwater failed\" >&2; exit 2; }"
        );
        let watched = command("/usr/bin/highwater", &["--data-dir", "/srv/my data"], true);
        assert_eq!(
            watched.line(Host::Codex, HookName::PreToolUse),
            "timeout -s KILL 20 /usr/bin/highwater hook codex PreToolUse --data-dir '/srv/my data' \
             || { echo \"the hook of Highwater failed\" >&2; exit 2; }"
        );
        let start = plain.line(Host::Codex, HookName::SessionStart);
        assert_eq!(start, "/usr/bin/highwater hook codex SessionStart || exit 0");
    }

    #[test]
    fn our_own_lines_are_known_again() {
        for host in Host::ALL {
            for hook in HookName::ALL {
                let line = command("/a b/it's", &["--data-dir", "x y"], true).line(host, hook);
                assert!(is_hook_line(&line, host), "{line}");
                let other = if host == Host::Codex { Host::ClaudeCode } else { Host::Codex };
                assert!(!is_hook_line(&line, other));
            }
        }
        // As earlier builds wrote them.
        assert!(is_hook_line("/old/highwater hook codex PreToolUse || exit 2", Host::Codex));
        assert!(!is_hook_line("echo hook claude-code", Host::ClaudeCode));
    }

    #[test]
    fn a_word_stays_one_word() {
        assert_eq!(quoted("it's; rm -rf $HOME"), r"'it'\''s; rm -rf $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
