//! Gathers what can be known: of an action before it is judged, and of a reply without opening it.

use std::sync::Arc;

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{Accepts, Authority, Claim, Claims, Contract, ReplyKind};
use highwater_core::decide::{Received, ReplyFacts, ResultType};
use highwater_core::policy::ServerFacts;
use highwater_core::session::label_reply;
use highwater_mcp::annotations::reply_says;
use highwater_mcp::era::reply;
use highwater_mcp::method::Method;
use highwater_notation::Arguments;
use highwater_upstream::{Reply, box_cold};

use super::Arrival;
use super::arrival::{CallUnderWay, Excuse, RoutedAction};
use super::files::Files;
use super::judge::Judge;
use super::local::{LocalFacts, reads_by_sql, said_by_places};
use super::objects::{handles, prints_of};
use super::permitted::Permitted;
use super::proposed::{Earlier, EffectiveContract, Proposed};
use super::sessions::{ClientContext, Met, Sessions, worst};
use super::value_origins::ValueOrigins;
use crate::client::Caller;
use crate::gateway::now;

/// What the road needs of a reply besides what the judgement needs.
pub(super) struct Answered {
    pub(super) reply: Reply,
    /// The resources that it links to or embeds.
    pub(super) resources: Box<[Box<str>]>,
    /// What it bears marks of, if it does. Rare, and not carried along by every reply.
    pub(super) marked: Option<Box<Met>>,
}

impl AsRef<[u8]> for Answered {
    fn as_ref(&self) -> &[u8] {
        self.reply.frame.bytes()
    }
}

// === impl Judge ===

impl Judge {
    /// Gathers what is known of an action. What cannot be learned is the worst case.
    pub(super) async fn gather(&self, arrival: &Arrival, routed: RoutedAction) -> Proposed {
        let RoutedAction { action, route, layout, call } = routed;
        let caller = Caller { session: arrival.session.clone(), ..arrival.client.caller().clone() };
        let ClientContext { request, unstored } = self.sessions.take_context(arrival, &caller).await;
        let before = if unstored { worst() } else { self.sessions.known(&caller.session).await };
        let contract = EffectiveContract::Listed(Arc::clone(&route.known));
        let proposed = Proposed {
            policy: Arc::clone(&arrival.world.policy),
            decision: self.next_decision(),
            contract: contract.clone(),
            reply_contract: contract,
            server: ServerFacts { trust: route.known.contract.server(), ..*route.contracts.server() },
            now: now(),
            standing: caller.standing(),
            variant: arrival.variant,
            before,
            earlier: Earlier::Indifferent,
            request,
            unstored,
            relayed: None,
            local: LocalFacts::default(),
            files: Files::default(),
            continues_agreed: call.as_ref().is_some_and(|call| call.agreed),
            excuse: Excuse::Nothing,
            origins: ValueOrigins::default(),
            sealed: false,
            caller,
            host: arrival.host.clone(),
            layout,
            action,
            route,
        };
        let proposed = self.narrow(proposed).await;
        let proposed = LocalFacts::found(proposed, &arrival.world.places);
        let proposed = if proposed.files.are_used() {
            box_cold(self.sessions.doubting(proposed)).await
        } else {
            proposed
        };
        match call {
            None => self.sessions.trace_values(proposed),
            Some(call) => box_cold(self.as_part_of(proposed, *call)).await,
        }
    }

    /// The action with the contract of this one call, inside the bounds of the tool's.
    async fn narrow(&self, proposed: Proposed) -> Proposed {
        // What is held is told nothing.
        if proposed.known().is_held() {
            return proposed;
        }
        match proposed.action.kind() {
            ActionKind::CallTool | ActionKind::GetPrompt => {
                let proposed = match proposed.said_by_cases(Arguments::Known(proposed.arguments())) {
                    Some(said) => proposed.narrowed(&said, "an operator's case"),
                    None => proposed,
                };
                let local = LocalFacts { reads_by_sql: reads_by_sql(&proposed), ..proposed.local };
                let proposed = Proposed { local, ..proposed };
                let said = proposed.contract.said_of_reading_sql(proposed.known().profile);
                let proposed = match said.filter(|_| local.reads_by_sql) {
                    Some(said) => proposed.narrowed(&said, "the SQL it runs"),
                    None => proposed,
                };
                if proposed.known().resolve.is_some()
                    && let Some(said) = box_cold(self.resolve(&proposed)).await
                {
                    return proposed.narrowed(&said, "its server's resolution");
                }
                proposed
            }
            // It is judged as the call that it belongs to.
            ActionKind::Answer => proposed,
            // What is given to a task decides what the call does, as its arguments did. What those were is not known here.
            ActionKind::TaskStep if gives_to_task(&proposed.action) => {
                match proposed.said_by_cases(Arguments::Unknown) {
                    Some(said) => proposed.narrowed(&said, "an operator's case"),
                    None => proposed,
                }
            }
            // Asking after a task gives it nothing, and the arguments of a call that somebody is to approve first do
            // nothing yet: they go where those of the call go.
            ActionKind::TaskStep | ActionKind::CreateChallenge => {
                let step = Arc::new(step(&proposed.contract));
                proposed.judged_by(EffectiveContract::Narrowed(step))
            }
            ActionKind::ReadResource
            | ActionKind::Subscribe
            | ActionKind::Complete
            | ActionKind::ResolveTool
            | ActionKind::ExtraMethod => proposed,
        }
    }

