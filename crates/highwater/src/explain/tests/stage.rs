//! A stage for stories: a configuration, a session, and a log that is written by the very code that a gateway writes
//! it with. Only clock and ids are made up.

use highwater_config::Settings;
use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{Claims, Contract};
use highwater_core::audit::{AuditEvent, Decision, Declassification, Ended, Happened, Outcome, Ruling};
use highwater_core::decide::{
    Answer, Judgement, Received, ReplyFacts, ReplyVerdict, ResultType, Unapproved, Verdict, decide,
    decide_approved, decide_reply, label_reply,
};
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, SessionKey, Timestamp, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{Admission, Arguments, Facts, Policy, RuleSet};

use crate::explain::{Account, Log, text};

/// What a person says, if they are asked.
#[derive(Clone, Copy)]
pub(super) enum Person {
    Agrees,
    Declines,
    /// The client has no way to ask.
    Absent,
    /// They have not answered yet.
    Thinks,
}

pub(super) struct Stage {
    settings: Settings,
    policy: Policy,
    session: SessionKey,
    label: Label,
    epoch: u64,
    lines: Vec<u8>,
    calls: u32,
    millis: u64,
}

/// The configuration of most stories.
pub(super) const SERVERS: &str = r#"
servers:
  repo:
    command: repo-server
    trust: { server_trust: tool, verified: true }
    labels:
      list_issues:
        inputMetadata: { destination: ephemeral, sensitivity: any, outcomes: benign }
        returnMetadata: { source: untrustedPublic, sensitivity: none }
      get_file:
        inputMetadata: { destination: ephemeral, sensitivity: any, outcomes: benign }
        returnMetadata: { source: internal, sensitivity: [user, pii] }
      open_pull_request:
        inputMetadata: { destination: public, sensitivity: any, outcomes: consequential }
        returnMetadata: { source: system, sensitivity: none }
      delete_branch:
        inputMetadata: { destination: internal, sensitivity: any, outcomes: irreversible }
        returnMetadata: { source: system, sensitivity: none }
        approval: confirm
  web: { url: "https://example.com/mcp", allowed_tools: [fetch] }
"#;

// === impl Stage ===

impl Stage {
    /// A stage with the usual servers and these further keys.
    pub(super) fn with(keys: &str) -> Self {
        let file = format!("{keys}\n{SERVERS}");
        let settings = highwater_config::load("highwater.yaml", &file, &|_| None)
            .unwrap_or_else(|wrong| panic!("{wrong}"));
        let id = |name: &String| UpstreamId::new(name.as_str());
        let admissions = settings.servers.iter().map(|server| {
            let allowed_tools = server.allowed_tools.clone();
            (id(&server.name), Admission { allowed_tools, ..Admission::default() })
        });
        let named = |server: &highwater_config::VirtualServer| VirtualServerId::new(server.name.as_str());
        let held = settings
            .virtual_servers
            .iter()
            .map(|server| (named(server), server.servers.iter().map(id).collect()));
        let flows = settings.virtual_servers.iter().map(|server| (named(server), server.flow));
        let policy = Policy::new(admissions.collect(), held.collect())
            .with_flows(flows.collect())
            .with_rules(RuleSet::clone(settings.rules.set()));
        Self {
            policy,
            settings,
            session: SessionKey::new("context/agent/ctx_1"),
            label: Label::bottom(),
            epoch: 0,
            lines: Vec::new(),
            calls: 0,
            millis: 1_794_736_194_000,
        }
    }

