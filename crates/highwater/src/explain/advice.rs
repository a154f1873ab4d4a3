//! What would have changed a decision, and what a person can do now. The ways out of a finding are those of the core;
//! here each gets the command or the lines with which it is gone.

use highwater_core::annotation::{Axis, Words};
use highwater_core::audit::{Outcome, Ruling};
use highwater_core::decide::{
    Concern, Effect, Finding, FindingId, FlowMode, Otherwise, Reason, WayOut, WhatIf,
};
use highwater_core::policy::{Seen, SeenValue, Truth};

use super::account::Account;
use super::phrase::{is_default, plain, quoted, why_unknown};
use super::tell::weight;
use super::when::{date, days_after};

/// How long a proposed waiver lasts, in days.
const WAIVER_DAYS: u64 = 30;

/// What would have changed a decision, and what can be done.
#[derive(Debug, Default)]
pub(super) struct Advice {
    /// What would have made the decision, or a finding, milder.
    pub(super) changes: Vec<String>,
    /// What a person can do.
    pub(super) steps: Vec<Step>,
}

/// Something a person can do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// What.
    pub(super) what: String,
    /// How: a command, or lines for the configuration.
    pub(super) how: Option<String>,
}

// === impl Advice ===

impl Advice {
    /// The advice for one decision.
    pub(super) fn on(account: &Account) -> Self {
        let mut advice = Self::default();
        let findings = weighty(account);
        for otherwise in account.what_if() {
            advice.of_whole(account, otherwise);
        }
        for finding in &findings {
            advice.of_finding(account, finding);
        }
        if stopped(account) {
            advice.propose(account, &findings);
        } else if account.decision.mode == FlowMode::Observe && !findings.is_empty() {
            let what =
                "nothing: `flow: observe` only records. Before another mode is set, see what it would refuse";
            advice.steps.push(Step { what: what.to_owned(), how: None });
        }
        advice
    }

    /// The whole decision, as it was judged again.
    fn of_whole(&mut self, account: &Account, what_if: &WhatIf) {
        let (had, came) = match what_if.otherwise {
            Otherwise::NothingUntrusted => {
                ("nothing that strangers may have written", came_with(account, "that", &doubt()))
            }
            Otherwise::NothingPrivate => {
                let classes: Vec<String> = classes(account);
                ("nothing private", came_with(account, &quoted(&classes), &classes))
            }
            Otherwise::NothingRead => ("nothing at all", String::new()),
        };
        self.changes.push(format!(
            "`{}` in place of `{}`, had the session read {had}{came}",
            what_if.effect.as_str(),
            judged(account).as_str(),
        ));
    }

    /// One finding by itself.
    fn of_finding(&mut self, account: &Account, finding: &Finding) {
        // What was judged again says it better.
        let judged_again = !account.what_if().is_empty();
        if let FindingId::Rule(name) = &finding.id {
            for seen in finding.saw.iter().filter(|seen| !seen.test.is_empty()) {
                self.of_rule(account, &plain(name), seen);
            }
        } else if let Some(rule) = finding.id.flow().filter(|_| !judged_again) {
            let session = match rule.gate().concern {
                Concern::PrivateData => {
                    let classes = classes(account);
                    let what = if classes.len() == 1 { "it" } else { "they" };
                    format!("without {}{}", quoted(&classes), came_with(account, what, &classes))
                }
                Concern::UntrustedText => {
                    format!("that is trusted{}", came_with(account, "the doubt", &doubt()))
                }
            };
            self.changes.push(format!("`{}`: a session {session}", rule.finding()));
        } else if finding.reasons.contains(&Reason::VerifiedApprovalRequired) {
            let what =
                "`structural.approval`: nothing here; the server demands it, and it alone can lift that";
            self.changes.push(what.to_owned());
        }
    }

    /// A fact that makes a rule fire.
    fn of_rule(&mut self, account: &Account, rule: &str, seen: &Seen) {
        let (fact, test) = (plain(&seen.fact), plain(&seen.test));
        match (seen.truth, seen.because) {
            (Truth::True, _) => {
                let came = came_with(account, "that", &words_of(seen));
                self.changes.push(format!("another `{fact}`: rule `{rule}` fires on `{test}`{came}"));
            }
            (Truth::Unknown, because) => {
                let why = because.map(|because| format!(": {}", why_unknown(because))).unwrap_or_default();
                self.changes.push(format!(
                    "certainty about `{fact}`: rule `{rule}` fires because `{test}` may hold{why}"
                ));
            }
            (Truth::False, _) => {}
        }
    }

