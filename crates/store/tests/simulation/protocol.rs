//! One call on its way through a gateway: the calls into core and the store, in the order of the pipeline. Each mutant
//! leaves out or turns round one thing that the protocol is made of.

use std::sync::Arc;
use std::time::Duration;

use highwater_core::annotation::DataClass;
use highwater_core::decide::{
    Effect, FlowPolicies, Obligations, Overlooked, Received, ReplyFacts, ReplyVerdict, ResultType, Verdict,
    decide, decide_reply, demands, label_reply,
};
use highwater_core::id::{DecisionId, UpstreamId};
use highwater_core::label::{Label, LabelBits};
use highwater_core::policy::Policy;
use highwater_marks::{ReadPrints, Writer, left_by_write, says_nothing};
use highwater_notation::Timestamp;
use highwater_store::{Joined, MarkQuery, SessionHandle, SessionState, StoreError};

use crate::history::Call;
use crate::tools::{POLICIES, Saying};
use crate::world::{Node, World};

/// Longer than any history.
const LONG: Duration = Duration::from_secs(24 * 3600);

/// What a careless gateway would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// A message is released first, and its label joined after.
    ReleaseBeforeWrite,
    /// The two judgements differ, and the store is not asked.
    NoRead,
    /// Reads are answered by a standby that lags behind.
    LaggingStandby,
    /// A raise is answered before it is on disk.
    UnflushedRaise,
    /// What comes after a declassification is put down to the time before it.
    LateReplyIntoOldEpoch,
    /// The copy covers the label, so nothing is joined, although the copy may be old.
    SkipOnOldCopy,
    /// A label is lowered at once although replies are in flight.
    NoGrace,
    /// What the copy does not hold counts as absent in the second judgement too.
    UnknownIsFalse,
    /// Bits of a newer version are dropped.
    ForeignBitsAreDropped,
    /// A label that cannot be read is the one last known.
    FailedReadIsOldCopy,
    /// Progress and errors are released without their labels.
    OnlyReplies,
    /// A proof is used however long ago it was made.
    NoRenewal,
    /// Written objects are marked with the label last known.
    MarksOfOldCopy,
    /// Replies are judged under the label last known.
    RepliesUnderOldCopy,
    /// What another policy would overlook is released without the store.
    OverlookedByAnother,
    /// What was read before a silence is forgotten.
    PendingIsForgotten,
    /// A person's word about one agent counts for all who share its conversation.
    AWordForEverybody,
}

/// Which message of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    Progress,
    Reply,
}

/// A call that has arrived at a gateway.
pub(crate) struct Served {
    world: Arc<World>,
    node: Arc<Node>,
    call: Arc<Call>,
    issued: u64,
    session: SessionHandle,
}

// === impl Served ===

impl Served {
    pub(crate) fn new(world: Arc<World>, node: Arc<Node>, call: Arc<Call>, issued: u64) -> Self {
        let session = world.session(&node.store, call.agent);
        Self { world, node, call, issued, session }
    }

    /// The whole way.
    pub(crate) async fn run(self) {
        // Where the store cannot say whether a conversation goes on, its label is read when it is wanted.
        self.session.begin(LONG).await.ok();
        self.session.note_call();
        let Call { tool, object, .. } = *self.call;
        let begun = self.label_now().await;
        let mut before = Arc::clone(&begun);
        if self.is_shared() && !self.certain(&self.possible(&before)) && !self.is(Mutant::NoRead) {
            before = self.look_again().await;
        }
        let label = self.possible(&before);
        let verdict = decide(self.policy(), &tool.facts(&label));
        let allowed = matches!(verdict, Verdict::Allow(_));
        self.world.oracle().judged(self.policy(), &self.call, self.issued, allowed);
        let Verdict::Allow(permit) = verdict else { return };
        if let Some(thing) = tool.written(object) {
            if self.is_shared() && !self.is(Mutant::MarksOfOldCopy) {
                before = self.look_again().await;
            }
            let left = left_by_write(&self.possible(&before), false);
            if !says_nothing(&left)
                && self.node.store.leave(vec![thing], &left, &self.writer()).await.is_err()
            {
                return;
            }
        }
        pause(self.call.there).await;
        let content = self.world.oracle().performed(&self.call, self.issued);
        pause(self.call.back).await;
        let obligations = permit.obligations();
        if let Some(says) = self.call.progress {
            self.pass_on(Message::Progress, says, obligations, &begun, &content).await;
            pause(self.call.back).await;
        }
        self.pass_on(Message::Reply, self.call.reply, obligations, &begun, &content).await;
    }

    fn writer(&self) -> Writer {
        Writer {
            session: self.session.key().clone(),
            principal: self.session.owner().principal.clone(),
            tool: "keep".into(),
            decision: DecisionId::new("d"),
            at: Timestamp(1),
        }
    }

