//! A fact is made of what its row says, and of nothing else: whatever else is another, it says the same.

use highwater_core::action::Action;
use highwater_core::grant::Grant;
use highwater_core::id::{Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{FACTS, Facts, FlowViolations, Input, RequestFacts, ResponseFacts, ServerFacts};
use highwater_notation::Words;

use super::dice::Dice;
use super::world;

const INPUTS: [Input; 13] = [
    Input::Tool,
    Input::Server,
    Input::Caller,
    Input::VirtualServer,
    Input::Action,
    Input::Label,
    Input::Origins,
    Input::Request,
    Input::Reply,
    Input::Flow,
    Input::Detectors,
    Input::Confinement,
    Input::Provenance,
];

/// What one input is elsewhere, put into the facts of an action.
struct Elsewhere<'a> {
    facts: Facts<'a>,
    flow: FlowViolations,
    principal: Principal,
    virtual_server: VirtualServerId,
    request: RequestFacts,
}

/// Says of each fact that does not depend on the input that it is the same before and after.
fn unmoved(input: Input, of: (&Facts<'_>, FlowViolations), with: (&Facts<'_>, FlowViolations)) {
    for fact in FACTS.iter().filter(|fact| !fact.depends_on(input)) {
        let (before, after) = (of.0.value(fact, of.1), with.0.value(fact, with.1));
        assert_eq!(before, after, "`{}` moves with {input:?}, which is not in its row", fact.path);
    }
}

fn vary(input: Input, facts: &Facts<'_>, flow: FlowViolations, other: &Elsewhere<'_>) {
    let there = &other.facts;
    let same = |with: &Facts<'_>| unmoved(input, (facts, flow), (with, flow));
    let (here, away) = (facts.session, there.session);
    match input {
        Input::Tool => same(&Facts {
            tool_id: there.tool_id,
            tool_name: there.tool_name,
            tool_status: there.tool_status,
            hold: there.hold,
            contract: there.contract,
            ..*facts
        }),
        Input::Server => {
            let action = facts.action;
            let (method, target) = (action.method().clone(), action.target().clone());
            let action = Action::new(action.kind(), UpstreamId::new("bank"), method, target, action.params());
            let server = ServerFacts { sandboxed: facts.server.sandboxed, ..*there.server };
            same(&Facts { action: &action, server: &server, ..*facts });
        }
        Input::Caller => same(&Facts { principal: &other.principal, grant: Grant::nothing(), ..*facts }),
        Input::VirtualServer => same(&Facts { virtual_server: &other.virtual_server, ..*facts }),
        Input::Action => same(&Facts { action: there.action, arguments: there.arguments, ..*facts }),
        Input::Label => {
            let mut label = Label::bottom()
                .with_integrity(away.integrity())
                .with_names(away.names())
                .with_classes(away.classes())
                .with_sources(away.sources())
                .with_scopes(away.scopes())
                .with_origins(here.origins());
            label = if away.open_world() { label.with_open_world() } else { label };
            label = if away.malicious() { label.with_malicious() } else { label };
            label = if away.wrote_externally() { label.with_wrote_externally() } else { label };
            same(&facts.under(&label));
            // What a session may have taken in besides is as much part of it, but for where that came from.
            let floor = here.clone();
            same(&Facts { session_floor: Some(&floor), ..facts.under(&label) });
        }
        Input::Origins => same(&facts.under(&here.clone().with_origins(away.origins()))),
        Input::Request => same(&Facts { request: &other.request, ..*facts }),
        Input::Reply => {
            let response = there.response.map(|response| ResponseFacts {
                sightings: facts.response.and_then(|response| response.sightings),
                ..response.clone()
            });
            same(&Facts { response: response.as_ref(), ..*facts });
        }
        Input::Flow => unmoved(input, (facts, flow), (facts, other.flow)),
        Input::Detectors => {
            let response = facts
                .response
                .map(|response| ResponseFacts { sightings: Some(Words::all()), ..response.clone() });
            let response = response.as_ref();
            same(&Facts { argument_sightings: there.argument_sightings, response, ..*facts });
        }
        Input::Confinement => {
            let server = ServerFacts { sandboxed: !facts.server.sandboxed, ..*facts.server };
            same(&Facts { server: &server, ..*facts });
        }
        Input::Provenance => same(&Facts { provenance: there.provenance, ..*facts }),
    }
}

#[test]
fn a_fact_depends_on_nothing_that_is_not_in_its_row() {
    for seed in 0..3_000 {
        let dice = &mut Dice::new(seed);
        let (here, there) = (world::world(dice), world::world(dice));
        let request = RequestFacts {
            open_world: dice.one_in(2),
            attribution: there.session.origins().clone(),
            contributors: None,
        };
        let other = Elsewhere {
            facts: there.facts(),
            flow: there.flow,
            principal: Principal::new("eve"),
            virtual_server: VirtualServerId::new("other"),
            request,
        };
        for input in INPUTS {
            vary(input, &here.facts(), here.flow, &other);
        }
    }
}

#[test]
fn every_fact_is_made_of_something() {
    for fact in FACTS {
        assert!(
            !fact.inputs.is_empty() && fact.inputs.iter().all(|input| INPUTS.contains(input)),
            "{}",
            fact.path
        );
    }
}
