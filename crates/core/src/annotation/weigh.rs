//! Weighing: everything said of a tool becomes one contract.
//!
//! On each axis the operator's value, if there is one, is the value. Otherwise let E be the claims of those
//! whose word may loosen and R all others: without E it is the worst case and R, with E the worst of both.

use super::contract::Contract;
use super::single::{Ceiling, Idempotent, VariantClaims, Wishes};
use super::tally::{AcceptTally, ReturnTally, Tally};
use super::words::Words;
use super::{
    ApprovalWish, Authority, Axis, Capabilities, Capability, CapabilityClaim, Claim, Claims, Confidentiality,
    DataClass, Destination, Hints, Notice, NoticeKind, Outcome, Possible, Reach, Roles, Sensitivity, Source,
};
use crate::label::TextSet;
use crate::trust::ServerTrust;

/// Everything said, sorted by axis and by what the speaker may do.
#[derive(Default)]
pub(super) struct Scale {
    pub(super) destination: Tally<Destination>,
    pub(super) accepts: AcceptTally,
    pub(super) outcomes: Tally<Outcome>,
    pub(super) source: Tally<Source>,
    pub(super) returns: ReturnTally,
    pub(super) ceiling: Ceiling,
    pub(super) approval: Wishes,
    pub(super) requires_verified: bool,
    pub(super) malicious: bool,
    pub(super) attribution: TextSet,
    pub(super) capabilities: Capabilities,
    pub(super) capabilities_by: Option<Authority>,
    pub(super) roles: Roles,
    pub(super) accept_from: Option<Vec<std::sync::Arc<str>>>,
    pub(super) idempotent: Idempotent,
    pub(super) variant: VariantClaims,
    pub(super) reads_high: bool,
    pub(super) notices: Vec<Notice>,
}

impl Contract {
    /// Makes one contract of everything said of a tool of this server.
    pub fn weigh(claims: &Claims, trust: &ServerTrust) -> (Self, Vec<Notice>) {
        Self::unknown().weighed(claims, trust)
    }

    /// The same, where something else than the worst case is known beforehand: see [`Contract::reading`].
    pub fn weighed(self, claims: &Claims, trust: &ServerTrust) -> (Self, Vec<Notice>) {
        Scale::of(claims).settle(self, *trust)
    }
}

// === impl Scale ===

impl Scale {
    pub(super) fn of(claims: &Claims) -> Self {
        let mut scale = Self::default();
        for said in claims {
            scale.put(&said.claim, said.by, said.from);
        }
        scale
    }

    fn put(&mut self, claim: &Claim, by: Authority, from: &'static str) {
        match claim {
            Claim::AddDestination(words) => self.destination.add(*words, by, from),
            Claim::SetDestination(words) => self.destination.set(*words, by, from),
            Claim::SetAccepts(classes) => self.accepts.set(classes, by, from),
            Claim::AcceptsAny => self.accepts.set_any(by),
            Claim::AddOutcomes(words) => self.stated_outcomes(*words, by, from),
            Claim::SetOutcomes(words) => {
                self.variant.outcomes(words.members(), by);
                self.outcomes.set(*words, by, from);
            }
            Claim::AddSource(words) => self.source.add(*words, by, from),
            Claim::SetSource(words) => self.source.set(*words, by, from),
            Claim::AddReturns(classes) => self.returns.add(classes, by, from),
            Claim::SetReturns(classes) => self.returns.set(classes, by, from),
            Claim::Untrusted => self.ceiling.untrust(by, from),
            Claim::OpenWorld => {
                self.destination.add(Words::only(Destination::Public), by, from);
                self.source.add(Words::only(Source::UntrustedPublic), by, from);
            }
            Claim::Malicious => {
                self.malicious = true;
                self.approval.add(ApprovalWish::Confirm, by, from);
                self.ceiling.untrust(by, from);
                self.notices.push(Notice::new(NoticeKind::Malicious, None, from, ""));
            }
            Claim::SetIntegrity(level) => self.ceiling.cap(*level, by),
            Claim::AddApproval(wish) => self.approval.add(*wish, by, from),
            Claim::SetApproval(wish) => self.approval.set(*wish, by, from),
            Claim::RequiresVerified => self.requires_verified = true,
            Claim::AddOrigins(origins) => self.attribution.join(origins),
            Claim::Hints(hints) => self.hints(*hints, by, from),
            Claim::ReadConfidentiality(grades) => self.read_confidentiality(*grades, by, from),
            Claim::WriteConfidentiality(grades) => self.write_confidentiality(*grades, by, from),
            Claim::Capability(request) => self.capability(request, by, from),
            Claim::Role { argument, role } => self.roles.state(argument, *role, by),
            Claim::AcceptFrom(tokens) => self.accept_from(tokens),
        }
    }

