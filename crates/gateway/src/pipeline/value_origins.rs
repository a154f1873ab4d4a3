//! Where the values in a call come from: the call is held against what its conversation has said and read, and what
//! becomes of the call is told to that conversation. A conversation that tells no words has no such evidence, and its calls
//! are judged by the label alone.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use highwater_core::action::ActionKind;
use highwater_core::annotation::{ArgumentRole, Destination, Outcome};
use highwater_core::decide::{FlowMode, Permit};
use highwater_core::grant::AcceptedWords;
use highwater_core::id::DecisionId;
use highwater_core::label::Label;
use highwater_core::policy::{Input, Policy, ToolStatus};
use highwater_core::provenance::{ArgumentStanding, CallProvenance, Carries, Ground, Lack, Need, Standing};
use highwater_core::trust::TrustLevel;
use highwater_mcp::frame::Frame;
use highwater_mcp::text::{member, members, string_member, unquote};
use highwater_notation::Words;
use highwater_provenance::{Body, Call, Evidence, ListedThing, Reply, stand};
use serde_json::Value;

use super::approve::ReplySource;
use super::permitted::{Basis, Permitted};
use super::proposed::{EffectiveContract, Proposed};
use super::sessions::{Sessions, is_unread};
use crate::approvals::{ListedCall, ListedView};
use crate::catalog::Definition;
use crate::client::Caller;
use crate::session::ReadCall;

/// The longest value that is looked up among the ids that were listed, as JSON text.
const LONGEST_ID: usize = 256;

/// How many of a call's arguments are.
const MOST_LISTED: usize = 16;

/// What was found out of the values in a call. It depends on whether the session holds something that may not go to the
/// public: a host that the user names is then no place to send just any page address to.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueOrigins {
    /// If it does.
    private: Option<Arc<CallProvenance>>,
    /// If it does not.
    otherwise: Option<Arc<CallProvenance>>,
}

/// A call in a conversation that tells words of which nothing else is known: nothing vouches for it.
pub(super) static UNVOUCHED: LazyLock<CallProvenance> = LazyLock::new(|| {
    let lacks = vec![Lack { need: Need::Value, pointer: None }];
    CallProvenance {
        has_words: true,
        arguments: Vec::new(),
        lacks_strictly: lacks.clone(),
        lacks,
        audience_wanted: false,
        carries: Carries::Anything,
    }
});

// === impl ValueOrigins ===

impl ValueOrigins {
    /// For a session of this label.
    pub(super) fn under(
        &self,
        policy: &Policy,
        proposed: &Proposed,
        label: &Label,
    ) -> Option<&CallProvenance> {
        if holds_private(policy, proposed, label) { self.at_worst() } else { self.otherwise.as_deref() }
    }

    /// For a session that may have taken in anything.
    pub(super) fn at_worst(&self) -> Option<&CallProvenance> {
        self.private.as_deref()
    }

    /// Whether nobody found out anything.
    pub(super) fn is_unknown(&self) -> bool {
        self.private.is_none()
    }

    fn of(evidence: &Evidence, call: &Call<'_>) -> Self {
        let explained = |provenance| Some(Arc::new(with_first_sights(provenance, evidence, call.arguments)));
        let worst = stand(evidence, call, true);
        if worst.lacks_strictly.is_empty() {
            let worst = explained(worst);
            return Self { private: worst.clone(), otherwise: worst };
        }
        Self { private: explained(worst), otherwise: explained(stand(evidence, call, false)) }
    }
}

/// Whether a session of this label holds something that may not go to the public.
fn holds_private(policy: &Policy, proposed: &Proposed, label: &Label) -> bool {
    let clearance = &policy.flow(&proposed.caller.virtual_server).clearance;
    !clearance.refuses(Words::only(Destination::Public), label).is_empty()
}

// === impl Sessions ===

