//! What a server's process asks to touch. A claim, not evidence: it may tighten a contract, never loosen one.

use std::sync::Arc;

use highwater_notation::{Word, Words};

use super::{Authority, Capability};

/// How far one capability reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Not at all.
    Nothing,
    /// These hosts, paths, variables, programs or libraries.
    Only(Arc<[Arc<str>]>),
    /// Everything.
    All,
}

/// A request for one capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapabilityClaim {
    /// Which.
    pub capability: Capability,
    /// How far.
    pub reach: Reach,
    /// Of files: whether they are read. Where the vocabulary does not say, they are.
    pub reads: bool,
    /// Of files: whether they are written. Where the vocabulary does not say, they are.
    pub writes: bool,
}

/// What was requested, capability by capability.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// In the order of [`Capability::ALL`].
    requested: [Option<Reach>; 5],
    /// What the operator says, which replaces what was requested.
    operator: [Option<Reach>; 5],
    /// Those of which somebody spoke whose word may loosen: no more is asked for than was requested.
    bounded: Words<Capability>,
    /// Those that somebody whose word may loosen ruled out.
    denied: Words<Capability>,
    /// Those that somebody asked for.
    asked: Words<Capability>,
}

// === impl Reach ===

impl Reach {
    /// These; an empty list is nothing at all.
    pub fn only(mut names: Vec<Arc<str>>) -> Self {
        names.sort();
        names.dedup();
        if names.is_empty() { Self::Nothing } else { Self::Only(names.into()) }
    }

    /// Both together.
    fn joined(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => Self::All,
            (Self::Nothing, reach) | (reach, Self::Nothing) => reach.clone(),
            (Self::Only(left), Self::Only(right)) => {
                Self::only(left.iter().chain(right.iter()).cloned().collect())
            }
        }
    }
}

// === impl Capabilities ===

impl Capabilities {
    /// How far a capability was requested, or reaches by the operator's word; `None` if nobody spoke of it.
    pub fn requested(&self, capability: Capability) -> Option<&Reach> {
        self.by_operator(capability).or(self.requested.get(capability.index() as usize)?.as_ref())
    }

    /// How far a capability reaches at most; `None` if nobody says so whose word may loosen.
    pub fn bound(&self, capability: Capability) -> Option<&Reach> {
        let is_bounded = self.bounded.contains(capability);
        self.by_operator(capability).or_else(|| self.requested(capability).filter(|_| is_bounded))
    }

    fn by_operator(&self, capability: Capability) -> Option<&Reach> {
        self.operator.get(capability.index() as usize)?.as_ref()
    }

    /// Those the process may have, as far as anybody may be believed: all but the ones ruled out by somebody
    /// whose word may loosen and asked for by nobody.
    pub fn effective(&self) -> Words<Capability> {
        let denied = self.denied.minus(self.asked);
        let has = |capability: &Capability| match self.by_operator(*capability) {
            Some(reach) => *reach != Reach::Nothing,
            None => !denied.contains(*capability),
        };
        Capability::ALL.iter().copied().filter(has).collect()
    }

