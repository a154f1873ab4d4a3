//! What would have changed a decision, and what a person can do now. The ways out of a finding are those of the core. Each
//! is tried before it is told: what does not load, or changes nothing, is no advice.

use std::collections::BTreeSet;
use std::sync::Arc;

use highwater_audit::{Outcome, Ruling};
use highwater_core::annotation::{Axis, ClassSet, DataClass};
use highwater_core::decide::{
    Concern, Effect, Finding, FindingId, FlowMode, FlowRule, Otherwise, Reason, WayOut, WhatIf,
};
use highwater_core::label::Label;
use highwater_core::policy::{Seen, SeenValue, Truth};
use highwater_core::session::Doubt;
use highwater_notation::Words;

use super::account::Account;
use super::phrase::{is_default, plain, quoted, why_unknown};
use super::tell::weight;
use super::trying::Trying;
use crate::reevaluate::{
    Proposal, Trials, clearance, labels, listed_method, listed_tool, profiles, tool_labels, virtual_server,
    waiver, words_with_labels,
};

/// What would have changed a decision, and what can be done.
#[derive(Debug, Default)]
pub(super) struct Advice {
    /// What would have made the decision, or a finding, milder.
    pub(super) changes: Vec<String>,
    /// What a person can do.
    pub(super) steps: Vec<Step>,
    /// Why there is no more to say, where that needs a word.
    pub(super) note: Option<String>,
}

/// Something a person can do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// What.
    pub(super) what: String,
    /// How: a command, or lines for the configuration.
    pub(super) how: Option<String>,
    /// What the decision would be then.
    pub(super) then: Option<Effect>,
}

// === impl Advice ===

impl Advice {
    /// The advice for one decision. Without a configuration to try it on, nothing is proposed for one.
    pub(super) fn on(account: &Account, trials: Option<&Trials>) -> Self {
        let mut advice = Self::default();
        let mut findings = weighty(account);
        if stopped(account) {
            // What was only recorded stopped nothing, and undoing it would change nothing.
            findings.retain(|finding| finding.effect > Effect::Allow);
        }
        let observed = account.decision.mode == FlowMode::Observe && !stopped(account);
        let trying = trials.and_then(|trials| Trying::of(account, trials));
        let what_if = match &trying {
            Some(trying) if account.what_if().is_empty() => trying.what_if(),
            _ => account.what_if().to_vec(),
        };
        for otherwise in &what_if {
            let judged = trying.as_ref().map_or_else(|| judged(account), |trying| trying.rejudged.effect());
            let mode = trying.as_ref().filter(|_| observed).map(|trying| trying.rejudged.mode());
            advice.of_whole(account, otherwise, judged, mode);
        }
        for finding in &findings {
            advice.of_finding(account, finding, !what_if.is_empty());
        }
        if findings.is_empty() || !(stopped(account) || observed) {
            return advice;
        }
        advice.answers(account, &findings);
        match &trying {
            Some(trying) => advice.propose(trying, &findings),
            None => advice.by_record(account, &findings, &what_if),
        }
        advice.note = note(account, trials, trying.as_ref(), &advice.steps);
        advice
    }

    /// What the person in front of the client can do: these answer the question, and change nothing about it.
    fn answers(&mut self, account: &Account, findings: &[&Finding]) {
        let judged = judged(account);
        for way in findings.iter().flat_map(|finding| WayOut::of(finding, Words::EMPTY)) {
            let answers = match way {
                WayOut::Approve => judged == Effect::Confirm,
                WayOut::Sign => judged == Effect::Passkey,
                WayOut::AskableClient => judged < Effect::Block,
                _ => false,
            };
            if answers {
                self.step(Step { what: way.to_string(), how: None, then: None });
            }
        }
    }

