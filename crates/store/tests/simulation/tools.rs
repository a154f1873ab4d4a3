//! The tools of the simulated servers, what their messages say of themselves, and the policies they are judged by.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{
    Authority, Claim, Claims, Contract, DataClass, Destination, Outcome, Possible, Sensitivity, Source,
};
use highwater_core::decide::{Clearance, FlowMode, FlowPolicy};
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{Admission, Facts, Policy, RuleSet, ServerFacts, Span, ToolStatus};
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_marks::{Name, Named, Prints, Reading, Thing};
use highwater_notation::{Arguments, Words};
use highwater_rules::{ConditionSource, RuleSource, Spanned, ValueSource, Written, compile};

use crate::dice::Dice;

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Harmless under any label.
    Clock,
    /// Gives personal data.
    Inbox,
    /// Gives credentials.
    Vault,
    /// Asks the open web.
    Page,
    /// Tells the public.
    Send,
    /// Writes something down.
    Keep,
    /// Reads what was written down.
    Recall,
}

/// What a message says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saying {
    Nothing,
    OpenWorld,
    Malicious,
    Pii,
}

/// What is the same in every call of a tool.
struct Known {
    action: Action,
    contract: Contract,
}

static NAMES: LazyLock<(DecisionId, Principal, VirtualServerId)> =
    LazyLock::new(|| (DecisionId::new("hwd_1"), Principal::new("agent"), VirtualServerId::new("default")));

static SERVER: LazyLock<ServerFacts> =
    LazyLock::new(|| ServerFacts { trust: trust(), ..ServerFacts::default() });

static KNOWN: LazyLock<Vec<Known>> =
    LazyLock::new(|| Tool::ALL.iter().map(|tool| tool.described()).collect());

/// The policies: three modes, one that lets everything into the company, and one whose rule looks at what the flow rules
/// do not.
pub(crate) static POLICIES: LazyLock<Vec<Policy>> = LazyLock::new(|| {
    let mode = |mode| FlowPolicy { mode, ..FlowPolicy::default() };
    let everything = Clearance::default().with(Destination::Internal, Words::all());
    let wide = FlowPolicy { clearance: everything, ..mode(FlowMode::Balanced) };
    let flows = [mode(FlowMode::Balanced), mode(FlowMode::Strict), mode(FlowMode::Samos), wide];
    let looking = policy(mode(FlowMode::Balanced)).with_rules(nothing_after_the_clock());
    flows.into_iter().map(policy).chain([looking]).collect()
});

/// A rule that looks at sources: whoever has looked at the clock does nothing more that anybody would notice.
fn nothing_after_the_clock() -> RuleSet {
    fn spanned<T>(value: T) -> Spanned<T> {
        Spanned::new(value, Span::default())
    }
    let test = |fact: &str, operator: &str, value: Written| ConditionSource::Test {
        fact: spanned(fact.to_owned()),
        operator: spanned(operator.to_owned()),
        value: ValueSource { span: Span::default(), value },
    };
    let text = |text: &str| Written::Text(text.to_owned());
    let tools =
        ["Inbox", "Page", "Send"].map(|tool| ValueSource { span: Span::default(), value: text(tool) });
    let rule = RuleSource {
        name: spanned("nothing-after-the-clock".to_owned()),
        effect: spanned("block".to_owned()),
        condition: ConditionSource::All {
            span: Span::default(),
            of: vec![
                test("session.sources", "contains", text("system")),
                test("tool.name", "in", Written::List(tools.to_vec())),
            ],
        },
        message: None,
        phase: None,
        non_monotone: false,
        dry_run: false,
    };
    compile(&[rule], &[]).unwrap()
}

fn policy(flow: FlowPolicy) -> Policy {
    let (server, virtual_server) = (UpstreamId::new("server"), NAMES.2.clone());
    Policy::new(
        BTreeMap::from([(server.clone(), Admission::default())]),
        BTreeMap::from([(virtual_server.clone(), BTreeSet::from([server]))]),
    )
    .with_flows(BTreeMap::from([(virtual_server, flow)]))
}