    /// Whether everything that the other may touch may be touched here.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let reaches = |capability: &Capability| match (self.bound(*capability), other.bound(*capability)) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(held), Some(others)) => held.joined(others) == *held,
        };
        self.effective().covers(other.effective()) && Capability::ALL.iter().all(reaches)
    }

    /// Whether more is asked for than was asked for there. What nobody spoke of there was not bounded.
    pub fn asks_beyond(&self, pinned: &Self) -> bool {
        Capability::ALL.iter().any(|capability| {
            match (self.requested(*capability), pinned.requested(*capability)) {
                (Some(asked), Some(bound)) => bound.joined(asked) != *bound,
                (None, _) | (_, None) => false,
            }
        })
    }

    /// Everything that either may touch.
    pub(super) fn strictest(&self, other: &Self) -> Self {
        let (mut next, other) = (self.clone().settled(), other.clone().settled());
        for (slot, others) in next.requested.iter_mut().zip(&other.requested) {
            *slot = match (slot.as_ref(), others) {
                (Some(held), Some(others)) => Some(held.joined(others)),
                (held, others) => held.or(others.as_ref()).cloned(),
            };
        }
        next.bounded = next.bounded.intersection(other.bounded);
        next.denied = next.denied.intersection(other.denied);
        next.asked = next.asked.union(other.asked);
        next
    }

    /// The same, where the operator's word has replaced what was requested.
    fn settled(mut self) -> Self {
        for ((capability, said), slot) in
            Capability::ALL.iter().zip(std::mem::take(&mut self.operator)).zip(&mut self.requested)
        {
            let Some(reach) = said else { continue };
            let nothing = reach == Reach::Nothing;
            *slot = Some(reach);
            self.bounded = self.bounded.with(*capability);
            self.denied = self.denied.without(*capability);
            self.asked = self.asked.without(*capability);
            let words = if nothing { &mut self.denied } else { &mut self.asked };
            *words = words.with(*capability);
        }
        self
    }

    /// Takes the operator's word of another, for the capabilities of which the operator says nothing here.
    pub(super) fn fall_back_on(&mut self, general: &Self) {
        for (slot, others) in self.operator.iter_mut().zip(&general.operator) {
            *slot = slot.take().or_else(|| others.clone());
        }
    }

    /// These, for one call of which this is said: the operator's word replaces, what others request is added.
    pub(super) fn narrowed(&self, said: &Self) -> Self {
        let mut next = self.clone();
        for (slot, said) in next.operator.iter_mut().zip(&said.operator) {
            *slot = said.clone().or_else(|| slot.take());
        }
        for (slot, said) in next.requested.iter_mut().zip(&said.requested) {
            *slot = match (slot.take(), said) {
                (Some(held), Some(said)) => Some(held.joined(said)),
                (held, said) => held.or_else(|| said.clone()),
            };
        }
        next.asked = next.asked.union(said.asked);
        next
    }

    /// Takes a request into account.
    pub(super) fn request(&mut self, claim: &CapabilityClaim, by: Authority) {
        let is_operator = by == Authority::Operator;
        let slots = if is_operator { &mut self.operator } else { &mut self.requested };
        if let Some(slot) = slots.get_mut(claim.capability.index() as usize) {
            *slot = Some(slot.as_ref().map_or_else(|| claim.reach.clone(), |held| held.joined(&claim.reach)));
        }
        if is_operator {
            return;
        }
        if by.may_loosen() {
            self.bounded = self.bounded.with(claim.capability);
        }
        match (&claim.reach, by.may_loosen()) {
            (Reach::Nothing, true) => self.denied = self.denied.with(claim.capability),
            (Reach::Nothing, false) => {}
            (Reach::Only(_) | Reach::All, _) => self.asked = self.asked.with(claim.capability),
        }
    }
}

impl CapabilityClaim {
    /// A request that does not say whether files are read or written.
    pub fn new(capability: Capability, reach: Reach) -> Self {
        Self { capability, reach, reads: true, writes: true }
    }

    /// Whether a shell or an interpreter is among the programs: with one of those, any program is.
    pub(super) fn runs_anything(&self) -> bool {
        match &self.reach {
            Reach::Nothing => false,
            Reach::All => true,
            Reach::Only(programs) => programs.iter().any(|program| {
                let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
                INTERPRETERS.iter().any(|known| is_interpreter(name, known))
            }),
        }
    }
}

/// Programs that run whatever they are given.
const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "csh",
    "tcsh",
    "busybox",
    "cmd",
    "powershell",
    "pwsh",
    "python",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "tclsh",
    "awk",
    "gawk",
    "osascript",
    "env",
    "xargs",
];

/// `python3.12` and `bash.exe` are interpreters as `python` and `bash` are.
fn is_interpreter(name: &str, known: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    name.strip_prefix(known)
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-')))
}
