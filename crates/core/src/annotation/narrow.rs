//! Narrowing: what is said of one call, or by an operator's case of one reply, within what is known of the tool.
//!
//! The static contract is the bound. A value inside it replaces it for this call. One outside it is added: the
//! static value and the new one both stand. From the operator that is how a mild contract is tightened case by
//! case; from a server it is a failure, and somebody should hear of it.

use super::contract::Contract;
use super::tally::{AcceptTally, ReturnTally, Tally};
use super::weigh::Scale;
use super::{Accepts, Authority, Axis, Claims, Notice, NoticeKind, Possible, Sensitivity, Severe, Word};

impl Contract {
    /// The contract for these arguments: what resolution or the operator's cases say, inside the static bounds.
    ///
    /// An axis on which nobody spoke before has no bounds; there, a word that may loosen is the first.
    pub fn narrowed(&self, said: &Claims) -> (Self, Vec<Notice>) {
        if said.is_empty() {
            return (self.clone(), Vec::new());
        }
        let mut scale = Scale::of(said);
        let mut notices = std::mem::take(&mut scale.notices);
        let mut next = self.clone();

        let bounds = self.bounds(Axis::Destination, self.destination);
        next.destination =
            next.narrow(Axis::Destination, self.destination, bounds, &scale.destination, &mut notices);
        let bounds = self.bounds(Axis::Outcomes, self.outcomes);
        next.outcomes = next.narrow(Axis::Outcomes, self.outcomes, bounds, &scale.outcomes, &mut notices);
        let bounds = self.bounds(Axis::Source, self.source);
        next.source = next.narrow(Axis::Source, self.source, bounds, &scale.source, &mut notices);
        next.returns = next.narrow_returns(&self.returns, &scale.returns, &mut notices);
        next.accepts = next.narrow_accepts(&self.accepts, &scale.accepts, &mut notices);

        scale.settle_integrity(&mut next);
        scale.settle_approval(&mut next);
        notices.append(&mut scale.notices);

        next.malicious |= scale.malicious;
        next.attribution.join(&scale.attribution);
        next.origins.join(&scale.attribution);
        if let Some(tokens) = &scale.accept_from {
            next.accept_from = Some(match &self.accept_from {
                Some(held) => held.iter().filter(|token| tokens.contains(token)).cloned().collect(),
                None => tokens.as_slice().into(),
            });
        }
        next.idempotent = scale.idempotent.value(self.idempotent);
        next.adds = scale.variant.adds(self.adds);
        next.variant = self.variant.max(scale.variant.value(scale.outcomes.has_operator(), next.outcomes));
        next.reads_high = scale.source.is_silent()
            && (self.reads_high || (scale.reads_high && !self.is_declared(Axis::Source)));
        (next.settled(), notices)
    }

    fn bounds<T: Word>(&self, axis: Axis, value: Possible<T>) -> Possible<T> {
        if self.is_declared(axis) { value } else { Possible::any() }
    }

    fn narrow<T: Severe>(
        &mut self,
        axis: Axis,
        held: Possible<T>,
        bounds: Possible<T>,
        said: &Tally<T>,
        notices: &mut Vec<Notice>,
    ) -> Possible<T> {
        let Some((value, by)) = said.within(bounds.members()) else {
            note_drift(axis, bounds, said.added(), said.vocabulary(), notices);
            return held.or(said.added());
        };
        if by == Authority::Operator {
            said.note_override(value, axis, notices);
        }
        if bounds.members().covers(value.members()) {
            self.set_basis(axis, by);
            return value;
        }
        if by != Authority::Operator {
            note_drift(axis, bounds, value.members(), said.vocabulary(), notices);
        }
        held.or(value.members())
    }

    fn narrow_returns(
        &mut self,
        held: &Sensitivity,
        said: &ReturnTally,
        notices: &mut Vec<Notice>,
    ) -> Sensitivity {
        let declared = self.is_declared(Axis::Returns);
        let Some((value, by)) = said.spoken() else {
            let next = said.laid_on(held.clone());
            if declared && !held.classes().covers(next.classes()) {
                notices.push(Notice::new(NoticeKind::Drift, Some(Axis::Returns), said.vocabulary(), ""));
            }
            return next;
        };
        if by == Authority::Operator {
            said.note_override(&value, notices);
        }
        if !declared || held.allows(&value) {
            self.set_basis(Axis::Returns, by);
            return value;
        }
        if by != Authority::Operator {
            notices.push(Notice::new(NoticeKind::Drift, Some(Axis::Returns), said.vocabulary(), ""));
        }
        held.clone().and(&value)
    }

    fn narrow_accepts(&mut self, held: &Accepts, said: &AcceptTally, notices: &mut Vec<Notice>) -> Accepts {
        let Some((value, by)) = said.spoken() else { return held.clone().at_most(said.narrows()) };
        if !self.is_declared(Axis::Accepts) {
            self.set_basis(Axis::Accepts, by);
            return value;
        }
        let next = match &value {
            Accepts::Only(classes) => held.clone().at_most(Some(classes)),
            Accepts::Any | Accepts::Unknown => held.clone(),
        };
        if next != value && by != Authority::Operator {
            notices.push(Notice::new(NoticeKind::Drift, Some(Axis::Accepts), said.vocabulary(), ""));
        }
        next
    }
}

fn note_drift<T: Word>(
    axis: Axis,
    bounds: Possible<T>,
    said: super::Words<T>,
    from: &'static str,
    notices: &mut Vec<Notice>,
) {
    if let Some(word) = said.minus(bounds.members()).iter().next_back() {
        notices.push(Notice::new(NoticeKind::Drift, Some(axis), from, word.as_str()));
    }
}
