//! What is claimed of tools and data, by whom, and the one contract that is made of it.
//!
//! Wire shapes are read elsewhere and become [`Claims`]; [`Contract::weigh`] decides what each is worth.

mod capability;
mod caps;
mod cases;
mod claim;
mod contract;
mod hints;
mod narrow;
mod notice;
mod possible;
mod profiled;
mod recorded;
mod roles;
mod sensitivity;
mod single;
mod strictest;
mod tally;
mod vocabulary;
mod weigh;

pub use capability::{Capabilities, CapabilityClaim, Reach};
pub use caps::{Cap, Caps};
pub use cases::{ArgumentCase, OperatorLabel, ResultCase, Scalar};
pub use claim::{Authority, Claim, Claimed, Claims};
pub(crate) use contract::added_by;
pub use contract::{Contract, ReplyBounds, ReplyKind};
pub use hints::{EffectiveHints, Hints};
pub use notice::{Notice, NoticeKind};
pub use possible::{Possible, Severe};
pub use recorded::KeptContract;
pub use roles::Roles;
pub use sensitivity::{Accepts, Sensitivity};
pub use vocabulary::{
    ApprovalWish, ArgumentRole, Axis, CallVariant, Capability, ClassSet, Confidentiality, DataClass,
    Destination, Outcome, Source, SourceSet, class_name,
};

#[cfg(test)]
mod tests;
