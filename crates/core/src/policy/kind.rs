//! The small words of the fact table: what kind a fact is of, when it is known, what it is made of, how it moves with
//! the label, and the three truth values.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of value a fact has, and so which operators and values fit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Bool,
    /// A whole number between the two, both included.
    Int(i64, i64),
    /// Text.
    Str,
    /// One of these words. With `ordered`, in rising order, and `greaterThan` and `lessThan` apply.
    Enum {
        /// The words.
        words: &'static [&'static str],
        /// Whether the order means something.
        ordered: bool,
    },
    /// A set: all of its members hold. The words it is drawn from are listed.
    Set(&'static [&'static str]),
    /// A set of arbitrary texts.
    Open {
        /// Whether members are compared in ASCII lower case, as the scopes of regulations are.
        folded: bool,
    },
    /// A possible set: some non-empty part of it will hold, nobody knows which.
    OneOf(&'static [&'static str]),
}

/// When rules are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before a tool is called.
    Call,
    /// Before a resource is read or subscribed to, a prompt is fetched, or a completion is asked for.
    Resource,
    /// Before any message of an upstream is released.
    Result,
    /// When tools are listed or searched, or resources are listed.
    List,
}

/// A set of phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Phases(u8);

/// What a fact is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The tool: its names, its contract, what became of its definition.
    Tool,
    /// The server.
    Server,
    /// Who asks, and what they are granted.
    Caller,
    /// The virtual server that the client is connected to.
    VirtualServer,
    /// What is asked.
    Action,
    /// What the session has taken in, but for where that came from.
    Label,
    /// Where what the session has taken in came from.
    Origins,
    /// What the client says of its context.
    Request,
    /// What the server says of its reply.
    Reply,
    /// What the flow gates found.
    Flow,
    /// What detectors saw in a text.
    Detectors,
    /// Whether a server's process is confined.
    Confinement,
    /// Where arguments come from.
    Provenance,
}

/// How a fact moves as the label of the session rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rises {
    /// It has nothing to do with the label.
    No,
    /// It can only rise.
    Up,
    /// It can only fall.
    Down,
}

/// Kleene's three truth values, in their order: `and` is the minimum, `or` the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Truth {
    /// It does not hold.
    False,
    /// It may hold.
    Unknown,
    /// It holds.
    True,
}

// === impl Kind ===

impl Kind {
    /// The words of an enum, a closed set or a possible set.
    pub fn words(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Enum { words, .. } | Self::Set(words) | Self::OneOf(words) => Some(words),
            Self::Bool => Some(&["false", "true"]),
            Self::Int(..) | Self::Str | Self::Open { .. } => None,
        }
    }

    /// The kind as it is called in messages and in the reference.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Bool => "`true` or `false`",
            Self::Int(..) => "a whole number",
            Self::Str => "text",
            Self::Enum { .. } => "one of a list of words",
            Self::Set(_) => "a set of words",
            Self::Open { .. } => "a set of texts",
            Self::OneOf(_) => "a set of possible words",
        }
    }
}

// === impl Phase ===

impl Phase {
    /// Every phase.
    pub const ALL: [Self; 4] = [Self::Call, Self::Resource, Self::Result, Self::List];

    /// What a rule may write under `phase:`.
    pub const WORDS: [&'static str; 4] = ["call", "resource", "result", "list"];

    /// The phase of that word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == word)
    }

    /// The word for this phase.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Resource => "resource",
            Self::Result => "result",
            Self::List => "list",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

// === impl Phases ===

impl Phases {
    /// All of them.
    pub const ALL: Self = Self(15);
    /// None of them.
    pub const NONE: Self = Self(0);

    /// Exactly these.
    pub const fn of(phases: &[Phase]) -> Self {
        let mut bits = 0;
        let mut rest = phases;
        // A loop by pattern, since `for` and indexing are not to be had in a constant.
        while let [first, others @ ..] = rest {
            bits |= first.bit();
            rest = others;
        }
        Self(bits)
    }

    /// Whether the phase is among them.
    pub fn has(self, phase: Phase) -> bool {
        self.0 & phase.bit() != 0
    }

    /// Those in both.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them, in order.
    pub fn iter(self) -> impl Iterator<Item = Phase> {
        Phase::ALL.into_iter().filter(move |phase| self.has(*phase))
    }
}

impl fmt::Display for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.iter().map(Phase::as_str).collect();
        f.write_str(&words.join(", "))
    }
}

// === impl Input ===

impl Input {
    /// What nothing produces yet, and why.
    const MISSING: [(Self, &'static str); 2] = [
        (Self::Detectors, "no detector looks into texts yet"),
        (Self::Confinement, "no server is confined yet"),
    ];

    /// Why nothing produces it, if nothing does.
    pub fn missing(self) -> Option<&'static str> {
        Self::MISSING.iter().find(|(input, _)| *input == self).map(|(_, why)| *why)
    }
}

// === impl Rises ===

impl Rises {
    /// The opposite movement.
    pub fn reversed(self) -> Self {
        match self {
            Self::No => Self::No,
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

// === impl Truth ===

impl Truth {
    /// The restricting reading, which rules have: what may hold, fires.
    pub fn restricts(self) -> bool {
        self != Self::False
    }

    /// The loosening reading, which waivers and cases have: only what holds, counts.
    pub fn loosens(self) -> bool {
        self == Self::True
    }
}

impl std::ops::Not for Truth {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
            Self::True => Self::False,
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}
