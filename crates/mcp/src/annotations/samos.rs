//! Confidentiality and integrity grades of tools, as SAMOS annotates them.

use highwater_core::annotation::{Axis, Claim, Confidentiality, DataClass, Destination};
use highwater_notation::Words;

use super::heard::Heard;
use super::ifc;
use super::table::{Key, Of, Vocabulary};

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    name: "samos",
    keys: &[
        Key::new("read_confidentiality", Of::Anything, read_confidentiality),
        Key::new("write_confidentiality", Of::Tools, write_confidentiality),
        // Whether it speaks of inputs or of outputs is open. Of outputs it is read here; of inputs the strict
        // reading is what is done anyway.
        Key::new("integrity", Of::Anything, ifc::integrity),
    ],
};

fn read_confidentiality(heard: &mut Heard, raw: &str) {
    heard.each_word(raw, Axis::Returns, Confidentiality::parse, |heard, grade| match grade {
        Some(grade) => heard.reads(Words::only(grade)),
        None => {
            heard.returns([DataClass::Confidential, DataClass::Unclassified]);
            heard.say(Claim::Untrusted);
        }
    });
}

fn write_confidentiality(heard: &mut Heard, raw: &str) {
    heard.each_word(raw, Axis::Destination, Confidentiality::parse, |heard, grade| match grade {
        Some(grade) => heard.writes(Words::only(grade)),
        None => heard.say(Claim::AddDestination(Words::only(Destination::Public))),
    });
}
