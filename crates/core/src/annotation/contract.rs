//! All that is known of a tool, and the worst case where nothing is.

use std::sync::Arc;

use highwater_notation::{Word, Words};

use super::{
    Accepts, ApprovalWish, ArgumentRole, Authority, Axis, CallVariant, Capabilities, Confidentiality,
    DataClass, Destination, EffectiveHints, Outcome, Possible, Roles, Sensitivity, Source,
};
use crate::label::{Label, TextSet};
use crate::trust::{ServerTrust, TrustLevel};

/// The effective contract of a tool, a resource or a prompt. Made by [`Contract::weigh`] alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    pub(super) destination: Possible<Destination>,
    pub(super) accepts: Accepts,
    pub(super) outcomes: Possible<Outcome>,
    pub(super) source: Possible<Source>,
    /// What somebody said of the source, without the worst that is assumed where nobody did. What is left by a bound is
    /// not among it: who says what it cannot be has not said what it is.
    pub(super) stated_source: Words<Source>,
    /// Whether somebody answers for what nobody says of the source, so that only what is stated counts in labels.
    pub(super) answered_for: bool,
    pub(super) returns: Sensitivity,
    /// What replies are worth at most, before the source and the server's trust are looked at.
    pub(super) ceiling: TrustLevel,
    /// Who called the replies untrusted, if anybody did whose word still stands.
    pub(super) untrusted: Option<Authority>,
    pub(super) approval: ApprovalWish,
    /// The same without what the server itself verifies.
    pub(super) wish: ApprovalWish,
    pub(super) requires_verified: bool,
    pub(super) malicious: bool,
    pub(super) attribution: TextSet,
    pub(super) capabilities: Capabilities,
    pub(super) roles: Roles,
    pub(super) accept_from: Option<Arc<[Arc<str>]>>,
    pub(super) idempotent: bool,
    pub(super) variant: CallVariant,
    /// Who established each axis, in the order of [`Axis::ALL`]; `Nothing` where the value is a default.
    pub(super) basis: [Authority; 8],
    pub(super) server: ServerTrust,
    /// The tool itself and everything it attributes its data to.
    pub(super) origins: TextSet,
    /// The label of a reply that says nothing of itself; kept, because every call needs it.
    pub(super) reply: Label,
}

/// Whose words a reply carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// The server's own: a tool's reply, a prompt, error text, progress, a question.
    Server,
    /// The contents of a resource, which the server only passes on.
    Resource,
    /// A reply of the server with a resource embedded in it.
    ServerWithResource,
}

/// Within what a reply of a believed server chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyBounds {
    /// Within what was declared of its tool; what lies outside is added to that.
    #[default]
    Declared,
    /// Within nothing, as SAMOS has it: the level of a reply is what the reply says.
    Unbounded,
}

// === impl Contract ===

impl Contract {
    /// The worst case on every axis, and the only place that says what that is.
    pub fn unknown() -> Self {
        Self {
            destination: Possible::any(),
            accepts: Accepts::Unknown,
            outcomes: Possible::any(),
            source: Possible::only(Source::UntrustedPublic),
            stated_source: Words::EMPTY,
            answered_for: false,
            returns: Sensitivity::of([DataClass::Unclassified]),
            ceiling: TrustLevel::Owner,
            untrusted: None,
            approval: ApprovalWish::None,
            wish: ApprovalWish::None,
            requires_verified: false,
            malicious: false,
            attribution: TextSet::EMPTY,
            capabilities: Capabilities::default(),
            roles: Roles::default(),
            accept_from: None,
            idempotent: false,
            variant: CallVariant::Write,
            basis: [Authority::Nothing; 8],
            server: ServerTrust::default(),
            origins: TextSet::EMPTY,
            reply: Label::bottom(),
        }
        .settled()
    }

    /// What is known beforehand of a resource read, a prompt or a completion: asking changes nothing, and what
    /// is asked for goes where the server's arguments go. The rest is unknown.
    pub fn reading(destination: Possible<Destination>) -> Self {
        let mut contract = Self { destination, outcomes: Possible::only(Outcome::Benign), ..Self::unknown() };
        // The protocol says so, and we know the protocol.
        contract.set_basis(Axis::Outcomes, Authority::Catalogue);
        if destination != Possible::any() {
            contract.set_basis(Axis::Destination, Authority::Catalogue);
        }
        contract
    }

