//! Events as JSON lines. What an allowed call leaves behind is small and costs little; what was found is told in full.

use highwater_core::annotation::{Accepts, Axis, Contract};
use highwater_core::decide::{Finding, Judgement, QuestionDigest};
use highwater_core::label::Label;
use highwater_core::policy::{FlowRule, FlowViolations};
use highwater_core::profile::Named;
use highwater_marks::Mark;

use super::label_words::label_words;
use super::line::Line;
use super::{
    Access, ApprovalNote, AuditEvent, Decision, Declassification, Ended, Happened, Outcome, Provenance,
    Question, RECORD_VERSION, Review, Ruling,
};

/// In `observe`, findings that are longer than this in all are written short.
const LONG_FINDINGS: usize = 1024;

/// How much of what a finding saw is kept then.
const MOST_SEEN: usize = 1;

// === impl AuditEvent ===

impl AuditEvent<'_> {
    /// Adds the event to a buffer, as one line with its end.
    pub fn write(&self, out: &mut Vec<u8>) {
        let line = &mut Line::new(out);
        const { assert!(RECORD_VERSION == 2, "the version is in the next line") };
        line.raw(b"{\"v\":2,\"time\":").number(self.time.0);
        if let Some(id) = self.id {
            line.raw(b",\"id\":\"").text(id.as_str()).raw(b"\"");
        }
        match &self.happened {
            Happened::Decision(decision) => decision.write(line),
            Happened::Outcome(ended) => ended.write(line),
            seldom => seldom.write(line),
        }
        line.raw(b"}\n");
    }
}

// === impl Happened ===

impl Happened<'_> {
    /// Apart from the two that every call leaves, so that these are written by little code.
    #[cold]
    fn write(&self, line: &mut Line<'_>) {
        match self {
            Happened::Decision(decision) => decision.write(line),
            Happened::Outcome(ended) => ended.write(line),
            Happened::Question(question) => question.write(line),
            Happened::Retried { attempt, why, sent } => {
                line.raw(b",\"event\":\"retried\",\"attempt\":").number(u64::from(*attempt));
                line.raw(b",\"why\":\"").text(why).raw(b"\",\"sent\":");
                line.word(if *sent { "true" } else { "false" });
            }
            Happened::Asked { question, how } => {
                line.raw(b",\"event\":\"asked\"");
                asked_about(line, question.as_ref());
                line.raw(b",\"how\":\"").text(how).raw(b"\"");
            }
            Happened::Answered { question, answer, by } => {
                line.raw(b",\"event\":\"answered\"");
                asked_about(line, question.as_ref());
                line.raw(b",\"answer\":\"").word(answer.as_str());
                line.raw(b"\",\"by\":\"").text(by).raw(b"\"");
            }
            Happened::Waived(finding) => {
                line.raw(b",\"event\":\"waived\",\"finding\":").json(finding);
            }
            Happened::Notice { upstream, target, notice } => {
                line.raw(b",\"event\":\"notice\",\"upstream\":\"").text(upstream.as_str());
                line.raw(b"\",\"target\":\"").text(target);
                line.raw(b"\",\"notice\":\"").word(notice.kind.as_str());
                if let Some(axis) = notice.axis {
                    line.raw(b"\",\"axis\":\"").word(axis.short());
                }
                line.raw(b"\",\"from\":\"").text(notice.from);
                line.raw(b"\",\"detail\":\"").text(&notice.detail).raw(b"\"");
            }
            Happened::Remark { session, what, detail } => {
                line.raw(b",\"event\":\"remark\",\"session\":\"").text(session.as_str());
                line.raw(b"\",\"what\":\"").text(what).raw(b"\",\"detail\":\"").text(detail).raw(b"\"");
            }
            Happened::Declassification(declassification) => declassification.write(line),
            Happened::MarksCleared { marks: cleared, by, reason } => {
                line.raw(b",\"event\":\"marks-cleared\",\"by\":\"").text(by);
                line.raw(b"\",\"reason\":\"").text(reason).raw(b"\"");
                marks(line, cleared.iter());
            }
            Happened::Token { act, name, by, grant, user } => {
                line.raw(b",\"event\":\"token\",\"act\":\"").text(act);
                line.raw(b"\",\"name\":\"").text(name);
                line.raw(b"\",\"by\":\"").text(by).raw(b"\"");
                if let Some(grant) = grant {
                    line.raw(b",\"grant\":").json(grant);
                }
                if let Some(user) = user {
                    line.raw(b",\"user\":\"").text(user).raw(b"\"");
                }
            }
            Happened::Review(review) => review.write(line),
            Happened::Approval(note) => note.write(line),
            Happened::Access(access) => access.write(line),
            Happened::Log { act, detail } => {
                line.raw(b",\"event\":\"log\",\"act\":\"").text(act);
                line.raw(b"\",\"detail\":\"").text(detail).raw(b"\"");
            }
        }
    }
}

