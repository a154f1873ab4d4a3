//! What is asked of the store about approvals.

mod challenge;
mod clear;
mod codec;
mod consume;
mod credential;
mod enrollment;
mod grant;
mod installation;
mod mandate;
mod receipt;
mod recovery;
mod remembered;
mod request;
mod round;

pub(crate) use challenge::{ChallengeAndCredential, PutChallenge};
pub(crate) use clear::{ClearChallenge, Expire, void};
pub(crate) use codec::{APPROVALS_HINT, stamp};
pub(crate) use consume::Consume;
pub(crate) use credential::{
    AddCredential, ConfirmCredential, ListCredentials, RenameCredential, RevokeCredential,
};
pub(crate) use enrollment::{BeginEnrollment, CloseWindow, OpenWindow, ReadWindow, TakeEnrollment, TryCode};
pub(crate) use grant::ConsumeGrant;
pub(crate) use installation::{Handle, Install, ListApprovers, ReadClock};
pub(crate) use mandate::{ListMandates, PutMandate, RevokeMandate, UseMandate};
pub(crate) use receipt::{ListChains, ListReceipts, ReadReceipt, ReceiptsOf};
pub(crate) use recovery::{BeginRecovery, CancelRecovery, EndRecovery, ListRecoveries};
pub(crate) use remembered::{Forget, ListRemembered, Remember};
pub(crate) use request::{
    Ask, Confirm, Decline, EndRequest, ListPaused, ListRequests, ReadRequest, ResumeTool,
};
pub(crate) use round::TakeRound;

/// What the model needs to see of them.
#[cfg(any(test, feature = "testing"))]
pub(crate) mod model {
    pub(crate) use super::challenge::{Found as FoundChallenge, PutChallenge};
    pub(crate) use super::clear::{Expire, KEPT_CHALLENGES_MS, KEPT_REQUESTS_MS, KEPT_ROUNDS_MS};
    pub(crate) use super::codec::stamp;
    pub(crate) use super::consume::{Consume, who_signed};
    pub(crate) use super::credential::AddCredential;
    pub(crate) use super::grant::ConsumeGrant;
    pub(crate) use super::mandate::{UseMandate, refusal as mandate_refusal};
    pub(crate) use super::recovery::{STARTED_OVER, stops_reset};
    pub(crate) use super::request::{Ask, Confirm, ListRequests};
    pub(crate) use super::round::TakeRound;
}
