//! Narrowing: what is said of one call, or by an operator's case of one reply, within what is known of the tool.
//!
//! The static contract is the bound. A value inside it replaces it for this call. One outside it is added: the
//! static value and the new one both stand. From the operator that is how a mild contract is tightened case by
//! case; from a server it is a failure, and somebody should hear of it.

use highwater_notation::Word;

use super::contract::{Contract, ReplyBounds};
use super::tally::{AcceptTally, ReturnTally, Tally};
use super::weigh::Scale;
use super::{
    Accepts, Authority, Axis, CallVariant, Claimed, Claims, Notice, NoticeKind, Possible, Sensitivity, Severe,
};

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
        next.stated_source = scale.source.stated(self.stated_source, next.source);
        next.returns = next.narrow_returns(&self.returns, &scale.returns, &mut notices);
        next.accepts = next.narrow_accepts(&self.accepts, &scale.accepts, &mut notices);

        scale.settle_integrity(&mut next);
        scale.settle_approval(&mut next);
        notices.append(&mut scale.notices);

        next.malicious |= scale.malicious;
        next.capabilities = self.capabilities.narrowed(&scale.capabilities);
        // What is declared are the possible ones. The label keeps them all: an origin that is named too much costs nothing.
        let chooses = !scale.attribution_adds && !scale.attribution.is_empty();
        if chooses && self.attribution.covers(&scale.attribution) {
            next.attribution = scale.attribution.clone();
        } else {
            next.attribution.join(&scale.attribution);
        }
        next.origins.join(&scale.attribution);
        if let Some(tokens) = &scale.accept_from {
            next.accept_from = Some(match &self.accept_from {
                Some(held) => held.iter().filter(|token| tokens.contains(token)).cloned().collect(),
                None => tokens.as_slice().into(),
            });
        }
        next.idempotent = scale.idempotent.value(self.idempotent);
        // What is said of one call makes no other class of it, unless it does more than its tool.
        let class = scale.variant.value(scale.outcomes.has_operator(), next.outcomes, CallVariant::Read);
        next.variant = self.variant.max(class);
        (next.settled(), notices)
    }

    /// The contract of one reply of a server that is believed: what the reply says of itself, inside these bounds.
    pub(crate) fn chosen_by_reply(&self, said: &Claims, bounds: ReplyBounds) -> Self {
        let said: Claims =
            said.iter().map(|said| Claimed { by: Authority::ResolvedVerified, ..said.clone() }).collect();
        let mut declared = self.clone();
        if bounds == ReplyBounds::Unbounded {
            declared.set_basis(Axis::Source, Authority::Nothing);
            declared.set_basis(Axis::Returns, Authority::Nothing);
        }
        declared.narrowed(&said).0
    }

    /// Whether somebody said of this axis within what a narrower word must lie. The operator's one word for the server
    /// only fills in what nobody said.
    fn is_bounded(&self, axis: Axis) -> bool {
        self.basis(axis) > Authority::Profile
    }

    fn bounds<T: Word>(&self, axis: Axis, value: Possible<T>) -> Possible<T> {
        if self.is_bounded(axis) { value } else { Possible::any() }
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
            if said.rules_out(bounds.members()) {
                notices.push(Notice::new(NoticeKind::Drift, Some(axis), said.vocabulary(), ""));
            }
            note_drift(axis, bounds, said.added(), said.vocabulary(), notices);
            return held.or(said.added());
        };
        if by.is_operator() {
            said.note_override(value, axis, notices);
        }
        if bounds.members().covers(value.members()) {
            if value != held {
                self.set_basis(axis, by);
            }
            return value;
        }
        if !by.is_operator() {
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
        let declared = self.is_bounded(Axis::Returns);
        let Some((value, by)) = said.spoken() else {
            let next = said.laid_on(held.clone());
            if declared && !held.classes().covers(next.classes()) {
                notices.push(Notice::new(NoticeKind::Drift, Some(Axis::Returns), said.vocabulary(), ""));
            }
            return next;
        };
        if by.is_operator() {
            said.note_override(&value, notices);
        }
        if !declared || held.allows(&value) {
            if value != *held {
                self.set_basis(Axis::Returns, by);
            }
            return value;
        }
        if !by.is_operator() {
            notices.push(Notice::new(NoticeKind::Drift, Some(Axis::Returns), said.vocabulary(), ""));
        }
        held.clone().and(&value)
    }

    fn narrow_accepts(&mut self, held: &Accepts, said: &AcceptTally, notices: &mut Vec<Notice>) -> Accepts {
        let Some((value, by)) = said.spoken() else { return held.clone().at_most(said.narrows()) };
        if !self.is_bounded(Axis::Accepts) {
            self.set_basis(Axis::Accepts, by);
            return value;
        }
        let next = match &value {
            Accepts::Only(classes) => held.clone().at_most(Some(classes)),
            Accepts::Any | Accepts::Unknown => held.clone(),
        };
        if next != value && !by.is_operator() {
            notices.push(Notice::new(NoticeKind::Drift, Some(Axis::Accepts), said.vocabulary(), ""));
        }
        next
    }
}

fn note_drift<T: Word>(
    axis: Axis,
    bounds: Possible<T>,
    said: highwater_notation::Words<T>,
    from: &'static str,
    notices: &mut Vec<Notice>,
) {
    if let Some(word) = said.minus(bounds.members()).iter().next_back() {
        notices.push(Notice::new(NoticeKind::Drift, Some(axis), from, word.as_str()));
    }
}
