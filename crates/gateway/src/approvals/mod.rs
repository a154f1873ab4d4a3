//! The approval service where people answer: requests, challenges, passkeys, mandates and what is remembered. It stands between the
//! store, the road that asks and the page that people see. Nothing of it runs for a call that is simply allowed.

mod attention;
mod ceremony;
mod enroll;
mod fault;
mod fetched_pages;
mod folder;
mod kept_label;
mod listed_things;
mod mandate;
mod methods;
mod options;
mod parts;
mod passkey_name;
mod records;
mod recovery;
mod remember;
mod requests;
mod scope;
mod sealing;
mod sign_in;
mod tickets;
mod view;
mod views;
mod webhook;

pub use attention::{NewQuestion, open_location};
pub use fault::ApprovalFault;
pub use options::{
    AuthenticatorSelection, ChallengeEnvelope, CreationOptions, Descriptor, KeyParameter, RequestOptions,
    RpEntity, UserEntity,
};
pub use parts::ApprovalServiceParts;
pub use view::{
    AbsentView, ApprovalState, AskView, ContextView, ConversationView, CredentialView, EarlierMatters,
    EarlierView, FieldView, InboxView, ListedView, MandateView, NeedView, OpenedView, OriginView, PausedView,
    RememberScope, RememberedView, RequestKind, RequestView, ResetView, ServerSays, Undo, WindowOpened,
    WindowView,
};

pub(crate) use ceremony::{Around, Proposed};
pub(crate) use enroll::with_one;
pub(crate) use folder::common_folder;
pub(crate) use listed_things::ListedCall;
pub(crate) use mandate::Mandated;
pub(crate) use methods::PREFIX as APPROVAL_METHODS;
pub(crate) use passkey_name::{kind as passkey_kind, parse as parse_passkey_name};
pub(crate) use remember::{Offer, Recalled};
pub(crate) use requests::{AskAnswer, NewAsk, rules_of, told_of};
pub(crate) use scope::{AskedCall, Rememberable, Surface, is_content};

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use highwater_audit::{ApprovalNote, AuditEvent, Happened};
use highwater_config::{ApprovalFlow, ApprovalSettings};
use highwater_core::annotation::Contract;
use highwater_core::id::{ApprovalId, DecisionId, Principal, UpstreamId, UserId};
use highwater_core::pin::PinDigest;
use highwater_passkey::{Nonce, RelyingParty, ServerId, ToolName};
use highwater_profile::ToolShape;
use highwater_store::{AskLimits, AuditLog, ReceiptKey, Store};
use tokio::sync::broadcast;

use crate::gateway::now;
use attention::Attention;
use mandate::MandateSessions;
use sign_in::SignIns;
use tickets::Tickets;
use webhook::Messages;

/// How many changes a slow listener may miss before it has to look for itself.
const CHANGES: usize = 256;

/// How often what is over is cleared.
const TIDY_EVERY: Duration = Duration::from_secs(60);

/// The approval service.
pub struct ApprovalService {
    store: Store,
    audit: Arc<AuditLog>,
    party: RelyingParty,
    /// Where the page is: scheme, host and port.
    origin: String,
    key: Arc<ReceiptKey>,
    settings: ArcSwap<ApprovalSettings>,
    changes: broadcast::Sender<ApprovalId>,
    /// The same for the pages that are open, which are counted.
    pages: broadcast::Sender<ApprovalId>,
    sign_ins: SignIns,
    tickets: Arc<Tickets>,
    attention: Arc<Attention>,
    messages: Messages,
    mandate_sessions: MandateSessions,
    /// How tools are defined now.
    catalog: OnceLock<Catalog>,
}

/// Looks a tool up by the name clients call it.
type FindTool = dyn Fn(&ToolName) -> Option<CatalogTool> + Send + Sync;

/// Says what is known of tools and agents now.
pub(crate) struct Catalog {
    pub(crate) tool: Box<FindTool>,
    /// Whether there is an agent of this name.
    pub(crate) is_agent: Box<dyn Fn(&Principal) -> bool + Send + Sync>,
}

/// A tool as it is known now.
pub(crate) struct CatalogTool {
    pub(crate) definition: PinDigest,
    pub(crate) upstream: UpstreamId,
    /// Its server's own name for it.
    pub(crate) own: Arc<str>,
    pub(crate) contract: Contract,
    pub(crate) shape: Arc<ToolShape>,
    /// Whether its server verifies approvals itself.
    pub(crate) gated: bool,
}

/// From where a passkey is registered.
#[derive(Clone, Copy, Debug)]
pub enum EnrollFrom<'a> {
    /// Our own page: the id of the page's session, and whether the person is signed in there as the user.
    Page {
        /// The session of the page, which the enrollment is kept under.
        session: &'a str,
        /// Whether they are signed in as that user.
        signed_in: bool,
    },
    /// The protocol, by this principal, for its user.
    Mcp(&'a highwater_core::id::Principal),
}