    /// What the record itself shows would have helped: how it was judged again then, and what else was found.
    fn by_record(&mut self, account: &Account, findings: &[&Finding], what_if: &[WhatIf]) {
        let then = |wanted: Otherwise| {
            what_if.iter().find(|known| known.otherwise == wanted).map(|known| known.effect)
        };
        let least = what_if.iter().map(|known| known.effect).min();
        for way in findings.iter().flat_map(|finding| WayOut::of(finding, Words::EMPTY)) {
            let then = match way {
                WayOut::ReadFirst => then(Otherwise::NothingUntrusted),
                WayOut::NewSession | WayOut::Reset => least,
                WayOut::RaiseCap => without(account, &FindingId::Cap),
                WayOut::Grant => without(account, &FindingId::Token),
                WayOut::OtherVariant => without(account, &FindingId::Intent),
                WayOut::Review => without(account, &FindingId::Quarantine),
                WayOut::ClearMarks => without(account, &FindingId::Flow(FlowRule::Doubt)),
                _ => None,
            };
            if then.is_some() {
                self.step(Step { how: command(account, &way), what: way.to_string(), then });
            }
        }
    }

    /// Whatever has been tried and helps.
    fn propose(&mut self, trying: &Trying<'_>, findings: &[&Finding]) {
        let account = trying.account;
        let decision = &account.decision;
        let undeclared: Words<Axis> =
            Axis::ALL.iter().copied().filter(|axis| is_default(decision, *axis)).collect();
        let ways: Vec<WayOut> = findings.iter().flat_map(|finding| WayOut::of(finding, undeclared)).collect();
        for proposal in profiles(&trying.trials.now, &decision.upstream) {
            self.lines(trying, proposal);
        }
        for way in &ways {
            match way {
                WayOut::NewSession | WayOut::Reset => {
                    self.tried(account, way, trying.under(&Label::bottom()));
                }
                WayOut::ReadFirst => {
                    let label = Otherwise::NothingUntrusted.label(&trying.label);
                    self.tried(account, way, trying.under(&label));
                }
                WayOut::RaiseCap => self.tried(account, way, trying.without(&FindingId::Cap)),
                WayOut::Grant => self.tried(account, way, trying.without(&FindingId::Token)),
                WayOut::OtherVariant => self.tried(account, way, trying.without(&FindingId::Intent)),
                WayOut::Review => self.tried(account, way, trying.without(&FindingId::Quarantine)),
                WayOut::ClearMarks => {
                    self.tried(account, way, trying.without(&FindingId::Flow(FlowRule::Doubt)));
                }
                WayOut::ChangeRule(name) => {
                    self.tried(account, way, trying.without(&FindingId::Rule(name.clone())));
                }
                WayOut::Label(axis) => self.labels(trying, *axis),
                WayOut::Clear => {
                    let names = classes(account);
                    let classes: ClassSet = names.iter().filter_map(|name| DataClass::parse(name)).collect();
                    self.first(trying, clearance(&trying.trials.now, decision, classes));
                }
                WayOut::AllowTool => self.first(trying, listed_tool(&trying.trials.now, decision)),
                WayOut::HoldServer => self.first(trying, virtual_server(&trying.trials.now, decision)),
                WayOut::ListMethod => self.first(trying, listed_method(&trying.trials.now, decision)),
                // All waivers are one, below; the rest was told, or cannot be tried.
                WayOut::Waive(_)
                | WayOut::Approve
                | WayOut::Sign
                | WayOut::AskableClient
                | WayOut::GiveArguments
                | WayOut::DoItYourself => {}
            }
        }
        let is_written = |step: &Step| step.how.as_ref().is_some_and(|how| how.starts_with("servers:"));
        if trying.rejudged.is_by_definition() && !self.steps.iter().any(is_written) {
            self.first(trying, words_with_labels(&trying.trials.now, &decision.upstream, &decision.target));
        }
        let waived: BTreeSet<FindingId> = ways
            .iter()
            .filter_map(|way| if let WayOut::Waive(id) = way { Some(id.clone()) } else { None })
            .collect();
        if !waived.is_empty() {
            let now = trying.trials.time.max(account.time);
            self.first(trying, [waiver(decision, &waived, now)]);
        }
    }

