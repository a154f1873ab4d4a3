//! A stage for stories: a configuration, a session, and a log that is written by the very code that a gateway writes
//! it with. Only clock and ids are made up.

use std::collections::BTreeMap;

use highwater_audit::{AuditEvent, Decision, Declassification, Ended, Happened, Outcome, Ruling};
use highwater_config::Surroundings;
use highwater_core::action::{Action, ActionKind};
use highwater_core::decide::{
    Answer, Effect, FindingId, Judgement, Received, ReplyFacts, ReplyVerdict, ResultType, Unapproved,
    Verdict, decide, decide_approved, decide_reply, label_reply,
};
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, SessionKey, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::pin::PinDigest;
use highwater_core::policy::{Facts, Policy};
use highwater_gateway::ToolContracts;
use highwater_notation::{Arguments, Timestamp};
use highwater_pins::{Basis, PinKey, PinKind};
use highwater_store::{StoredApproval, StoredPin, StoredText};
use serde_json::{Map, Value, json};

use crate::explain::{Account, Log, text};
use crate::reevaluate::{BaseConfiguration, Trials};

/// What a person says, if they are asked.
#[derive(Clone, Copy)]
pub(crate) enum Person {
    Agrees,
    Declines,
    /// The client has no way to ask.
    Absent,
    /// They have not answered yet.
    Thinks,
}

pub(crate) struct Stage {
    file: String,
    policy: Policy,
    contracts: ToolContracts,
    session: SessionKey,
    label: Label,
    epoch: u64,
    lines: Vec<u8>,
    calls: u32,
    millis: u64,
}

/// The configuration of most stories.
pub(crate) const SERVERS: &str = r#"
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
  ledger:
    command: ledger-server
    labels: { "*": { inputMetadata: { destination: public, sensitivity: any, outcomes: consequential } } }
  web: { url: "https://example.com/mcp", allowed_tools: [fetch] }
  notes: { command: notes-server }
"#;

/// Tools with the names of their arguments.
type Tools<'a> = &'a [(&'a str, &'a [&'a str])];

/// What is stored of the definitions of all servers: names and arguments, and not a word of what they do.
pub(crate) fn pins() -> BTreeMap<String, Vec<StoredPin>> {
    let arguments = |names: &[&str]| {
        let properties: Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        json!({ "type": "object", "properties": properties, "additionalProperties": false })
    };
    let pin = |(name, names): &(&str, &[&str])| {
        let text = json!({ "name": name, "inputSchema": arguments(names) }).to_string();
        let definition =
            StoredText { digest: PinDigest::parse(&"0".repeat(64)).unwrap(), text, at: Timestamp(0) };
        StoredPin {
            key: PinKey::new(PinKind::Tool, *name),
            seen: Some(definition.clone()),
            pin: Some(StoredApproval {
                definition,
                basis: Basis::Person,
                believed: false,
                person: "ada".to_owned(),
            }),
            rejected: None,
        }
    };
    let servers: [(&str, Tools); 4] = [
        (
            "repo",
            &[
                ("list_issues", &[]),
                ("get_file", &["path"]),
                ("open_pull_request", &["title"]),
                ("delete_branch", &["branch"]),
            ],
        ),
        ("web", &[("fetch", &["url"]), ("post", &["url"])]),
        ("ledger", &[("share", &["to"])]),
        ("notes", &[("list_notes", &[]), ("write_note", &["name", "text"])]),
    ];
    servers.iter().map(|(name, tools)| ((*name).to_owned(), tools.iter().map(pin).collect())).collect()
}

// === impl Stage ===

impl Stage {
    /// A stage with the usual servers and these further keys.
    pub(crate) fn with(keys: &str) -> Self {
        Self::pasted(keys, "")
    }

    /// The same, with lines pasted into the file.
    pub(crate) fn pasted(keys: &str, lines: &str) -> Self {
        let file = format!("{keys}\n{SERVERS}");
        let around = Surroundings { environment: &|_| None, files: &|_| Err("none".to_owned()) };
        let pasted: &[&str] = if lines.is_empty() { &[] } else { &[lines] };
        let settings = highwater_config::load_with("highwater.yaml", &file, pasted, &around)
            .unwrap_or_else(|wrong| panic!("{wrong}"));
        let policy = highwater_gateway::policy(&settings);
        Self {
            policy,
            contracts: ToolContracts::weigh(&settings, &pins()),
            file,
            session: SessionKey::new("context/agent/ctx_1"),
            label: Label::bottom(),
            epoch: 0,
            lines: Vec::new(),
            calls: 0,
            millis: 1_794_736_194_000,
        }
    }

    /// The agent calls a tool; the person answers so if they are asked. The decision's id comes back.
    pub(crate) fn call(&mut self, server: &str, tool: &str, person: Person) -> DecisionId {
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
        let contract = self.contracts.tool(action.upstream(), tool).unwrap().clone();
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
                // Nobody here has a passkey.
                let needs_passkey = escalation.judgement().effect() == Effect::Passkey;
                let answer = match person {
                    Person::Agrees if !needs_passkey => Answer::Approve,
                    Person::Declines => Answer::Decline,
                    Person::Agrees | Person::Absent => {
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
    pub(crate) fn move_to(&mut self, session: &str) {
        self.session = SessionKey::new(session);
    }

    /// A person takes the session's label down.
    pub(crate) fn reset(&mut self, reason: &str) {
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
    pub(crate) fn says_open_world(&mut self) {
        self.label = self.label.clone().with_open_world();
    }

    /// What `highwater explain` says about a decision.
    pub(crate) fn explain(&self, id: &DecisionId) -> String {
        text(&self.account(id).unwrap(), Some(&self.trials()))
    }

    /// What the gates said of a call, before a person was asked.
    pub(crate) fn judged(&self, id: &DecisionId) -> Effect {
        let account = self.account(id).unwrap();
        let findings = account.decision.findings.iter();
        let counted = findings.filter(|finding| finding.id != FindingId::Unapproved);
        counted.map(|finding| finding.effect).max().unwrap_or(Effect::Allow)
    }

    /// The configuration, to try remedies on.
    pub(crate) fn trials(&self) -> Trials {
        let mut base = BaseConfiguration::of("highwater.yaml", &self.file);
        for (server, pins) in pins() {
            base = base.knowing(&server, pins);
        }
        Trials::of(base, Timestamp(self.millis)).unwrap()
    }

    pub(crate) fn account(&self, id: &DecisionId) -> Option<Account> {
        let folder = tempfile::tempdir().unwrap();
        Account::of(&self.log(folder.path(), 3), id).unwrap()
    }

    /// The log as so many segments, with a line in it that a full disk tore.
    pub(crate) fn log(&self, data: &std::path::Path, segments: usize) -> Log {
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
            marks: &[],
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
