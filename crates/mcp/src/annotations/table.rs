//! The table of vocabularies: which key belongs to which, what it may speak of, and who reads it.

use std::sync::LazyLock;

use super::heard::Heard;
use super::{
    action_metadata, approval, core_hints, data_class, declarations, dependencies, flow, graded_risk, hints,
    ifc, samos, sep_1913, trust_annotations,
};

/// A way of describing tools or data.
pub(super) struct Vocabulary {
    /// Its name in claims and remarks.
    pub(super) name: &'static str,
    /// The members it is made of.
    pub(super) keys: &'static [Key],
}

/// One member of a vocabulary, read wherever it stands: on the tool, in `annotations`, in `_meta`.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) of: Of,
    pub(super) read: fn(&mut Heard, &str),
}

/// What a member may speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// Tools and calls; of a reply or a request it says nothing.
    Tools,
    /// What a client has in its context.
    Requests,
    /// Tools, replies and requests alike.
    Anything,
}

/// Every vocabulary that is read. A new one is a file and a line here.
pub(super) const VOCABULARIES: &[Vocabulary] = &[
    core_hints::VOCABULARY,
    sep_1913::VOCABULARY,
    trust_annotations::VOCABULARY,
    data_class::VOCABULARY,
    action_metadata::VOCABULARY,
    ifc::VOCABULARY,
    samos::VOCABULARY,
    dependencies::VOCABULARY,
    hints::VOCABULARY,
    graded_risk::VOCABULARY,
    flow::VOCABULARY,
    declarations::VOCABULARY,
    approval::VOCABULARY,
];

/// Every key that is read, after the name of its vocabulary.
pub fn known_keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    VOCABULARIES.iter().flat_map(|vocabulary| vocabulary.keys.iter().map(|key| (vocabulary.name, key.name)))
}

// === impl Key ===

impl Key {
    pub(super) const fn new(name: &'static str, of: Of, read: fn(&mut Heard, &str)) -> Self {
        Self { name, of, read }
    }
}

/// The vocabulary that a member's key belongs to, and what reads it.
pub(super) fn find(key: &str) -> Option<(&'static Vocabulary, &'static Key)> {
    static SORTED: LazyLock<Vec<(&'static Vocabulary, &'static Key)>> = LazyLock::new(|| {
        let rows = VOCABULARIES
            .iter()
            .flat_map(|vocabulary| vocabulary.keys.iter().map(move |key| (vocabulary, key)));
        let mut sorted: Vec<_> = rows.collect();
        sorted.sort_by_key(|(_, key)| key.name);
        sorted
    });
    let place = SORTED.binary_search_by(|(_, row)| row.name.cmp(key)).ok()?;
    SORTED.get(place).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_one_owner_and_is_found() {
        let mut seen = std::collections::BTreeSet::new();
        for vocabulary in VOCABULARIES {
            for key in vocabulary.keys {
                assert!(known_keys().any(|known| known == (vocabulary.name, key.name)));
                assert!(seen.insert(key.name), "{} is read twice", key.name);
                let (found, row) = find(key.name).unwrap();
                assert_eq!((found.name, row.name), (vocabulary.name, key.name));
            }
        }
        assert!(find("progressToken").is_none());
    }
}