    /// Outcomes in so many words.
    fn stated_outcomes(&mut self, words: Words<Outcome>, by: Authority, from: &'static str) {
        self.variant.outcomes(words, by);
        self.outcomes.add(words, by, from);
    }

    fn hints(&mut self, hints: Hints, by: Authority, from: &'static str) {
        let reads = hints.read_only == Some(true);
        match hints.read_only {
            Some(true) => {
                self.variant.read_only |= by.may_loosen();
                self.outcomes.set(Possible::only(Outcome::Benign), by, from);
            }
            Some(false) => self.outcomes.add(Words::only(Outcome::Consequential), by, from),
            None => {}
        }
        if hints.destructive == Some(false) {
            self.variant.additive(by);
        }
        match hints.destructive {
            Some(true) => {
                if reads {
                    let said = "readOnlyHint and destructiveHint";
                    self.notices.push(Notice::new(
                        NoticeKind::Contradiction,
                        Some(Axis::Outcomes),
                        from,
                        said,
                    ));
                }
                self.stated_outcomes(Words::only(Outcome::Irreversible), by, from);
            }
            Some(false) if reads => {}
            Some(false) if hints.open_world == Some(false) => {
                self.outcomes.set(Possible::only(Outcome::Consequential), by, from);
            }
            // Additive in the open world is sending: it destroys nothing and cannot be recalled.
            Some(false) => self.outcomes.add(Words::only(Outcome::Irreversible), by, from),
            None => {}
        }
        match hints.open_world {
            Some(true) => self.put(&Claim::OpenWorld, by, from),
            Some(false) => {
                let shut = Words::all().without(Destination::Public);
                self.destination.set_closed(Possible::only(Destination::Internal), shut, by, from);
                let closed = Possible::only(Source::Internal).with(Source::User).with(Source::System);
                self.source.set_closed(closed, closed.members(), by, from);
            }
            None => {}
        }
        if let Some(said) = hints.idempotent {
            self.idempotent.put(said, by);
        }
    }

    fn read_confidentiality(&mut self, grades: Possible<Confidentiality>, by: Authority, from: &'static str) {
        let (low, high) = (grades.contains(Confidentiality::Low), grades.contains(Confidentiality::High));
        if high {
            self.returns.add(&Sensitivity::of([DataClass::Confidential]), by, from);
        } else {
            self.returns.set(&Sensitivity::none(), by, from);
        }
        if low && high {
            self.ceiling.untrust(by, from);
        } else if low {
            // Low means public, and what is public anybody may have written.
            self.source.add(Words::only(Source::UntrustedPublic), by, from);
            self.ceiling.untrust(by, from);
        } else {
            self.reads_high |= by.may_loosen();
        }
    }

    fn write_confidentiality(
        &mut self,
        grades: Possible<Confidentiality>,
        by: Authority,
        from: &'static str,
    ) {
        if grades.is_only(Confidentiality::High) {
            self.destination.set(Possible::only(Destination::Internal), by, from);
        } else {
            self.destination.add(Words::only(Destination::Public), by, from);
        }
    }

    fn capability(&mut self, request: &CapabilityClaim, by: Authority, from: &'static str) {
        self.capabilities.request(request, by);
        if by.may_loosen() {
            self.capabilities_by = self.capabilities_by.max(Some(by));
        }
        let granted = request.reach != Reach::Nothing;
        match request.capability {
            Capability::Network if request.reach == Reach::All => self.put(&Claim::OpenWorld, by, from),
            Capability::Filesystem if granted => {
                if request.writes {
                    self.destination.add(Words::only(Destination::User), by, from);
                }
                if request.reads {
                    self.source.add(Words::only(Source::User), by, from);
                }
            }
            Capability::Execution if request.runs_anything() => {
                self.stated_outcomes(Words::only(Outcome::Irreversible), by, from);
            }
            Capability::Network
            | Capability::Filesystem
            | Capability::Environment
            | Capability::Execution
            | Capability::SoftwareLibraries => {}
        }
    }

    /// Of two lists only what is in both is accepted.
    fn accept_from(&mut self, tokens: &[std::sync::Arc<str>]) {
        match &mut self.accept_from {
            None => {
                let mut tokens = tokens.to_vec();
                tokens.sort();
                tokens.dedup();
                self.accept_from = Some(tokens);
            }
            Some(held) => held.retain(|token| tokens.contains(token)),
        }
    }

