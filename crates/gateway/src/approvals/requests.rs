//! Requests: asking, waiting, answering, and using an answer up. What happens at most once is the store's to say.

use std::time::Duration;

use highwater_audit::ApprovalNote;
use highwater_core::approval::{AuthenticatorClass, GrantOutcome, Quorum, RoundOutcome};
use highwater_core::decide::{Effect, QuestionDigest, Told};
use highwater_core::id::{ApprovalId, DecisionId, Principal, SessionKey, UpstreamId, UserId};
use highwater_core::pin::PinDigest;
use highwater_notation::{CanonicalArguments, Timestamp};
use highwater_passkey::{ActionHash, ToolName};
use highwater_store::{ApprovalRequest, AskLimits, Asked, Need, RequestFilter, RequestState};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::view::{ApprovalState, ContextView, ConversationView, EarlierMatters};
use super::{ApprovalFault, ApprovalService, By, RememberScope, random_id};
use crate::gateway::now;

/// How long a request waits for its answer.
const REQUEST_LIFETIME_MS: u64 = 5 * 60 * 1000;

/// The same where several people must sign.
const QUORUM_LIFETIME_MS: u64 = 60 * 60 * 1000;

/// How often a waiter looks for itself, in case it was not told.
const LOOK: Duration = Duration::from_millis(500);

/// How many requests are looked through for one that waits.
const MOST_LOOKED_AT: u32 = 100;

/// Something a person must look at.
pub(crate) struct NewAsk<'a> {
    pub(crate) kind: Effect,
    pub(crate) user: UserId,
    pub(crate) principal: &'a Principal,
    pub(crate) session: &'a SessionKey,
    /// The client as it calls itself.
    pub(crate) caller: String,
    pub(crate) tool: &'a ToolName,
    pub(crate) upstream: Option<&'a UpstreamId>,
    pub(crate) definition: Option<PinDigest>,
    pub(crate) arguments: &'a CanonicalArguments,
    pub(crate) action: ActionHash,
    pub(crate) context: ContextView,
    pub(crate) told: &'a Told,
    pub(crate) question: QuestionDigest,
    pub(crate) class: AuthenticatorClass,
    pub(crate) quorum: Option<Quorum>,
    /// Whether receipts of it are sealed, and nothing of it is kept.
    pub(crate) sealed: bool,
    /// Whether the client is given the address, and so tells its own person.
    pub(crate) has_link: bool,
    pub(crate) decision: &'a DecisionId,
}

/// What came of asking.
pub(crate) enum AskAnswer {
    /// It waits for a person, or a person has agreed and no call rests on it yet.
    Open(Box<ApprovalRequest>),
    /// A person said no to the same thing a while ago.
    Declined,
    /// Too many wait already.
    TooMany,
    /// The tool is paused: people said no to it several times.
    Paused,
    /// All passkeys of the person are being reset.
    Resetting,
}

/// What was kept of what a person was told; nothing was told if that cannot be read.
pub(crate) fn told_of(text: &str) -> Told {
    serde_json::from_str(text).unwrap_or_default()
}

/// The names of the rules and gates that a person was told of.
pub(crate) fn rules_of(told: &Told) -> Vec<String> {
    told.findings().map(ToString::to_string).collect()
}

// === impl ApprovalService ===

impl ApprovalService {
    /// Asks a person, or joins a request for the same action that waits already.
    pub(crate) async fn ask(&self, ask: NewAsk<'_>) -> Result<AskAnswer, ApprovalFault> {
        let created = now();
        let lifetime = if ask.quorum.is_some() { QUORUM_LIFETIME_MS } else { REQUEST_LIFETIME_MS };
        let request = ApprovalRequest {
            id: ApprovalId::new(random_id()?),
            kind: ask.kind,
            user: ask.user,
            principal: ask.principal.clone(),
            session: ask.session.clone(),
            caller: ask.caller,
            tool: ask.tool.clone(),
            upstream: ask.upstream.cloned(),
            definition: ask.definition,
            arguments: ask.arguments.clone(),
            action: ask.action,
            shown: serde_json::to_string(&ask.context).unwrap_or_default().into(),
            told: serde_json::to_string(ask.told).unwrap_or_default().into(),
            question: ask.question,
            need: Need { class: ask.class, quorum: ask.quorum },
            sensitive: ask.sealed,
            cleared: false,
            state: RequestState::Pending,
            created,
            expires: Timestamp(created.0.saturating_add(lifetime)),
            decided: None,
            decided_by: None,
        };
        Ok(match self.store.ask(request, &AskLimits::default(), created).await? {
            Asked::New(request) => {
                let note = note("asked", ask.principal.as_str(), &request);
                self.record(Some(ask.decision), note)?;
                self.changed(&request.id);
                self.call_attention(&request, ask.has_link);
                self.tell_asked(&request);
                AskAnswer::Open(Box::new(request))
            }
            Asked::Joined(request) | Asked::Granted(request) => AskAnswer::Open(Box::new(request)),
            Asked::Declined { .. } => AskAnswer::Declined,
            Asked::TooMany => AskAnswer::TooMany,
            Asked::Paused => AskAnswer::Paused,
            Asked::Resetting => AskAnswer::Resetting,
        })
    }

