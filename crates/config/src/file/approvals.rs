//! The keys that say how people are asked, and who must sign.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::human::{Period, Scalar};
use crate::read::{Entries, Field, Written};
use crate::settings::{ApprovalFlow, AttestationWord, PasskeyClass};

/// How people are asked about calls that wait for them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "approvals")]
pub(crate) struct ApprovalsFile {
    /// Where the page is that people approve on, as `host:port`, or `none` for no page. It has a port of its own, so
    /// that no other page of this machine is taken for it. The host is `localhost` or an IP address; passkeys need
    /// `public_url` for every other than this machine. If the address is taken, a gateway that has this key does not
    /// start; one that has it not starts without a page, says so, and refuses what would need a person.
    #[schemars(extend("default" = "localhost:7412", "examples" = ["localhost:7500", "none"]))]
    #[schemars(with = "String")]
    pub(crate) listen: Field<Scalar>,

    /// Under which URL people reach the page, if not at `listen`: `https`, a name that browsers accept for passkeys, perhaps
    /// a port, no path; `http` for `localhost` alone. Passkeys are made for this name. Whoever changes it enrolls all passkeys anew.
    #[schemars(extend("examples" = ["https://approve.example.com"]))]
    pub(crate) public_url: Field<String>,

    /// Further origins on which a signature may have been made: those of clients that show the question themselves.
    #[schemars(extend("default" = [], "examples" = [["https://agent.example.com"]]))]
    pub(crate) extra_origins: Field<Vec<Written<String>>>,

    /// Which clients are expected to bring a signature by themselves.
    #[schemars(extend("default" = "auto"))]
    pub(crate) flow: Field<ApprovalFlow>,

    /// How long a call waits for a person before its agent is told where to answer and to call again, at most `5m`.
    /// Without it: 4 seconds, because some clients give a call up after five, and 45 seconds for clients that were given the
    /// address of the page, and for replies.
    #[schemars(extend("default" = "4s"))]
    pub(crate) hold: Field<Period>,

    /// The same for clients that are shown progress meanwhile, at most `5m`.
    #[schemars(extend("default" = "4m"))]
    pub(crate) hold_with_progress: Field<Period>,

    /// Whether the page is opened in the browser of whoever runs the gateway when `owner` must be asked: not where their
    /// client was given the address, and not while a page is open.
    #[schemars(extend("default" = true))]
    pub(crate) open_browser: Field<bool>,

    /// Whether a notification of the desktop says that `owner` must be asked, unless their client was given the address.
    #[schemars(extend("default" = true))]
    pub(crate) notify: Field<bool>,

    /// A URL that is told when somebody must be asked, when they have answered, and when passkeys are reset. It is told
    /// which tool of which server and whose answer is wanted, and where; never with which arguments or why.
    #[schemars(extend("examples" = [{ "url": "https://chat.example.com/hooks/approvals", "secret": "${HIGHWATER_WEBHOOK_SECRET}" }]))]
    pub(crate) webhook: Field<WebhookFile>,

    /// Who must sign for which tools, by glob as in `tools` of a token: `delete_*` at every server, `github:delete_*` at
    /// one. Of several that fit, the first counts. This does not make a tool ask: labels, rules and servers do.
    #[schemars(extend("examples" = [{ "bank:transfer": { "quorum": { "n": 2, "approvers": ["ada", "ben", "cyd"] } } }]))]
    pub(crate) tools: Field<Entries<Field<ToolApprovalFile>>>,

    /// Whether somebody must vouch for the authenticator in which a passkey is made. Without this, a passkey made of
    /// software looks like one in hardware. Passkeys that count already are not asked again.
    #[schemars(extend("default" = "none"))]
    pub(crate) attestation: Field<AttestationWord>,

    /// With `attestation: required`: the authenticators in which passkeys may be made, under names of your choice.
    #[schemars(extend("examples" = [{ "security-key": { "aaguids": ["cb69481e-8ff7-4039-93ec-0a2729a154a8"], "roots": ["vendor-root.pem"] } }]))]
    pub(crate) authenticators: Field<Entries<Field<AuthenticatorFile>>>,

    /// The public key of whoever may read what is sensitive, as `highwater receipts keygen` prints it. With it, receipts of
    /// calls whose arguments may be sensitive hold ciphertext for this key in place of the arguments, and neither the
    /// audit log nor the store keeps anything by which they could be guessed. Arguments may be sensitive if the session
    /// has taken in any class of data, named or not, if the tool is built to be given one, or if `tools` says so. Without
    /// this key receipts hold arguments in clear.
    #[schemars(extend("examples" = ["hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo"]))]
    pub(crate) auditor_key: Field<String>,

    /// How long a reset of somebody's passkeys waits, so that its owner can object.
    #[schemars(extend("default" = "24h"))]
    pub(crate) recovery_delay: Field<Period>,
}

/// Who else is told of requests and resets.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "webhook")]
pub(crate) struct WebhookFile {
    /// Where messages are posted: `https`, or `http` on this machine. Redirections are not followed.
    #[schemars(required)]
    pub(crate) url: Field<String>,

    /// What each message is signed with, in the headers of the Standard Webhooks (`webhook-id`, `webhook-timestamp`,
    /// `webhook-signature`): `whsec_` and base64, or any text of at least 16 characters. Let a variable hold it.
    #[schemars(extend("examples" = ["${HIGHWATER_WEBHOOK_SECRET}"]))]
    pub(crate) secret: Field<String>,
}

/// Authenticators of one make.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "authenticator")]
pub(crate) struct AuthenticatorFile {
    /// Its models, by the AAGUIDs that the vendor publishes.
    #[schemars(required)]
    #[schemars(extend("examples" = [["cb69481e-8ff7-4039-93ec-0a2729a154a8"]]))]
    pub(crate) aaguids: Field<Vec<Written<String>>>,

    /// Who vouches for these models and for no others: certificates of the vendor as PEM, each the path of a file beside
    /// this one or the text itself.
    #[schemars(required)]
    #[schemars(extend("examples" = [["vendor-root.pem"]]))]
    pub(crate) roots: Field<Vec<Written<String>>>,
}

/// Who must sign for a tool.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "tool_approval")]
pub(crate) struct ToolApprovalFile {
    /// Which passkeys are accepted.
    #[schemars(extend("default" = "cross-platform"))]
    pub(crate) class: Field<PasskeyClass>,

    /// Several people. Without this key one, who is the user of the token that asks.
    pub(crate) quorum: Field<QuorumFile>,

    /// Whether a person may sign a mandate for it, which an agent uses while nobody is there. Without this key, yes
    /// unless the tool may destroy something.
    pub(crate) delegable: Field<bool>,

    /// Whether its arguments are sensitive, so that its receipts are sealed for the `auditor_key`. Without this key labels
    /// and contracts say so.
    pub(crate) sensitive: Field<bool>,
}

/// How many of whom must sign.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "quorum")]
pub(crate) struct QuorumFile {
    /// How many people.
    #[schemars(required)]
    #[schemars(extend("minimum" = 1))]
    pub(crate) n: Field<u64>,

    /// Who may, by the names of users.
    #[schemars(required)]
    #[schemars(extend("examples" = [["ada", "ben", "cyd"]]))]
    pub(crate) approvers: Field<Vec<Written<String>>>,

    /// Whether the user whose agent asks counts, if among them.
    #[schemars(extend("default" = false))]
    pub(crate) requester_counts: Field<bool>,
}
