//! Gathers what can be known: of an action before it is judged, and of a reply without opening it.

use std::sync::{Arc, Mutex};

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{Claims, Contract, ReplyKind};
use highwater_core::approval::Undisturbed;
use highwater_core::decide::{Received, ReplyFacts, ResultType};
use highwater_core::label::Label;
use highwater_core::policy::{Arguments, RequestFacts};
use highwater_core::session::label_claims;
use highwater_mcp::annotations::{reply_says, request_says};
use highwater_mcp::era::reply;
use highwater_mcp::text::member;
use highwater_store::{SessionHandle, SessionState};
use highwater_upstream::Reply;
use highwater_upstream::apart;

use super::Arrival;
use super::arrival::Course;
use super::layout::Layout;
use super::undertaking::{Held, Undertaking};
use crate::client::Caller;
use crate::gateway::{Gateway, now};

/// What the road needs of a reply besides what the judgement needs.
pub(super) struct Letter {
    pub(super) reply: Reply,
    /// The resources that it links to or embeds.
    pub(super) resources: Vec<Box<str>>,
}

impl AsRef<[u8]> for Letter {
    fn as_ref(&self) -> &[u8] {
        self.reply.frame.bytes()
    }
}

/// What a client says of its own context.
#[derive(Default)]
pub(super) struct Said {
    pub(super) request: RequestFacts,
    /// It could not be stored.
    pub(super) unstored: bool,
}

impl Gateway {
    /// Gathers what is known of an action. What cannot be learned is the worst case.
    pub(super) async fn gather(
        &self,
        arrival: &Arrival,
        course: &Course,
        action: Arc<Action>,
        layout: Layout,
    ) -> Undertaking {
        let caller = Caller { session: arrival.session.clone(), ..arrival.client.caller().clone() };
        let Said { request, unstored } = self.take_request_in(arrival, &caller).await;
        let before = if unstored { worst() } else { self.label_now(&caller.session).await };
        let known = Arc::clone(&course.known);
        let mut undertaking = Undertaking {
            policy: Arc::clone(&arrival.world.policy),
            decision: self.next_decision(),
            judged: Held::Listed(Arc::clone(&known)),
            told: Held::Listed(Arc::clone(&known)),
            server: *course.contracts.server(),
            tool: course.tool.clone(),
            now: now(),
            standing: caller.standing(),
            variant: arrival.variant,
            before,
            request,
            unstored,
            met: None,
            relayed: None,
            agreed: None,
            consented: None,
            agreement: None,
            said: Mutex::default(),
            sealed: false,
            receipts: Vec::new(),
            caller,
            layout,
            action,
            known,
        };
        self.narrow(course, &mut undertaking).await;
        undertaking
    }

    /// The contract of this one call, inside the bounds of the tool's.
    async fn narrow(&self, course: &Course, undertaking: &mut Undertaking) {
        // What is held is told nothing.
        if undertaking.known.is_held() {
            return;
        }
        match undertaking.action.kind() {
            ActionKind::CallTool | ActionKind::GetPrompt => {
                if let Some(said) = undertaking.said_by_cases(undertaking.arguments()) {
                    undertaking.narrow(&said, "an operator's case");
                }
                if undertaking.known.resolve.is_some()
                    && let Some(said) = apart(self.resolve(course, undertaking)).await
                {
                    undertaking.narrow(&said, "its server's resolution");
                }
            }
            // The call was judged as a whole when it began; what is given to it now goes where its arguments went. So do
            // the arguments of a call that somebody is to approve first.
            ActionKind::Answer | ActionKind::TaskStep | ActionKind::CreateChallenge => {
                undertaking.judged = Held::Narrowed(Arc::new(undertaking.known.step()));
            }
            ActionKind::ReadResource
            | ActionKind::Subscribe
            | ActionKind::Complete
            | ActionKind::ResolveTool
            | ActionKind::ExtraMethod => {}
        }
    }

    /// Judges what brings a call answers as that call, where strangers have had a say since a person agreed to it who are
    /// not its server: it may be they who want it to go on.
    pub(super) async fn listen_again(&self, undertaking: &mut Undertaking, heard: &Undisturbed) {
        self.look_again(undertaking).await;
        if heard.is_disturbed(&undertaking.before.label) {
            undertaking.judged = Held::Listed(Arc::clone(&undertaking.known));
            let arguments = member(undertaking.action.params(), "arguments").unwrap_or("{}");
            if let Some(said) = undertaking.said_by_cases(arguments) {
                undertaking.narrow(&said, "an operator's case");
            }
        }
    }