// === impl Access ===

impl Access<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.raw(b",\"event\":\"access\",\"act\":\"").text(self.act).raw(b"\"");
        let parts = [
            ("principal", self.principal),
            ("from", self.from),
            ("session", self.session),
            ("what", self.what),
        ];
        for (key, value) in parts {
            if let Some(value) = value {
                line.raw(b",\"").word(key).raw(b"\":\"").text(value).raw(b"\"");
            }
        }
        if let Some(count) = self.count {
            line.raw(b",\"count\":").number(count);
        }
    }
}

// === impl ApprovalNote ===

impl ApprovalNote<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.raw(b",\"event\":\"approval\",\"act\":\"").text(self.act);
        line.raw(b"\",\"by\":\"").text(self.by).raw(b"\"");
        let parts = [
            ("user", self.user),
            ("request", self.request),
            ("tool", self.tool),
            ("credential", self.credential),
            ("receipt", self.receipt),
            ("receipt_digest", self.receipt_digest),
            ("detail", self.detail),
        ];
        for (key, value) in parts {
            if let Some(value) = value {
                line.raw(b",\"").word(key).raw(b"\":\"").text(value).raw(b"\"");
            }
        }
    }
}

// === impl Decision ===

impl Decision<'_> {
    fn write(&self, line: &mut Line<'_>) {
        let (facts, action) = (self.facts, self.facts.action);
        line.raw(b",\"event\":\"decision\",\"principal\":\"").text(facts.principal.as_str());
        line.raw(b"\",\"session\":\"").text(self.session.as_str());
        line.raw(b"\",\"epoch\":").number(self.epoch);
        line.raw(b",\"virtual_server\":\"").text(facts.virtual_server.as_str());
        line.raw(b"\",\"upstream\":\"").text(action.upstream().as_str());
        line.raw(b"\",\"kind\":\"").word(action.kind().as_str());
        line.raw(b"\",\"method\":\"").text(action.method());
        line.raw(b"\",\"target\":\"").text(action.target());
        if let Some(tool) = facts.tool_id {
            line.raw(b"\",\"tool\":\"").text(tool);
        }
        if let Some(variant) = facts.variant {
            line.raw(b"\",\"variant\":\"").word(variant.as_str());
        }
        if !self.sealed {
            line.raw(b"\",\"digest\":\"").hex(action.digest().as_bytes());
        }
        line.raw(b"\",\"mode\":\"").word(self.policy.flow_for(facts).mode.as_str());
        line.raw(b"\",\"effect\":\"").word(self.judgement.effect().as_str());
        line.raw(b"\",\"ruling\":\"").word(self.ruling.as_str());
        if let Some(policy) = self.policy.digest().as_str() {
            line.raw(b"\",\"policy\":\"").word(policy);
        }
        if facts.named != Named::Nothing {
            line.raw(b"\",\"named\":\"").word(facts.named.as_str());
        }
        line.raw(b"\"");
        if facts.reads_by_sql {
            line.raw(b",\"reads_by_sql\":true");
        }
        if !self.receipts.is_empty() {
            line.raw(b",\"receipts\":").json(&self.receipts);
        }
        if let Some(standings) = facts.by_words() {
            line.raw(b",\"standings\":").json(standings);
        }
        Provenance::of(self.policy, facts).write(line);
        line.raw(b",\"label\":").words(label_words(facts.session));
        let found = !self.judgement.findings().is_empty();
        if found {
            sets(line, facts.session);
        }
        contract(line, facts.contract, found);
        judged(line, self.judgement);
    }
}

