//! What the operator says of one server, and the cap that no annotation lifts.

use super::TrustLevel;
use crate::annotation::Authority;

/// The trust in one server. An unverified one is worth `none`, whatever else is written beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerTrust {
    server: TrustLevel,
    resource: TrustLevel,
    verified: bool,
}

// === impl ServerTrust ===

impl ServerTrust {
    /// Takes the three values as the operator wrote them; the cap is applied when they are read.
    pub const fn new(server: TrustLevel, resource: TrustLevel, verified: bool) -> Self {
        Self { server, resource, verified }
    }

    /// The same, where somebody else says whether it is verified.
    #[must_use]
    pub const fn verified_if(self, verified: bool) -> Self {
        Self { verified, ..self }
    }

    /// What the server's own replies are worth: `none` unless it is verified.
    pub fn effective(&self) -> TrustLevel {
        if self.verified { self.server } else { TrustLevel::None }
    }

    /// What the contents of its resources are worth: `none` unless it is verified, and by default even then.
    pub fn resources(&self) -> TrustLevel {
        if self.verified { self.resource } else { TrustLevel::None }
    }

    /// Whether somebody vouched for what this server declares.
    pub fn verified(&self) -> bool {
        self.verified
    }

    /// The authority with which this server's own definitions speak.
    pub fn declaring(&self) -> Authority {
        if self.verified { Authority::DeclaredVerified } else { Authority::Declared }
    }

    /// The authority with which this server speaks of one call's arguments.
    pub fn resolving(&self) -> Authority {
        if self.verified { Authority::ResolvedVerified } else { Authority::Resolved }
    }
}

impl Default for ServerTrust {
    /// A server nobody listed: no trust at all.
    fn default() -> Self {
        Self::new(TrustLevel::None, TrustLevel::None, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unverified_server_is_capped_at_none() {
        let trust = ServerTrust::new(TrustLevel::Owner, TrustLevel::Owner, false);
        assert_eq!(trust.effective(), TrustLevel::None);
        assert_eq!(trust.resources(), TrustLevel::None);
        assert!(!trust.declaring().may_loosen());
        assert!(!trust.resolving().may_loosen());
    }

    #[test]
    fn a_verified_server_is_worth_what_the_operator_wrote() {
        let trust = ServerTrust::new(TrustLevel::Tool, TrustLevel::None, true);
        assert_eq!(trust.effective(), TrustLevel::Tool);
        assert_eq!(trust.resources(), TrustLevel::None);
        assert!(trust.declaring().may_loosen());
    }

    #[test]
    fn a_server_nobody_listed_has_no_trust() {
        assert_eq!(ServerTrust::default().effective(), TrustLevel::None);
        assert!(!ServerTrust::default().verified());
    }
}
