//! `_meta.ifc`: integrity and confidentiality as one server writes them and another framework reads them.
//!
//! Both are choices of one level. Of a server that nobody believes only the worse ones count. Reader names are not kept:
//! two lists of readers are one `confidential`.

use highwater_core::annotation::{Axis, Claim, DataClass, NoticeKind, Possible, Sensitivity, Source};
use highwater_notation::{Words, same_word};

use super::heard::Heard;
use super::shape::look_up;
use super::table::{Key, Of, Vocabulary};
use crate::text::{elements, is_array, member, unquote};

pub(super) const VOCABULARY: Vocabulary =
    Vocabulary { name: "ifc", keys: &[Key::new("ifc", Of::Anything, read)] };

/// Whether a grade of integrity is the high one.
const TRUSTED: &[(&str, bool)] = &[("trusted", true), ("high", true), ("untrusted", false), ("low", false)];

fn read(heard: &mut Heard, raw: &str) {
    let Some(block) = heard.block(raw) else {
        heard.say(Claim::Untrusted);
        return heard.returns([DataClass::Confidential, DataClass::Unclassified]);
    };
    if let Some(raw) = member(block, "integrity") {
        integrity(heard, raw);
    }
    if let Some(raw) = member(block, "confidentiality") {
        confidentiality(heard, raw);
    }
    // What everybody may read and no stranger wrote comes from a public place that is trusted.
    let is = |key: &str, words: &[&str]| {
        let said = member(block, key).and_then(unquote);
        said.is_some_and(|said| words.iter().any(|word| same_word(&said, word)))
    };
    if is("integrity", &["trusted", "high"]) && is("confidentiality", &["public"]) {
        heard.say(Claim::SetSource(Possible::only(Source::TrustedPublic)));
    }
}

/// Grades of integrity as several vocabularies write them. A high grade says that no stranger wrote it.
pub(super) fn integrity(heard: &mut Heard, raw: &str) {
    heard.each_word(raw, Axis::Integrity, look_up(TRUSTED), |heard, trusted| match trusted {
        Some(true) => heard.say(Claim::NotSource(Words::only(Source::UntrustedPublic))),
        Some(false) | None => heard.say(Claim::Untrusted),
    });
}

fn confidentiality(heard: &mut Heard, raw: &str) {
    let confidential = Sensitivity::of([DataClass::Confidential]);
    let public = |text: Option<&str>| text.is_some_and(|text| same_word(text, "public"));
    if is_array(raw) {
        let mut readers = elements(raw).map(unquote);
        let (first, second) = (readers.next(), readers.next());
        let is_public = first.flatten().is_some_and(|reader| public(Some(&reader))) && second.is_none();
        return heard.say(Claim::SetReturns(if is_public { Sensitivity::none() } else { confidential }));
    }
    let word = unquote(raw);
    if public(word.as_deref()) {
        return heard.say(Claim::SetReturns(Sensitivity::none()));
    }
    heard.say(Claim::SetReturns(confidential));
    match word {
        Some(word) if same_word(&word, "private") => {}
        Some(word) => {
            heard.returns([DataClass::Unclassified]);
            heard.notice(NoticeKind::UnknownWord, Some(Axis::Returns), &word);
        }
        None => {
            heard.returns([DataClass::Unclassified]);
            heard.notice(NoticeKind::WrongType, Some(Axis::Returns), "confidentiality");
        }
    }
}
