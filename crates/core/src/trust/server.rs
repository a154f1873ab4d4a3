//! What the operator says of one server, and the cap that no annotation lifts.

use super::TrustLevel;
use crate::annotation::Authority;

/// The trust in one server. One that nobody believes is worth `none`, whatever else is written beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerTrust {
    /// What the operator wrote, if anything.
    server: Option<TrustLevel>,
    resource: TrustLevel,
    /// What the operator wrote, or what became of a signed manifest.
    verified: Option<bool>,
    /// Whether a person who approved it believes what it says of itself.
    approved_as_true: bool,
    /// What its own replies are worth by the operator's one word for it, although nobody believes what it says.
    by_profile: TrustLevel,
}

// === impl ServerTrust ===

impl ServerTrust {
    /// Takes the values as the operator wrote them; the cap is applied when they are read.
    pub const fn new(server: Option<TrustLevel>, resource: TrustLevel, verified: Option<bool>) -> Self {
        Self { server, resource, verified, approved_as_true: false, by_profile: TrustLevel::None }
    }

    /// A server that the operator vouches for.
    pub const fn of_verified(server: TrustLevel, resource: TrustLevel) -> Self {
        Self::new(Some(server), resource, Some(true))
    }

    /// The same, where a signed manifest says whether it is verified. The operator's plain no stands above that.
    #[must_use]
    pub const fn with_manifest(self, counts: bool) -> Self {
        match self.verified {
            Some(false) => self,
            Some(true) | None => Self { verified: Some(counts), ..self },
        }
    }

    /// The same, for something of which a person believes what its server says. The operator's plain no stands above that.
    #[must_use]
    pub const fn believed_if(self, believed: bool) -> Self {
        Self { approved_as_true: believed, ..self }
    }

    /// The same, with what the operator's one word for the server says of its replies.
    #[must_use]
    pub const fn with_profile(self, replies: TrustLevel) -> Self {
        Self { by_profile: replies, ..self }
    }

    /// What the server's own replies are worth where nobody says where they come from: `none` unless it is believed, or
    /// the operator's one word for it says more.
    pub fn effective(&self) -> TrustLevel {
        let most = self.server.unwrap_or(TrustLevel::Tool);
        if self.is_believed() { most } else { most.min(self.by_profile) }
    }

    /// What the contents of its resources are worth: `none` unless it is believed, and by default even then.
    pub fn resources(&self) -> TrustLevel {
        if self.is_believed() { self.resource } else { TrustLevel::None }
    }

    /// Whether the operator, or a signed manifest, vouches for what this server declares.
    pub fn verified(&self) -> bool {
        self.verified == Some(true)
    }

    /// Whether what it says of itself may loosen anything: it is verified, or a person who approved it said so.
    pub fn is_believed(&self) -> bool {
        self.verified.unwrap_or(self.approved_as_true)
    }

    /// Whether the operator says in so many words that it is not to be believed.
    pub fn is_disbelieved(&self) -> bool {
        self.verified == Some(false)
    }

    /// The authority with which this server's own definitions speak.
    pub fn declaring(&self) -> Authority {
        if self.is_believed() { Authority::DeclaredVerified } else { Authority::Declared }
    }

    /// The authority with which this server speaks of one call's arguments.
    pub fn resolving(&self) -> Authority {
        if self.is_believed() { Authority::ResolvedVerified } else { Authority::Resolved }
    }
}

impl Default for ServerTrust {
    /// A server nobody listed: no trust at all.
    fn default() -> Self {
        Self::new(None, TrustLevel::None, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unverified_server_is_capped_at_none() {
        for verified in [None, Some(false)] {
            let trust = ServerTrust::new(Some(TrustLevel::Owner), TrustLevel::Owner, verified);
            assert_eq!(trust.effective(), TrustLevel::None);
            assert_eq!(trust.resources(), TrustLevel::None);
            assert!(!trust.declaring().may_loosen());
            assert!(!trust.resolving().may_loosen());
        }
    }

    #[test]
    fn a_verified_server_is_worth_what_the_operator_wrote() {
        let trust = ServerTrust::of_verified(TrustLevel::Agent, TrustLevel::None);
        assert_eq!(trust.effective(), TrustLevel::Agent);
        assert_eq!(trust.resources(), TrustLevel::None);
        assert!(trust.declaring().may_loosen());
    }

    #[test]
    fn a_server_that_is_believed_is_worth_as_much_as_a_tool() {
        let believed = ServerTrust::default().believed_if(true);
        assert_eq!(believed.effective(), TrustLevel::Tool);
        assert!(believed.is_believed() && !believed.verified());
        let written = ServerTrust::new(Some(TrustLevel::None), TrustLevel::None, None).believed_if(true);
        assert_eq!(written.effective(), TrustLevel::None);
    }

    #[test]
    fn the_operators_plain_no_stands_above_manifest_and_approval() {
        let refused = ServerTrust::new(Some(TrustLevel::Tool), TrustLevel::None, Some(false));
        assert!(!refused.with_manifest(true).verified());
        assert!(!refused.believed_if(true).is_believed());
        let silent = ServerTrust::new(Some(TrustLevel::Tool), TrustLevel::None, None);
        assert!(silent.with_manifest(true).verified());
        assert!(!silent.with_manifest(false).believed_if(true).is_believed());
    }

    #[test]
    fn one_word_for_a_server_is_worth_no_more_than_what_is_written_beside_it() {
        let local = ServerTrust::default().with_profile(TrustLevel::Tool);
        assert_eq!(local.effective(), TrustLevel::Tool);
        assert!(!local.is_believed());
        let doubted = ServerTrust::new(Some(TrustLevel::None), TrustLevel::None, None);
        assert_eq!(doubted.with_profile(TrustLevel::Tool).effective(), TrustLevel::None);
    }

    #[test]
    fn a_server_nobody_listed_has_no_trust() {
        assert_eq!(ServerTrust::default().effective(), TrustLevel::None);
        assert!(!ServerTrust::default().is_believed());
    }
}