    /// The contract of asking a server about a call: benign, and the arguments go where those of its tools may.
    pub fn resolving<'a>(tools: impl IntoIterator<Item = &'a Self>) -> Self {
        let all = tools.into_iter().fold(Words::EMPTY, |all, tool| all.union(tool.destination.members()));
        Self::reading(Possible::of(all).unwrap_or_else(Possible::any))
    }

    /// Names what its replies come from, so that labels can say it.
    #[must_use]
    pub fn with_origin(mut self, origin: impl Into<Arc<str>>) -> Self {
        self.origins.join(&TextSet::of([origin]));
        self.settled()
    }

    /// The same of something for which nothing leaves this gateway.
    #[must_use]
    pub fn kept_here(mut self) -> Self {
        self.destination = Possible::only(Destination::Ephemeral);
        self.set_basis(Axis::Destination, Authority::Catalogue);
        self
    }

    pub(super) fn settled(mut self) -> Self {
        self.reply = self.label_of(ReplyKind::Server);
        self
    }

    /// Where arguments may end up.
    pub fn destination(&self) -> Possible<Destination> {
        self.destination
    }

    /// Which classes the tool is built to receive.
    pub fn accepts(&self) -> &Accepts {
        &self.accepts
    }

    /// What a call may do.
    pub fn outcomes(&self) -> Possible<Outcome> {
        self.outcomes
    }

    /// Where replies come from, read at its worst where nobody said.
    pub fn source(&self) -> Possible<Source> {
        self.source
    }

    /// Where replies may come from: anywhere, if nobody said.
    pub fn possible_source(&self) -> Possible<Source> {
        if self.is_declared(Axis::Source) { self.source } else { Possible::any() }
    }

    /// Whether somebody says of this tool where its replies come from, and not only of its server.
    pub fn names_source(&self) -> bool {
        self.basis(Axis::Source) > Authority::Profile && !self.stated_source.is_empty()
    }

    /// Which classes replies may hold, before the source adds its own.
    pub fn returns(&self) -> &Sensitivity {
        &self.returns
    }

    /// What a reply of the server's own is worth at most.
    pub fn integrity(&self) -> TrustLevel {
        self.reply.integrity()
    }

    /// The least a person has to do with every call.
    pub fn approval(&self) -> ApprovalWish {
        self.approval
    }

    /// The least that is asked of a person here, whatever the upstream itself verifies.
    pub fn wish(&self) -> ApprovalWish {
        self.wish
    }

    /// Whether the upstream itself requires a verified approval.
    pub fn requires_verified(&self) -> bool {
        self.requires_verified
    }

    /// Whether the tool is reported for malicious activity.
    pub fn malicious(&self) -> bool {
        self.malicious
    }

    /// What the tool says its data comes from.
    pub fn attribution(&self) -> &TextSet {
        &self.attribution
    }

    /// What its process asked for.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// The stated roles of its arguments.
    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// The role of one argument.
    pub fn role(&self, pointer: &str) -> ArgumentRole {
        self.roles.role(pointer, self.acts())
    }

    /// The tokens one of which every contributor must match, if the upstream stated any.
    pub fn accept_from(&self) -> Option<&[Arc<str>]> {
        self.accept_from.as_deref()
    }

    /// The class of a call. Made of claims, never of defaults.
    pub fn variant(&self) -> CallVariant {
        self.variant
    }

    /// Whether a call may do anything but look.
    pub fn acts(&self) -> bool {
        !self.outcomes.is_only(Outcome::Benign)
    }

    /// Whether a call may do what cannot be undone. This is what "destructive" means wherever the word stands.
    pub fn destroys(&self) -> bool {
        self.outcomes.contains(Outcome::Irreversible)
    }

    /// The hints, never milder than the contract.
    pub fn hints(&self) -> EffectiveHints {
        EffectiveHints {
            read_only: self.outcomes.is_only(Outcome::Benign),
            destructive: self.destroys(),
            idempotent: self.idempotent,
            open_world: self.destination.contains(Destination::Public)
                || self.source.contains(Source::UntrustedPublic),
        }
    }

    /// SAMOS's word for what a call reads.
    pub fn read_confidentiality(&self) -> Confidentiality {
        if self.reply.private() { Confidentiality::High } else { Confidentiality::Low }
    }

    /// Which of SAMOS's words a reply may turn out to deserve: a set of classes that may be empty may be public.
    pub fn read_levels(&self) -> Words<Confidentiality> {
        let mut levels = Words::EMPTY;
        if self.reply.private() {
            levels = levels.with(Confidentiality::High);
        }
        let adds_nothing = |source: Source| added_by(Words::only(source)).is_empty();
        let by_source =
            self.basis(Axis::Returns).is_operator() || self.source.members().iter().any(adds_nothing);
        if self.returns.may_be_none() && by_source {
            levels = levels.with(Confidentiality::Low);
        }
        // What may be neither is worse than public.
        if levels.is_empty() { Words::only(Confidentiality::High) } else { levels }
    }

    /// Which of SAMOS's words the places may deserve where arguments end up.
    pub fn write_levels(&self) -> Words<Confidentiality> {
        let level = |destination: Destination| match destination {
            Destination::Public => Confidentiality::Low,
            Destination::Ephemeral | Destination::System | Destination::User | Destination::Internal => {
                Confidentiality::High
            }
        };
        self.destination.members().iter().map(level).collect()
    }

    /// SAMOS's word for where a call writes.
    pub fn write_confidentiality(&self) -> Confidentiality {
        if self.destination.contains(Destination::Public) {
            Confidentiality::Low
        } else {
            Confidentiality::High
        }
    }

    /// Who established an axis; [`Authority::Nothing`] where its value is a default.
    pub fn basis(&self, axis: Axis) -> Authority {
        self.basis.get(axis.index() as usize).copied().unwrap_or(Authority::Nothing)
    }

    pub(super) fn set_basis(&mut self, axis: Axis, by: Authority) {
        if let Some(slot) = self.basis.get_mut(axis.index() as usize) {
            *slot = by;
        }
    }

    /// Whether somebody whose word may loosen spoke of this axis.
    pub fn is_declared(&self, axis: Axis) -> bool {
        self.basis(axis) != Authority::Nothing
    }

    /// The axes whose values are defaults and not claims.
    pub fn undeclared(&self) -> Words<Axis> {
        DECLARABLE.iter().copied().filter(|axis| !self.is_declared(*axis)).collect()
    }

    /// The trust in the server this tool belongs to.
    pub fn server(&self) -> ServerTrust {
        self.server
    }

    /// The label of a reply of the server that says nothing of itself: the worst static reading.
    pub fn reply_label(&self) -> &Label {
        &self.reply
    }

    /// The label of a reply of this kind that says nothing of itself.
    pub fn label_of(&self, kind: ReplyKind) -> Label {
        let server = self.server;
        let trust = match kind {
            ReplyKind::Server => server.effective(),
            ReplyKind::Resource => server.resources(),
            ReplyKind::ServerWithResource => server.effective().min(server.resources()),
        };
        // What a server that somebody stands for says nothing of is worth what the server is.
        let sources = if self.answered_for { self.stated_source } else { self.source.members() };
        let mut label = Label::bottom()
            .with_names(self.returns.names())
            .with_classes(self.returns.classes())
            .with_scopes(self.returns.scopes())
            .with_integrity(trust.min(self.ceiling))
            .with_sources(sources)
            .with_origins(&self.origins);
        // The operator who names the classes has seen the source.
        if !self.basis(Axis::Returns).is_operator() {
            label = label.with_classes(added_by(sources));
        }
        if sources.contains(Source::UntrustedPublic) {
            label = label.with_open_world();
        }
        if self.untrusted.is_some() {
            label = label.with_integrity(TrustLevel::None);
        }
        label
    }
}

/// The axes that a tool's author is expected to fill.
const DECLARABLE: &[Axis] =
    &[Axis::Destination, Axis::Accepts, Axis::Outcomes, Axis::Source, Axis::Returns, Axis::Capabilities];

/// The classes that follow from where data comes from, whatever is said of its sensitivity.
pub(crate) fn added_by(sources: Words<Source>) -> Words<DataClass> {
    let mut classes = Words::EMPTY;
    if sources.contains(Source::Internal) || sources.contains(Source::User) {
        classes = classes.with(DataClass::Confidential);
    }
    if sources.contains(Source::User) {
        classes = classes.with(DataClass::User);
    }
    classes
}
