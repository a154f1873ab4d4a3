//! Events as JSON lines. What an allowed call leaves behind is small and costs little; what was found is told in full.

use super::label_words::label_words;
use super::line::Line;
use super::{
    AuditEvent, Decision, Declassification, Ended, Happened, Outcome, Question, RECORD_VERSION, Ruling,
};
use crate::annotation::{Accepts, Axis, Contract, Word};
use crate::decide::{AskKind, Effect, Judgement};
use crate::label::{Label, TextSet};
use crate::policy::FlowRule;

// === impl AuditEvent ===

impl AuditEvent<'_> {
    /// Adds the event to a buffer, as one line with its end.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut line = Line::new(out);
        line.number("{\"v\":", RECORD_VERSION.into());
        line.number(",\"time\":", self.time.0);
        if let Some(id) = self.id {
            line.text(",\"id\":", id.as_str());
        }
        match &self.happened {
            Happened::Decision(decision) => decision.write(&mut line),
            Happened::Outcome(ended) => ended.write(&mut line),
            Happened::Question(question) => question.write(&mut line),
            Happened::Asked { question, how } => {
                line.raw(",\"event\":\"asked\"");
                line.hex(",\"question\":", question.as_bytes());
                line.text(",\"how\":", how);
            }
            Happened::Answered { question, answer, by } => {
                line.raw(",\"event\":\"answered\"");
                line.hex(",\"question\":", question.as_bytes());
                line.text(",\"answer\":", answer.as_str());
                line.text(",\"by\":", by);
            }
            Happened::Waived(finding) => {
                line.raw(",\"event\":\"waived\"");
                line.member(",\"finding\":", finding);
            }
            Happened::Notice { upstream, target, notice } => {
                line.raw(",\"event\":\"notice\"");
                line.text(",\"upstream\":", upstream.as_str());
                line.text(",\"target\":", target);
                line.text(",\"notice\":", notice.kind.as_str());
                if let Some(axis) = notice.axis {
                    line.text(",\"axis\":", axis.short());
                }
                line.text(",\"from\":", notice.from);
                line.text(",\"detail\":", &notice.detail);
            }
            Happened::Remark { session, what, detail } => {
                line.raw(",\"event\":\"remark\"");
                line.text(",\"session\":", session.as_str());
                line.text(",\"what\":", what);
                line.text(",\"detail\":", detail);
            }
            Happened::Declassification(declassification) => declassification.write(&mut line),
        }
        line.raw("}\n");
    }
}

// === impl Decision ===

impl Decision<'_> {
    fn write(&self, line: &mut Line<'_>) {
        let (facts, action) = (self.facts, self.facts.action);
        let effect = self.judgement.effect();
        line.raw(",\"event\":\"decision\"");
        line.text(",\"principal\":", facts.principal.as_str());
        line.text(",\"session\":", self.session.as_str());
        line.number(",\"epoch\":", self.epoch);
        line.text(",\"virtual_server\":", facts.virtual_server.as_str());
        line.text(",\"upstream\":", action.upstream().as_str());
        line.text(",\"kind\":", action.kind().as_str());
        line.text(",\"method\":", action.method());
        line.text(",\"target\":", action.target());
        if let Some(tool) = facts.tool_id {
            line.text(",\"tool\":", tool);
        }
        line.hex(",\"digest\":", action.digest().as_bytes());
        line.text(",\"mode\":", self.policy.flow(facts.virtual_server).mode.as_str());
        line.text(",\"effect\":", effect.as_str());
        line.text(",\"ruling\":", self.ruling.as_str());
        if let Some(policy) = self.policy.digest().as_str() {
            line.text(",\"policy\":", policy);
        }
        line.words(",\"label\":", label_words(facts.session));
        let found = !self.judgement.findings().is_empty();
        if found {
            sets(line, facts.session);
        }
        contract(line, facts.contract, found);
        judged(line, self.judgement);
    }
}

/// Which texts a label holds.
fn sets(line: &mut Line<'_>, label: &Label) {
    let mut set = |before, texts: &TextSet| {
        if !texts.members().is_empty() {
            line.member(before, texts);
        }
    };
    set(",\"origins\":", label.origins());
    set(",\"scopes\":", label.scopes());
}

