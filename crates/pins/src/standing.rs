//! Whether something a server offers may be used: what is seen, held against what was approved, under the operator's terms.

use highwater_core::pin::{Hold, PinDigest};
use highwater_core::policy::{ManifestState, ToolStatus};
use highwater_notation::vocabulary;

use super::definition::{Definition, PinKind};
use super::drift::Drift;

vocabulary! {
    /// On whose word something was pinned.
    Basis {
        /// A person looked at it and approved it.
        Person = "person",
        /// The operator vouches for the server, and this is what was seen first.
        Vouched = "vouched",
        /// A signed manifest covered it when it was seen first.
        Manifest = "manifest",
    }
}

/// What was approved, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Exactly this.
    pub definition: Definition,
    /// On whose word.
    pub basis: Basis,
    /// Whether whoever approved it believes what it claims of itself, too.
    pub believed: bool,
}

/// What was decided about one thing so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PinEntry {
    /// What was approved.
    pub pin: Option<Pin>,
    /// What was refused: exactly that, and nothing else.
    pub rejected: Option<PinDigest>,
}

/// What the operator says about holding a server to its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The operator vouches for the server.
    pub vouched: bool,
    /// What nobody approved is held. Off, only what a person refused is.
    pub quarantine: bool,
    /// What became of the server's manifest.
    pub manifest: ManifestState,
    /// The operator, or the past, says that there must be a manifest.
    pub manifest_wanted: bool,
}

/// What follows for one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Why it may not be used; `None` if it may.
    pub hold: Option<Hold>,
    /// What rules are told.
    pub status: ToolStatus,
    /// What is not as it was approved.
    pub drift: Option<Drift>,
}

/// Judges what is seen by what was approved.
///
/// A definition counts as approved if it is the pinned one, whole, with the protocol's defaults filled in. There is no
/// second way.
pub fn stand(seen: &Definition, entry: Option<&PinEntry>, terms: &Terms) -> Standing {
    let pin = entry.and_then(|entry| entry.pin.as_ref()).filter(|pin| terms.honours(pin.basis));
    let drift = pin.and_then(|pin| Drift::between(&pin.definition, seen));
    let of_server = seen.key().kind == PinKind::Identity;
    if entry.and_then(|entry| entry.rejected) == Some(seen.digest()) {
        let hold = if of_server { Hold::ServerRejected } else { Hold::Rejected };
        return Standing { hold: Some(hold), status: ToolStatus::Blocked, drift };
    }
    if of_server && terms.quarantine && terms.has_bad_manifest() {
        return Standing { hold: Some(Hold::ManifestInvalid), status: ToolStatus::Pending, drift };
    }
    let (hold, status) = match (pin, &drift) {
        (None, _) if of_server => (Some(Hold::ServerNew), ToolStatus::Pending),
        (None, _) => (Some(Hold::New), ToolStatus::Pending),
        (Some(_), None) => (None, ToolStatus::Approved),
        (Some(_), Some(drift)) if !drift.holds() => (None, ToolStatus::Changed),
        (Some(_), Some(_)) if of_server => (Some(Hold::ServerChanged), ToolStatus::Changed),
        (Some(_), Some(_)) => (Some(Hold::Changed), ToolStatus::Changed),
    };
    if terms.quarantine {
        return Standing { hold, status, drift };
    }
    // Whoever switches the quarantine off has approved what a server they vouch for lists, whatever it is.
    let status = if terms.vouched { ToolStatus::Approved } else { ToolStatus::Pending };
    Standing { hold: None, status, drift }
}

// === impl Terms ===

impl Terms {
    /// Whether an approval of this kind still counts: the word of the operator and of a manifest last as long as they
    /// stand by it.
    pub fn honours(&self, basis: Basis) -> bool {
        match basis {
            Basis::Person => true,
            Basis::Vouched => self.vouched,
            Basis::Manifest => matches!(self.manifest, ManifestState::Verified | ManifestState::Mismatch),
        }
    }

    /// Whether what an approved definition claims of itself may loosen anything. To approve is to have seen; belief is said
    /// with the approval, or is the operator's or a manifest's, each for as long as they stand by the server.
    pub fn believes(&self, pin: &Pin, signed: bool) -> bool {
        self.honours(pin.basis) && (pin.believed || self.vouched || signed)
    }

    /// On whose word something that is seen for the first time is approved without a person.
    pub fn approves_first_seen(&self) -> Option<Basis> {
        match self.manifest {
            ManifestState::Verified | ManifestState::Mismatch => Some(Basis::Manifest),
            ManifestState::Invalid => None,
            ManifestState::Unchecked | ManifestState::Absent if self.manifest_wanted => None,
            ManifestState::Unchecked | ManifestState::Absent => self.vouched.then_some(Basis::Vouched),
        }
    }

    fn has_bad_manifest(&self) -> bool {
        match self.manifest {
            ManifestState::Invalid => true,
            ManifestState::Unchecked | ManifestState::Absent => self.manifest_wanted,
            ManifestState::Verified | ManifestState::Mismatch => false,
        }
    }
}
