//! Whether a prompt is the user's words, and which part of it.
//!
//! Hosts fire the same event for prompts that nobody typed: results of sub-agents, messages of other
//! processes, schedules. A prompt counts only where every condition holds; any doubt means that it is no
//! evidence. The event is one voice and where the prompt came from is a second one: Claude Code's
//! transcript ([`find_prompt`](crate::transcript::find_prompt)), or what Codex says of the turn beside the
//! call ([`read_meta`](crate::call_meta::read_meta)).

mod pasted;
mod tags;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::ancestry::Ancestry;
use crate::event::{EventKind, HostEvent, TurnId};

pub use pasted::Excluded;

/// A longer prompt is no evidence: nobody types that much.
pub const MAX_PROMPT: usize = 128 << 10;

/// Where a prompt came from, by the second voice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptOrigin {
    /// Typed by a person.
    Human,
    /// Given on the command line or by a program that uses the host as a library.
    Sdk,
    /// A message of another process.
    Peer,
    /// A sub-agent's task or its result.
    Subagent,
    /// Something that this build does not take for a person.
    Other(String),
    /// Nothing is recorded, or not yet.
    Unrecorded,
}

/// Whose words the prompts of a client are, by the token's entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcceptedWords {
    /// What the owner types.
    #[default]
    Owner,
    /// That, and what programs start the host with.
    Sdk,
    /// Nobody's: those who write there are strangers.
    None,
}

/// Everything beside the event that the rule asks for.
#[derive(Clone, Debug)]
pub struct Circumstances<'a> {
    pub accepted: AcceptedWords,
    /// Whether another prompt came under this turn's id before. What [`Binding::prompt`] returns is the first.
    ///
    /// [`Binding::prompt`]: crate::binding::Binding::prompt
    pub turn_was_seen: bool,
    pub origin: &'a PromptOrigin,
    /// The prompt as the second voice has it, where it has it.
    pub recorded_text: Option<&'a str>,
    /// The turn that the `PreToolUse` of the call at hand bears.
    pub acting_turn: Option<&'a TurnId>,
    pub ancestry: Ancestry,
    /// Whether the conversation is one that the person has opened, as far as anybody can tell.
    pub confirmed: bool,
}

/// The user's words of one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    pub turn: TurnId,
    /// The prompt without what was pasted into it.
    pub text: String,
    /// What was left out, and why.
    pub excluded: Vec<Excluded>,
    /// Files that the prompt mentions by `@path`: the host reads them, and no hook tells of it.
    pub mentions: Vec<String>,
}

/// Why a prompt is not taken for the user's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTheUsers {
    /// The event is no prompt.
    NoPrompt,
    /// The token's entry says so.
    NotAccepted,
    /// A sub-agent's task.
    Subagent,
    /// The host itself wraps text of others in this tag.
    HostText(&'static str),
    /// The host tells no turn, so nothing ties the prompt to what follows from it.
    NoTurn,
    TurnSeenBefore,
    TooLong,
    /// Where it came from is not recorded, or not yet.
    Unrecorded,
    Peer,
    /// Given by a program and not typed.
    NotTyped,
    OtherOrigin(String),
    /// The second voice has another text.
    OtherText,
    /// The call at hand follows from another prompt, or from none.
    OtherTurn,
    /// Another host's tool started this host.
    BelowAnotherHost,
    AncestryUnknown,
    /// Nobody has said yet that this conversation is theirs.
    Unconfirmed,
}

