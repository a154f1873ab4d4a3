//! Verified approval (SEP-2672) required by an upstream for its tool.

use highwater_core::annotation::{Axis, Claim, NoticeKind};

use super::heard::Heard;
use super::shape::says;
use super::table::{Key, Of, Vocabulary};
use crate::text::pointer;

/// Where annotation and evidence stand in `_meta`.
pub const VERIFIED_APPROVAL: &str = "io.modelcontextprotocol/verified-approval";

/// The names under which the capability is declared: the text's own, and the one that extensions have (G13).
pub const APPROVAL_EXTENSIONS: [&str; 2] = ["verifiedApproval", VERIFIED_APPROVAL];

pub(super) const VOCABULARY: Vocabulary =
    Vocabulary { name: "verified-approval", keys: &[Key::new(VERIFIED_APPROVAL, Of::Tools, read)] };

/// Whether capabilities, of a server or a client, declare that verified approvals are understood. What else the
/// declaration says may come from a later text (C3).
pub fn declares_approval(capabilities: &str) -> bool {
    APPROVAL_EXTENSIONS.iter().any(|key| pointer(capabilities, &["extensions", key]).is_some())
}

/// Whether a server says of its tool that calls of it must be approved, always or in some cases (C1).
pub fn asks_approval(tool: &str) -> bool {
    pointer(tool, &["_meta", VERIFIED_APPROVAL]).is_some()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c01_c03_the_declaration_is_found_under_either_name_whatever_else_it_says() {
        for capabilities in [
            r#"{"extensions":{"verifiedApproval":{}}}"#,
            r#"{"tools":{},"extensions":{"x":1,"verifiedApproval":{"later":[1]}}}"#,
            r#"{"extensions":{"io.modelcontextprotocol/verified-approval":{}}}"#,
        ] {
            assert!(declares_approval(capabilities), "{capabilities}");
        }
        for capabilities in ["{}", r#"{"verifiedApproval":{}}"#, r#"{"extensions":{"verifiedapproval":{}}}"#]
        {
            assert!(!declares_approval(capabilities), "{capabilities}");
        }
        assert!(asks_approval(r#"{"_meta":{"io.modelcontextprotocol/verified-approval":{"x":1}}}"#));
        assert!(!asks_approval(r#"{"io.modelcontextprotocol/verified-approval":{}}"#));
    }
}