    /// What a label of the tool may say on an axis, the least that helps.
    fn labels(&mut self, trying: &Trying<'_>, axis: Axis) {
        let decision = &trying.account.decision;
        let (server, tool) = (&decision.upstream, &decision.target);
        if !trying.rejudged.is_by_definition() {
            return;
        }
        let proposals = match axis {
            Axis::Destination | Axis::Outcomes | Axis::Returns | Axis::Source => {
                tool_labels(&trying.trials.now, server, tool)
            }
            Axis::Accepts => labels(
                server,
                tool,
                &[
                    ("it is built to receive such data", "inputMetadata: { sensitivity: any }"),
                    (
                        "its arguments stay with you, and it is built to receive such data",
                        "inputMetadata: { destination: user, sensitivity: any }",
                    ),
                ],
            ),
            Axis::Approval => labels(server, tool, &[("nobody needs to look at it", "approval: none")]),
            Axis::Integrity | Axis::Capabilities => Vec::new(),
        };
        self.first(trying, proposals);
    }

    /// The first of several proposals that helps.
    fn first(&mut self, trying: &Trying<'_>, proposals: impl IntoIterator<Item = Proposal>) {
        for proposal in proposals {
            if self.lines(trying, proposal) {
                return;
            }
        }
    }

    /// Tries lines for the configuration; whether they help.
    fn lines(&mut self, trying: &Trying<'_>, proposal: Proposal) -> bool {
        let Some(then) = trying.pasted(&proposal.lines) else { return false };
        self.step(Step { what: proposal.what, how: Some(proposal.lines), then: Some(then) });
        true
    }

    fn tried(&mut self, account: &Account, way: &WayOut, then: Option<Effect>) {
        if then.is_some() {
            self.step(Step { what: plain(&way.to_string()), how: command(account, way), then });
        }
    }

    /// Adds a step that is not there yet: a conversation is begun once, whatever for.
    fn step(&mut self, step: Step) {
        let said = |known: &Step| step.how.is_some() && known.how == step.how;
        if !self.steps.iter().any(|known| said(known) || *known == step) {
            self.steps.push(step);
        }
    }

    /// The whole decision, as it was judged again.
    fn of_whole(&mut self, account: &Account, what_if: &WhatIf, judged: Effect, mode: Option<FlowMode>) {
        let had = match what_if.otherwise {
            Otherwise::NothingUntrusted => {
                let came = came_with(account, "that", &doubt());
                format!("the session read nothing that strangers may have written{came}")
            }
            Otherwise::NothingPrivate => {
                let classes: Vec<String> = classes(account);
                format!("the session read nothing private{}", came_with(account, &quoted(&classes), &classes))
            }
            Otherwise::NothingRead => "the session read nothing at all".to_owned(),
            Otherwise::AskedFor => asked_for(&what_if.arguments),
        };
        let mode = mode.map(|mode| format!("in `{mode}`: ")).unwrap_or_default();
        self.changes.push(format!(
            "{mode}`{}` in place of `{}`, had {had}",
            what_if.effect.as_str(),
            judged.as_str(),
        ));
    }

