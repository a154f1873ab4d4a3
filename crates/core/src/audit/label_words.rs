//! A label as a list of words, and back. A number would be shorter, but no number beyond 2⁵³ survives every reader
//! of JSON, and people read the log, too.

use crate::annotation::{DataClass, Source, Words};
use crate::label::{Label, LabelBits, TextSet};
use crate::trust::TrustLevel;

const OPEN_WORLD: &str = "openWorld";
const MALICIOUS: &str = "malicious";
const WROTE_EXTERNALLY: &str = "wroteExternally";
const SCOPES_OPEN: &str = "scopesTruncated";
const ORIGINS_OPEN: &str = "originsTruncated";
/// Stands for a bit that a newer build set.
const FOREIGN: &str = "unknown";

/// Everything of a label but its scopes and origins: flags, `integrity:tool`, classes, `source:internal`. Nothing for
/// a session that has read nothing.
pub fn label_words(label: &Label) -> impl Iterator<Item = &'static str> {
    let bits = label.bits();
    let flags = [
        (bits.is_foreign(), FOREIGN),
        (bits.open_world(), OPEN_WORLD),
        (bits.malicious(), MALICIOUS),
        (bits.wrote_externally(), WROTE_EXTERNALLY),
        (label.scopes().is_open(), SCOPES_OPEN),
        (label.origins().is_open(), ORIGINS_OPEN),
    ];
    let integrity = match bits.integrity() {
        TrustLevel::None => Some("integrity:none"),
        TrustLevel::Tool => Some("integrity:tool"),
        TrustLevel::Agent => Some("integrity:agent"),
        TrustLevel::System => Some("integrity:system"),
        TrustLevel::User => Some("integrity:user"),
        TrustLevel::Owner => None,
    };
    flags
        .into_iter()
        .filter(|(set, _)| *set)
        .map(|(_, word)| word)
        .chain(integrity)
        .chain(bits.classes().iter().map(DataClass::as_str))
        .chain(bits.sources().iter().map(source_word))
}

/// The label that these words and sets describe. A word nobody knows means the top.
pub fn label_of_words<'a>(
    words: impl IntoIterator<Item = &'a str>,
    scopes: TextSet,
    origins: TextSet,
) -> Label {
    let (mut bits, mut scopes, mut origins) = (LabelBits::BOTTOM, scopes, origins);
    for word in words {
        let level = word.strip_prefix("integrity:").and_then(TrustLevel::parse);
        let class = DataClass::ALL.iter().find(|class| class.as_str() == word);
        let source = Source::ALL.iter().find(|source| source_word(**source) == word);
        bits = match (word, level, class, source) {
            (OPEN_WORLD, ..) => bits.with_open_world(),
            (MALICIOUS, ..) => bits.with_malicious(),
            (WROTE_EXTERNALLY, ..) => bits.with_wrote_externally(),
            (SCOPES_OPEN, ..) => {
                scopes = scopes.opened();
                bits
            }
            (ORIGINS_OPEN, ..) => {
                origins = origins.opened();
                bits
            }
            (_, Some(level), ..) => bits.with_integrity(level),
            (_, _, Some(class), _) => bits.with_classes(Words::only(*class)),
            (_, _, _, Some(source)) => bits.with_sources(Words::only(*source)),
            _ => LabelBits::TOP,
        };
    }
    Label::from_parts(bits, scopes, origins)
}

fn source_word(source: Source) -> &'static str {
    match source {
        Source::System => "source:system",
        Source::User => "source:user",
        Source::Internal => "source:internal",
        Source::TrustedPublic => "source:trustedPublic",
        Source::UntrustedPublic => "source:untrustedPublic",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_source_are_its_published_ones() {
        for source in Source::ALL {
            assert_eq!(source_word(*source), format!("source:{source}"));
        }
    }

    #[test]
    fn nothing_read_is_no_word_and_the_top_is_every_word() {
        assert_eq!(label_words(&Label::bottom()).count(), 0);
        let top: Vec<&str> = label_words(&Label::top()).collect();
        assert_eq!(label_of_words(top, TextSet::EMPTY, TextSet::EMPTY), Label::top());
    }

    #[test]
    fn a_word_nobody_knows_means_the_top() {
        let label = label_of_words(["pii", "fresh"], TextSet::EMPTY, TextSet::EMPTY);
        assert_eq!(label.bits(), Label::top().bits());
    }
}