fn trust() -> ServerTrust {
    ServerTrust::of_verified(TrustLevel::Tool, TrustLevel::None)
}

// === impl Tool ===

impl Tool {
    const ALL: [Self; 7] =
        [Self::Clock, Self::Inbox, Self::Vault, Self::Page, Self::Send, Self::Keep, Self::Recall];

    pub(crate) fn any(dice: &mut Dice) -> Self {
        let among = [Self::Inbox, Self::Page, Self::Send, Self::Send, Self::Keep, Self::Recall, Self::Recall];
        if dice.one_in(6) {
            return Self::Clock;
        }
        if dice.one_in(8) { dice.pick(&Self::ALL) } else { dice.pick(&among) }
    }

    fn described(self) -> Known {
        use Destination::{Ephemeral, Internal, Public};
        use Source::{System, TrustedPublic, UntrustedPublic, User};
        let (destination, outcome, source, returns) = match self {
            Self::Clock => (Ephemeral, Outcome::Benign, System, None),
            Self::Inbox => (Ephemeral, Outcome::Benign, User, Some(DataClass::Pii)),
            Self::Vault => (Ephemeral, Outcome::Benign, User, Some(DataClass::Credentials)),
            Self::Page => (Public, Outcome::Benign, UntrustedPublic, None),
            Self::Send => (Public, Outcome::Consequential, TrustedPublic, None),
            Self::Keep => (Internal, Outcome::Benign, TrustedPublic, None),
            Self::Recall => (Ephemeral, Outcome::Benign, TrustedPublic, None),
        };
        let mut claims = Claims::new();
        for claim in [
            Claim::SetDestination(Possible::only(destination)),
            Claim::AcceptsAny,
            Claim::SetOutcomes(Possible::only(outcome)),
            Claim::SetSource(Possible::only(source)),
            Claim::SetReturns(Sensitivity::of(returns)),
        ] {
            claims.push(claim, Authority::Operator, "operator");
        }
        let name = format!("{self:?}");
        Known {
            action: Action::new(ActionKind::CallTool, UpstreamId::new("server"), "tools/call", &*name, "{}"),
            contract: Contract::weigh(&claims, &trust()).0,
        }
    }

    /// The facts of a call under a label.
    pub(crate) fn facts(self, session: &Label) -> Facts<'_> {
        let (decision, principal, virtual_server) = &*NAMES;
        let Known { action, contract } = &KNOWN[self as usize];
        Facts {
            contract,
            session,
            server: &SERVER,
            tool_status: ToolStatus::Approved,
            arguments: Arguments::Known("{}"),
            grant: Grant::everything(),
            ..Facts::of(decision, principal, virtual_server, action)
        }
    }

    /// What the call writes.
    pub(crate) fn written(self, object: usize) -> Option<Thing> {
        let thing = || Thing::object(UpstreamId::new("server"), &named(object), Prints::default());
        (self == Self::Keep).then(thing)
    }

    /// What the call reads.
    pub(crate) fn read(self, object: usize) -> Option<Reading> {
        (self == Self::Recall).then(|| Reading { named: named(object), ..Reading::default() })
    }
}

fn named(object: usize) -> Named {
    let mut named = Named::default();
    named.add("path", Name::new(&object.to_string()));
    named
}

// === impl Saying ===

impl Saying {
    pub(crate) fn any(dice: &mut Dice) -> Self {
        let some = [Self::OpenWorld, Self::Malicious, Self::Pii];
        if dice.one_in(3) { dice.pick(&some) } else { Self::Nothing }
    }

    pub(crate) fn claims(self) -> Claims {
        let mut claims = Claims::new();
        let claim = match self {
            Self::Nothing => return claims,
            Self::OpenWorld => Claim::OpenWorld,
            Self::Malicious => Claim::Malicious,
            Self::Pii => Claim::AddReturns(Sensitivity::of([DataClass::Pii])),
        };
        claims.push(claim, Authority::DeclaredVerified, "reply");
        claims
    }
}