    /// One finding by itself.
    fn of_finding(&mut self, account: &Account, finding: &Finding, judged_again: bool) {
        // What was judged again says it better.
        if let FindingId::Rule(name) = &finding.id {
            for seen in finding.saw.iter().filter(|seen| !seen.test.is_empty()) {
                self.of_rule(account, &plain(name), seen);
            }
        } else if let Some(rule) = finding.id.flow().filter(|_| !judged_again) {
            let session = match rule.gate().concern {
                Concern::PrivateData => {
                    let classes = classes(account);
                    let what = if classes.len() == 1 { "it" } else { "they" };
                    format!("a session without {}{}", quoted(&classes), came_with(account, what, &classes))
                }
                Concern::UntrustedText => {
                    format!("a session that is trusted{}", came_with(account, "the doubt", &doubt()))
                }
                Concern::DoubtedFiles => "files that somebody has looked at".to_owned(),
            };
            self.changes.push(format!("`{}`: {session}", rule.finding()));
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
}

/// What the request would have had to say.
fn asked_for(arguments: &[Arc<str>]) -> String {
    if arguments.is_empty() {
        return "the request asked for it".to_owned();
    }
    let names: Vec<String> = arguments.iter().map(|argument| format!("`{}`", plain(argument))).collect();
    format!("{} been in the request", names.join(" and "))
}

/// The command that does it.
fn command(account: &Account, way: &WayOut) -> Option<String> {
    let decision = &account.decision;
    match way {
        WayOut::NewSession | WayOut::ReadFirst => Some("highwater session new".to_owned()),
        WayOut::Reset => {
            let key = shell(decision.session.as_str());
            Some(format!("highwater session reset {key} --reason \"…\""))
        }
        WayOut::Review => {
            let server = shell(decision.upstream.as_str());
            Some(format!("highwater servers diff {server}\nhighwater servers approve {server}"))
        }
        WayOut::Grant => Some("highwater token list".to_owned()),
        WayOut::ClearMarks => {
            let doubts = decision.findings.iter().flat_map(|finding| &finding.about);
            let marks: Vec<_> = doubts.map(|id| Doubt { id: Arc::clone(id), name: None }).collect();
            let marks: Vec<_> = marks.iter().map(|doubt| shell(doubt.mark())).collect();
            Some(format!("highwater marks clear {} --reason \"…\"", marks.join(" ")))
        }
        WayOut::Approve
        | WayOut::AskableClient
        | WayOut::Label(_)
        | WayOut::Clear
        | WayOut::Waive(_)
        | WayOut::ChangeRule(_)
        | WayOut::GiveArguments
        | WayOut::AllowTool
        | WayOut::HoldServer
        | WayOut::OtherVariant
        | WayOut::ListMethod
        | WayOut::Sign
        | WayOut::RaiseCap
        | WayOut::DoItYourself => None,
    }
}

/// Why there is no more to say.
fn note(
    account: &Account,
    trials: Option<&Trials>,
    trying: Option<&Trying<'_>>,
    steps: &[Step],
) -> Option<String> {
    let why = match (trials, trying) {
        _ if account.outcome().is_some_and(|outcome| outcome.outcome == Outcome::Withheld) => {
            "what would release a reply cannot be tried from the record"
        }
        (None, _) => {
            "what could be written into the configuration was not tried: name the file with `--config`"
        }
        (Some(_), None) => {
            "what could be written into the configuration was not tried: judged by the configuration of today, \
             this call would not be decided as it was"
        }
        (Some(_), Some(_)) if steps.is_empty() => "nothing that was tried changes this",
        (Some(_), Some(_)) => return None,
    };
    Some(why.to_owned())
}

/// Whether the action did not happen, or its reply was kept back.
fn stopped(account: &Account) -> bool {
    match account.decision.ruling {
        Ruling::Asked | Ruling::Blocked => true,
        // No word of the configuration brings a store back.
        Ruling::Unavailable => false,
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

/// What the gates would have said without one finding, if that is weaker.
fn without(account: &Account, id: &FindingId) -> Option<Effect> {
    let gates = account.decision.findings.iter().filter(|finding| finding.id != FindingId::Unapproved);
    let others = gates.filter(|finding| finding.id != *id).map(|finding| finding.effect);
    Some(others.max().unwrap_or(Effect::Allow)).filter(|then| *then < judged(account))
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

/// A word as a shell takes it.
fn shell(word: &str) -> String {
    let word = plain(word);
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '@');
    if word.chars().all(safe) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