fn contract(line: &mut Line<'_>, contract: &Contract, in_full: bool) {
    line.words(",\"contract\":{\"destination\":", contract.destination().members().iter().map(Word::as_str));
    line.words(",\"outcomes\":", contract.outcomes().members().iter().map(Word::as_str));
    line.words(",\"source\":", contract.source().members().iter().map(Word::as_str));
    line.words(",\"returns\":", contract.returns().classes().iter().map(Word::as_str));
    if in_full {
        match contract.accepts() {
            Accepts::Unknown => line.raw(",\"accepts\":\"unknown\""),
            Accepts::Any => line.raw(",\"accepts\":\"any\""),
            Accepts::Only(accepted) => line.member(",\"accepts\":", accepted),
        }
        line.text(",\"integrity\":", contract.integrity().as_str());
        line.text(",\"approval\":", contract.approval().as_str());
        line.raw(",\"basis\":{");
        for (place, axis) in Axis::ALL.iter().enumerate() {
            line.raw(if place == 0 { "" } else { "," });
            line.word(axis.short());
            line.text(":", contract.basis(*axis).as_str());
        }
        line.raw("}");
    }
    line.raw("}");
}

/// The findings, and what goes with them.
fn judged(line: &mut Line<'_>, judgement: &Judgement) {
    let violations = judgement.violations();
    if violations.bits() != 0 {
        let violated = FlowRule::ALL.into_iter().filter(|rule| violations.has(*rule));
        line.words(",\"violations\":", violated.map(FlowRule::finding));
    }
    if !judgement.redactions().is_empty() {
        line.words(",\"redactions\":", judgement.redactions().kinds().iter().map(Word::as_str));
    }
    if judgement.findings().is_empty() {
        line.raw(",\"findings\":[]");
    } else {
        line.member(",\"findings\":", &judgement.findings());
    }
    if !judgement.what_if().is_empty() {
        line.member(",\"what_if\":", &judgement.what_if());
    }
    if let Some(would) = judgement.would() {
        line.member(",\"would\":", &would);
    }
}

// === impl Ended ===

impl Ended<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.raw(",\"event\":\"outcome\"");
        line.text(",\"outcome\":", self.outcome.as_str());
        line.number(",\"bytes\":", self.bytes);
        line.number(",\"millis\":", self.millis);
        if let Some(detail) = self.detail {
            line.text(",\"detail\":", detail);
        }
        came_in(line, self.label, self.raised);
        if let Some(judgement) = self.judgement.filter(|judged| **judged != Judgement::default()) {
            judged(line, judgement);
        }
    }
}

/// The label of what came in; its origins only where they are news.
fn came_in(line: &mut Line<'_>, label: Option<&Label>, raised: bool) {
    let Some(label) = label else { return };
    line.words(",\"label\":", label_words(label));
    if raised {
        line.raw(",\"raised\":true");
        sets(line, label);
    }
}

// === impl Question ===

impl Question<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.raw(",\"event\":\"question\"");
        line.text(",\"upstream\":", self.upstream.as_str());
        line.text(",\"kind\":", self.kind.as_str());
        let effect = if self.put { Effect::Allow } else { Effect::Block };
        line.text(",\"effect\":", effect.as_str());
        came_in(line, self.label, self.raised);
        judged(line, self.judgement);
    }
}

// === impl Declassification ===

impl Declassification<'_> {
    fn write(&self, line: &mut Line<'_>) {
        line.raw(",\"event\":\"declassification\"");
        line.text(",\"session\":", self.session.as_str());
        line.text(",\"principal\":", self.principal.as_str());
        line.text(",\"by\":", self.by);
        line.text(",\"reason\":", self.reason);
        line.number(",\"epoch\":", self.epoch);
        line.words(",\"before\":{\"label\":", label_words(self.before));
        sets(line, self.before);
        line.words("},\"after\":{\"label\":", label_words(self.after));
        sets(line, self.after);
        line.raw("}");
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
        }
    }
}

// === impl AskKind ===

impl AskKind {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::ElicitForm => "elicit-form",
            Self::ElicitUrl => "elicit-url",
            Self::Roots => "roots",
        }
    }
}