impl Sessions {
    /// A call with where its values come from, under its session's label of this moment. Anything else is as it was.
    pub(super) fn trace_values(&self, proposed: Proposed) -> Proposed {
        if !self.evidence.may_have(proposed.session()) || self.is_off(&proposed) {
            return proposed;
        }
        if proposed.action.kind() != ActionKind::CallTool || proposed.known().is_held() {
            return proposed;
        }
        if !matters(&proposed) && !self.world.load().policy.rules().depend_on(Input::Provenance) {
            return proposed;
        }
        let found = self.evidence.with(proposed.session(), epoch(&proposed), |evidence| {
            with_call(&proposed, |call| ValueOrigins::of(evidence, call))
        });
        match found.flatten() {
            Some(origins) => proposed.with_origins(origins),
            None => proposed,
        }
    }

    /// Whether its virtual server has calls judged by the label alone, or the prompts of its clients are nobody's words.
    fn is_off(&self, proposed: &Proposed) -> bool {
        proposed.standing.words == AcceptedWords::None
            || self.world.load().without_provenance.contains(&proposed.caller.virtual_server)
    }

    /// Whether calls of this caller are judged by what the user says.
    pub(super) fn judges_words(&self, caller: &Caller, words: AcceptedWords) -> bool {
        words != AcceptedWords::None
            && self.evidence.may_have(&caller.session)
            && !self.world.load().without_provenance.contains(&caller.virtual_server)
            && self.evidence.with(&caller.session, None, |evidence| evidence.has_words()) == Some(true)
    }

    /// Tells the conversation that a call is sent: that a person agreed to exactly this, and that it acts.
    pub(super) fn tell_sent(&self, proposed: &Proposed, permit: &Permit, basis: &Basis) {
        if !self.evidence.may_have(proposed.session()) || proposed.action.kind() != ActionKind::CallTool {
            return;
        }
        let is_approved = basis.seen && permit.obligations().approved();
        let acts = proposed.contract.acts();
        if !is_approved && !acts {
            return;
        }
        self.evidence.with(proposed.session(), epoch(proposed), |evidence| {
            with_call(proposed, |call| {
                if is_approved {
                    evidence.approved(call);
                }
                if acts {
                    evidence.acted(call);
                }
            })
        });
    }

    /// Hands a reply over whose label is part of the session's and which is about to be released.
    pub(super) fn tell_reply(&self, permitted: &Permitted, reply: &Frame, label: &Label) {
        let may_have = self.evidence.may_have(permitted.session());
        let Some(result) = reply.result().filter(|_| may_have) else { return };
        let told = self.evidence.with(permitted.session(), epoch(permitted), |evidence| {
            with_call(permitted, |call| {
                evidence.reply(&Reply {
                    decision: permitted.decision.clone(),
                    call,
                    trusted: label.integrity() >= TrustLevel::Tool,
                    failed: member(result, "isError") == Some("true"),
                    classes: label.classes(),
                    records: permitted.known().records.clone(),
                    body: Body::Result(result.into()),
                });
            })
        });
        if told.flatten().is_some() {
            self.evidence.note_read(permitted.session().key(), read_call(permitted));
        }
    }

    /// The call in whose reply a value stands, for a person: what of the user's words it read.
    pub(super) fn reply_source(&self, proposed: &Proposed, decision: &DecisionId) -> Option<ReplySource> {
        let session = proposed.session();
        let read = self.evidence.read_call(session.key(), decision)?;
        let named = self.evidence.with(session, epoch(proposed), |evidence| named_by_user(evidence, &read));
        Some(ReplySource { tool: read.shown.to_string(), named: named.flatten() })
    }
}