/// What a person was asked, as a digest.
fn asked_about(line: &mut Line<'_>, question: Option<&QuestionDigest>) {
    if let Some(question) = question {
        line.raw(b",\"question\":\"").hex(question.as_bytes()).raw(b"\"");
    }
}

/// Which texts a label holds.
#[cold]
fn sets(line: &mut Line<'_>, label: &Label) {
    if !label.origins().members().is_empty() {
        line.raw(b",\"origins\":").json(label.origins());
    }
    if !label.scopes().members().is_empty() {
        line.raw(b",\"scopes\":").json(label.scopes());
    }
    if !label.names().members().is_empty() {
        line.raw(b",\"names\":").json(label.names());
    }
}

fn contract(line: &mut Line<'_>, contract: &Contract, in_full: bool) {
    line.raw(b",\"contract\":{\"destination\":").set(contract.destination().members());
    line.raw(b",\"outcomes\":").set(contract.outcomes().members());
    line.raw(b",\"source\":").set(contract.source().members());
    line.raw(b",\"returns\":").set(contract.returns().classes());
    if in_full {
        rest_of_contract(line, contract);
    }
    line.raw(b"}");
}

#[cold]
fn rest_of_contract(line: &mut Line<'_>, contract: &Contract) {
    match contract.accepts() {
        Accepts::Unknown => line.raw(b",\"accepts\":\"unknown\""),
        Accepts::Any => line.raw(b",\"accepts\":\"any\""),
        Accepts::Only(accepted) => line.raw(b",\"accepts\":").json(accepted),
    };
    line.raw(b",\"integrity\":\"").word(contract.integrity().as_str());
    line.raw(b"\",\"approval\":\"").word(contract.approval().as_str());
    let mut before = "\",\"basis\":{\"";
    for axis in Axis::ALL {
        line.word(before).word(axis.short()).raw(b"\":\"").word(contract.basis(*axis).as_str());
        before = "\",\"";
    }
    line.raw(b"\"}");
}

/// The findings, and what goes with them.
fn judged(line: &mut Line<'_>, judgement: &Judgement) {
    let violations = judgement.violations();
    let plain = violations.is_empty() && judgement.redactions().is_empty();
    if plain && judgement.findings().is_empty() {
        line.raw(b",\"findings\":[]");
    } else {
        found(line, judgement, violations);
    }
}

#[cold]
fn found(line: &mut Line<'_>, judgement: &Judgement, violations: FlowViolations) {
    if !violations.is_empty() {
        line.raw(b",\"violations\":").words(violations.iter().map(FlowRule::finding));
    }
    if !judgement.redactions().is_empty() {
        line.raw(b",\"redactions\":").set(judgement.redactions().kinds());
    }
    if judgement.findings().is_empty() {
        line.raw(b",\"findings\":[]");
        return;
    }
    let before = line.length();
    line.raw(b",\"findings\":").json(&judgement.findings());
    if judgement.would().is_some() && line.length() - before > LONG_FINDINGS {
        line.take_back(before);
        let short: Vec<Finding> = judgement.findings().iter().map(shortened).collect();
        line.raw(b",\"findings\":").json(&short).raw(b",\"shortened\":true");
    }
    if !judgement.what_if().is_empty() {
        line.raw(b",\"what_if\":").json(&judgement.what_if());
    }
    if let Some(would) = judgement.would() {
        line.raw(b",\"would\":").json(&would);
    }
}

/// A finding of what is only observed, without most of what led to it: it stops nothing, and there is one at nearly every
/// call where nothing is labelled.
fn shortened(finding: &Finding) -> Finding {
    let mut short = finding.clone();
    short.saw.truncate(MOST_SEEN);
    short.lacks.truncate(MOST_SEEN);
    short
}

// === impl Ended ===

