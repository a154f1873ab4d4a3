//! What is written is one line of JSON, and is read back as what it was.

mod access;
mod short;

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{
    Authority, CallVariant, Claim, Claims, Contract, DataClass, Destination, NoticeKind,
    Outcome as ToolOutcome, Possible, Sensitivity, Source,
};
use highwater_core::decide::{FindingId, FlowMode, FlowPolicy, Verdict, decide, judge};
use highwater_core::id::VirtualServerId;
use highwater_core::label::TextSet;
use highwater_core::pin::PinDigest;
use highwater_core::policy::{Effect, FlowRule, PolicyDigest};
use highwater_core::profile::Named;
use highwater_core::provenance::CallProvenance;
use highwater_core::trust::{ServerTrust, TrustLevel};

use super::*;

struct Call {
    decision: DecisionId,
    principal: Principal,
    virtual_server: VirtualServerId,
    session: SessionKey,
    action: Action,
    contract: Contract,
    label: Label,
    policy: Policy,
}

impl Call {
    fn in_mode(mode: FlowMode) -> Self {
        let mail = UpstreamId::new("mail");
        let virtual_server = VirtualServerId::new("default");
        let mut claims = Claims::new();
        for claim in [
            Claim::SetDestination(Possible::only(Destination::Public)),
            Claim::SetOutcomes(Possible::only(ToolOutcome::Consequential)),
            Claim::SetSource(Possible::only(Source::System)),
            Claim::SetReturns(Sensitivity::none()),
        ] {
            claims.push(claim, Authority::Operator, "test");
        }
        let trust = ServerTrust::of_verified(TrustLevel::Tool, TrustLevel::None);
        let flows = [(virtual_server.clone(), FlowPolicy { mode, ..FlowPolicy::default() })].into();
        let policy = Policy::new(
            [(mail.clone(), highwater_core::policy::Admission::default())].into(),
            [(virtual_server.clone(), [mail.clone()].into())].into(),
        )
        .with_flows(flows)
        .with_digest(PolicyDigest::of(b"flow: balanced"));
        Self {
            decision: DecisionId::new("hwd_1"),
            principal: Principal::new("agent \"7\""),
            session: SessionKey::new("ses_1"),
            action: Action::new(ActionKind::CallTool, mail, "tools/call", "send", "{}"),
            contract: Contract::weigh(&claims, &trust).0,
            label: Label::bottom()
                .with_class(DataClass::Pii)
                .with_integrity(TrustLevel::None)
                .with_source(Source::Internal)
                .with_origin("mcp:files:read"),
            virtual_server,
            policy,
        }
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            grant: highwater_core::grant::Grant::everything(),
            contract: &self.contract,
            session: &self.label,
            tool_id: Some("mail__send"),
            ..Facts::of(&self.decision, &self.principal, &self.virtual_server, &self.action)
        }
    }

    fn decision(&self) -> RecordedDecision {
        self.decision_with(self.facts())
    }

    fn decision_with(&self, facts: Facts<'_>) -> RecordedDecision {
        let judgement = judge(&self.policy, &facts);
        let (session, policy) = (&self.session, &self.policy);
        let ruling = match decide(policy, &facts) {
            Verdict::Allow(_) => Ruling::Allowed,
            Verdict::Escalate(_) => Ruling::Asked,
            Verdict::Block(_) => Ruling::Blocked,
        };
        let decision = Decision {
            session,
            epoch: 3,
            policy,
            facts: &facts,
            judgement: &judgement,
            ruling,
            sealed: false,
            receipts: &[],
        };
        match written(&self.decision, Happened::Decision(decision)).happened {
            Recorded::Decision(decision) => *decision,
            other => panic!("{other:?}"),
        }
    }
}