    /// What can be done about it.
    fn propose(&mut self, account: &Account, findings: &[&Finding]) {
        let decision = &account.decision;
        let undeclared: Words<Axis> =
            Axis::ALL.iter().copied().filter(|axis| is_default(decision, *axis)).collect();
        let ways: Vec<WayOut> = findings.iter().flat_map(|finding| WayOut::of(finding, undeclared)).collect();
        let judged = judged(account);
        // What no waiver reaches stays a refusal, whatever else is waived.
        let waivable = !findings.iter().any(|finding| {
            finding.effect > Effect::Confirm
                && finding.id.is_structural()
                && finding.id != FindingId::Unapproved
        });
        for way in &ways {
            let how = match way {
                WayOut::Approve if judged != Effect::Confirm => continue,
                WayOut::Sign if judged != Effect::Passkey => continue,
                WayOut::Waive(_) if !waivable => continue,
                WayOut::NewSession | WayOut::ReadFirst => Some("highwater session new".to_owned()),
                WayOut::Reset => {
                    let key = shell(decision.session.as_str());
                    Some(format!("highwater session reset {key} --reason \"…\""))
                }
                WayOut::Label(axis) => label(account, *axis),
                WayOut::Clear => Some(clearance(account)),
                WayOut::Waive(_) => Some(waiver(account, &ways)),
                WayOut::AllowTool => Some(format!(
                    "servers:\n  {}:\n    allowed_tools: [{}, …]",
                    decision.upstream,
                    plain(&decision.target)
                )),
                WayOut::HoldServer => Some(format!(
                    "virtual_servers:\n  {}: {{ servers: [{}, …] }}",
                    decision.virtual_server, decision.upstream
                )),
                WayOut::Review => {
                    let server = shell(decision.upstream.as_str());
                    Some(format!("highwater servers diff {server}\nhighwater servers approve {server}"))
                }
                WayOut::ListMethod => Some(format!(
                    "servers:\n  {}:\n    extra_methods: [{}]",
                    decision.upstream,
                    plain(&decision.method)
                )),
                WayOut::Grant => Some("highwater token list".to_owned()),
                WayOut::Approve
                | WayOut::AskableClient
                | WayOut::OtherVariant
                | WayOut::ChangeRule(_)
                | WayOut::GiveArguments
                | WayOut::Sign => None,
            };
            // One waiver is for all that is to be waived, and a conversation is begun once.
            let said = self.steps.iter().any(|step| how.is_some() && step.how == how);
            let step = Step { what: plain(&way.to_string()), how };
            if !said && !self.steps.contains(&step) {
                self.steps.push(step);
            }
        }
    }
}

/// Whether the action did not happen, or its reply was kept back.
fn stopped(account: &Account) -> bool {
    match account.decision.ruling {
        Ruling::Asked | Ruling::Blocked => true,
        Ruling::Allowed | Ruling::Approved => {
            account.outcome().is_some_and(|outcome| outcome.outcome == Outcome::Withheld)
        }
    }
}

/// The findings that did something, or would have, strictest first.
fn weighty(account: &Account) -> Vec<&Finding> {
    let reply = account.outcome().map(|outcome| outcome.findings.as_slice()).unwrap_or_default();
    let all = account.decision.findings.iter().chain(reply);
    let mut findings: Vec<&Finding> = all.filter(|finding| weight(finding) > Effect::Allow).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(weight(finding)));
    findings
}

/// What the gates said before a person was asked.
fn judged(account: &Account) -> Effect {
    let gates = weighty(account).into_iter().filter(|finding| finding.id != FindingId::Unapproved);
    gates.map(|finding| finding.effect).max().unwrap_or(Effect::Allow)
}

