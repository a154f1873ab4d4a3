//! Two contracts of one tool: on which axes one is milder than the other, and the one that is no milder than either.

use std::sync::Arc;

use highwater_notation::Words;

use super::contract::{Contract, ReplyKind};
use super::{Accepts, Axis};

impl Contract {
    /// The axes on which this one is milder than the other: something is no longer possible, no longer refused, no longer
    /// asked for, or believed further. Whether a call may be repeated is no axis: see [`Contract::hints`].
    pub fn milder_than(&self, other: &Self) -> Words<Axis> {
        let mut axes = Words::EMPTY;
        let mut note = |holds: bool, axis: Axis| {
            if holds {
                axes = axes.with(axis);
            }
        };
        note(!self.destination.members().covers(other.destination.members()), Axis::Destination);
        note(self.accepts.milder_than(&other.accepts), Axis::Accepts);
        note(wider_from(self.accept_from.as_deref(), other.accept_from.as_deref()), Axis::Accepts);
        note(!self.outcomes.members().covers(other.outcomes.members()), Axis::Outcomes);
        note(self.variant < other.variant, Axis::Outcomes);
        note(self.has_milder_roles(other), Axis::Outcomes);
        note(!self.source.members().covers(other.source.members()), Axis::Source);
        note(!self.possible_source().members().covers(other.possible_source().members()), Axis::Source);
        note(self.returns.milder_than(&other.returns), Axis::Returns);
        note(self.approval < other.approval || self.wish < other.wish, Axis::Approval);
        note(other.requires_verified && !self.requires_verified, Axis::Approval);
        note(other.malicious && !self.malicious, Axis::Approval);
        note(!self.attribution.covers(&other.attribution), Axis::Integrity);
        for kind in [ReplyKind::Server, ReplyKind::Resource, ReplyKind::ServerWithResource] {
            note(!self.label_of(kind).covers(&other.label_of(kind)), Axis::Integrity);
        }
        note(!self.capabilities.covers(&other.capabilities), Axis::Capabilities);
        // Of what nobody spoke a rule takes everything for possible.
        axes.union(other.undeclared().minus(self.undeclared()))
    }

    /// The contract that is as strict as both on every axis. For a tool whose claims changed: what is riskier counts at
    /// once, and what looks safer does not count yet.
    #[must_use]
    pub fn strictest(&self, other: &Self) -> Self {
        let mut next = self.clone();
        next.destination = self.destination.or(other.destination.members());
        next.accepts = self.accepts.strictest(&other.accepts);
        next.outcomes = self.outcomes.or(other.outcomes.members());
        next.source = self.source.or(other.source.members());
        next.stated_source = self.stated_source.union(other.stated_source);
        next.answered_for &= other.answered_for;
        next.returns = self.returns.strictest(&other.returns);
        next.ceiling = self.ceiling.min(other.ceiling);
        next.untrusted = self.untrusted.max(other.untrusted);
        next.approval = self.approval.max(other.approval);
        next.wish = self.wish.max(other.wish);
        next.requires_verified |= other.requires_verified;
        next.malicious |= other.malicious;
        next.attribution.join(&other.attribution);
        next.origins.join(&other.origins);
        next.capabilities = self.capabilities.strictest(&other.capabilities);
        next.roles = self.roles.strictest(self.acts(), &other.roles, other.acts());
        next.accept_from = narrower_from(self.accept_from.as_ref(), other.accept_from.as_ref());
        next.idempotent &= other.idempotent;
        next.variant = self.variant.max(other.variant);
        for (basis, others) in next.basis.iter_mut().zip(other.basis) {
            *basis = (*basis).min(others);
        }
        next.settled()
    }

    fn has_milder_roles(&self, other: &Self) -> bool {
        let stated =
            |of: &Self, acts| of.roles.iter(acts).map(|(pointer, _)| pointer.to_owned()).collect::<Vec<_>>();
        let pointers = stated(self, self.acts()).into_iter().chain(stated(other, other.acts()));
        // The empty pointer stands for every argument that nobody spoke of.
        pointers.chain([String::new()]).any(|pointer| self.role(&pointer) < other.role(&pointer))
    }
}

// === impl Accepts ===

impl Accepts {
    fn milder_than(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Unknown | Self::Any) => false,
            (Self::Unknown | Self::Any, Self::Only(_)) => true,
            (Self::Only(_), Self::Only(others)) => self.exceeds(others),
        }
    }

    fn strictest(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Unknown, Self::Any) | (Self::Any, Self::Unknown) => Self::Unknown,
            (Self::Unknown | Self::Any, other) => other.clone(),
            (held, Self::Unknown | Self::Any) => held.clone(),
            (Self::Only(held), Self::Only(others)) => Self::Only(held.intersection(others)),
        }
    }
}

/// Whether the first takes data from somebody from whom the second does not.
fn wider_from(one: Option<&[Arc<str>]>, other: Option<&[Arc<str>]>) -> bool {
    match (one, other) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(one), Some(other)) => !one.iter().all(|token| other.contains(token)),
    }
}

fn narrower_from(one: Option<&Arc<[Arc<str>]>>, other: Option<&Arc<[Arc<str>]>>) -> Option<Arc<[Arc<str>]>> {
    match (one, other) {
        (None, from) | (from, None) => from.cloned(),
        (Some(one), Some(other)) => Some(one.iter().filter(|token| other.contains(token)).cloned().collect()),
    }
}
