//! The legs of the lethal trifecta: what the session did and what it now asks for. An explanation, not a gate.

use std::fmt;

use serde::Serialize;

use crate::annotation::{Contract, Destination};
use crate::label::Label;

/// Which of the three conditions of an exfiltration are met: by what was read, never by what is merely connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Legs {
    /// Text that a stranger may have written was read.
    pub untrusted_content: bool,
    /// Data of some class was read.
    pub private_data: bool,
    /// The call may carry its arguments to the public.
    pub public_sink: bool,
}

// === impl Legs ===

impl Legs {
    /// The legs of one call in one session.
    pub fn of(session: &Label, contract: &Contract) -> Self {
        Self {
            untrusted_content: session.untrusted(),
            private_data: session.private(),
            public_sink: contract.destination().contains(Destination::Public),
        }
    }

    /// Whether all three are met: a stranger's text may now carry private data out.
    pub fn trifecta(self) -> bool {
        self.untrusted_content && self.private_data && self.public_sink
    }
}

impl fmt::Display for Legs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let legs = [
            (self.untrusted_content, "untrusted text was read"),
            (self.private_data, "private data was read"),
            (self.public_sink, "the call may reach the public"),
        ];
        let mut met = legs.iter().filter(|(met, _)| *met).map(|(_, leg)| leg);
        let Some(first) = met.next() else { return f.write_str("none of the three conditions is met") };
        f.write_str(first)?;
        met.try_for_each(|leg| write!(f, "; {leg}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotation::{DataClass, Possible};

    #[test]
    fn only_all_three_together_are_the_trifecta() {
        let public = Contract::unknown();
        let closed = Contract::reading(Possible::only(Destination::Ephemeral));
        let clean = Label::bottom();
        let private = Label::bottom().with_class(DataClass::Pii);
        let untrusted = Label::bottom().with_open_world();
        let both = private.clone().joined(&untrusted);
        for session in [&clean, &private, &untrusted] {
            assert!(!Legs::of(session, &public).trifecta());
        }
        assert!(Legs::of(&both, &public).trifecta());
        assert!(!Legs::of(&both, &closed).trifecta());
    }

    #[test]
    fn the_legs_are_told_in_words() {
        let private = Label::bottom().with_class(DataClass::Pii);
        let told = Legs::of(&private, &Contract::unknown()).to_string();
        assert_eq!(told, "private data was read; the call may reach the public");
        let closed = Contract::reading(Possible::only(Destination::Ephemeral));
        assert_eq!(Legs::of(&Label::bottom(), &closed).to_string(), "none of the three conditions is met");
    }
}