    /// The agent calls a tool; the person answers so if they are asked. The decision's id comes back.
    pub(super) fn call(&mut self, server: &str, tool: &str, person: Person) -> DecisionId {
        self.calls += 1;
        let decision = DecisionId::new(format!("hwd_{}", self.calls));
        let (principal, virtual_server) = (Principal::new("agent"), VirtualServerId::new("default"));
        let action = Action::new(
            ActionKind::CallTool,
            UpstreamId::new(server),
            "tools/call",
            tool,
            r#"{"arguments":{}}"#,
        );
        let settings = self.settings.server(server).unwrap();
        let claims = settings.labels.tool(tool).map_or_else(Claims::new, |label| label.claims().clone());
        let contract =
            Contract::weigh(&claims, &settings.trust).0.with_origin(format!("mcp:{server}:{tool}"));
        let shown = format!("{server}__{tool}");
        let (before, policy) = (self.label.clone(), self.policy.clone());
        let facts = Facts {
            contract: &contract,
            session: &before,
            tool_id: Some(&shown),
            arguments: Arguments::Known("{}"),
            now: Timestamp(self.millis),
            grant: Grant::everything(),
            ..Facts::of(&decision, &principal, &virtual_server, &action)
        };
        let permit = match decide(&policy, &facts) {
            Verdict::Allow(permit) => {
                self.decided(&facts, permit.judgement(), Ruling::Allowed);
                permit
            }
            Verdict::Block(denial) => {
                self.decided(&facts, denial.judgement(), Ruling::Blocked);
                return decision;
            }
            Verdict::Escalate(escalation) => {
                self.decided(&facts, escalation.judgement(), Ruling::Asked);
                let question = escalation.question();
                let answer = match person {
                    Person::Agrees => Answer::Approve,
                    Person::Declines => Answer::Decline,
                    Person::Absent => {
                        self.decided(&facts, escalation.unasked().judgement(), Ruling::Blocked);
                        return decision;
                    }
                    Person::Thinks => {
                        self.write(&decision, Happened::Asked { question: Some(question), how: "form" });
                        return decision;
                    }
                };
                self.write(&decision, Happened::Asked { question: Some(question), how: "form" });
                self.millis += 7000;
                self.write(
                    &decision,
                    Happened::Answered { question: Some(question), answer, by: "through the client" },
                );
                match escalation.answered(question, answer) {
                    Ok(approval) => {
                        let Verdict::Allow(permit) = decide_approved(&policy, &facts, approval) else {
                            panic!("approved")
                        };
                        self.decided(&facts, permit.judgement(), Ruling::Approved);
                        permit
                    }
                    Err(Unapproved::Declined(denial)) => {
                        self.decided(&facts, denial.judgement(), Ruling::Blocked);
                        return decision;
                    }
                    Err(Unapproved::AnotherQuestion(_)) => panic!("the same question"),
                }
            }
        };
        let received = Received::new((), ReplyFacts::new(ResultType::Complete));
        let labelled = label_reply(&policy, &facts, received);
        let label = labelled.label().clone();
        match decide_reply(&policy, &facts, permit.obligations(), labelled) {
            ReplyVerdict::Pass(pass) => {
                let after = self.label.clone().joined(&label);
                let raised = after != self.label;
                self.label = after;
                self.ended(&decision, Outcome::Delivered, Some(pass.judgement()), Some(&label), raised);
            }
            ReplyVerdict::Withhold(denial) => {
                self.ended(&decision, Outcome::Withheld, Some(denial.judgement()), Some(&label), false);
            }
            ReplyVerdict::Hold(held) => {
                let denial = held.unasked();
                self.ended(&decision, Outcome::Withheld, Some(denial.judgement()), Some(&label), false);
            }
        }
        decision
    }

    /// Another conversation of the same agent goes on from here.
    pub(super) fn move_to(&mut self, session: &str) {
        self.session = SessionKey::new(session);
    }

    /// A person takes the session's label down.
    pub(super) fn reset(&mut self, reason: &str) {
        self.epoch += 1;
        let (session, before, after) = (self.session.clone(), self.label.clone(), Label::bottom());
        let lowered = Declassification {
            session: &session,
            by: "ada",
            principal: &Principal::new("agent"),
            reason,
            epoch: self.epoch,
            before: &before,
            after: &after,
        };
        self.millis += 1000;
        self.append(None, Happened::Declassification(lowered));
        self.label = after;
    }

    /// The client says of its own context that there is open-world content in it.
    pub(super) fn says_open_world(&mut self) {
        self.label = self.label.clone().with_open_world();
    }

    /// What `highwater explain` says about a decision.
    pub(super) fn explain(&self, id: &DecisionId) -> String {
        text(&self.account(id).unwrap())
    }

    pub(super) fn account(&self, id: &DecisionId) -> Option<Account> {
        let folder = tempfile::tempdir().unwrap();
        Account::of(&self.log(folder.path(), 3), id).unwrap()
    }

    /// The log as so many segments, with a line in it that a full disk tore.
    pub(super) fn log(&self, data: &std::path::Path, segments: usize) -> Log {
        std::fs::create_dir(data.join("audit")).unwrap();
        let lines: Vec<&[u8]> = self.lines.split_inclusive(|byte| *byte == b'\n').collect();
        for (number, part) in lines.chunks(lines.len().div_ceil(segments).max(1)).enumerate() {
            let mut bytes = part.concat();
            bytes.extend_from_slice(b"{\"v\":2,\"time\":17947361\n");
            std::fs::write(data.join(format!("audit/{:06}.jsonl", number + 1)), bytes).unwrap();
        }
        Log::of(data).unwrap()
    }

    fn decided(&mut self, facts: &Facts<'_>, judgement: &Judgement, ruling: Ruling) {
        let (session, policy) = (self.session.clone(), self.policy.clone());
        let decision = Decision {
            session: &session,
            epoch: self.epoch,
            policy: &policy,
            facts,
            judgement,
            ruling,
            sealed: false,
            receipts: &[],
        };
        self.write(facts.decision, Happened::Decision(decision));
    }

    fn ended(
        &mut self,
        id: &DecisionId,
        outcome: Outcome,
        judgement: Option<&Judgement>,
        label: Option<&Label>,
        raised: bool,
    ) {
        let ended = Ended {
            outcome,
            bytes: 1263,
            millis: 12,
            detail: None,
            judgement,
            label,
            raised,
            provenance: None,
        };
        self.write(id, Happened::Outcome(ended));
    }

    fn write(&mut self, id: &DecisionId, happened: Happened<'_>) {
        self.millis += 1000;
        self.append(Some(id), happened);
    }

    fn append(&mut self, id: Option<&DecisionId>, happened: Happened<'_>) {
        AuditEvent { time: Timestamp(self.millis), id, happened }.write(&mut self.lines);
    }
}