fn written(id: &DecisionId, happened: Happened<'_>) -> Record {
    let mut out = Vec::new();
    AuditEvent { time: Timestamp(1_763_207_113_456), id: Some(id), happened }.write(&mut out);
    let line = String::from_utf8(out).unwrap();
    assert!(line.ends_with("}\n") && line.lines().count() == 1, "{line}");
    let record = Record::read(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!((record.v, record.time, record.id.as_ref()), (2, Timestamp(1_763_207_113_456), Some(id)));
    record
}

#[test]
fn a_blocked_call_is_told_in_full() {
    let call = Call::in_mode(FlowMode::Strict);
    let told = call.decision();
    assert_eq!(told.principal, call.principal);
    assert_eq!((told.epoch, told.tool.as_deref()), (3, Some("mail__send")));
    assert_eq!(told.variant, None, "it was called by its own name");
    assert_eq!(told.digest, Some(call.action.digest().to_string()));
    assert_eq!((told.effect, told.ruling, told.mode), (Effect::Block, Ruling::Blocked, FlowMode::Strict));
    assert_eq!(told.policy.as_deref(), call.policy.digest().as_str());
    assert_eq!(told.label.label(), call.label);
    assert_eq!(told.contract.destination, [Destination::Public]);
    assert_eq!(told.contract.basis["destination"], "operator");
    assert_eq!(told.violations, ["flow.write", "flow.act"]);
    assert_eq!(told.findings, judge(&call.policy, &call.facts()).findings());
}

#[test]
fn of_a_call_whose_receipt_is_sealed_no_digest_is_on_record() {
    let call = Call::in_mode(FlowMode::Balanced);
    let facts = call.facts();
    let judgement = judge(&call.policy, &facts);
    let receipts = ["rcp_1".to_owned(), "rcp_2".to_owned()];
    let decision = Decision {
        session: &call.session,
        epoch: 3,
        policy: &call.policy,
        facts: &facts,
        judgement: &judgement,
        ruling: Ruling::Approved,
        sealed: true,
        receipts: &receipts,
    };
    let mut out = Vec::new();
    let happened = Happened::Decision(decision);
    AuditEvent { time: Timestamp(1), id: Some(&call.decision), happened }.write(&mut out);
    let line = String::from_utf8(out).unwrap();
    assert!(!line.contains(&call.action.digest().to_string()), "{line}");
    let Recorded::Decision(told) = Record::read(&line).unwrap().happened else { panic!("{line}") };
    assert_eq!((told.digest, told.receipts.as_slice()), (None, &receipts[..]));
}

#[test]
fn what_a_call_named_and_whether_its_sql_reads_is_told_without_its_arguments() {
    let call = Call::in_mode(FlowMode::Balanced);
    for (named, reads_by_sql) in Named::ALL.iter().zip([true, false].into_iter().cycle()) {
        let facts = Facts { named: *named, reads_by_sql, ..call.facts() };
        let judgement = judge(&call.policy, &facts);
        let (session, policy, ruling) = (&call.session, &call.policy, Ruling::Allowed);
        let decision = Decision {
            session,
            epoch: 0,
            policy,
            facts: &facts,
            judgement: &judgement,
            ruling,
            sealed: false,
            receipts: &[],
        };
        let mut out = Vec::new();
        AuditEvent { time: Timestamp(1), id: Some(&call.decision), happened: Happened::Decision(decision) }
            .write(&mut out);
        let line = String::from_utf8(out).unwrap();
        let Recorded::Decision(told) = Record::read(&line).unwrap().happened else { panic!("{line}") };
        assert_eq!((told.named, told.reads_by_sql), (*named, reads_by_sql), "{line}");
    }
}

#[test]
fn where_arguments_came_from_is_told_of_conversations_that_tell_words() {
    let call = Call::in_mode(FlowMode::Balanced);
    let told = serde_json::json!({
        "has_words": true,
        "arguments": [{ "pointer": "/to", "role": "target", "standing": "wanted", "ground": "record", "source": "hwd_0" }],
        "lacks": [{ "need": "act" }],
        "lacks_strictly": [{ "need": "act" }, { "need": "value", "pointer": "/to" }],
        "audience_wanted": true,
        "carries": { "things": ["pii"] },
    });
    let given: CallProvenance = serde_json::from_value(told.clone()).unwrap();
    assert_eq!(serde_json::to_value(&given).unwrap(), told);
    let recorded = call.decision_with(Facts { provenance: Some(&given), ..call.facts() });
    let found = recorded.findings.iter().find(|finding| !finding.lacks.is_empty()).unwrap();
    assert_eq!((found.id.to_string().as_str(), &found.lacks), ("flow.act", &given.lacks));
    assert_eq!(recorded.standings, Some(given.clone()));
    let silent = CallProvenance { has_words: false, ..given };
    assert_eq!(call.decision_with(Facts { provenance: Some(&silent), ..call.facts() }).standings, None);
}

#[test]
fn the_variant_through_which_a_tool_was_called_is_told() {
    let call = Call::in_mode(FlowMode::Observe);
    for variant in CallVariant::ALL {
        let facts = Facts { variant: Some(*variant), ..call.facts() };
        let judgement = judge(&call.policy, &facts);
        let (session, policy, ruling) = (&call.session, &call.policy, Ruling::Blocked);
        let decision = Decision {
            session,
            epoch: 3,
            policy,
            facts: &facts,
            judgement: &judgement,
            ruling,
            sealed: false,
            receipts: &[],
        };
        let Recorded::Decision(told) = written(&call.decision, Happened::Decision(decision)).happened else {
            panic!("a decision")
        };
        assert_eq!(told.variant, Some(*variant));
    }
}

#[test]
fn an_allowed_call_says_little_and_enough() {
    let call =
        Call { label: Label::bottom().with_origin("mcp:files:read"), ..Call::in_mode(FlowMode::Strict) };
    let told = call.decision();
    assert_eq!((told.effect, told.ruling), (Effect::Allow, Ruling::Allowed));
    assert_eq!(told.label, RecordedLabel::default());
    assert_eq!(told.contract.outcomes, [ToolOutcome::Consequential]);
    assert_eq!(told.contract.accepts, None);
    assert!(told.findings.is_empty() && told.would.is_none());
}

#[test]
fn observe_tells_what_each_mode_would_have_done() {
    let told = Call::in_mode(FlowMode::Observe).decision();
    assert_eq!((told.effect, told.ruling), (Effect::Allow, Ruling::Allowed));
    let would = told.would.unwrap();
    assert_eq!((would.balanced, would.strict, would.samos), (Effect::Confirm, Effect::Block, Effect::Block));
    let act = told.findings.iter().find(|finding| finding.id == FindingId::Flow(FlowRule::Act)).unwrap();
    let would = act.would.unwrap();
    assert_eq!(
        (would.balanced, would.strict, would.samos),
        (Effect::Confirm, Effect::Confirm, Effect::Allow)
    );
}

#[test]
fn an_outcome_tells_what_came_in() {
    let id = DecisionId::new("hwd_1");
    let label = Label::bottom().with_class(DataClass::Financial).with_origin("mcp:a:b").with_open_world();
    let ended = |raised| Ended {
        outcome: Outcome::UpstreamError,
        bytes: 17,
        millis: 4,
        detail: Some("it \"broke\""),
        judgement: None,
        label: Some(&label),
        raised,
        provenance: None,
        marks: &[],
    };
    for raised in [true, false] {
        let Recorded::Outcome(told) = written(&id, Happened::Outcome(ended(raised))).happened else {
            panic!("an outcome")
        };
        assert_eq!((told.outcome, told.bytes, told.millis), (Outcome::UpstreamError, 17, 4));
        assert_eq!(told.detail.as_deref(), Some("it \"broke\""));
        assert_eq!(told.raised, raised);
        assert_eq!(told.label.label().bits(), label.bits());
        assert_eq!(told.label.origins.is_empty(), !raised);
    }
}

#[test]
fn what_people_did_is_read_back() {
    let id = DecisionId::new("hwd_1");
    let call =
        Call { label: Label::bottom().with_class(DataClass::Pii), ..Call::in_mode(FlowMode::Balanced) };
    let Verdict::Escalate(escalation) = decide(&call.policy, &call.facts()) else { panic!("a question") };
    let question = escalation.question();
    for asked in [Some(question), None] {
        let Recorded::Asked { question: told, how } =
            written(&id, Happened::Asked { question: asked, how: "form" }).happened
        else {
            panic!("asked")
        };
        assert_eq!((told.as_deref().map(QuestionDigest::parse), how.as_str()), (asked.map(Some), "form"));
    }
    let question = Some(question);
    let answered = Happened::Answered { question, answer: Answer::Decline, by: "the client's user" };
    let Recorded::Answered { answer, .. } = written(&id, answered).happened else { panic!("answered") };
    assert_eq!(answer, "decline");
    let after = Label::bottom();
    let lowered = Declassification {
        session: &call.session,
        by: "ada",
        principal: &call.principal,
        reason: "a new topic",
        epoch: 4,
        before: &call.label,
        after: &after,
    };
    let Recorded::Declassification { before, after, epoch, .. } =
        written(&id, Happened::Declassification(lowered)).happened
    else {
        panic!("a declassification")
    };
    assert_eq!((before.label(), after.label(), epoch), (call.label, Label::bottom(), 4));
}

#[test]
fn what_people_decided_about_a_server_is_read_back() {
    let (id, upstream) = (DecisionId::new("hwd_1"), UpstreamId::new("mail"));
    let digest = PinDigest::new([7; 32]);
    let items = ["tool send 00".to_owned()];
    let review = Review {
        upstream: &upstream,
        what: "approved",
        by: "ada",
        reason: "\"fine\"",
        digest,
        items: &items,
    };
    let Recorded::Review { reason, digest: told, items: named, .. } =
        written(&id, Happened::Review(review)).happened
    else {
        panic!("a review")
    };
    assert_eq!(
        (reason.as_str(), PinDigest::parse(&told), named.as_slice()),
        ("\"fine\"", Some(digest), &items[..])
    );
}

#[test]
fn notices_and_remarks_are_read_back() {
    let id = DecisionId::new("hwd_1");
    let notice = Notice::new(NoticeKind::Drift, None, "seed 000", "public\n");
    let upstream = UpstreamId::new("mail");
    let said = Happened::Notice { upstream: &upstream, target: "send", notice: &notice };
    let Recorded::Notice { notice, detail, .. } = written(&id, said).happened else { panic!("a notice") };
    assert_eq!((notice.as_str(), detail.as_str()), ("drift", "public\n"));
    let session = SessionKey::new("s");
    let said = Happened::Remark { session: &session, what: "folded", detail: "into `agent`" };
    assert!(matches!(written(&id, said).happened, Recorded::Remark { .. }));
}

#[test]
fn a_record_says_where_content_comes_from_as_the_trust_policy_prints_it() {
    let community = "https://community.example.com/mcp";
    let mut call = Call::in_mode(FlowMode::Balanced);
    call.contract = Contract::weigh(&Claims::new(), &ServerTrust::default()).0;
    let contributor = highwater_core::session::Contributor {
        principal: Some(community.into()),
        ..highwater_core::session::Contributor::user()
    };
    call.policy = call.policy.with_contributors([(UpstreamId::new("mail"), contributor)].into());
    let mail = UpstreamId::new("mail");
    for (kind, target, source, metadata) in [
        (
            ActionKind::CallTool,
            "search",
            "mcp:https://community.example.com/mcp:search",
            ("tool_name", "search"),
        ),
        (
            ActionKind::ReadResource,
            "note://a",
            "mcp_resource:https://community.example.com/mcp:note://a",
            ("resource_uri", "note://a"),
        ),
        (ActionKind::GetPrompt, "ask", "mcp:https://community.example.com/mcp:ask", ("prompt_name", "ask")),
    ] {
        call.action = Action::new(kind, mail.clone(), "x", target, "{}");
        let told = call.decision().provenance;
        assert_eq!(told.trust.as_ref().unwrap().level, "NONE", "{kind:?}");
        assert_eq!(told.trust.unwrap().source, source);
        let expected = [("mcp_server", community), metadata];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(told.metadata, expected.into_iter().collect());
    }
}

#[test]
fn an_odd_address_and_a_server_nobody_knows_leave_the_record_whole() {
    let odd = "https://a/\"x\\y";
    let mut call = Call::in_mode(FlowMode::Balanced);
    call.action = Action::new(ActionKind::CallTool, UpstreamId::new("mail"), "x", "say \"no\"", "{}");
    let unknown = call.decision().provenance;
    assert_eq!(unknown.trust.unwrap().source, "mcp:mail:say \"no\"");
    let contributor = highwater_core::session::Contributor {
        principal: Some(odd.into()),
        ..highwater_core::session::Contributor::user()
    };
    call.policy = call.policy.with_contributors([(UpstreamId::new("mail"), contributor)].into());
    let known = call.decision().provenance;
    assert_eq!(known.trust.unwrap().source, format!("mcp:{odd}:say \"no\""));
    assert_eq!(known.metadata["mcp_server"], odd);
}

#[test]
fn what_the_operator_calls_a_server_is_on_record_beside_its_trust() {
    let mut call = Call::in_mode(FlowMode::Balanced);
    assert_eq!(call.decision().provenance.trust.unwrap().label, None);
    let upstream = call.action.upstream().clone();
    call.policy = call.policy.with_trust_labels([(upstream, "My \"own\" mail")]);
    assert_eq!(call.decision().provenance.trust.unwrap().label.as_deref(), Some("My \"own\" mail"));
}

#[test]
fn what_people_do_to_tokens_is_read_back() {
    let id = DecisionId::new("hwd_1");
    let grant = Some(highwater_core::grant::Grant::everything());
    let said = Happened::Token { act: "created", name: "bot", by: "ada \"a\"", grant, user: Some("ben") };
    let Recorded::Token { act, name, by, grant, user } = written(&id, said).happened else {
        panic!("a token")
    };
    assert_eq!(user.as_deref(), Some("ben"));
    assert_eq!((&*act, &*name, &*by), ("created", "bot", "ada \"a\""));
    assert_eq!(grant.unwrap()["servers"][0], "*");
    let said = Happened::Token { act: "revoked", name: "bot", by: "ada", grant: None, user: None };
    assert!(matches!(written(&id, said).happened, Recorded::Token { grant: None, .. }));
}

#[test]
fn what_people_say_to_a_request_is_read_back() {
    let note = super::ApprovalNote {
        act: "signed",
        by: "ada \"a\"",
        request: Some("r1"),
        receipt: Some("rcp_1"),
        ..Default::default()
    };
    let written = written(&DecisionId::new("hwd_1"), Happened::Approval(note)).happened;
    let Recorded::Approval { act, by, request, receipt, user, detail, .. } = written else {
        panic!("an approval")
    };
    assert_eq!((&*act, &*by), ("signed", "ada \"a\""));
    assert_eq!((request.as_deref(), receipt.as_deref()), (Some("r1"), Some("rcp_1")));
    assert_eq!((user, detail), (None, None));
}

#[test]
fn the_words_written_by_hand_are_those_serde_writes() {
    let same = |word: &str, json: serde_json::Value| assert_eq!(json, word);
    for effect in [Effect::Allow, Effect::Redact, Effect::Confirm, Effect::Passkey, Effect::Block] {
        same(effect.as_str(), serde_json::to_value(effect).unwrap());
    }
    for kind in [AskKind::Sample, AskKind::ElicitForm, AskKind::ElicitUrl, AskKind::Roots] {
        same(kind.as_str(), serde_json::to_value(kind).unwrap());
    }
    for ruling in [Ruling::Allowed, Ruling::Approved, Ruling::Asked, Ruling::Blocked] {
        same(ruling.as_str(), serde_json::to_value(ruling).unwrap());
    }
    let ends = [
        Outcome::Delivered,
        Outcome::UpstreamError,
        Outcome::Failed,
        Outcome::TimedOut,
        Outcome::Cancelled,
        Outcome::Withheld,
    ];
    for end in ends {
        same(end.as_str(), serde_json::to_value(end).unwrap());
    }
    let kinds = [
        ActionKind::CallTool,
        ActionKind::ResolveTool,
        ActionKind::CreateChallenge,
        ActionKind::ReadResource,
        ActionKind::GetPrompt,
        ActionKind::Complete,
        ActionKind::Subscribe,
        ActionKind::TaskStep,
        ActionKind::Answer,
        ActionKind::ExtraMethod,
    ];
    for kind in kinds {
        same(kind.as_str(), serde_json::to_value(kind).unwrap());
    }
}

#[test]
fn an_event_of_a_later_version_is_not_an_error() {
    let line = r#"{"v":9,"time":1,"event":"eclipse","sun":true}"#;
    assert!(matches!(Record::read(line).unwrap().happened, Recorded::Unknown));
    assert_eq!(label_of_words([], TextSet::EMPTY, TextSet::EMPTY, TextSet::EMPTY), Label::bottom());
}