/// Who answers without a signature: the button, the decline.
#[derive(Clone, Copy, Debug)]
pub enum By<'a> {
    /// A person who is signed in to the page with a passkey.
    User(&'a UserId),
    /// Whoever holds the operator token, by the name they give.
    Operator(&'a str),
    /// The person in front of the client, as the client says.
    Client(&'a str),
}

// === impl By ===

impl By<'_> {
    /// Who, for the record.
    pub(crate) fn words(self) -> String {
        match self {
            Self::User(user) => format!("user {user}"),
            Self::Operator(name) => format!("operator {name}"),
            Self::Client(principal) => format!("client {principal}"),
        }
    }
}

// === impl ApprovalService ===

impl ApprovalService {
    pub(crate) fn new(
        parts: ApprovalServiceParts,
        store: Store,
        audit: Arc<AuditLog>,
        settings: ApprovalSettings,
    ) -> Arc<Self> {
        let ApprovalServiceParts { installation, key } = parts;
        let origins = std::iter::once(installation.origin.clone()).chain(settings.extra_origins.clone());
        let party = RelyingParty::new(installation.rp_id, origins, installation.server_id);
        let is_local = settings.public_url.is_none();
        let (messages, waiting) = Messages::new();
        let pages = broadcast::channel(CHANGES).0;
        let attention = Attention::new(&installation.origin, pages.clone());
        let approval_service = Arc::new(Self {
            store,
            audit,
            party,
            origin: installation.origin,
            key,
            settings: ArcSwap::from_pointee(settings),
            changes: broadcast::channel(CHANGES).0,
            pages,
            sign_ins: SignIns::default(),
            tickets: Arc::new(Tickets::new(is_local)),
            attention,
            messages,
            mandate_sessions: MandateSessions::default(),
            catalog: OnceLock::new(),
        });
        waiting.send_for(&approval_service);
        approval_service.follow_store();
        approval_service.tidy_up();
        approval_service
    }

    /// Takes up a new configuration. The page's origin and the origins of native clients are those of the start.
    pub(crate) fn under(&self, settings: ApprovalSettings) {
        self.settings.store(Arc::new(settings));
    }

    /// Learns where to look tools up.
    pub(crate) fn know(&self, catalog: Catalog) {
        // The gateway says it once, when it starts.
        self.catalog.set(catalog).ok();
    }

    fn tool(&self, tool: &ToolName) -> Option<CatalogTool> {
        self.catalog.get().and_then(|catalog| (catalog.tool)(tool))
    }

    fn is_agent(&self, principal: &Principal) -> bool {
        self.catalog.get().is_some_and(|catalog| (catalog.is_agent)(principal))
    }

    /// Where the page is: scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The name before authenticators.
    pub fn rp_id(&self) -> &str {
        self.party.rp_id()
    }

    /// The public key that receipts are checked with.
    pub fn receipt_key(&self) -> &[u8; 32] {
        self.key.public()
    }

    /// The id of the installation, which every signed action contains.
    pub(crate) fn server(&self) -> &ServerId {
        self.party.server()
    }

    /// The address of a request. It opens nothing.
    pub fn url(&self, id: &ApprovalId) -> String {
        format!("{}/approve/{id}", self.origin)
    }

    pub(crate) fn settings(&self) -> arc_swap::Guard<Arc<ApprovalSettings>> {
        self.settings.load()
    }

    /// Whether every client is expected to bring signatures by itself.
    pub(crate) fn is_native_only(&self) -> bool {
        self.settings().flow == ApprovalFlow::NativeOnly
    }

    /// Hears of every request that changes, for a page: while one is open no other is opened. A hint: whoever missed some
    /// looks again.
    pub fn changes(&self) -> broadcast::Receiver<ApprovalId> {
        self.pages.subscribe()
    }

    fn changed(&self, id: &ApprovalId) {
        // Nobody listening is no fault.
        self.changes.send(id.clone()).ok();
        self.pages.send(id.clone()).ok();
    }

    /// Passes on what the store hears of, from this gateway and from others.
    fn follow_store(self: &Arc<Self>) {
        let mut heard = self.store.watch_approvals();
        let approval_service = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                match heard.recv().await {
                    Ok(id) => match approval_service.upgrade() {
                        Some(approval_service) => approval_service.changed(&id),
                        None => return,
                    },
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                }
            }
        });
    }

    /// Ends what has run out and clears what nobody needs any more, now and then.
    fn tidy_up(self: &Arc<Self>) {
        let approval_service = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(TIDY_EVERY);
            loop {
                ticks.tick().await;
                let Some(approval_service) = approval_service.upgrade() else { return };
                if let Err(error) = approval_service.store.expire_requests(&AskLimits::default(), now()).await
                {
                    tracing::warn!(%error, "requests that are over could not be cleared");
                }
            }
        });
    }

    /// Does so once for a gateway that has no approval service: what an earlier one left ends all the same.
    pub(crate) fn tidy_up_for_nobody(store: &Store) {
        let store = store.clone();
        tokio::spawn(async move {
            if let Err(error) = store.expire_requests(&AskLimits::default(), now()).await {
                tracing::warn!(%error, "requests that are over could not be cleared");
            }
        });
    }

    /// Puts something on record and forces it to disk: what people decide outlives a power cut.
    fn record(&self, id: Option<&DecisionId>, note: ApprovalNote<'_>) -> Result<(), ApprovalFault> {
        self.audit.append(&AuditEvent { time: now(), id, happened: Happened::Approval(note) })?;
        self.audit.flush()?;
        Ok(())
    }
}

/// Random bytes of the system.
fn random<const N: usize>() -> Result<[u8; N], ApprovalFault> {
    let mut bytes = [0; N];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    if filled.is_ok_and(|filled| filled == N) { Ok(bytes) } else { Err(ApprovalFault::NoEntropy) }
}

/// An identifier of 128 random bits.
fn random_id() -> Result<String, ApprovalFault> {
    Ok(highwater_notation::encode_base64url(&random::<16>()?))
}

/// A nonce that is used once.
fn nonce() -> Result<Nonce, ApprovalFault> {
    random().map(Nonce)
}

#[cfg(test)]
mod tests;
