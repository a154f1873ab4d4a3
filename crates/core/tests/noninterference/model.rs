//! The model: what may flow where, in plain sets and words. It shares nothing with the code it judges.

use std::collections::BTreeSet;

pub(crate) type Classes = BTreeSet<&'static str>;

pub(crate) const CLASSES: [&str; 7] =
    ["user", "pii", "financial", "credentials", "regulated", "confidential", "unclassified"];

/// What a context has read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Read {
    pub(crate) classes: Classes,
    pub(crate) strangers: bool,
}

/// What a tool is said to do with what it is given, and what it gives back.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) destinations: BTreeSet<&'static str>,
    /// `None` is everything.
    pub(crate) accepts: Option<Classes>,
    pub(crate) outcome: &'static str,
    pub(crate) returns: Classes,
    pub(crate) by_strangers: bool,
    pub(crate) stores: bool,
}

impl Read {
    pub(crate) fn take_in(&mut self, other: &Self) {
        self.classes.extend(&other.classes);
        self.strangers |= other.strangers;
    }
}

impl Tool {
    /// Whether something the context has read is above this sink.
    pub(crate) fn is_below(&self, read: &Read, mode: &str) -> bool {
        if mode == "samos" {
            return self.destinations.contains("public") && !read.classes.is_empty();
        }
        let keeps_nothing = self.destinations.iter().all(|destination| *destination == "ephemeral");
        let only_fetches = mode == "balanced" && self.outcome == "benign" && !read.strangers;
        read.classes.iter().any(|class| {
            let cleared = self.destinations.iter().all(|destination| match *destination {
                "ephemeral" => true,
                "public" => only_fetches,
                _ => *class != "credentials",
            });
            let accepted = match &self.accepts {
                None => true,
                Some(_) if keeps_nothing || ["confidential", "unclassified"].contains(class) => true,
                Some(accepted) => accepted.contains(class),
            };
            !cleared || !accepted
        })
    }

    /// Whether what is above this sink is too grave for a person's word.
    fn is_grave(&self, read: &Read, mode: &str) -> bool {
        let grave = read.classes.iter().copied().filter(|class| ["credentials", "regulated"].contains(class));
        self.is_below(&Read { classes: grave.collect(), strangers: read.strangers }, mode)
    }

    /// Whether a stranger's text would decide what happens.
    pub(crate) fn is_steered(&self, read: &Read, mode: &str) -> bool {
        let acts = self.outcome != "benign" || (mode == "strict" && self.destinations.contains("public"));
        mode != "samos" && read.strangers && acts
    }

    /// Whether a person may let it through all the same.
    pub(crate) fn may_be_approved(&self, read: &Read, mode: &str) -> bool {
        match mode {
            "balanced" => !self.is_grave(read, mode),
            "strict" => !self.is_below(read, mode),
            _ => false,
        }
    }

    /// Whether only a passkey's signature lets it through.
    pub(crate) fn takes_a_passkey(&self, read: &Read, mode: &str) -> bool {
        mode == "strict" && read.strangers && self.outcome == "irreversible"
    }
}