impl Ended<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.raw(b",\"event\":\"outcome\",\"outcome\":\"").word(self.outcome.as_str());
        line.raw(b"\",\"bytes\":").number(self.bytes).raw(b",\"millis\":").number(self.millis);
        if let Some(detail) = self.detail {
            line.raw(b",\"detail\":\"").text(detail).raw(b"\"");
        }
        if let Some(provenance) = &self.provenance {
            provenance.write(line);
        }
        came_in(line, self.label, self.raised);
        if !self.marks.is_empty() {
            marks(line, self.marks.iter().map(|mark| &**mark));
        }
        if let Some(judgement) = self.judgement.filter(|judgement| !judgement.is_empty()) {
            judged(line, judgement);
        }
    }
}

/// Which marks, and who left them.
fn marks<'m>(line: &mut Line<'_>, marks: impl Iterator<Item = &'m Mark>) {
    line.raw(b",\"marks\":[");
    for (number, mark) in marks.enumerate() {
        if number > 0 {
            line.raw(b",");
        }
        line.raw(b"{\"id\":\"").text(&mark.id);
        line.raw(b"\",\"upstream\":\"").text(mark.thing.upstream.as_str());
        line.raw(b"\",\"kind\":\"").word(mark.thing.kind.as_str());
        line.raw(b"\",\"on\":\"").text(&mark.thing.words());
        line.raw(b"\",\"tool\":\"").text(&mark.by.tool);
        line.raw(b"\",\"decision\":\"").text(mark.by.decision.as_str());
        line.raw(b"\",\"session\":\"").text(mark.by.session.as_str());
        line.raw(b"\",\"agent\":\"").text(mark.by.principal.as_str()).raw(b"\"}");
    }
    line.raw(b"]");
}

/// The label of what came in; its origins only where they are news.
fn came_in(line: &mut Line<'_>, label: Option<&Label>, raised: bool) {
    let Some(label) = label else { return };
    line.raw(b",\"label\":").words(label_words(label));
    if raised {
        line.raw(b",\"raised\":true");
        sets(line, label);
    }
}

// === impl Question ===

impl Question<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.raw(b",\"event\":\"question\",\"upstream\":\"").text(self.upstream.as_str());
        line.raw(b"\",\"kind\":\"").word(self.kind.as_str());
        line.raw(b"\",\"effect\":\"").word(if self.put { "allow" } else { "block" }).raw(b"\"");
        if let Some(provenance) = &self.provenance {
            provenance.write(line);
        }
        came_in(line, self.label, self.raised);
        judged(line, self.judgement);
    }
}

// === impl Declassification ===

impl Declassification<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.raw(b",\"event\":\"declassification\",\"session\":\"").text(self.session.as_str());
        line.raw(b"\",\"principal\":\"").text(self.principal.as_str());
        line.raw(b"\",\"by\":\"").text(self.by);
        line.raw(b"\",\"reason\":\"").text(self.reason);
        line.raw(b"\",\"epoch\":").number(self.epoch);
        line.raw(b",\"before\":{\"label\":").words(label_words(self.before));
        sets(line, self.before);
        line.raw(b"},\"after\":{\"label\":").words(label_words(self.after));
        sets(line, self.after);
        line.raw(b"}");
    }
}

// === impl Review ===

impl Review<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.raw(b",\"event\":\"review\",\"upstream\":\"").text(self.upstream.as_str());
        line.raw(b"\",\"what\":\"").text(self.what);
        line.raw(b"\",\"by\":\"").text(self.by);
        line.raw(b"\",\"reason\":\"").text(self.reason);
        line.raw(b"\",\"digest\":").json(&self.digest);
        line.raw(b",\"items\":").json(&self.items);
    }
}

// === impl Outcome ===

impl Outcome {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::UpstreamError => "upstream-error",
            Self::Failed => "failed",
            Self::TimedOut => "timed-out",
            Self::Cancelled => "cancelled",
            Self::Withheld => "withheld",
        }
    }
}

// === impl Ruling ===

impl Ruling {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Approved => "approved",
            Self::Asked => "asked",
            Self::Blocked => "blocked",
            Self::Unavailable => "unavailable",
        }
    }
}
