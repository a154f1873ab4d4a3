//! Verified approval (SEP-2672) required by an upstream for its tool.

use highwater_core::annotation::{Axis, Claim, NoticeKind};

use super::heard::Heard;
use super::shape::says;
use super::table::{Key, Of, Vocabulary};

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    name: "verified-approval",
    keys: &[Key::new("io.modelcontextprotocol/verified-approval", Of::Tools, read)],
};

fn read(heard: &mut Heard, raw: &str) {
    if let Some(block) = heard.block(raw) {
        // A gateway like us says of every tool that it may come to ask. It will ask when it does.
        if says(block, "mode", "conditional") {
            return;
        }
        if !says(block, "required", "verified") {
            heard.notice(NoticeKind::UnknownWord, Some(Axis::Approval), "required");
        }
    }
    heard.say(Claim::RequiresVerified);
}
