//! Identifiers. Each is a type of its own, so that no two can be swapped.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text as it is; whoever makes an identifier answers for its form.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// The operator's name for one configured server.
    UpstreamId
}
text_id! {
    /// One decision, named in refusals, in the audit log and by `highwater explain`.
    DecisionId
}
text_id! {
    /// Who is asking: the authenticated holder of a token, or the local user of a socket.
    Principal
}
text_id! {
    /// Which virtual server the client connected to.
    VirtualServerId
}
text_id! {
    /// Which agent session an arrival belongs to. When in doubt, the wider one.
    SessionKey
}
text_id! {
    /// A person. Passkeys belong to people, never to those who ask on their behalf.
    UserId
}
text_id! {
    /// One challenge that a person may sign.
    ChallengeId
}
text_id! {
    /// One request that a person answers. It stands in addresses and authorizes nothing.
    ApprovalId
}
