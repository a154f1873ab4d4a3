//! How people are asked, and who must sign, as the operator decided.

use std::fmt;
use std::time::Duration;

use highwater_core::approval::{AuthenticatorClass, Quorum};
use highwater_core::grant::ToolPattern;
use highwater_core::id::UpstreamId;
use highwater_passkey::AuthenticatorList;
use highwater_receipts::AuditorKey;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Listen;

/// The user of whoever is nobody in particular.
pub const OWNER: &str = "owner";

/// How people are asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// Where the page is; nowhere if the operator wants none.
    pub listen: Option<Listen>,
    /// Whether the operator said so; otherwise it is where such pages are.
    pub is_chosen: bool,
    /// The origin under which people reach the page, in lower case, where that is not this machine.
    pub public_url: Option<String>,
    /// Further origins on which a signature may have been made.
    pub extra_origins: Vec<String>,
    /// Which clients are expected to bring a signature by themselves.
    pub flow: ApprovalFlow,
    /// How long a call of a client that nothing is known of waits for a person.
    pub hold: Duration,
    /// The same for clients that were given the address of the page, and for replies, which nobody can call for again.
    pub hold_with_link: Duration,
    /// The same for clients that are shown progress.
    pub hold_with_progress: Duration,
    /// Whether the page is opened in the browser.
    pub open_browser: bool,
    /// Whether the desktop says that somebody must be asked.
    pub notify: bool,
    /// Who else is told of requests and resets.
    pub webhook: Option<Webhook>,
    /// Who must sign for which tools. Of several that fit, the first counts.
    pub tools: Vec<ToolApproval>,
    /// The authenticators in which passkeys may be made, if not in any.
    pub authenticators: Option<AuthenticatorList>,
    /// The files that the certificates for these were read from, as written.
    pub authenticator_files: Vec<String>,
    /// For whom receipts of calls with sensitive arguments are sealed.
    pub auditor_key: Option<AuditorKey>,
    /// How long a reset of somebody's passkeys waits.
    pub recovery_delay: Duration,
}

/// A URL that is told of requests and resets. Both parts may hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Where.
    pub url: String,
    /// What its messages are signed with.
    pub secret: Option<Vec<u8>>,
}

/// Who must sign for the tools of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolApproval {
    /// Which tools.
    pub pattern: ToolPattern,
    /// Which passkeys are accepted.
    pub class: AuthenticatorClass,
    /// Several people, if one is not enough.
    pub quorum: Option<Quorum>,
    /// Whether a mandate may cover it, where that is said.
    pub delegable: Option<bool>,
    /// Whether its arguments are sensitive, where that is said.
    pub sensitive: Option<bool>,
}

/// Which clients are expected to bring a signature by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "approval_flow")]
pub enum ApprovalFlow {
    /// Those that say they can, or have done so on the same connection. For all others the gateway shows its own page.
    #[default]
    Auto,
    #[serde(alias = "native")]
    /// All of them. A call without a signature is refused at once, as SEP-2672 says.
    NativeOnly,
}

/// Whether somebody must vouch for an authenticator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "attestation")]
pub(crate) enum AttestationWord {
    /// Nobody. Every authenticator is accepted that a person confirms.
    #[default]
    None,
    /// One of the roots that are listed for its make under `authenticators`. All others are refused.
    Required,
}

/// Which passkeys are accepted: the words of [`AuthenticatorClass`] in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "passkey_class")]
pub(crate) enum PasskeyClass {
    /// Only those that can be somewhere else than in the machine of the client: a security key, a phone.
    #[default]
    CrossPlatform,
    /// Every enrolled passkey.
    Platform,
}

// === impl ApprovalSettings ===

impl ApprovalSettings {
    /// The longest that a call may wait: as long as the question is there.
    pub(crate) const LONGEST_HOLD: Duration = Duration::from_secs(5 * 60);

    /// Where the page is for browsers, and the name that passkeys are made for. `port` is the one that was bound.
    pub fn origin(&self, port: u16) -> (String, String) {
        match &self.public_url {
            Some(origin) => {
                let host = origin.split_once("://").map_or(origin.as_str(), |(_, rest)| rest);
                let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
                (origin.clone(), host.to_owned())
            }
            // Always the name, never an address: browsers make no passkeys for addresses.
            None => (format!("http://localhost:{port}"), "localhost".to_owned()),
        }
    }

    /// Who must sign for a tool, by its server's own name.
    pub fn tool(&self, server: &UpstreamId, own: &str) -> Option<&ToolApproval> {
        self.tools.iter().find(|tool| tool.pattern.fits(server, own))
    }
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            listen: Some(Listen::Localhost { port: 7412 }),
            is_chosen: false,
            public_url: None,
            extra_origins: Vec::new(),
            flow: ApprovalFlow::Auto,
            hold: Duration::from_secs(4),
            hold_with_link: Duration::from_secs(45),
            hold_with_progress: Duration::from_secs(4 * 60),
            open_browser: true,
            notify: true,
            webhook: None,
            tools: Vec::new(),
            authenticators: None,
            authenticator_files: Vec::new(),
            auditor_key: None,
            recovery_delay: Duration::from_secs(24 * 60 * 60),
        }
    }
}

// === impl Webhook ===

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("is_signed", &self.secret.is_some()).finish_non_exhaustive()
    }
}

// === impl PasskeyClass ===

impl From<PasskeyClass> for AuthenticatorClass {
    fn from(word: PasskeyClass) -> Self {
        match word {
            PasskeyClass::CrossPlatform => Self::CrossPlatform,
            PasskeyClass::Platform => Self::Platform,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_are_made_for_the_name_people_see() {
        let here = ApprovalSettings::default();
        assert_eq!(here.origin(7412), ("http://localhost:7412".to_owned(), "localhost".to_owned()));
        let away =
            |url: &str| ApprovalSettings { public_url: Some(url.to_owned()), ..here.clone() }.origin(7412);
        assert_eq!(away("https://a.example.com").1, "a.example.com");
        let (origin, name) = away("https://a.example.com:8443");
        assert_eq!((origin.as_str(), name.as_str()), ("https://a.example.com:8443", "a.example.com"));
    }
}