    /// Waits until a request is answered or over, at most until then, and says how it stands.
    pub(crate) async fn settled(
        &self,
        id: &ApprovalId,
        until: Instant,
    ) -> Result<Option<ApprovalRequest>, ApprovalFault> {
        let mut changes = self.changes.subscribe();
        loop {
            let request = self.store.request(id).await?;
            if request.as_ref().is_none_or(|request| request.state != RequestState::Pending)
                || Instant::now() >= until
            {
                return Ok(request);
            }
            let look = (Instant::now() + LOOK).min(until);
            let told = async {
                loop {
                    match changes.recv().await {
                        Ok(changed) if changed == *id => return,
                        Ok(_) => {}
                        Err(RecvError::Lagged(_)) => return,
                        Err(RecvError::Closed) => std::future::pending().await,
                    }
                }
            };
            // Whichever comes first: the store is read again.
            tokio::time::timeout_at(look, told).await.ok();
        }
    }

    /// Uses a person's answer up for one call of the conversation that asked: T3.
    pub(crate) async fn use_grant(
        &self,
        request: &ApprovalRequest,
        caller: (&Principal, &SessionKey),
        action: ActionHash,
        definition: Option<PinDigest>,
    ) -> Result<GrantOutcome, ApprovalFault> {
        let outcome = self.store.consume_grant(&request.id, caller, action, definition, now()).await?;
        if outcome == GrantOutcome::Consumed {
            self.changed(&request.id);
        }
        Ok(outcome)
    }

    /// Takes a round of a call that a person approved.
    pub(crate) async fn take_round(&self, id: &str, ends: Timestamp) -> Result<RoundOutcome, ApprovalFault> {
        Ok(self.store.take_round(id, ends, now()).await?)
    }

    /// Where several people sign for an action that cannot be signed by its own client: its request if it waits, else all.
    pub(crate) async fn url_for(
        &self,
        principal: &Principal,
        action: ActionHash,
    ) -> Result<String, ApprovalFault> {
        let waiting = self.requests(Some(RequestState::Pending), MOST_LOOKED_AT).await?;
        let same = |request: &&ApprovalRequest| request.principal == *principal && request.action == action;
        let found = waiting.iter().find(same).map(|request| self.url(&request.id));
        Ok(found.unwrap_or_else(|| format!("{}/inbox", self.origin)))
    }

    /// Ends a request that its answer does not cover any more.
    pub(crate) async fn end(&self, request: &ApprovalRequest, why: &str) -> Result<(), ApprovalFault> {
        if self.store.end_request(&request.id, now()).await? {
            let note = ApprovalNote { detail: Some(why), ..note("ended", "gateway", request) };
            self.record(None, note)?;
            self.changed(&request.id);
        }
        Ok(())
    }

    /// The button. Never enough where a passkey is asked for.
    pub async fn confirm(
        &self,
        id: &ApprovalId,
        by: By<'_>,
        remember: Option<RememberScope>,
    ) -> Result<ApprovalState, ApprovalFault> {
        let request = self.pending(id).await?;
        if request.kind != Effect::Confirm {
            return Err(ApprovalFault::NeedsPasskey);
        }
        if conversation(&request).is_some_and(|it| it.matters == EarlierMatters::Blocks) {
            return Err(ApprovalFault::NeedsWord);
        }
        let user = match by {
            By::User(user) if *user != request.user => return Err(ApprovalFault::NotAsked),
            By::Client(_) => return Err(ApprovalFault::NotAsked),
            // It was a passkey that let them in.
            By::User(user) if self.is_resetting(user).await? => return Err(ApprovalFault::Resetting),
            By::User(user) => Some(user),
            By::Operator(_) => None,
        };
        let remembered = remember.map(|scope| self.to_remember(&request, scope)).transpose()?;
        let words = by.words();
        self.record(None, note("confirmed", &words, &request))?;
        if !self.store.confirm(id, &words, user, now()).await? {
            return Err(self.over(id).await?);
        }
        if let Some(answer) = remembered {
            self.keep(&answer, &words).await?;
        }
        self.changed(id);
        self.tell_decided(&request, ApprovalState::Approved);
        Ok(ApprovalState::Approved)
    }

