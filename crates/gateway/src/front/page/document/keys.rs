//! What people call their passkeys, and what each may approve.

use highwater_core::approval::{AuthenticatorClass, Transports, plain};

use crate::approvals::CredentialView;

const PHONE: &str = "Phone or password manager";
const SECURITY_KEY: &str = "Security key";
const BUILT_IN: &str = "Built into a device";

/// Whether a passkey may approve what asks for this class.
pub(super) fn may_approve(key: &CredentialView, class: AuthenticatorClass) -> bool {
    Transports::new(key.transports.clone()).is_ok_and(|transports| class.admits(&transports))
}

/// What it is, by the ways in which it is reached.
pub(in super::super) fn kind(key: &CredentialView) -> &'static str {
    let has = |way: &str| key.transports.iter().any(|named| named == way);
    if has("hybrid") {
        PHONE
    } else if has("usb") || has("nfc") || has("ble") {
        SECURITY_KEY
    } else if has("internal") {
        BUILT_IN
    } else {
        "Passkey"
    }
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
    let user = plain(key.user.as_str()).text;
    match kind(key) {
        SECURITY_KEY => format!("Add the security key you just touched, for {user}"),
        PHONE => format!("Add the passkey of your phone or password manager, for {user}"),
        BUILT_IN => format!("Add the passkey built into this device, for {user}"),
        _ => format!("Add the passkey you just made, for {user}"),
    }
}
