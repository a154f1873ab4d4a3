//! What a session has done of the three things that together make an exfiltration. Like everything about a session it is
//! made of what was read and sent, never of what is merely connected.

use serde::{Serialize, Serializer};

use crate::label::Label;

/// One of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Leg {
    /// Data of some class was read.
    PrivateData,
    /// Text that a stranger may have written was read.
    UntrustedContent,
    /// Something was sent to where the public may see it.
    SentOutwards,
}

/// Which of the three a session has done, and how much it has to lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRisk {
    met: [bool; 3],
    score: u8,
}

// === impl Leg ===

impl Leg {
    /// All three.
    pub const ALL: [Self; 3] = [Self::PrivateData, Self::UntrustedContent, Self::SentOutwards];

    /// Whether a session with this label has done it.
    pub fn is_met(self, label: &Label) -> bool {
        match self {
            Self::PrivateData => label.private(),
            Self::UntrustedContent => label.untrusted(),
            Self::SentOutwards => label.wrote_externally(),
        }
    }

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PrivateData => "privateData",
            Self::UntrustedContent => "untrustedContent",
            Self::SentOutwards => "sentOutwards",
        }
    }

    /// The fact that rules ask for it by.
    pub const fn fact(self) -> &'static str {
        match self {
            Self::PrivateData => "session.private",
            Self::UntrustedContent => "session.untrusted",
            Self::SentOutwards => "session.wroteExternally",
        }
    }

    /// It in words.
    pub const fn told(self) -> &'static str {
        match self {
            Self::PrivateData => "private data was read",
            Self::UntrustedContent => "untrusted text was read",
            Self::SentOutwards => "something was sent to the public",
        }
    }
}

// === impl SessionRisk ===

impl SessionRisk {
    /// The risk of a session with this label.
    pub fn of(label: &Label) -> Self {
        Self { met: Leg::ALL.map(|leg| leg.is_met(label)), score: label.risk() }
    }

    /// The legs that are met.
    pub fn legs(self) -> impl Iterator<Item = Leg> {
        Leg::ALL.into_iter().zip(self.met).filter_map(|(leg, met)| met.then_some(leg))
    }

    /// Whether all three are met.
    pub fn trifecta(self) -> bool {
        self.met == [true; 3]
    }

    /// How much there is to lose, from 0 to 100; the fact `session.risk`.
    pub fn score(self) -> u8 {
        self.score
    }
}

impl Serialize for SessionRisk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape {
            score: u8,
            legs: Vec<Leg>,
            trifecta: bool,
        }
        Shape { score: self.score, legs: self.legs().collect(), trifecta: self.trifecta() }
            .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotation::DataClass;
    use crate::policy::FACTS;

    #[test]
    fn each_leg_is_met_by_what_was_done() {
        let clean = Label::bottom();
        let private = Label::bottom().with_class(DataClass::Pii);
        let untrusted = Label::bottom().with_open_world();
        let sent = Label::bottom().with_wrote_externally();
        let met = |label: &Label| SessionRisk::of(label).legs().collect::<Vec<_>>();
        assert_eq!(met(&clean), []);
        assert_eq!(met(&private), [Leg::PrivateData]);
        assert_eq!(met(&untrusted), [Leg::UntrustedContent]);
        assert_eq!(met(&sent), [Leg::SentOutwards]);
        let two = private.joined(&untrusted);
        assert!(!SessionRisk::of(&two).trifecta());
        assert!(SessionRisk::of(&two.joined(&sent)).trifecta());
    }

    #[test]
    fn every_leg_is_a_fact_for_rules() {
        for leg in Leg::ALL {
            assert!(FACTS.iter().any(|fact| fact.path == leg.fact()), "{leg:?}");
        }
    }

    #[test]
    fn the_published_form_names_what_is_met() {
        let label = Label::bottom().with_open_world().with_wrote_externally();
        let risk = serde_json::to_value(SessionRisk::of(&label)).unwrap();
        assert_eq!(risk["legs"], serde_json::json!(["untrustedContent", "sentOutwards"]));
        assert_eq!(risk["trifecta"], false);
        assert_eq!(risk["score"], label.risk());
    }
}