/// The user's words in a prompt, if every condition of the origin rule holds.
pub fn words(event: &HostEvent, given: &Circumstances<'_>) -> Result<Words, NotTheUsers> {
    let EventKind::Prompt(prompt) = &event.kind else { return Err(NotTheUsers::NoPrompt) };
    if given.accepted == AcceptedWords::None {
        return Err(NotTheUsers::NotAccepted);
    }
    if event.agent.is_some() {
        return Err(NotTheUsers::Subagent);
    }
    if let Some(tag) = tags::opening(prompt) {
        return Err(NotTheUsers::HostText(tag));
    }
    let Some(turn) = &event.turn else { return Err(NotTheUsers::NoTurn) };
    if given.turn_was_seen {
        return Err(NotTheUsers::TurnSeenBefore);
    }
    if prompt.len() > MAX_PROMPT {
        return Err(NotTheUsers::TooLong);
    }
    check_origin(given.origin, given.accepted)?;
    // Hosts trim what was typed, each in its own way.
    if given.recorded_text.is_some_and(|recorded| recorded.trim() != prompt.trim()) {
        return Err(NotTheUsers::OtherText);
    }
    if given.acting_turn != Some(turn) {
        return Err(NotTheUsers::OtherTurn);
    }
    match given.ancestry {
        Ancestry::Alone => {}
        Ancestry::BelowAnotherHost => return Err(NotTheUsers::BelowAnotherHost),
        Ancestry::Unknown => return Err(NotTheUsers::AncestryUnknown),
    }
    if !given.confirmed {
        return Err(NotTheUsers::Unconfirmed);
    }
    let typed = pasted::split(prompt);
    Ok(Words { turn: turn.clone(), text: typed.text, excluded: typed.excluded, mentions: typed.mentions })
}

/// Files that a prompt mentions by `@path`, in all of its text: the host reads them, and no hook tells of it.
pub fn mentioned_files(prompt: &str) -> Vec<String> {
    let end = (0..=MAX_PROMPT.min(prompt.len())).rev().find(|end| prompt.is_char_boundary(*end));
    pasted::mentions(prompt.get(..end.unwrap_or_default()).unwrap_or_default())
}

fn check_origin(origin: &PromptOrigin, accepted: AcceptedWords) -> Result<(), NotTheUsers> {
    match origin {
        PromptOrigin::Human => Ok(()),
        PromptOrigin::Sdk if accepted == AcceptedWords::Sdk => Ok(()),
        PromptOrigin::Sdk => Err(NotTheUsers::NotTyped),
        PromptOrigin::Peer => Err(NotTheUsers::Peer),
        PromptOrigin::Subagent => Err(NotTheUsers::Subagent),
        PromptOrigin::Other(origin) => Err(NotTheUsers::OtherOrigin(origin.clone())),
        PromptOrigin::Unrecorded => Err(NotTheUsers::Unrecorded),
    }
}

// === impl NotTheUsers ===

impl NotTheUsers {
    /// Whether the same prompt may count later: what is missing may still come.
    pub fn may_change(&self) -> bool {
        matches!(self, Self::Unrecorded | Self::OtherTurn | Self::Unconfirmed)
    }
}

impl fmt::Display for NotTheUsers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::NoPrompt => "the event is no prompt",
            Self::NotAccepted => "the token's entry takes nobody's prompts for the user's words",
            Self::Subagent => "it is a sub-agent's task or result",
            Self::HostText(tag) => {
                return write!(formatter, "the host wrote it: it begins with `<{tag}>`");
            }
            Self::NoTurn => "the host does not say to which turn it belongs",
            Self::TurnSeenBefore => "another prompt came before it in the same turn",
            Self::TooLong => "it is longer than anybody types",
            Self::Unrecorded => "nothing records where it came from",
            Self::Peer => "another process sent it",
            Self::NotTyped => "a program gave it to the host; nobody typed it",
            Self::OtherOrigin(origin) => return write!(formatter, "its origin is `{origin}`"),
            Self::OtherText => "the host's transcript has another text",
            Self::OtherTurn => "the call follows from another prompt",
            Self::BelowAnotherHost => "a tool of another agent started this one",
            Self::AncestryUnknown => "what started the host could not be found out",
            Self::Unconfirmed => "nobody has said yet that this conversation is theirs",
        };
        formatter.write_str(text)
    }
}
