//! What can be asked of a database, one type each. An operation is written once and runs on every backend.

mod admin;
pub(crate) mod approval;
mod context;
mod conversation;
mod database;
mod declassify;
mod describe;
mod gateway;
mod hosted;
mod join;
mod mark;
mod pins;
mod read;
mod token;
mod transport;

pub(crate) use admin::{ListContexts, ListNotices, ListSessions, Note, ShowSession};
pub(crate) use context::{FindContext, MintContext};
pub(crate) use conversation::{End, Enter, JoinPending, Seen};
pub(crate) use database::{Probe, Prune, Restored};
pub(crate) use declassify::{CloseEpoch, Closing, Declassify, DropPending, GoesAlong, Lower, Lowering};
pub(crate) use describe::Describe;
pub(crate) use gateway::{AnnounceGateway, EnsureSealKey, ListGateways};
pub(crate) use hosted::BeginHosted;
pub(crate) use join::Join;
pub(crate) use mark::{
    ClearMarks, Clearing, EnsurePrintKey, LeaveMarks, Left, NewMarks, ReadAllMarks, ReadMarks, TakeBack,
};
pub(crate) use pins::{DecidePins, Observe, PINS_HINT, PinHistory, ReadPins};
pub(crate) use read::{Found, ReadSession};
pub(crate) use token::{
    CreateToken, ListTokens, RevokeToken, Revoking, RotateToken, Rotating, TOKENS, UseToken,
};
pub(crate) use transport::{FindTransport, KeepTransport};

use crate::StoreError;
use crate::sql::Tx;

/// One thing to ask, with everything it needs.
pub(crate) trait Operation: Send + Sync + 'static {
    /// What it gives.
    type Output: Send + 'static;

    /// Ends the sentence "the session store cannot …".
    const DOING: &'static str;

    /// Whether it writes, and how safe that must be.
    fn access(&self) -> Access;

    /// Whether doing it twice is the same as doing it once, so that a lost connection may be tried again.
    fn is_repeatable(&self) -> bool {
        matches!(self.access(), Access::Read)
    }

    /// Does it, in one transaction if it writes.
    fn run<'a, T: Tx>(
        &'a self,
        tx: &'a mut T,
    ) -> impl Future<Output = Result<Self::Output, StoreError>> + Send + 'a;

    /// Does the same to the model that the databases are held against.
    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Self::Output;
}

/// What an operation does to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write(Durability),
}

/// How safe a write must be before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// On disk: raises of a label, and rare rows whose loss would matter.
    Flushed,
    /// Survives the death of the process. A power cut may take it, and nothing that is decided is another then.
    Ordinary,
    /// For people to look at.
    Statistic,
}

/// What the model needs to see of the operations about approvals.
#[cfg(any(test, feature = "testing"))]
pub(crate) use approval::model as approval_model;

/// What the model needs to see of the operations.
#[cfg(any(test, feature = "testing"))]
pub(crate) mod model {
    pub(crate) use super::admin::{ListSessions, MOST_WAYS};
    pub(crate) use super::conversation::{Enter, Entered, JoinPending};
    pub(crate) use super::declassify::{Closing, DropPending, GoesAlong, Lower, Lowering, shown};
    pub(crate) use super::describe::{Describe, definition};
    pub(crate) use super::hosted::{BeginHosted, BegunHosted};
    pub(crate) use super::join::Join;
    pub(crate) use super::mark::{
        Changed, ClearMarks, FAMILIES, LeaveMarks, Left, NewMarks, ROOM, ROOM_FOR_PRINTS, ReadMarks,
        TakeBack, pushed_out, wide,
    };
    pub(crate) use super::pins::{DecidePins, KEPT_EVENTS, Observe, chosen};
    pub(crate) use super::read::{Found, ReadSession};
    pub(crate) use super::transport::{KeepTransport, NONE_YET};
}
