//! What is told of a label to the agent that has it. What another agent wrote counts in full, and nothing is told of it
//! but that it is another's.

use std::borrow::Cow;

use highwater_notation::Words;

use super::{Label, LabelBits, TextSet};
use crate::annotation::DataClass;

/// Stands for every origin of what another agent wrote.
pub const ANOTHER_CONVERSATION: &str = "urn:highwater:another-conversation";

impl Label {
    /// The same label as one that another agent brought: it counts as it is, and its origins, its classes and what they
    /// are called are not told to whoever reads it.
    #[must_use]
    pub fn of_another(&self) -> Self {
        let mut bits = LabelBits::BOTTOM.with_untold_classes(self.classes()).with_integrity(self.integrity());
        if self.open_world() {
            bits = bits.with_open_world();
        }
        if self.malicious() {
            bits = bits.with_malicious();
        }
        // Which they are is not told, so that they may be any.
        let hidden = |set: &TextSet| if set.is_empty() { TextSet::EMPTY } else { TextSet::EVERY };
        let origins =
            if self.origins.is_empty() { TextSet::EMPTY } else { TextSet::of([ANOTHER_CONVERSATION]) };
        Self { bits, scopes: hidden(&self.scopes), names: hidden(&self.names), origins }.settled()
    }

    /// The label as it is told to the agent that has it. No decision is made by it.
    pub fn told(&self) -> Cow<'_, Self> {
        let untold = self.bits.untold_classes();
        // What a newer build left is the highest of all, and that is no secret.
        if untold.is_empty() || self.bits.is_foreign() {
            return Cow::Borrowed(self);
        }
        let mut classes = self.bits.own_classes();
        let mut told = Self { origins: self.origins.clone(), ..Self::bottom() };
        if untold.contains(DataClass::Named) && self.names.members().is_empty() {
            classes = classes.minus(Words::only(DataClass::Named));
        }
        if !untold.minus(classes).is_empty() {
            classes = classes.union(Words::only(DataClass::Confidential));
        }
        let listed = |set: &TextSet, untold: bool| {
            if untold { TextSet::of(set.members().iter().map(|text| &**text)) } else { set.clone() }
        };
        told = told
            .with_names(&listed(&self.names, untold.contains(DataClass::Named)))
            .with_classes(classes)
            .with_scopes(&listed(&self.scopes, untold.contains(DataClass::Regulated)))
            .with_integrity(self.integrity())
            .with_sources(self.sources());
        if self.open_world() {
            told = told.with_open_world();
        }
        if self.malicious() {
            told = told.with_malicious();
        }
        if self.wrote_externally() {
            told = told.with_wrote_externally();
        }
        Cow::Owned(told.settled())
    }

    /// The same classes, told and untold, as another label has them.
    #[must_use]
    pub fn with_classes_of(mut self, other: &Self) -> Self {
        self.bits =
            self.bits.with_classes(other.bits.own_classes()).with_untold_classes(other.bits.untold_classes());
        self.settled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotation::Source;
    use crate::trust::TrustLevel;

    fn anothers() -> Label {
        Label::bottom()
            .with_names(&TextSet::of(["com.example.merger"]))
            .with_class(DataClass::Financial)
            .with_class(DataClass::Regulated)
            .with_scopes(&TextSet::of(["hipaa"]))
            .with_source(Source::Internal)
            .with_integrity(TrustLevel::None)
            .with_origin("mcp:files:read_file")
    }

    #[test]
    fn what_another_wrote_counts_in_full() {
        let read = anothers().of_another();
        assert_eq!(read.classes(), anothers().classes());
        assert_eq!(read.integrity(), TrustLevel::None);
        assert_eq!(read.scopes().contains("hipaa"), None, "it may be");
        assert_eq!(read.names().contains("com.example.merger"), None, "it may be");
        assert!(read.private());
    }

    #[test]
    fn nothing_is_told_of_what_another_wrote() {
        let session = Label::bottom().with_class(DataClass::User).with_origin("mcp:web:fetch");
        let session = session.joined(&anothers().of_another());
        let told = session.told();
        let text = serde_json::to_string(&*told).unwrap();
        for secret in ["financial", "regulated", "hipaa", "merger", "named", "files", "internal", "Truncated"]
        {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        for known in ["user", "confidential", "mcp:web:fetch", ANOTHER_CONVERSATION, "none"] {
            assert!(text.contains(known), "{known}: {text}");
        }
    }

    #[test]
    fn what_the_agent_has_read_itself_is_told() {
        let own = anothers();
        assert_eq!(*own.told(), own);
        let both = own.clone().joined(&anothers().of_another());
        assert_eq!(both.told().classes(), own.classes());
        let top = Label::top();
        assert_eq!(*top.told(), top);
    }
}
