//! Gathers what can be known: of an action before it is judged, and of a reply without opening it.

use std::sync::Arc;

use highwater_core::action::ActionKind;
use highwater_core::annotation::{Claims, Contract, ReplyKind};
use highwater_core::approval::Undisturbed;
use highwater_core::decide::{Received, ReplyFacts, ResultType};
use highwater_core::policy::ServerFacts;
use highwater_core::profile::LocalAct;
use highwater_core::session::label_reply;
use highwater_mcp::annotations::reply_says;
use highwater_mcp::era::reply;
use highwater_mcp::text::member;
use highwater_upstream::Reply;
use highwater_upstream::apart;

use super::Arrival;
use super::arrival::RoutedAction;
use super::judge::Judge;
use super::local::local_act;
use super::objects::prints_of;
use super::permitted::Permitted;
use super::proposed::{EffectiveContract, Proposed};
use super::sessions::{ClientContext, Met, Sessions, worst};
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
        let RoutedAction { action, route, layout, heard } = routed;
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
            request,
            unstored,
            relayed: None,
            local_act: LocalAct::No,
            continues_agreed: heard.is_some(),
            sealed: false,
            caller,
            layout,
            action,
            route,
        };
        let proposed = self.narrow(proposed).await;
        let local_act = local_act(&proposed, &arrival.world.places);
        let proposed = Proposed { local_act, ..proposed };
        match heard {
            None => proposed,
            Some(heard) => apart(self.judged_as_call(proposed, &heard)).await,
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
                let proposed = match proposed.said_by_cases(proposed.arguments()) {
                    Some(said) => proposed.narrowed(&said, "an operator's case"),
                    None => proposed,
                };
                let proposed = match proposed.said_by_sql() {
                    Some(said) => proposed.narrowed(&said, "the SQL it runs"),
                    None => proposed,
                };
                if proposed.known().resolve.is_some()
                    && let Some(said) = apart(self.resolve(&proposed)).await
                {
                    return proposed.narrowed(&said, "its server's resolution");
                }
                proposed
            }
            // An answer to a call that acts decides what it does, as its arguments did.
            ActionKind::Answer if proposed.contract.acts() => proposed,
            // The call was judged as a whole when it began; what is given to it now goes where its arguments went. So do
            // the arguments of a call that somebody is to approve first.
            ActionKind::Answer | ActionKind::TaskStep | ActionKind::CreateChallenge => {
                let step = Arc::new(proposed.known().step());
                proposed.judged_by(EffectiveContract::Narrowed(step))
            }
            ActionKind::ReadResource
            | ActionKind::Subscribe
            | ActionKind::Complete
            | ActionKind::ResolveTool
            | ActionKind::ExtraMethod => proposed,
        }
    }

    /// What brings a call answers, judged as that call where strangers have had a say since a person agreed to it who are
    /// not its server: it may be they who want it to go on.
    async fn judged_as_call(&self, proposed: Proposed, heard: &Undisturbed) -> Proposed {
        let proposed = self.sessions.read_again(proposed).await;
        if !heard.is_disturbed(&proposed.before.label) {
            return proposed;
        }
        let listed = EffectiveContract::Listed(Arc::clone(proposed.known()));
        let proposed = proposed.judged_by(listed);
        let arguments = member(proposed.action.params(), "arguments").unwrap_or("{}");
        match proposed.said_by_cases(arguments) {
            Some(said) => proposed.narrowed(&said, "an operator's case"),
            None => proposed,
        }
    }
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
        let met = self.marks(permitted, &|| prints_of(key, &reply.frame)).await;
        let contract = contract_of_reply(permitted, &reply);
        if met.is_read() {
            let said = contract.as_deref().unwrap_or(&permitted.reply_contract);
            self.learn(permitted, &met, &label_reply(said, &says.claims, &met.label, kind));
        }
        let marks = met.label.clone();
        let facts = ReplyFacts { result_type, kind, claims: says.claims, marks, contract };
        let marked = (!met.marks.is_empty()).then(|| Box::new(met));
        Received::new(Answered { reply, resources: says.resources.into(), marked }, facts)
    }
}

/// The contract that the reply is labelled by, where it is another than that of the action: the tool's own for a step of
/// a call, narrowed by what an operator's case finds in the reply.
fn contract_of_reply(permitted: &Permitted, reply: &Reply) -> Option<Arc<Contract>> {
    let cases = permitted.known().cases.as_ref().filter(|label| !label.results().is_empty());
    let said = cases.and_then(|cases| reply.frame.result().map(|result| cases.for_reply(result)));
    said.filter(|said| !said.is_empty()).map(|said| narrowed(permitted, &said))
}
fn narrowed(permitted: &Permitted, said: &Claims) -> Arc<Contract> {
    let (contract, notices) = permitted.reply_contract.narrowed(said);
    for notice in &notices {
        tracing::info!(decision = %permitted.decision, ?notice, "noted about an operator's case of a reply");
    }
    Arc::new(contract)
}
