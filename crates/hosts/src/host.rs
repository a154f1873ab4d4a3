//! The hosts that are known, their hook events by name, and how long each may take.

use std::fmt;

/// An agent host: the program that runs the model's tools and calls our hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// OpenAI's Codex.
    Codex,
}

/// A hook event by the name that hosts use for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookName {
    SessionStart,
    SessionEnd,
    UserPromptSubmit,
    UserPromptExpansion,
    PreToolUse,
    PermissionRequest,
    PostToolUse,
    PostToolUseFailure,
    PostToolBatch,
    SubagentStart,
    SubagentStop,
    InstructionsLoaded,
    Elicitation,
    ElicitationResult,
    ConfigChange,
    PreCompact,
    PostCompact,
    Stop,
}

/// The time limits of one hook, each shorter than the next. The host lets the tool run when its own limit
/// passes, so it must never be the one that ends the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// When `highwater hook` answers by itself, in milliseconds.
    pub answer_ms: u64,
    /// When the watchdog kills a hook that was stopped, in seconds.
    pub watchdog_s: u64,
    /// The `timeout` written into the host's configuration, in seconds.
    pub host_s: u64,
}

/// A version of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u32; 3]);

// === impl Version ===

impl Version {
    /// The first version in what a program says of itself, such as `codex-cli 0.166.0`.
    pub fn find(text: &str) -> Option<Self> {
        text.split(|character: char| !character.is_ascii_digit() && character != '.').find_map(|word| {
            let mut numbers = word.split('.').map(str::parse);
            match (numbers.next(), numbers.next(), numbers.next()) {
                (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch))) => Some(Self([major, minor, patch])),
                _ => None,
            }
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(formatter, "{major}.{minor}.{patch}")
    }
}

// === impl Host ===

impl Host {
    /// Every host that can be connected.
    pub const ALL: [Self; 2] = [Self::ClaudeCode, Self::Codex];

    /// The name on our command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// The name that people know.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
        }
    }

    /// The host of a name on our command line.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.name() == name)
    }

    /// The program by which people start it.
    pub const fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
        }
    }

    /// The oldest and the newest version that it was tested with. Older ones do not tell what we need.
    pub const fn tested_versions(self) -> (Version, Version) {
        match self {
            Self::ClaudeCode => (Version([2, 1, 197]), Version([2, 1, 325])),
            Self::Codex => (Version([0, 166, 0]), Version([0, 166, 0])),
        }
    }

    /// The events that this host has.
    pub const fn hooks(self) -> &'static [HookName] {
        use HookName::*;
        match self {
            Self::ClaudeCode => &HookName::ALL,
            Self::Codex => &[
                SessionStart,
                SessionEnd,
                UserPromptSubmit,
                PreToolUse,
                PermissionRequest,
                PostToolUse,
                SubagentStart,
                SubagentStop,
                PreCompact,
                PostCompact,
                Stop,
            ],
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

// === impl HookName ===

impl HookName {
    /// Every event that some host has.
    pub const ALL: [Self; 18] = [
        Self::SessionStart,
        Self::SessionEnd,
        Self::UserPromptSubmit,
        Self::UserPromptExpansion,
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PostToolBatch,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::InstructionsLoaded,
        Self::Elicitation,
        Self::ElicitationResult,
        Self::ConfigChange,
        Self::PreCompact,
        Self::PostCompact,
        Self::Stop,
    ];

    /// The name as the hosts write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::UserPromptExpansion => "UserPromptExpansion",
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PostToolBatch => "PostToolBatch",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::InstructionsLoaded => "InstructionsLoaded",
            Self::Elicitation => "Elicitation",
            Self::ElicitationResult => "ElicitationResult",
            Self::ConfigChange => "ConfigChange",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::Stop => "Stop",
        }
    }

    /// The event of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// Whether an answer can keep something from being done. Such a hook refuses when it fails; every other
    /// one passes when it fails.
    pub const fn is_gate(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PermissionRequest)
    }

    /// How long this hook may take.
    pub const fn deadlines(self) -> Deadlines {
        match self {
            // All hooks of this event together have 1.5 seconds in Claude Code.
            Self::SessionEnd => Deadlines { answer_ms: 700, watchdog_s: 1, host_s: 2 },
            // Claude Code waits 30 seconds for this one by default, and a person waits with it.
            Self::UserPromptSubmit => Deadlines { answer_ms: 3_000, watchdog_s: 5, host_s: 10 },
            _ => Deadlines { answer_ms: 15_000, watchdog_s: 20, host_s: 30 },
        }
    }
}

impl fmt::Display for HookName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_what_they_name() {
        for host in Host::ALL {
            assert_eq!(Host::from_name(host.name()), Some(host));
        }
        for hook in HookName::ALL {
            assert_eq!(HookName::from_name(hook.name()), Some(hook));
        }
        assert_eq!(HookName::from_name("pretooluse"), None);
    }

    #[test]
    fn a_version_is_found_in_what_a_program_says() {
        for (said, version) in [
            ("2.1.325 (Claude Code)\n", Some("2.1.325")),
            ("codex-cli 0.166.0-alpha.1\n", Some("0.166.0")),
            ("WARNING: v2\ncodex-cli 0.166.0", Some("0.166.0")),
            ("no version 2.1 here", None),
        ] {
            assert_eq!(Version::find(said).map(|found| found.to_string()).as_deref(), version, "{said}");
        }
        assert!(Version([2, 1, 99]) < Version([2, 1, 197]));
        assert!(Host::ALL.iter().all(|host| host.tested_versions().0 <= host.tested_versions().1));
    }

    #[test]
    fn our_own_deadline_comes_first_and_the_hosts_last() {
        for hook in HookName::ALL {
            let limits = hook.deadlines();
            assert!(limits.answer_ms < limits.watchdog_s * 1_000, "{hook}");
            assert!(limits.watchdog_s < limits.host_s, "{hook}");
        }
    }
}
