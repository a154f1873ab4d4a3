//! Cases of weighing and narrowing, row by row of the mapping table.

mod cases;
mod confidentiality;
mod conflicts;
mod every_tool;
mod hints;
mod narrowing;
mod replies;
mod weighing;

use highwater_notation::Word;

use super::*;
use crate::trust::{ServerTrust, TrustLevel};

/// A server the operator vouches for.
pub(super) const VERIFIED: ServerTrust = ServerTrust::of_verified(TrustLevel::Tool, TrustLevel::None);
/// One that nobody vouches for, whatever else is written of it.
pub(super) const STRANGER: ServerTrust =
    ServerTrust::new(Some(TrustLevel::Tool), TrustLevel::Tool, Some(false));

pub(super) fn claims(said: impl IntoIterator<Item = (Claim, Authority)>) -> Claims {
    said.into_iter().map(|(claim, by)| Claimed { claim, by, from: "test" }).collect()
}

/// What a server of this trust gets for what it declares.
pub(super) fn declared(trust: ServerTrust, said: impl IntoIterator<Item = Claim>) -> Contract {
    let said = claims(said.into_iter().map(|claim| (claim, trust.declaring())));
    Contract::weigh(&said, &trust).0
}

/// What a verified server gets for what it declares.
pub(super) fn verified(said: impl IntoIterator<Item = Claim>) -> Contract {
    declared(VERIFIED, said)
}

/// What a stranger gets for what it declares.
pub(super) fn stranger(said: impl IntoIterator<Item = Claim>) -> Contract {
    declared(STRANGER, said)
}

pub(super) fn weighed(said: impl IntoIterator<Item = (Claim, Authority)>) -> (Contract, Vec<NoticeKind>) {
    let (contract, notices) = Contract::weigh(&claims(said), &VERIFIED);
    (contract, notices.iter().map(|notice| notice.kind).collect())
}

pub(super) fn set<T: Word>(words: impl IntoIterator<Item = T>) -> Possible<T> {
    Possible::of(words.into_iter().collect()).expect("a possible set has members")
}

pub(super) fn hints(read_only: Option<bool>, destructive: Option<bool>, open_world: Option<bool>) -> Claim {
    Claim::Hints(Hints { read_only, destructive, open_world, idempotent: None })
}
