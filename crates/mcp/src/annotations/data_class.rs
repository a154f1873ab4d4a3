//! The scheme `data-class.v1`: classes of data as data-loss tools name them. The set is not settled, so a word
//! nobody knows is severe.

use highwater_core::annotation::{Axis, Claim, DataClass, NoticeKind};

use super::heard::Heard;
use super::shape::{look_up, scopes_of};
use super::table::{Key, Of, Vocabulary};
use crate::text::{elements, is_array, member};

/// The name of the scheme, under which a record stands in `_meta`.
pub(super) const SCHEME: &str = "data-class.v1";

pub(super) const VOCABULARY: Vocabulary =
    Vocabulary { name: "data-class", keys: &[Key::new(SCHEME, Of::Anything, read)] };

const CLASSES: &[(&str, &[DataClass])] = &[
    ("public", &[]),
    ("internal", &[DataClass::Confidential]),
    ("confidential", &[DataClass::Confidential]),
    ("personal", &[DataClass::Confidential, DataClass::Pii]),
    ("restricted", WORST),
    ("highly_confidential", WORST),
];

const WORST: &[DataClass] = &[DataClass::Confidential, DataClass::Unclassified];

fn read(heard: &mut Heard, raw: &str) {
    let Some(record) = heard.block(raw) else {
        return heard.returns(WORST.iter().copied());
    };
    if let Some(raw) = member(record, "class") {
        heard.each_word(raw, Axis::Returns, look_up(CLASSES), |heard, classes| {
            heard.returns(classes.unwrap_or(WORST).iter().copied());
        });
    }
    let Some(regulatory) = member(record, "regulatory") else { return };
    // An empty list names no regulation.
    if is_array(regulatory) && elements(regulatory).next().is_none() {
        return;
    }
    match scopes_of(regulatory) {
        Some(scopes) => heard.say(Claim::AddReturns(scopes)),
        None => {
            heard.notice(NoticeKind::WrongType, Some(Axis::Returns), "regulatory");
            heard.returns([DataClass::Regulated]);
        }
    }
}
