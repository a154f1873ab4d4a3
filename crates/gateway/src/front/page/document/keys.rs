//! What each passkey may approve, and what adding one means.

use highwater_core::approval::AuthenticatorClass;
use highwater_display::plain;
use highwater_passkey::Transports;

use crate::approvals::CredentialView;

/// Whether a passkey may approve what asks for this class.
pub(super) fn may_approve(key: &CredentialView, class: AuthenticatorClass) -> bool {
    Transports::new(key.transports.clone()).is_ok_and(|transports| class.admits(&transports))
}

/// What it may approve, in a sentence.
pub(in super::super) fn approves(key: &CredentialView) -> &'static str {
    if may_approve(key, AuthenticatorClass::CrossPlatform) {
        "Approves every tool that asks for a passkey."
    } else {
        "Approves only tools that your configuration gives to class platform (approvals.tools), \
         and confirms other passkeys. Everything else needs a security key or a phone."
    }
}

/// What confirming a passkey does, for whoever signs it.
pub(in super::super) fn to_be_added(key: &CredentialView) -> String {
    format!("Add the passkey “{}” for {}", plain(&key.name).text, plain(key.user.as_str()).text)
}
