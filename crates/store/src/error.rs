//! What goes wrong with a store, in words for the person who has to mend it.
//!
//! Every variant closes: a write that failed withholds the reply, a read that failed means the top label.

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

/// The store did not do what was asked.
#[derive(Clone, Debug, Error)]
pub enum StoreError {
    /// The database refused or could not be reached.
    #[error("the session store cannot {doing}: {why}")]
    Failed {
        /// What was asked of it.
        doing: &'static str,
        /// What it said.
        why: Arc<str>,
    },
    /// No room is left where the database lies.
    #[error("the session store cannot {doing}: the disk is full")]
    Full {
        /// What was asked of it.
        doing: &'static str,
    },
    /// It did not answer in time. Whether a write happened is not known.
    #[error("the session store did not {doing} in time")]
    TimedOut {
        /// What was asked of it.
        doing: &'static str,
    },
    /// The connection to it broke. Whether a write happened is not known.
    #[error("the session store cannot {doing}: the connection was lost")]
    Lost {
        /// What was asked of it.
        doing: &'static str,
    },
    /// It gave up for the sake of another transaction, and again when it was asked again.
    #[error("the session store cannot {doing}: others are always first")]
    GaveWay {
        /// What was asked of it.
        doing: &'static str,
    },
    /// The thread that writes has ended; only a new start helps.
    #[error("the session store has stopped writing; start the gateway again")]
    Stopped,
    /// The database file is not the one that was opened.
    #[error(
        "the session store `{path}` was removed or replaced while the gateway runs; put it back, or stop the gateway and \
         restore what the log of the gateway names"
    )]
    Gone {
        /// Which file.
        path: PathBuf,
    },
    /// A stored value is not one that this program writes.
    #[error("the session store holds something that does not belong there ({what})")]
    Foreign {
        /// Which value.
        what: &'static str,
    },
    /// The database was made by a newer program.
    #[error(
        "the session store has the layout of a newer Highwater (version {found}, this one knows {known}); \
         use that program, or another store"
    )]
    Newer {
        /// Its version.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// The database file cannot be opened.
    #[error("cannot open the session store `{path}`: {why}")]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        why: Arc<str>,
    },
    /// The URL of a PostgreSQL database does not make sense.
    #[error("`store.postgres` is no usable PostgreSQL URL: {why}")]
    Url {
        /// What is wrong with it. It never repeats the URL, which may hold a password.
        why: Arc<str>,
    },
    /// Passkeys were enrolled for another page.
    #[error(
        "the passkeys here were enrolled for `{origin}` (relying party `{rp_id}`) and work nowhere else; write \
         `approvals: {{ public_url: \"{origin}\" }}` for a gateway whose people answer there, or \
         `approvals: {{ listen: none }}` for one without a page of its own"
    )]
    OtherOrigin {
        /// The relying party.
        rp_id: Arc<str>,
        /// The page.
        origin: Arc<str>,
    },
    /// Too much was asked for at once.
    #[error("the session store was asked about {asked} objects at once, the most is {most}")]
    TooMany {
        /// How many.
        asked: usize,
        /// How many are answered.
        most: usize,
    },
}

// === impl StoreError ===

impl StoreError {
    /// Whether the store itself may be away. Other failures say something of what was asked.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Failed { .. }
            | Self::Full { .. }
            | Self::TimedOut { .. }
            | Self::Lost { .. }
            | Self::Gone { .. }
            | Self::Stopped => true,
            Self::GaveWay { .. }
            | Self::Foreign { .. }
            | Self::Newer { .. }
            | Self::File { .. }
            | Self::Url { .. }
            | Self::OtherOrigin { .. }
            | Self::TooMany { .. } => false,
        }
    }
}