impl Sessions {
    /// What the server of a call listed under the ids that the call names.
    pub(super) fn listed_as(&self, proposed: &Proposed) -> Vec<ListedView> {
        let session = proposed.session();
        if !self.evidence.may_have(session) || proposed.action.kind() != ActionKind::CallTool {
            return Vec::new();
        }
        let server = proposed.action.upstream();
        let things = self.evidence.with(session, epoch(proposed), |evidence| {
            let arguments = members(proposed.arguments()).filter(|(_, value)| value.len() <= LONGEST_ID);
            let found = arguments.filter_map(|(name, value)| {
                let id = unquote(value).unwrap_or(Cow::Borrowed(value));
                Some((name.into_owned(), evidence.listed_as(server, &id)?))
            });
            found.take(MOST_LISTED).collect::<Vec<_>>()
        });
        let view = |(argument, thing): (String, ListedThing)| {
            let tool = self.evidence.read_call(session.key(), &thing.decision);
            Some(ListedView { argument, name: thing.name?, tool: tool.map(|tool| tool.shown.to_string()) })
        };
        things.unwrap_or_default().into_iter().filter_map(view).collect()
    }
}

impl Sessions {
    /// What a call names of the things that its server listed, where a yes may cover all of them: nothing leaves, and it
    /// can be undone.
    pub(super) fn listed_call(&self, proposed: &Proposed) -> Option<ListedCall> {
        let (session, contract) = (proposed.session(), &proposed.contract);
        let may_cover = self.evidence.may_have(session)
            && proposed.action.kind() == ActionKind::CallTool
            && !contract.destroys()
            && !contract.destination().contains(Destination::Public);
        let tool = proposed.route.tool.as_ref().filter(|_| may_cover)?;
        let server = proposed.action.upstream();
        let (request, was_asked) = self.evidence.open_request(session.key(), server, &tool.own)?;
        let all = self.evidence.with(session, epoch(proposed), |evidence| evidence.listed(server))?;
        let mut named = members(proposed.arguments())
            .filter(|(_, value)| value.len() <= LONGEST_ID)
            .filter_map(|(name, value)| {
                let id = unquote(value).unwrap_or(Cow::Borrowed(value));
                let mut things = all.iter().filter(|thing| thing.is_named(&id));
                let thing = things.next().filter(|_| things.next().is_none())?;
                Some((name.into_owned(), thing.clone()))
            });
        // One thing by one argument: nobody said which of several may change.
        let (argument, thing) = named.next()?;
        if named.next().is_some() {
            return None;
        }
        let alike = all.iter().filter(|other| other.kind == thing.kind).cloned().collect();
        Some(ListedCall { request, argument, thing, alike, was_asked })
    }

    /// Notes that somebody is asked about a call.
    pub(super) fn note_question(&self, proposed: &Proposed) {
        if let Some(tool) =
            proposed.route.tool.as_ref().filter(|_| self.evidence.may_have(proposed.session()))
        {
            let session = proposed.session().key();
            self.evidence.note_question(session, proposed.action.upstream(), &tool.own);
        }
    }
}

fn read_call(permitted: &Permitted) -> ReadCall {
    let tool = permitted.route.tool.as_ref();
    let method = || Arc::clone(permitted.action.method());
    ReadCall {
        decision: permitted.decision.clone(),
        server: permitted.action.upstream().clone(),
        tool: tool.map_or_else(method, |tool| Arc::clone(&tool.own)),
        shown: tool.map_or_else(method, |tool| Arc::clone(&tool.shown)),
        arguments: permitted.arguments().into(),
    }
}

/// What the user named of the things that a call read: whether they would be wanted if something were done to them.
fn named_by_user(evidence: &Evidence, read: &ReadCall) -> Option<String> {
    let arguments: Value = serde_json::from_str(&read.arguments).ok()?;
    let call = Call {
        server: &read.server,
        tool: &read.tool,
        description: None,
        arguments: &arguments,
        role: &|_| None,
        schema: None,
        destination: Destination::User,
        outcome: Outcome::Consequential,
        destructive: false,
        caps: &[],
    };
    let found = stand(evidence, &call, true);
    let wanted = found.arguments.iter().find(|argument| {
        argument.standing == Standing::Wanted
            && matches!(argument.role, ArgumentRole::Target | ArgumentRole::Object)
            && matches!(argument.ground, Ground::Words | Ground::Record)
    })?;
    texts_at(&arguments, &wanted.pointer).into_iter().next()
}