    /// Takes into the session what the client says of its own context, and says whether that could not be stored. It
    /// stays: the context that the client speaks of is the one the session stands for.
    pub(super) async fn take_request_in(&self, arrival: &Arrival, caller: &Caller) -> Said {
        let Some(meta) = arrival.frame.param("_meta").filter(|_| !arrival.frame.is_meta_formal()) else {
            return Said::default();
        };
        let says = request_says(meta);
        let label = label_claims(&says.claims);
        let request = RequestFacts {
            open_world: label.open_world(),
            attribution: label.origins().clone(),
            contributors: says.contributors,
        };
        if label == Label::bottom() {
            return Said { request, unstored: false };
        }
        let stored = self.absorb(&caller.session, &label, false).await;
        if let Err(error) = &stored {
            tracing::error!(%error, "what a client says of its context could not be stored");
        }
        Said { request, unstored: stored.is_err() }
    }

    /// The session's label as it is known here; a session that cannot be read has taken in everything.
    pub(super) async fn label_now(&self, session: &SessionHandle) -> Arc<SessionState> {
        if let Some(known) = session.cached() {
            return known;
        }
        match apart(session.current()).await {
            Ok(state) => state,
            Err(error) => {
                tracing::error!(%error, session = %session.key(), "its label cannot be read: it counts as the highest");
                worst()
            }
        }
    }

    /// The label that something that came back is judged under: on a store that others share, as it is there.
    pub(super) async fn label_of_moment(&self, session: &SessionHandle) -> Arc<SessionState> {
        if !self.store.is_shared() {
            return self.label_now(session).await;
        }
        apart(session.current()).await.unwrap_or_else(|error| {
            tracing::error!(%error, session = %session.key(), "its label cannot be read: it counts as the highest");
            worst()
        })
    }

    /// Seals a reply in with its facts. It cannot fail: what cannot be learned is the worst case.
    pub(super) async fn gather_reply(&self, undertaking: &Undertaking, reply: Reply) -> Received<Letter> {
        // An error of the upstream is a reply too, and complete.
        let result_type = match reply::type_of(&reply.frame, reply.era) {
            reply::ResultType::Complete => ResultType::Complete,
            reply::ResultType::InputRequired => ResultType::InputRequired,
            reply::ResultType::Task => ResultType::Task,
            reply::ResultType::Unknown => ResultType::Unknown,
        };
        let says = reply_says(&reply.frame);
        for notice in &says.notices {
            tracing::info!(decision = %undertaking.decision, ?notice, "noted about a reply's annotations");
        }
        let kind = match undertaking.action.kind() {
            ActionKind::ReadResource => ReplyKind::Resource,
            _ if says.embeds_resource => ReplyKind::ServerWithResource,
            _ => ReplyKind::Server,
        };
        let facts = ReplyFacts {
            result_type,
            kind,
            claims: says.claims,
            marks: self.marks(undertaking).await,
            contract: contract_of_reply(undertaking, &reply),
        };
        Received::new(Letter { reply, resources: says.resources }, facts)
    }
}

// === impl Undertaking ===

impl Undertaking {
    /// What the operator says of a call with these arguments.
    fn said_by_cases(&self, arguments: &str) -> Option<Claims> {
        let cases = self.known.cases.as_ref().filter(|label| !label.cases().is_empty())?;
        Some(cases.for_call(Arguments::Known(arguments))).filter(|said| !said.is_empty())
    }

    /// Narrows both readings of the contract for this call.
    fn narrow(&mut self, said: &Claims, by: &str) {
        let (contract, notices) = self.judged.narrowed(said);
        for notice in &notices {
            tracing::info!(decision = %self.decision, ?notice, "noted about {by}");
        }
        let contract = Arc::new(contract);
        self.judged = Held::Narrowed(Arc::clone(&contract));
        self.told = Held::Narrowed(contract);
    }
}

/// The contract that the reply is labelled by, where it is another than that of the action: the tool's own for a step of
/// a call, narrowed by what an operator's case finds in the reply.
fn contract_of_reply(undertaking: &Undertaking, reply: &Reply) -> Option<Arc<Contract>> {
    let cases = undertaking.known.cases.as_ref().filter(|label| !label.results().is_empty());
    let said = cases.and_then(|cases| reply.frame.result().map(|result| cases.for_reply(result)));
    said.filter(|said| !said.is_empty()).map(|said| narrowed(undertaking, &said))
}

#[cold]
fn narrowed(undertaking: &Undertaking, said: &Claims) -> Arc<Contract> {
    let (contract, notices) = undertaking.told.narrowed(said);
    for notice in &notices {
        tracing::info!(decision = %undertaking.decision, ?notice, "noted about an operator's case of a reply");
    }
    Arc::new(contract)
}

/// A session that may have taken in anything.
pub(super) fn worst() -> Arc<SessionState> {
    Arc::new(SessionState { epoch: 0, version: 0, label: Label::top() })
}