/// The classes of private data that are at stake: those that may not go there, or else all.
fn classes(account: &Account) -> Vec<String> {
    let findings = weighty(account);
    let about_data = |finding: &&&Finding| {
        finding.id.flow().is_some_and(|rule| rule.gate().concern == Concern::PrivateData)
    };
    let Some(finding) = findings.iter().find(about_data) else {
        return account.decision.label.label().classes().iter().map(|class| class.to_string()).collect();
    };
    let held = members(finding, "session.sensitivity");
    if !finding.reasons.contains(&Reason::NotCleared) {
        return held;
    }
    let admitted = members(finding, "clearance");
    held.into_iter().filter(|class| !admitted.contains(class)).collect()
}

/// The words of a label that make it untrusted.
fn doubt() -> Vec<String> {
    vec!["integrity:none".to_owned(), "malicious".to_owned()]
}

/// What a finding saw in a set.
fn members(finding: &Finding, fact: &str) -> Vec<String> {
    let seen = finding.saw.iter().find(|seen| seen.fact == fact);
    match seen.map(|seen| &seen.value) {
        Some(SeenValue::Many(members)) => members.clone(),
        Some(SeenValue::Text(text)) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// The words of the label that a fact about the session shows.
fn words_of(seen: &Seen) -> Vec<String> {
    let word = |word: &str| vec![word.to_owned()];
    match (&*seen.fact, &seen.value) {
        ("session.sensitivity", SeenValue::Many(classes)) => classes.clone(),
        ("session.untrusted" | "session.integrity", _) => word("integrity:none"),
        ("session.malicious", _) => word("malicious"),
        ("session.wroteExternally", _) => word("wroteExternally"),
        ("request.annotations.openWorldHint", _) => word("openWorld"),
        _ => Vec::new(),
    }
}

/// The calls with which these words came, as the rest of a sentence.
fn came_with(account: &Account, what: &str, words: &[String]) -> String {
    let calls: Vec<String> = account
        .chronicle
        .bringers(words)
        .iter()
        .map(|brought| format!("`{}` ({})", plain(&brought.what), brought.id))
        .collect();
    match calls.as_slice() {
        [] => String::new(),
        [first] => format!("; {what} came with {first}"),
        [first, others @ ..] => format!("; {what} came with {first} and {} more", others.len()),
    }
}

// === lines for the configuration ===

/// What to write where nobody said what is true of a tool.
fn label(account: &Account, axis: Axis) -> Option<String> {
    let decision = &account.decision;
    decision.tool.as_ref()?;
    let line = match axis {
        Axis::Destination | Axis::Accepts | Axis::Outcomes => {
            "inputMetadata: { destination: …, sensitivity: …, outcomes: … }"
        }
        Axis::Source | Axis::Returns => "returnMetadata: { source: …, sensitivity: … }",
        Axis::Approval => "approval: none",
        Axis::Integrity | Axis::Capabilities => return None,
    };
    let (server, tool) = (&decision.upstream, plain(&decision.target));
    Some(format!("servers:\n  {server}:\n    labels:\n      {tool}:\n        {line}"))
}

fn clearance(account: &Account) -> String {
    let destinations: Vec<&str> =
        account.decision.contract.destination.iter().map(|destination| destination.as_str()).collect();
    let destination = destinations.last().copied().unwrap_or("public");
    format!("clearance: {{ {destination}: [{}] }}", classes(account).join(", "))
}

fn waiver(account: &Account, ways: &[WayOut]) -> String {
    let mut waived: Vec<String> = Vec::new();
    for way in ways {
        if let WayOut::Waive(id) = way {
            let id = id.to_string();
            if !waived.contains(&id) {
                waived.push(id);
            }
        }
    }
    let decision = &account.decision;
    let subject = match &decision.tool {
        Some(tool) => format!("tool.id: {}", plain(tool)),
        None => format!("server.id: {}", decision.upstream),
    };
    let until = date(days_after(account.time, WAIVER_DAYS));
    format!(
        "waivers:\n  - waive: [{}]\n    when: {{ {subject} }}\n    until: {until}\n    reason: …",
        waived.join(", ")
    )
}

/// A word as a shell takes it.
fn shell(word: &str) -> String {
    let word = plain(word);
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '@');
    if word.chars().all(safe) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
