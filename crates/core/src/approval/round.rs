//! Rounds: a call that a person approved, and whose server asked for more before it was done, goes on without a second
//! approval (G25).
//!
//! The server's own state goes to the client inside a seal, with what the approval was for. The order of the types is the
//! order of what has to happen: [`Round::open`] opens the seal, [`Round::resume`] holds it against the call that brought
//! it, the store takes the round, and only what was taken is a [`SpentRound`]. So a round goes on once, and without a
//! state of the server there is nothing that could go on.

use std::borrow::Cow;

use highwater_notation::Timestamp;
use highwater_passkey::ActionHash;
use serde::{Deserialize, Serialize};

use super::undisturbed::Undisturbed;
use crate::action::{Action, ActionDigest};
use crate::decide::Told;
use crate::id::{Principal, SessionKey, UpstreamId};
use crate::label::{Label, LabelDigest};
use crate::pin::PinDigest;
use crate::policy::Effect;
use crate::seal::{Purpose, Seal};

/// How long the rounds of one execution may take, counted from its server's first question.
pub const ROUND_LIFETIME_MS: u64 = 600_000;

/// What a permitted action rests on that a person agreed to. Only a permit has it, and it permits nothing.
///
/// ```compile_fail
/// use highwater_core::approval::Consented;
/// use highwater_core::{decide::Told, id::Principal, policy::Effect};
/// let forged = Consented {
///     principal: Principal::new("agent"),
///     action: None,
///     grade: Effect::Passkey,
///     told: Told::default(),
///     ends: None,
///     heard: todo!(),
/// };
/// ```
#[derive(Clone, Debug)]
pub struct Consented {
    principal: Principal,
    /// What was signed; nothing where a word was enough.
    action: Option<ActionHash>,
    grade: Effect,
    told: Told,
    /// When its rounds end, once there was one.
    ends: Option<Timestamp>,
    /// The session in which it is permitted, as far as that has heard nobody else since they agreed.
    heard: Undisturbed,
}

/// An execution that its server left open to ask for more.
#[derive(Clone, Copy, Debug)]
pub struct LeftOpen<'a> {
    /// A name that no other round has.
    pub id: &'a str,
    /// The receipt or the request that the approval is on record as.
    pub by: &'a str,
    /// Whose context the call belongs to.
    pub session: &'a SessionKey,
    /// The server that asks.
    pub upstream: &'a UpstreamId,
    /// The call, as it is signed.
    pub action: ActionHash,
    /// The definition of what is called.
    pub definition: Option<PinDigest>,
    /// What the server wants back.
    pub state: &'a str,
    /// What the session has taken in of this server since the call was permitted, its question among it.
    pub said: &'a Label,
    /// When the server asked.
    pub now: Timestamp,
}

/// What is inside a seal.
#[derive(Debug, Serialize, Deserialize)]
struct Sealed {
    id: String,
    by: String,
    principal: Principal,
    session: SessionKey,
    upstream: UpstreamId,
    /// In hexadecimal.
    action: String,
    /// Whether that was signed, or a word was enough.
    signed: bool,
    definition: Option<PinDigest>,
    grade: Effect,
    told: Told,
    ends: Timestamp,
    state: String,
    /// The session's label if nobody else is heard until the answers come. Seals of builds that had none are good for
    /// what the person was told, and excuse nothing.
    #[serde(default)]
    heard: Option<LabelDigest>,
}

/// A seal that was opened. Nobody has held it against a call yet.
///
/// ```compile_fail
/// use highwater_core::approval::{ActionHash, Round};
/// use highwater_core::decide::{Escalation, Proof};
/// fn unchecked(asked: Escalation, round: Round, action: ActionHash) {
///     let _ = asked.signed(Proof::Round(round), action);
/// }
/// ```
#[derive(Debug)]
pub struct Round {
    sealed: Sealed,
    action: ActionHash,
}

/// The call that brings a round back.
#[derive(Clone, Copy, Debug)]
pub struct RoundCall<'a> {
    /// Who makes it.
    pub principal: &'a Principal,
    /// The context it belongs to.
    pub session: &'a SessionKey,
    /// Exactly what would be sent.
    pub action: &'a Action,
    /// The same, as it is signed.
    pub hash: ActionHash,
    /// The definition of what is called, now.
    pub definition: Option<PinDigest>,
    /// The time.
    pub now: Timestamp,
}

/// Why a call does not go on with a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundFault {
    /// It belongs to another call, to somebody else, or the call does not bring back what the server wants.
    Foreign,
    /// Its time is over.
    Expired,
    /// What is called is defined otherwise by now (G16).
    Changed,
}

/// A round that belongs to exactly this call. It can still be used by whoever takes it first.
///
/// It is not made without the checks:
///
/// ```compile_fail
/// use highwater_core::approval::{ResumedRound, Round};
/// fn unchecked(round: Round) -> ResumedRound {
///     ResumedRound { round, digest: todo!() }
/// }
/// ```
#[derive(Debug)]
pub struct ResumedRound {
    round: Round,
    digest: ActionDigest,
}

/// How taking a round went, in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundOutcome {
    /// It is taken, and this call may go on.
    Taken,
    /// It went on before.
    AlreadyTaken,
    /// Its time is over.
    Expired,
}