/// The epoch of the label that the call is judged under; nothing where it could not be read.
fn epoch(proposed: &Proposed) -> Option<u64> {
    (!is_unread(&proposed.before)).then_some(proposed.before.epoch)
}

/// Whether where its values come from could change what is decided of an action. What stays where the session's data may
/// go, in a session that nobody doubts, is no question.
fn matters(proposed: &Proposed) -> bool {
    let contract = &proposed.contract;
    let is_public = contract.destination().contains(Destination::Public);
    (contract.acts() || is_public)
        && (is_public
            || !matches!(proposed.flow_mode(), FlowMode::Balanced)
            || proposed.before.pending.is_some()
            || proposed.label().untrusted()
            || proposed.label().private())
}

/// The call as evidence is held against it; nothing where its arguments are no object.
fn with_call<T>(proposed: &Proposed, look: impl FnOnce(&Call<'_>) -> T) -> Option<T> {
    let arguments: Value = serde_json::from_str(proposed.arguments()).ok()?;
    if !arguments.is_object() {
        return None;
    }
    let known = proposed.known();
    let definition = defined(proposed);
    // What nobody has seen says nothing of what its arguments are.
    let approved = definition.filter(|_| known.status == ToolStatus::Approved);
    let contract: &EffectiveContract = &proposed.reply_contract;
    let inferred = known.shape.roles();
    let role = |pointer: &str| -> Option<ArgumentRole> {
        contract.roles().role_or(pointer, inferred.of_pointer(pointer, contract.acts()))
    };
    let caps: Vec<(&str, f64)> = known
        .cases
        .iter()
        .flat_map(|label| label.caps().iter())
        .filter_map(|cap| Some((&*cap.argument, cap.most.as_f64()?)))
        .collect();
    let tool = proposed.route.tool.as_ref().map_or(&**proposed.action.method(), |tool| &*tool.own);
    Some(look(&Call {
        server: proposed.action.upstream(),
        tool,
        description: approved.and_then(|definition| definition.description.as_deref()),
        arguments: &arguments,
        role: &role,
        schema: approved.and_then(|definition| definition.schema.as_ref()),
        destination: contract.destination().worst(),
        outcome: contract.outcomes().worst(),
        destructive: definition.is_some_and(|definition| definition.says_destructive),
        caps: &caps,
    }))
}

/// The tool as its server defines it, read once.
fn defined(proposed: &Proposed) -> Option<&Definition> {
    let tool = proposed.route.tool.as_ref()?;
    let read = || {
        let server_listing = proposed.route.catalog_server.server_listing()?;
        let mut items = server_listing.tools.items.iter().filter_map(|item| std::str::from_utf8(item).ok());
        let text = items.find(|item| string_member(item, "name").as_deref() == Some(&tool.own))?;
        Some(Definition::read(text))
    };
    proposed.known().definition.get_or_init(read).as_ref()
}

/// Says of values that nothing vouches for in which reply they stood first. That never counts as evidence: it is for those
/// who are asked.
fn with_first_sights(provenance: CallProvenance, evidence: &Evidence, arguments: &Value) -> CallProvenance {
    let arguments = provenance.arguments.iter().map(|argument| {
        let is_unfounded = argument.ground == Ground::Nothing && argument.source.is_none();
        let values = if is_unfounded { texts_at(arguments, &argument.pointer) } else { Vec::new() };
        let source = values.iter().find_map(|value| evidence.first_sight(value)).map(|sight| sight.decision);
        ArgumentStanding { source: source.or_else(|| argument.source.clone()), ..argument.clone() }
    });
    CallProvenance { arguments: arguments.collect(), ..provenance.clone() }
}

/// The texts and numbers in a value at a JSON pointer.
pub(super) fn texts_at(arguments: &Value, pointer: &str) -> Vec<String> {
    let pointer = if pointer.starts_with('/') { pointer.to_owned() } else { format!("/{pointer}") };
    let mut found = Vec::new();
    let mut open: Vec<&Value> = arguments.pointer(&pointer).into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Number(number) => found.push(number.to_string()),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) => {}
        }
    }
    found
}
