//! A label as a list of words, and back. A number would be shorter, but no number beyond 2⁵³ survives every reader
//! of JSON, and people read the log, too.

use highwater_core::annotation::{DataClass, Source};
use highwater_core::label::{Label, LabelBits, TextSet};
use highwater_core::trust::TrustLevel;
use highwater_notation::Words;

const OPEN_WORLD: &str = "openWorld";
const MALICIOUS: &str = "malicious";
const WROTE_EXTERNALLY: &str = "wroteExternally";
const SCOPES_OPEN: &str = "scopesTruncated";
const ORIGINS_OPEN: &str = "originsTruncated";
const NAMES_OPEN: &str = "namesTruncated";
/// Stands for the bits that a newer build set.
const FOREIGN: &str = "unknown";

/// Everything of a label but its scopes and origins: flags, `integrity:tool`, classes, `source:internal`. Nothing for
/// a session that has read nothing.
pub fn label_words(label: &Label) -> impl Iterator<Item = &'static str> {
    // The record is the operator's, who is told everything.
    let bits = label.bits().folded();
    let integrity = match bits.integrity() {
        TrustLevel::None => Some("integrity:none"),
        TrustLevel::Tool => Some("integrity:tool"),
        TrustLevel::Agent => Some("integrity:agent"),
        TrustLevel::System => Some("integrity:system"),
        TrustLevel::User => Some("integrity:user"),
        TrustLevel::Owner => None,
    };
    let foreign = bits.is_foreign().then_some(FOREIGN);
    // One look at each bit that is set: this is written for every call.
    let mut rest = bits.to_i64().cast_unsigned();
    let set = std::iter::from_fn(move || {
        loop {
            let bit = rest.trailing_zeros();
            if bit == u64::BITS {
                return None;
            }
            rest &= rest - 1;
            if let Some(word) = bit_word(bit) {
                return Some(word);
            }
        }
    });
    foreign.into_iter().chain(integrity).chain(set)
}

/// The word for a bit of the stored form; none for the bits of integrity, which are one word together.
fn bit_word(bit: u32) -> Option<&'static str> {
    Some(match bit {
        0 => OPEN_WORLD,
        1 => MALICIOUS,
        8..=14 => DataClass::ALL.get(bit as usize - 8)?.as_str(),
        15..=19 => source_word(*Source::ALL.get(19 - bit as usize)?),
        20 => WROTE_EXTERNALLY,
        21 => DataClass::Named.as_str(),
        59 => NAMES_OPEN,
        60 => SCOPES_OPEN,
        61 => ORIGINS_OPEN,
        _ => return None,
    })
}

/// The label that these words and sets describe. A word nobody knows means the top.
pub fn label_of_words<'a>(
    words: impl IntoIterator<Item = &'a str>,
    scopes: TextSet,
    names: TextSet,
    origins: TextSet,
) -> Label {
    let (mut bits, mut scopes, mut names, mut origins) = (LabelBits::BOTTOM, scopes, names, origins);
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
            (NAMES_OPEN, ..) => {
                names = names.opened();
                bits
            }
            (_, Some(level), ..) => bits.with_integrity(level),
            (_, _, Some(class), _) => bits.with_classes(Words::only(*class)),
            (_, _, _, Some(source)) => bits.with_sources(Words::only(*source)),
            _ => LabelBits::TOP,
        };
    }
    Label::from_sets(bits, scopes, names, origins)
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
        assert_eq!(label_of_words(top, TextSet::EMPTY, TextSet::EMPTY, TextSet::EMPTY), Label::top());
    }

    #[test]
    fn every_bit_of_a_label_has_its_word() {
        for class in DataClass::ALL.iter().filter(|class| **class != DataClass::Named) {
            assert_eq!(
                label_words(&Label::bottom().with_class(*class)).collect::<Vec<_>>(),
                [class.as_str()]
            );
        }
        for source in Source::ALL {
            assert_eq!(
                label_words(&Label::bottom().with_source(*source)).collect::<Vec<_>>(),
                [source_word(*source)]
            );
        }
        for level in TrustLevel::ALL.iter().filter(|level| **level != TrustLevel::Owner) {
            let words: Vec<&str> = label_words(&Label::bottom().with_integrity(*level)).collect();
            assert_eq!(words, [format!("integrity:{level}")]);
        }
        let flagged = Label::bottom().with_open_world().with_malicious().with_wrote_externally();
        let open = flagged.with_scopes(&TextSet::EVERY).with_origins(&TextSet::EVERY);
        let words: Vec<&str> = label_words(&open).collect();
        let flags = ["openWorld", "malicious", "wroteExternally", "scopesTruncated", "originsTruncated"];
        assert_eq!(words, [&["integrity:none"][..], &flags].concat());
        assert_eq!(label_of_words(words, TextSet::EMPTY, TextSet::EMPTY, TextSet::EMPTY), open);
        let newer = Label::from_parts(LabelBits::from_i64(1 << 33), TextSet::EMPTY, TextSet::EMPTY);
        let words: Vec<&str> = label_words(&newer).collect();
        assert!(words.contains(&"unknown"));
        assert_eq!(
            label_of_words(words, TextSet::EMPTY, TextSet::EMPTY, TextSet::EMPTY).bits(),
            LabelBits::TOP
        );
    }

    #[test]
    fn what_another_agent_wrote_is_on_record_like_the_rest() {
        let label = Label::bottom().with_class(DataClass::Pii).with_class(DataClass::User);
        let both = label.of_another().joined(&Label::bottom().with_class(DataClass::User));
        assert_eq!(label_words(&both).collect::<Vec<_>>(), ["user", "pii"]);
    }

    #[test]
    fn a_word_nobody_knows_means_the_top() {
        let label = label_of_words(["pii", "fresh"], TextSet::EMPTY, TextSet::EMPTY, TextSet::EMPTY);
        assert_eq!(label.bits(), Label::top().bits());
    }
}