    /// A request that waits, and the presumed conversation that it was asked in, for whoever may say that it is a new one.
    pub(crate) async fn conversation_of(
        &self,
        id: &ApprovalId,
        by: By<'_>,
    ) -> Result<(ApprovalRequest, ConversationView), ApprovalFault> {
        let request = self.pending(id).await?;
        match by {
            By::User(user) if *user != request.user => return Err(ApprovalFault::NotAsked),
            By::Client(_) => return Err(ApprovalFault::NotAsked),
            By::User(user) if self.is_resetting(user).await? => return Err(ApprovalFault::Resetting),
            By::User(_) | By::Operator(_) => {}
        }
        let conversation = conversation(&request).filter(|conversation| conversation.way.is_some());
        conversation.map(|conversation| (request, conversation)).ok_or(ApprovalFault::NotPresumed)
    }

    /// A person's answer that is not the word that this is a new conversation says that it is the same one: what was read
    /// before the silence counts.
    async fn settle_earlier(&self, request: &ApprovalRequest) -> Result<(), ApprovalFault> {
        let Some(conversation) = conversation(request) else { return Ok(()) };
        // Whose conversation it is no answer to one call says.
        if conversation.matters == EarlierMatters::No || conversation.opened.is_some() {
            return Ok(());
        }
        if let Some(session) = self.store.find_session(&SessionKey::new(conversation.key)).await? {
            session.join_pending(conversation.epoch).await?;
        }
        Ok(())
    }

    /// Says no. Anybody may.
    pub async fn decline(&self, id: &ApprovalId, by: By<'_>) -> Result<bool, ApprovalFault> {
        let Some(request) = self.store.request(id).await? else { return Ok(false) };
        let words = by.words();
        // A client that does not show the page says nothing of the conversation.
        if request.state == RequestState::Pending && !matches!(by, By::Client(_)) {
            self.settle_earlier(&request).await?;
        }
        if !self.store.decline(id, &words, now()).await? {
            return Ok(false);
        }
        self.record(None, note("declined", &words, &request))?;
        self.changed(id);
        self.tell_decided(&request, ApprovalState::Declined);
        Ok(true)
    }

    /// Lets people be asked about a tool again.
    pub async fn resume(&self, principal: &str, tool: &str, by: By<'_>) -> Result<(), ApprovalFault> {
        let name = ToolName::parse(tool).map_err(|_| ApprovalFault::Unknown)?;
        self.store.resume_tool(&Principal::new(principal), &name).await?;
        let (by, detail) = (by.words(), format!("for {principal}"));
        let note = ApprovalNote {
            act: "resumed",
            by: &by,
            tool: Some(tool),
            detail: Some(&detail),
            ..ApprovalNote::default()
        };
        self.record(None, note)
    }

    /// A request that waits.
    pub(super) async fn pending(&self, id: &ApprovalId) -> Result<ApprovalRequest, ApprovalFault> {
        let request = self.store.request(id).await?.ok_or(ApprovalFault::Unknown)?;
        match request.state {
            RequestState::Pending => Ok(request),
            state => Err(ApprovalFault::Over(state.into())),
        }
    }

    async fn over(&self, id: &ApprovalId) -> Result<ApprovalFault, ApprovalFault> {
        let request = self.store.request(id).await?;
        Ok(request.map_or(ApprovalFault::Unknown, |request| ApprovalFault::Over(request.state.into())))
    }

    /// Every request that fits.
    pub(super) async fn requests(
        &self,
        state: Option<RequestState>,
        most: u32,
    ) -> Result<Vec<ApprovalRequest>, ApprovalFault> {
        Ok(self.store.requests(&RequestFilter { state, ..RequestFilter::default() }, most).await?)
    }
}

/// The conversation that a request was asked in, as it was then.
fn conversation(request: &ApprovalRequest) -> Option<ConversationView> {
    serde_json::from_str::<ContextView>(&request.shown).ok()?.conversation
}

/// What goes on record about a request.
pub(super) fn note<'a>(act: &'a str, by: &'a str, request: &'a ApprovalRequest) -> ApprovalNote<'a> {
    ApprovalNote {
        act,
        by,
        user: Some(request.user.as_str()),
        request: Some(request.id.as_str()),
        tool: Some(request.tool.as_str()),
        ..ApprovalNote::default()
    }
}

// === impl ApprovalState ===

impl From<RequestState> for ApprovalState {
    fn from(state: RequestState) -> Self {
        match state {
            RequestState::Pending => Self::Pending,
            RequestState::Approved => Self::Approved,
            RequestState::Consumed => Self::Consumed,
            RequestState::Declined => Self::Declined,
            RequestState::Expired => Self::Expired,
        }
    }
}
