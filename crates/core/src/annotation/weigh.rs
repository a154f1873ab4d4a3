//! Weighing: everything said of a tool becomes one contract.
//!
//! On each axis the operator's value, if there is one, is the value. Otherwise let E be the claims of those
//! whose word may loosen and R all others: without E it is what is known beforehand, and R added to it; with E what E
//! chooses within its own bounds, and everything added to it. Who says more is not worse off than who says less, unless
//! what is said is worse.

use highwater_notation::Words;

use super::contract::Contract;
use super::single::{Ceiling, Idempotent, VariantClaims, Wishes};
use super::tally::{AcceptTally, ReturnTally, Tally};
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
    /// Whether somebody named origins whose word may only add.
    pub(super) attribution_adds: bool,
    pub(super) capabilities: Capabilities,
    pub(super) capabilities_by: Option<Authority>,
    pub(super) roles: Roles,
    pub(super) accept_from: Option<Vec<std::sync::Arc<str>>>,
    pub(super) idempotent: Idempotent,
    pub(super) variant: VariantClaims,
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
        // What the operator says of every tool is weighed apart: it counts axis by axis, where nothing was said of this one.
        let mut general: Option<Self> = None;
        for said in claims {
            if said.by == Authority::OperatorDefault {
                general.get_or_insert_default().put(&said.claim, Authority::Operator, said.from);
            } else {
                scale.put(&said.claim, said.by, said.from);
            }
        }
        if let Some(general) = general {
            scale.fall_back_on(general);
        }
        scale
    }

    /// Takes from what the operator says of every tool all that the operator does not say of this one.
    fn fall_back_on(&mut self, general: Self) {
        self.ceiling.fall_back_on(&general.ceiling, self.source.has_operator());
        if !self.outcomes.has_operator() {
            self.notices.extend(general.notices);
            self.variant.fall_back_on(&general.variant);
        }
        self.destination.fall_back_on(&general.destination);
        self.outcomes.fall_back_on(&general.outcomes);
        self.source.fall_back_on(&general.source);
        self.returns.fall_back_on(general.returns);
        self.accepts.fall_back_on(general.accepts);
        self.approval.fall_back_on(&general.approval);
        self.idempotent.fall_back_on(&general.idempotent);
        self.roles.fall_back_on(&general.roles);
        if general.capabilities_by.is_some() {
            self.capabilities_by = self.capabilities_by.max(Some(Authority::OperatorDefault));
            self.capabilities.fall_back_on(&general.capabilities);
        }
        self.requires_verified |= general.requires_verified;
        self.malicious |= general.malicious;
        self.attribution.join(&general.attribution);
        if let Some(tokens) = general.accept_from {
            self.accept_from(&tokens);
        }
    }

    fn put(&mut self, claim: &Claim, by: Authority, from: &'static str) {
        match claim {
            Claim::AddDestination(words) => self.destination.add(*words, by, from),
            Claim::SetDestination(words) => self.destination.set(*words, by, from),
            Claim::NotDestination(words) => self.destination.exclude(*words, by),
            Claim::SetAccepts(classes) => self.accepts.set(classes, by, from),
            Claim::AcceptsAny => self.accepts.set_any(by),
            Claim::AddOutcomes(words) => self.stated_outcomes(*words, by, from),
            Claim::SetOutcomes(words) => {
                self.variant.outcomes(words.members(), by);
                self.outcomes.set(*words, by, from);
            }
            Claim::NotOutcomes(words) => self.outcomes.exclude(*words, by),
            Claim::AddSource(words) => self.source.add(*words, by, from),
            Claim::SetSource(words) => self.source.set(*words, by, from),
            Claim::NotSource(words) => self.source.exclude(*words, by),
            Claim::AddReturns(classes) => self.returns.add(classes, by, from),
            Claim::SetReturns(classes) => self.returns.set(classes, by, from),
            Claim::Untrusted => self.ceiling.untrust(by, from),
            Claim::OpenWorld => {
                self.destination.add(Words::only(Destination::Public), by, from);
                self.source.add(Words::only(Source::UntrustedPublic), by, from);
            }
            // Of a tool it says that replies may be flagged. A scanner that says so has done nothing wrong.
            Claim::Malicious => self.malicious = true,
            Claim::SetIntegrity(level) => self.ceiling.cap(*level, by),
            Claim::AddApproval(wish) => self.approval.add(*wish, by, from),
            Claim::SetApproval(wish) => self.approval.set(*wish, by, from),
            Claim::RequiresVerified => self.requires_verified = true,
            Claim::AddOrigins(origins) => {
                self.attribution.join(origins);
                self.attribution_adds |= !by.may_loosen();
            }
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

    /// What one hint means hangs on the others: a tool that only looks, in a world that is closed, passes nothing on.
    fn hints(&mut self, hints: Hints, by: Authority, from: &'static str) {
        self.hinted_outcomes(hints, by, from);
        match hints.open_world {
            Some(true) => self.put(&Claim::OpenWorld, by, from),
            Some(false) => {
                self.destination.exclude(Words::only(Destination::Public), by);
                self.source.exclude(Words::only(Source::UntrustedPublic).with(Source::TrustedPublic), by);
                if hints.read_only == Some(true) {
                    self.destination.imply(Possible::only(Destination::Ephemeral), by, from);
                } else if hints.writes() {
                    self.destination.imply(Possible::only(Destination::User), by, from);
                    self.accepts.imply(Sensitivity::all_but_credentials(), by, from);
                }
            }
            None => {}
        }
        if let Some(said) = hints.idempotent {
            self.idempotent.put(said, by);
        }
    }

    fn hinted_outcomes(&mut self, hints: Hints, by: Authority, from: &'static str) {
        if hints.read_only == Some(true) {
            self.variant.read_only |= by.may_loosen();
            self.outcomes.imply(Possible::only(Outcome::Benign), by, from);
        } else if hints.read_only == Some(false) && !by.may_loosen() {
            self.outcomes.add(Words::only(Outcome::Consequential), by, from);
        }
        match (hints.destructive, hints.open_world) {
            (Some(true), _) => {
                if hints.read_only == Some(true) {
                    let said = "readOnlyHint and destructiveHint";
                    let kind = NoticeKind::Contradiction;
                    self.notices.push(Notice::new(kind, Some(Axis::Outcomes), from, said));
                } else {
                    // It may destroy, and one call of it need not.
                    self.outcomes.imply(Possible::any(), by, from);
                }
                self.stated_outcomes(Words::only(Outcome::Irreversible), by, from);
            }
            _ if hints.read_only == Some(true) => {}
            (Some(false), _) | (None, Some(false)) if hints.writes() => {
                self.outcomes.imply(Possible::only(Outcome::Consequential), by, from);
            }
            // Nobody says that it destroys nothing: it may do anything.
            (Some(false) | None, _) => {}
        }
    }

    /// What is read is public, and then anybody may have written it; or it is not.
    fn read_confidentiality(&mut self, grades: Possible<Confidentiality>, by: Authority, from: &'static str) {
        let (low, high) = (grades.contains(Confidentiality::Low), grades.contains(Confidentiality::High));
        let confidential = Sensitivity::of([DataClass::Confidential]);
        let returns = match (low, high) {
            (_, false) => Sensitivity::none(),
            (true, true) => Sensitivity::none().or(&confidential),
            (false, true) => confidential.clone(),
        };
        self.returns.imply(&returns, by, from);
        let public = Words::only(Source::UntrustedPublic);
        if low {
            self.source.add(public, by, from);
        } else {
            self.returns.add(&confidential, by, from);
            self.source.exclude(public.with(Source::TrustedPublic), by);
        }
        let sources = [(low, Source::UntrustedPublic), (high, Source::Internal)];
        let sources = sources.into_iter().filter_map(|(may, source)| may.then_some(source));
        if let Some(sources) = Possible::of(sources.collect()) {
            self.source.imply(sources, by, from);
        }
    }

    fn write_confidentiality(
        &mut self,
        grades: Possible<Confidentiality>,
        by: Authority,
        from: &'static str,
    ) {
        let public = Words::only(Destination::Public);
        if grades.is_only(Confidentiality::High) {
            self.destination.exclude(public, by);
            self.destination.imply(Possible::only(Destination::Internal), by, from);
            return;
        }
        let high = grades.contains(Confidentiality::High);
        let either = Possible::only(Destination::Public);
        self.destination.imply(if high { either.with(Destination::Internal) } else { either }, by, from);
        self.destination.add(public, by, from);
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
        next.stated_source = self.source.stated(next.stated_source, next.source);
        next.establish(Axis::Source, by);
        next.answered_for = server.is_believed() || next.basis(Axis::Source) == Authority::Profile;

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
        next.variant = self.variant.value(self.outcomes.has_operator(), next.outcomes, next.variant);
        next.note_lifted_floor(&mut self.notices);
        (next.settled(), self.notices)
    }

    pub(super) fn settle_integrity(&mut self, next: &mut Contract) {
        let ceiling = &self.ceiling;
        // Who names the source or the level has answered the question that `untrusted` asks.
        let answered = self.source.has_operator() || ceiling.operator.is_some();
        let answers_profile = next.untrusted == Some(Authority::Profile) && self.source.is_named();
        if answers_profile || (answered && next.untrusted != Some(Authority::Operator)) {
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
                (wish, self.approval.operator_by())
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
        if self.basis(Axis::Returns).is_operator() && !self.returns.classes().covers(floor) {
            notices.push(Notice::new(NoticeKind::FloorLifted, Some(Axis::Returns), "operator", ""));
        }
    }
}
