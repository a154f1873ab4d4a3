//! The extension `io.modelcontextprotocol/trust-annotations`: what a reply says of its own content.
//!
//! `false` and absence are no claims. A block may add to what the reply says, never take from it. A record that
//! stands in the message itself is read in its own vocabulary.

use highwater_core::annotation::{Claim, DataClass, NoticeKind};

use super::heard::Heard;
use super::table::{Key, Of, Vocabulary};
use crate::text::{member, string_member};

/// Its key in `_meta`.
pub(super) const TRUST_ANNOTATIONS: &str = "io.modelcontextprotocol/trust-annotations";

pub(super) const VOCABULARY: Vocabulary =
    Vocabulary { name: "trust-annotations", keys: &[Key::new(TRUST_ANNOTATIONS, Of::Anything, read)] };

fn read(heard: &mut Heard, raw: &str) {
    let Some(block) = heard.block(raw) else {
        heard.say(Claim::Untrusted);
        return heard.returns([DataClass::Confidential, DataClass::Unclassified]);
    };
    if member(block, "sensitive").is_some_and(|raw| heard.flag(raw, true)) {
        heard.returns([DataClass::Confidential]);
    }
    if member(block, "untrusted").is_some_and(|raw| heard.flag(raw, true)) {
        heard.say(Claim::Untrusted);
    }
    let Some(evidence) = member(block, "evidenceRef") else { return };
    match (string_member(evidence, "type"), string_member(evidence, "digest")) {
        (Some(kind), Some(digest)) => heard.evidence(&kind, &digest),
        _ => heard.notice(NoticeKind::Malformed, None, "evidenceRef"),
    }
}
