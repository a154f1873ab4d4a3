//! Claims: what somebody says of a tool or of data, and with which authority.

use std::sync::Arc;

use highwater_notation::{Words, vocabulary};

use super::{
    ApprovalWish, ArgumentRole, CapabilityClaim, Confidentiality, Destination, Hints, Outcome, Possible,
    Sensitivity, Source, SourceSet,
};
use crate::label::TextSet;
use crate::trust::TrustLevel;

vocabulary! {
    /// Who speaks, weakest first. Everybody may make things stricter; not everybody may make them milder.
    Authority {
        /// Nobody: a default.
        Nothing = "default",
        /// The operator's one word for the server, which fills in what nobody said of its tools.
        Profile = "profile",
        /// Our own guess.
        Inferred = "inferred",
        /// A server that nobody believes, of its tool.
        Declared = "declared",
        /// A verified server, of its tool; or one of which a person believes exactly this definition.
        DeclaredVerified = "declared-verified",
        /// An unverified server, of these arguments.
        Resolved = "resolved",
        /// A verified server, of these arguments.
        ResolvedVerified = "resolved-verified",
        /// A signed manifest.
        Manifest = "manifest",
        /// The catalogue we ship.
        Catalogue = "catalogue",
        /// The operator, of every tool of the server: the label for `*`. It counts where the operator says nothing of the
        /// tool by its own name.
        OperatorDefault = "operator-default",
        /// The operator, whose word replaces all others on its axis.
        Operator = "operator",
    }
}

/// One thing said. `Add` tightens, and anybody may say it. `Set` is a choice and may loosen; without the authority for
/// that, only its tightening part counts. `Not` is a bound, which intersects with the choices of its speaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Arguments may also end up here.
    AddDestination(Words<Destination>),
    /// Arguments end up in one of these.
    SetDestination(Possible<Destination>),
    /// Arguments end up in none of these.
    NotDestination(Words<Destination>),
    /// The tool is built to receive all of these classes and no others.
    SetAccepts(Sensitivity),
    /// The tool may receive anything. Counts from the operator alone.
    AcceptsAny,
    /// A call may also have these outcomes.
    AddOutcomes(Words<Outcome>),
    /// A call has one of these outcomes.
    SetOutcomes(Possible<Outcome>),
    /// A call has none of these outcomes.
    NotOutcomes(Words<Outcome>),
    /// Replies may also come from here.
    AddSource(SourceSet),
    /// Replies come from one of these.
    SetSource(Possible<Source>),
    /// Replies come from none of these.
    NotSource(SourceSet),
    /// Replies also hold these classes.
    AddReturns(Sensitivity),
    /// Replies hold one of these classes.
    SetReturns(Sensitivity),
    /// Replies are worth nothing.
    Untrusted,
    /// The data comes from the open world: worth nothing, and flagged.
    OpenWorld,
    /// Malicious activity is reported: of data a flag, and it is worth nothing. Of a tool it says that its replies may
    /// be flagged, which costs nothing.
    Malicious,
    /// Replies are worth this at most.
    SetIntegrity(TrustLevel),
    /// A person should look at every call, at least so closely.
    AddApproval(ApprovalWish),
    /// A person should look at every call, exactly so closely.
    SetApproval(ApprovalWish),
    /// The upstream itself requires a verified approval. Nobody can lift that.
    RequiresVerified,
    /// These contributed.
    AddOrigins(TextSet),
    /// The four core hints of one speaker. Together, because what one means hangs on the others.
    Hints(Hints),
    /// What is read is public, or is not.
    ReadConfidentiality(Possible<Confidentiality>),
    /// Where is written is public, or is not.
    WriteConfidentiality(Possible<Confidentiality>),
    /// What the process asks to touch.
    Capability(CapabilityClaim),
    /// What one argument decides.
    Role {
        /// RFC 6901 pointer into the arguments, without its first slash.
        argument: Arc<str>,
        /// The role.
        role: ArgumentRole,
    },
    /// The tool takes data from contributors that match one of these tokens, and from no others.
    AcceptFrom(Arc<[Arc<str>]>),
}

/// A claim with its speaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// What is said.
    pub claim: Claim,
    /// With which authority.
    pub by: Authority,
    /// In which vocabulary.
    pub from: &'static str,
}

/// Everything said of one tool, one call or one reply. Order and place do not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims(Vec<Claimed>);

// === impl Authority ===

impl Authority {
    /// Whether this word may make things milder.
    pub const fn may_loosen(self) -> bool {
        match self {
            Self::Profile
            | Self::DeclaredVerified
            | Self::ResolvedVerified
            | Self::Manifest
            | Self::Catalogue
            | Self::OperatorDefault
            | Self::Operator => true,
            Self::Nothing | Self::Inferred | Self::Declared | Self::Resolved => false,
        }
    }

    /// Whether it is the operator's label that speaks, of this tool or of every tool of its server.
    pub const fn is_operator(self) -> bool {
        matches!(self, Self::Operator | Self::OperatorDefault)
    }
}

// === impl Claims ===

impl Claims {
    /// Nothing said.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds what somebody says.
    pub fn push(&mut self, claim: Claim, by: Authority, from: &'static str) {
        self.0.push(Claimed { claim, by, from });
    }

    /// Adds everything said elsewhere.
    pub fn extend(&mut self, others: &Self) {
        self.0.extend_from_slice(&others.0);
    }

    /// Every claim.
    pub fn iter(&self) -> std::slice::Iter<'_, Claimed> {
        self.0.iter()
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many things were said.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<'a> IntoIterator for &'a Claims {
    type Item = &'a Claimed;
    type IntoIter = std::slice::Iter<'a, Claimed>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Claimed> for Claims {
    fn from_iter<I: IntoIterator<Item = Claimed>>(claims: I) -> Self {
        Self(claims.into_iter().collect())
    }
}
