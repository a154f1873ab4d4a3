//! Why a server cannot be said to be of this machine alone by answering; the file may say it of any.

use std::fmt;
use std::sync::Arc;

use highwater_profile::Exit;

use super::Contracts;

/// Why people are not offered to say that a server is of this machine alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotLocal {
    /// Its entry holds a token.
    HoldsSecret,
    /// An argument of a tool is a URL or an address.
    Reaches { tool: Arc<str>, argument: String },
    /// A tool says that it reaches anybody's world.
    OpenWorld { tool: Arc<str> },
}

impl Contracts {
    /// Why people may not say that the server is of this machine alone; the file may.
    pub(crate) fn not_local(&self) -> Option<NotLocal> {
        if self.standing.holds_secret {
            return Some(NotLocal::HoldsSecret);
        }
        let mut tools: Vec<_> = self.tools.iter().collect();
        tools.sort_by_key(|(name, _)| Arc::clone(name));
        tools.into_iter().find_map(|(name, tool)| match tool.shape.sends() {
            Some(Exit::Url { argument } | Exit::Address { argument }) => {
                Some(NotLocal::Reaches { tool: Arc::clone(name), argument: argument.clone() })
            }
            _ if tool.says_open_world => Some(NotLocal::OpenWorld { tool: Arc::clone(name) }),
            _ => None,
        })
    }
}

// === impl NotLocal ===

impl fmt::Display for NotLocal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HoldsSecret => f.write_str("its entry holds a token, so it has an account elsewhere"),
            Self::Reaches { tool, argument } => {
                write!(f, "`{argument}` of `{tool}` is a URL or an address, so it reaches others")
            }
            Self::OpenWorld { tool } => write!(f, "`{tool}` says that it reaches the open world"),
        }
    }
}
