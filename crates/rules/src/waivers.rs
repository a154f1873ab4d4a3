//! Waivers as written, checked: each names findings that exist and may be waived, and says when, until and why.

use std::collections::HashMap;

use highwater_core::policy::{Effect, FlowRule, Phase, Phases, Span, Waiver};
use highwater_notation::end_of;
use highwater_notation::suggest::{listed, nearest};

use super::draft::{Draft, Use};
use super::{Compiler, Mention, Parts, look};
use crate::error::{RuleError, RuleErrorCode as Code};
use crate::limits;
use crate::source::{Spanned, WaiverSource};

impl Compiler {
    pub(super) fn waivers(&mut self, set: &mut Parts, waivers: &[WaiverSource], names: &HashMap<&str, Span>) {
        if let Some(first_too_many) = waivers.get(limits::WAIVERS) {
            let message =
                format!("there are {} waivers, and at most {} are allowed", waivers.len(), limits::WAIVERS);
            self.errors.push(
                RuleError::new(Code::TooLarge, first_too_many.span, message)
                    .help("take the waivers that have ended out, or let one rule be milder instead"),
            );
        }
        for source in waivers.iter().take(limits::WAIVERS) {
            let Some((waiver, mentions)) = self.waiver(source, names) else { continue };
            let index = set.waivers.len();
            for target in &source.waive {
                self.apply(set, index, target, &mentions);
            }
            set.waivers.push(waiver);
        }
    }

    fn waiver(
        &mut self,
        source: &WaiverSource,
        names: &HashMap<&str, Span>,
    ) -> Option<(Waiver, Vec<Mention>)> {
        let before = self.errors.len();
        for (missing, key, what) in [
            (source.waive.is_empty(), "waive", "the findings it lowers, such as `flow.write`"),
            (source.when.is_none(), "when", "the circumstances in which it applies"),
            (source.until.is_none(), "until", "the last day it is in force, such as `2027-01-31`"),
            (
                source.reason.as_ref().is_none_or(|reason| reason.value.trim().is_empty()),
                "reason",
                "why it is right",
            ),
        ] {
            if missing {
                let message = format!("the waiver has no `{key}`");
                self.errors.push(
                    RuleError::new(Code::WaiverIncomplete, source.span, message).help(format!("say {what}")),
                );
            }
        }
        for target in &source.waive {
            self.target(target, names);
        }
        let until = source.until.as_ref().and_then(|until| {
            let end = end_of(&until.value);
            if end.is_none() {
                let message = format!("`{}` is no day", until.value);
                self.errors.push(
                    RuleError::new(Code::WrongType, until.span, message)
                        .help("write a day, `2027-01-31`, or a moment in UTC, `2027-01-31T12:00:00Z`"),
                );
            }
            end
        });
        let when = source.when.as_ref()?;
        let mut draft = Draft::new(self, Use::Waiver);
        let condition = draft.condition(when);
        let mentions = std::mem::take(&mut draft.mentions);
        let condition = condition?;
        look::contradiction(&condition, self);
        if self.errors.len() > before {
            return None;
        }
        let findings = source.waive.iter().map(|target| target.value.as_str().into()).collect();
        let reason = source.reason.as_ref()?.value.as_str().into();
        Some((Waiver::new(findings, condition, until?, reason), mentions))
    }

    fn target(&mut self, target: &Spanned<String>, names: &HashMap<&str, Span>) {
        let name = target.value.as_str();
        let flow: Vec<&str> = FlowRule::ALL.iter().map(|rule| rule.finding()).collect();
        let known =
            flow.contains(&name) || name.strip_prefix("rule.").is_some_and(|rule| names.contains_key(rule));
        if known {
            return;
        }
        if name.starts_with("structural.") {
            self.errors.push(
                RuleError::new(Code::WaiverStructural, target.span, format!("`{name}` cannot be waived"))
                    .help("structural findings are about what is granted at all; change the grant instead"),
            );
            return;
        }
        let mut rules: Vec<String> = names.keys().map(|rule| format!("rule.{rule}")).collect();
        rules.sort_unstable();
        let candidates = flow.iter().copied().chain(rules.iter().map(String::as_str));
        let error = RuleError::new(Code::WaiverTarget, target.span, format!("there is no finding `{name}`"));
        self.errors.push(match nearest(name, candidates) {
            Some(found) => error.help(format!("did you mean `{found}`?")),
            None => error.help(format!("name {}, or `rule.` and the name of a rule", listed(&flow))),
        });
    }

    /// Ties the waiver to what it names. It must be able to apply where the finding is made.
    fn apply(&mut self, set: &mut Parts, index: usize, target: &Spanned<String>, mentions: &[Mention]) {
        let phases =
            match target.value.strip_prefix("rule.") {
                None => {
                    let named = FlowRule::ALL.iter().position(|rule| rule.finding() == target.value);
                    if let Some(waivers) = named.and_then(|place| set.flow_waivers.get_mut(place)) {
                        waivers.push(index);
                    }
                    Phases::of(&[Phase::Call, Phase::Resource])
                }
                Some(name) => {
                    let Some(rule) = set.rules.iter_mut().find(|rule| *rule.name == *name) else { return };
                    rule.waivers.push(index);
                    if rule.effect <= Effect::Confirm {
                        self.warnings.push(RuleError::new(
                        Code::WaiverWithoutEffect,
                        target.span,
                        format!(
                            "a waiver lowers a finding to a question at most, and `{}` is not above that",
                            target.value
                        ),
                    )
                    .help("leave it out of `waive`, or make the rule stricter"));
                    }
                    rule.phases
                }
            };
        let possible = mentions.iter().fold(phases, |phases, mention| phases.and(mention.phases));
        if possible.is_empty() {
            let culprit = mentions.iter().find(|mention| mention.phases.and(phases).is_empty());
            let message = match culprit {
                Some(mention) => {
                    format!("`{}` is never known where `{}` is found", mention.path, target.value)
                }
                None => {
                    format!("the facts of this waiver are never all known where `{}` is found", target.value)
                }
            };
            let error = RuleError::new(Code::NoCommonPhase, target.span, message)
                .help(format!("`{}` is found in {phases}: ask for what is known there", target.value));
            self.errors.push(match culprit {
                Some(mention) => {
                    error.also(mention.span, format!("`{}` is known in {}", mention.path, mention.phases))
                }
                None => error,
            });
        }
    }
}