    /// Labels a message, judges it, stores its label and releases it; or does not release it.
    async fn pass_on(
        &self,
        message: Message,
        says: Saying,
        obligations: Obligations,
        begun: &SessionState,
        content: &Label,
    ) {
        let marks = match self.call.tool.read(self.call.object) {
            Some(reading) => {
                let (servers, text) = ([UpstreamId::new("server")], ReadPrints::default);
                let reader = &self.writer().principal;
                let query =
                    MarkQuery { servers: &servers, reading: &reading, reader, text: &text, held: None };
                self.node.store.met(&query).await.map_or_else(|_| Label::top(), |met| met.label())
            }
            None => Label::bottom(),
        };
        let now = if self.is_shared() && !self.is(Mutant::RepliesUnderOldCopy) {
            self.look_again().await
        } else {
            self.label_now().await
        };
        let Some(label) = self.passed(says, marks, &self.possible(&now), obligations) else {
            return self.world.oracle().count("withheld by policy");
        };
        let careless = self.is(Mutant::OnlyReplies) && (message == Message::Progress || self.call.fails)
            || self.is(Mutant::LateReplyIntoOldEpoch) && self.world.epoch(self.call.agent) > begun.epoch
            || self.is(Mutant::SkipOnOldCopy)
                && self.session.cached().is_some_and(|copy| copy.label.covers(&label));
        if careless || self.is(Mutant::ReleaseBeforeWrite) {
            self.release(message, says, obligations, content);
            if !careless {
                pause(self.call.slow).await;
                self.session.join(&label).await.ok();
            }
            return;
        }
        match self.joined(&label).await {
            Ok(joined) => {
                self.release(message, says, obligations, content);
                drop(joined);
            }
            Err(_) if self.overlooks(&label).is_some() => {
                self.world
                    .oracle()
                    .violate(format!("{message:?} is withheld, and no decision sees its label"));
            }
            Err(_) => self.world.oracle().count("withheld by the store"),
        }
    }

    /// The label of a message that may pass under this label of the session.
    fn passed(&self, says: Saying, marks: Label, now: &Label, obligations: Obligations) -> Option<Label> {
        let facts = self.call.tool.facts(now);
        let known = ReplyFacts { claims: says.claims(), marks, ..ReplyFacts::new(ResultType::Complete) };
        let labelled = label_reply(self.policy(), &facts, Received::new((), known));
        match decide_reply(self.policy(), &facts, obligations, labelled) {
            ReplyVerdict::Pass(pass) => Some(pass.label().clone()),
            ReplyVerdict::Hold(_) | ReplyVerdict::Withhold(_) => None,
        }
    }

    /// The label is in the store, and stays there until what it stands for is released.
    async fn joined(&self, label: &Label) -> Result<Joined, StoreError> {
        let joined = match self.session.covered(label) {
            Some(joined) => joined,
            None => self.session.join_or_postpone(label, |label| self.overlooks(label)).await?,
        };
        // The outcome is written to the audit.
        pause(self.call.slow).await;
        if self.is(Mutant::NoRenewal) {
            return Ok(joined);
        }
        let joined = joined.renewed(|label| self.overlooks(label)).await?;
        if joined.is_postponed() {
            self.world.oracle().count("released without the store");
        }
        Ok(joined)
    }

    /// Whether nobody could see this label. The simulated servers say nothing of whose data they take.
    fn overlooks<'l>(&self, label: &'l Label) -> Option<Overlooked<'l>> {
        let policy = if self.is(Mutant::OverlookedByAnother) { &POLICIES[0] } else { self.policy() };
        policy.overlooks(label, FlowPolicies::Unstated)
    }

    /// The first byte. Nothing waits between the proof and this.
    fn release(&self, message: Message, says: Saying, obligations: Obligations, content: &Label) {
        let mut oracle = self.world.oracle();
        let Call { agent, tool, .. } = *self.call;
        let past = oracle.past(agent, self.issued);
        // What a gateway assumes beyond the past may make `samos` take a session for a private one.
        let assumed = past.clone().with_class(DataClass::Pii);
        let under = |label: &Label| self.passed(says, content.clone(), label, obligations);
        match under(&past).or_else(|| under(&assumed)) {
            Some(truth) => oracle.give(agent, &truth, &format!("{message:?} of {tool:?}")),
            None => oracle
                .violate(format!("{message:?} of {tool:?} reached agent {agent}, and its past forbids it")),
        }
        drop(oracle);
        self.world.follow_up(&self.call, message == Message::Reply);
    }

    /// What the agent may have, as nobody has said whether it still has what was read before a silence.
    fn possible(&self, state: &SessionState) -> Label {
        if self.is(Mutant::PendingIsForgotten) { state.label.clone() } else { state.possible() }
    }

    fn certain(&self, label: &Label) -> bool {
        let facts = self.call.tool.facts(label);
        let known = demands(self.policy(), &facts);
        known.effect <= Effect::Redact
            && self.policy().rules().monotone()
            && (self.is(Mutant::UnknownIsFalse) || known == demands(self.policy(), &facts.at_worst()))
    }

    async fn label_now(&self) -> Arc<SessionState> {
        match self.session.cached() {
            Some(known) => self.seen(known),
            None => self.look_again().await,
        }
    }

    async fn look_again(&self) -> Arc<SessionState> {
        let worst = || Arc::new(SessionState { label: Label::top(), ..SessionState::unborn() });
        match self.session.current().await {
            Ok(state) => self.seen(state),
            Err(_) if self.is(Mutant::FailedReadIsOldCopy) => {
                self.session.cached().unwrap_or_else(|| Arc::new(SessionState::unborn()))
            }
            Err(_) => worst(),
        }
    }

    fn seen(&self, state: Arc<SessionState>) -> Arc<SessionState> {
        if !self.is(Mutant::ForeignBitsAreDropped) {
            return state;
        }
        let SessionState { epoch, version, label, pending } = (*state).clone();
        let known = LabelBits::from_i64(label.bits().to_i64() & 0x3000_0000_001f_ff7f);
        let label = Label::from_parts(known, label.scopes().clone(), label.origins().clone());
        Arc::new(SessionState { epoch, version, label, pending })
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.world.mutant == Some(mutant)
    }

    fn is_shared(&self) -> bool {
        self.node.store.is_shared()
    }

    fn policy(&self) -> &'static Policy {
        self.world.policy
    }
}

/// Waits so many milliseconds.
pub(crate) async fn pause(time: u64) {
    tokio::time::sleep(Duration::from_millis(time)).await;
}