    /// The contract: everything said, laid over what is known beforehand.
    fn settle(mut self, base: Contract, server: ServerTrust) -> (Contract, Vec<Notice>) {
        let mut next = Contract { server, ..base };

        let (destination, by) =
            self.destination.value(next.destination, Axis::Destination, &mut self.notices);
        next.destination = destination;
        next.establish(Axis::Destination, by);

        let (outcomes, by) = self.outcomes.value(next.outcomes, Axis::Outcomes, &mut self.notices);
        next.outcomes = outcomes;
        next.establish(Axis::Outcomes, by);

        let (source, by) = self.source.value(next.source, Axis::Source, &mut self.notices);
        next.source = source;
        next.establish(Axis::Source, by);

        let (returns, by) = self.returns.value(&next.returns, &mut self.notices);
        next.returns = returns;
        next.establish(Axis::Returns, by);

        let (accepts, by) = self.accepts.value(&next.accepts, &mut self.notices);
        next.accepts = accepts;
        next.establish(Axis::Accepts, by);

        self.settle_integrity(&mut next);
        self.settle_approval(&mut next);
        next.establish(Axis::Capabilities, self.capabilities_by.unwrap_or(Authority::Nothing));
        next.capabilities = self.capabilities;
        next.roles = self.roles;
        next.malicious |= self.malicious;
        next.attribution.join(&self.attribution);
        next.origins.join(&self.attribution);
        next.accept_from = self.accept_from.map(Into::into).or(next.accept_from);
        next.idempotent = self.idempotent.value(next.idempotent);
        next.adds = self.variant.adds(next.adds);
        next.reads_high = self.reads_high && self.source.is_silent();
        next.variant = self.variant.value(self.outcomes.has_operator(), next.outcomes);
        next.note_lifted_floor(&mut self.notices);
        (next.settled(), self.notices)
    }

    pub(super) fn settle_integrity(&mut self, next: &mut Contract) {
        let ceiling = &self.ceiling;
        // Who names the source or the level has answered the question that `untrusted` asks.
        let answered = self.source.has_operator() || ceiling.operator.is_some();
        if answered && next.untrusted != Some(Authority::Operator) {
            next.untrusted = None;
        }
        if ceiling.operator_untrusted {
            next.untrusted = Some(Authority::Operator);
        } else if let Some((by, from)) = ceiling.untrusted {
            if answered {
                let below = next.source.contains(Source::UntrustedPublic);
                if !below {
                    self.notices.push(Notice::new(
                        NoticeKind::OverrideBelowClaim,
                        Some(Axis::Integrity),
                        from,
                        "untrusted",
                    ));
                }
            } else {
                next.untrusted = Some(by);
            }
        }
        let (level, by) = ceiling.value();
        next.ceiling = next.ceiling.min(level);
        next.establish(Axis::Integrity, by.max(next.basis(Axis::Source)));
    }

    pub(super) fn settle_approval(&mut self, next: &mut Contract) {
        let (wish, by) = match (self.approval.operator, self.approval.others) {
            (Some(wish), others) => {
                if let Some((wanted, _, from)) = others
                    && wanted > wish
                {
                    self.notices.push(Notice::new(
                        NoticeKind::OverrideBelowClaim,
                        Some(Axis::Approval),
                        from,
                        wanted.as_str(),
                    ));
                }
                (wish, Authority::Operator)
            }
            (None, Some((wish, by, _))) => (wish.max(next.wish), by),
            (None, None) => (next.wish, Authority::Nothing),
        };
        next.requires_verified |= self.requires_verified;
        next.wish = wish;
        next.approval = if next.requires_verified { ApprovalWish::Passkey } else { wish };
        next.establish(Axis::Approval, by);
    }
}

impl Contract {
    /// Notes who established an axis, if anybody did.
    pub(super) fn establish(&mut self, axis: Axis, by: Authority) {
        if by != Authority::Nothing {
            self.set_basis(axis, by);
        }
    }

    /// The operator named classes, and the source would have added others.
    pub(super) fn note_lifted_floor(&self, notices: &mut Vec<Notice>) {
        let floor = super::added_by(self.source.members());
        if self.basis(Axis::Returns) == Authority::Operator && !self.returns.classes().covers(floor) {
            notices.push(Notice::new(NoticeKind::FloorLifted, Some(Axis::Returns), "operator", ""));
        }
    }
}