    /// What is brought to a call, judged as the call under the session's label of this moment. Where strangers have had a
    /// say since the call was permitted who are not its server, nothing of it is excused: it may be they who want it to go
    /// on.
    async fn as_part_of(&self, proposed: Proposed, call: CallUnderWay) -> Proposed {
        let proposed = self.sessions.read_again(proposed).await;
        let excuse = call.excuse(&proposed.before.label);
        let CallUnderWay { contract, reply_contract, local, origins, .. } = call;
        // What is brought without arguments of its own comes from where the call's came from.
        let origins = match excuse {
            Excuse::Strangers | Excuse::Told(..) if proposed.origins.is_unknown() => origins,
            Excuse::Strangers | Excuse::Told(..) | Excuse::Nothing => proposed.origins,
        };
        Proposed { contract, reply_contract, local, origins, excuse, ..proposed }
    }
}

/// Whether a step of a task gives it something.
fn gives_to_task(step: &Action) -> bool {
    **step.method() == *Method::UpdateTask.as_str()
}

/// What giving more to a call takes that is no new question: nothing happens that was not judged with the call, and what
/// is given goes where the call's arguments go.
pub(super) fn step(call: &Contract) -> Contract {
    let mut claims = Claims::new();
    if let Accepts::Only(classes) = call.accepts() {
        // What the tool takes as an argument it takes as an answer.
        claims.push(Claim::SetAccepts(classes.clone()), Authority::Catalogue, "step");
    }
    Contract::reading(call.destination()).weighed(&claims, &call.server()).0
}

impl Sessions {
    /// Seals a reply in with its facts. It cannot fail: what cannot be learned is the worst case.
    pub(super) async fn gather_reply(&self, permitted: &Permitted, reply: Reply) -> Received<Answered> {
        // An error of the upstream is a reply too, and complete.
        let result_type = match reply::type_of(&reply.frame, reply.era) {
            reply::ResultType::Complete => ResultType::Complete,
            reply::ResultType::InputRequired => ResultType::InputRequired,
            reply::ResultType::Task => ResultType::Task,
            reply::ResultType::Unknown => ResultType::Unknown,
        };
        let says = reply_says(&reply.frame);
        for notice in &says.notices {
            tracing::info!(decision = %permitted.decision, ?notice, "noted about a reply's annotations");
        }
        let kind = match permitted.action.kind() {
            ActionKind::ReadResource => ReplyKind::Resource,
            _ if says.embeds_resource => ReplyKind::ServerWithResource,
            _ => ReplyKind::Server,
        };
        let key = self.store.print_key();
        let hands_out = || !handles(permitted.route.upstream(), &says.resources, &reply.frame).is_empty();
        // Where no judgement of replies looks at more than the session's label, and nothing that the reply hands out is to
        // bear its own, what the session holds already need not be looked for.
        let matters = !self.store.may_be_marked(permitted.route.contracts.keeps())
            || permitted.judges_replies()
            || hands_out();
        let held = (!matters).then_some(&permitted.before.label);
        let met = self.marks(permitted, &|| prints_of(key, &reply.frame), held).await;
        let contract = contract_of_reply(permitted, &reply);
        if met.is_read() {
            let said = contract.as_deref().unwrap_or(&permitted.reply_contract);
            self.learn(permitted, &met, &label_reply(said, &says.claims, &met.label, kind));
        }
        let marks = met.label.clone();
        let facts = ReplyFacts { result_type, kind, claims: says.claims, marks, contract };
        let marked = met.is_something().then(|| Box::new(met));
        Received::new(Answered { reply, resources: says.resources.into(), marked }, facts)
    }
}

/// The contract that the reply is labelled by, where it is another than that of the action: the tool's own for a step of
/// a call, narrowed by what an operator's case finds in the reply.
fn contract_of_reply(permitted: &Permitted, reply: &Reply) -> Option<Arc<Contract>> {
    let cases = permitted.known().cases.as_ref().filter(|label| !label.results().is_empty());
    let result = reply.frame.result();
    let mut said = cases.and_then(|cases| result.map(|result| cases.for_reply(result))).unwrap_or_default();
    let is_untrusted = permitted.reply_contract.reply_label().untrusted();
    if let Some(places) = said_by_places(permitted.local.read_from, result).filter(|_| !is_untrusted) {
        said.extend(&places);
    }
    (!said.is_empty()).then(|| narrowed(permitted, &said))
}

fn narrowed(permitted: &Permitted, said: &Claims) -> Arc<Contract> {
    let (contract, notices) = permitted.reply_contract.narrowed(said);
    for notice in &notices {
        tracing::info!(decision = %permitted.decision, ?notice, "noted about an operator's case of a reply");
    }
    Arc::new(contract)
}