/// A round that is taken: one sending of exactly one action may rest on it.
///
/// It is not made without asking the store:
///
/// ```compile_fail
/// use highwater_core::approval::{ResumedRound, SpentRound};
/// fn untaken(round: ResumedRound) -> SpentRound {
///     SpentRound(round)
/// }
/// ```
///
/// a round that nobody took is no proof:
///
/// ```compile_fail
/// use highwater_core::approval::ResumedRound;
/// use highwater_core::decide::Proof;
/// fn untaken(round: ResumedRound) -> Proof {
///     Proof::Round(round)
/// }
/// ```
///
/// and it is not used twice:
///
/// ```compile_fail
/// use highwater_core::approval::{ActionHash, SpentRound};
/// use highwater_core::decide::{Escalation, Proof};
/// fn twice(first: Escalation, second: Escalation, action: ActionHash, spent: SpentRound) {
///     let _ = first.signed(Proof::Round(spent), action);
///     let _ = second.signed(Proof::Round(spent), action);
/// }
/// ```
#[derive(Debug)]
pub struct SpentRound(ResumedRound);

/// The one member of what is sent that makes it the rest of something.
#[derive(Deserialize)]
struct Continues<'a> {
    #[serde(borrow, rename = "requestState")]
    state: Option<Cow<'a, str>>,
}

// === impl Consented ===

impl Consented {
    pub(crate) fn new(
        principal: Principal,
        action: Option<ActionHash>,
        grade: Effect,
        told: Told,
        ends: Option<Timestamp>,
        heard: Undisturbed,
    ) -> Self {
        Self { principal, action, grade, told, ends, heard }
    }

    /// What was signed; nothing where a word was enough.
    pub fn signed(&self) -> Option<ActionHash> {
        self.action
    }

    pub(crate) fn principal(&self) -> &Principal {
        &self.principal
    }

    pub(crate) fn grade(&self) -> Effect {
        self.grade
    }

    /// What the person was told.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// The session in which it is permitted, as far as that has heard nobody else since the person agreed.
    pub fn heard(&self) -> &Undisturbed {
        &self.heard
    }

    /// Seals what the execution needs to go on. Nothing if what was agreed to is another action, or its time is over.
    pub fn leave_open(&self, seal: &Seal, open: &LeftOpen<'_>) -> Option<String> {
        let ends = self.ends.unwrap_or(Timestamp(open.now.0.saturating_add(ROUND_LIFETIME_MS)));
        let another = self.action.is_some_and(|signed| signed != open.action);
        if another || open.id.is_empty() || ends <= open.now {
            return None;
        }
        let sealed = Sealed {
            id: open.id.to_owned(),
            by: open.by.to_owned(),
            principal: self.principal.clone(),
            session: open.session.clone(),
            upstream: open.upstream.clone(),
            action: open.action.to_string(),
            signed: self.action.is_some(),
            definition: open.definition,
            grade: self.grade,
            told: self.told.clone(),
            ends,
            state: open.state.to_owned(),
            heard: self.heard.with(open.said).digest(),
        };
        seal.close(Purpose::Round, &sealed)
    }
}

// === impl Round ===

impl Round {
    /// Opens a seal.
    pub fn open(seal: &Seal, text: &str) -> Option<Self> {
        let sealed: Sealed = seal.open(Purpose::Round, text)?;
        let action = ActionHash::parse(&sealed.action)?;
        Some(Self { sealed, action })
    }

    /// What the server wants back.
    pub fn state(&self) -> &str {
        &self.sealed.state
    }

    /// The call that it is the rest of.
    pub fn action(&self) -> ActionHash {
        self.action
    }

    /// The receipt or the request that the approval is on record as.
    pub fn by(&self) -> &str {
        &self.sealed.by
    }

    /// Holds it against the call that brought it.
    pub fn resume(self, call: &RoundCall<'_>) -> Result<ResumedRound, RoundFault> {
        let sealed = &self.sealed;
        let brought: Option<Continues<'_>> = serde_json::from_str(call.action.params()).ok();
        let brought = brought.and_then(|brought| brought.state);
        if sealed.principal != *call.principal
            || sealed.session != *call.session
            || sealed.upstream != *call.action.upstream()
            || self.action != call.hash
            || brought.as_deref() != Some(&*sealed.state)
        {
            return Err(RoundFault::Foreign);
        }
        if sealed.ends <= call.now {
            return Err(RoundFault::Expired);
        }
        if sealed.definition != call.definition {
            return Err(RoundFault::Changed);
        }
        Ok(ResumedRound { round: self, digest: call.action.digest() })
    }
}

// === impl ResumedRound ===

impl ResumedRound {
    /// Its name, by which it is taken.
    pub fn id(&self) -> &str {
        &self.round.sealed.id
    }

    /// When it is over.
    pub fn ends(&self) -> Timestamp {
        self.round.sealed.ends
    }

    /// The receipt or the request that the approval is on record as.
    pub fn by(&self) -> &str {
        self.round.by()
    }

    /// Takes what the store says of taking it.
    pub fn spend(self, outcome: RoundOutcome) -> Result<SpentRound, RoundOutcome> {
        match outcome {
            RoundOutcome::Taken => Ok(SpentRound(self)),
            RoundOutcome::AlreadyTaken | RoundOutcome::Expired => Err(outcome),
        }
    }

    pub(crate) fn principal(&self) -> &Principal {
        &self.round.sealed.principal
    }

    /// The action that was approved, as it is signed.
    pub fn action(&self) -> ActionHash {
        self.round.action
    }

    pub(crate) fn digest(&self) -> ActionDigest {
        self.digest
    }

    pub(crate) fn grade(&self) -> Effect {
        self.round.sealed.grade
    }

    pub(crate) fn told(&self) -> &Told {
        &self.round.sealed.told
    }

    pub(crate) fn heard(&self) -> Option<LabelDigest> {
        self.round.sealed.heard
    }
}

// === impl SpentRound ===

impl SpentRound {
    /// What was taken.
    pub fn round(&self) -> &ResumedRound {
        &self.0
    }

    /// What the next round of the same execution rests on.
    pub(crate) fn signed(&self) -> Option<ActionHash> {
        self.0.round.sealed.signed.then_some(self.0.round.action)
    }
}
