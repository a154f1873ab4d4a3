//! What a conversation has said and read.

use std::sync::Arc;

use crate::{Call, Directory, Reply, Sight};

/// How much of the replies that can be evidence is kept of one conversation. Older ones go first, and what they listed
/// is then no longer known to be all there is.
pub const KEPT_BYTES: usize = 512 * 1024;

/// How much of the replies of strangers is kept for explanations.
pub const SEEN_BYTES: usize = 256 * 1024;

/// What one conversation has said and read.
#[derive(Clone, Debug)]
pub struct Evidence {
    directory: Arc<Directory>,
    has_words: bool,
}

// === impl Evidence ===

impl Evidence {
    /// Of a conversation that has just begun.
    pub fn new(directory: Arc<Directory>) -> Self {
        Self { directory, has_words: false }
    }

    /// Replaces the directory, after a lookup.
    pub fn set_directory(&mut self, directory: Arc<Directory>) {
        self.directory = directory;
    }

    /// This conversation tells the user's words: its host's hooks have been heard. From here on missing words are
    /// words that say nothing.
    pub fn brings_words(&mut self) {
        self.has_words = true;
    }

    /// The words of a turn, as the user typed them. A turn that was told before is told again.
    pub fn words(&mut self, _turn: &str, _typed: &str) {
        self.has_words = true;
    }

    /// A person said yes to this call.
    pub fn approved(&mut self, _call: &Call<'_>) {}

    /// A call that acts is sent.
    pub fn acted(&mut self, _call: &Call<'_>) {}

    /// A reply was delivered.
    pub fn reply(&mut self, _reply: &Reply<'_>) {}

    /// Something that this conversation said or read is not known here: the process was started again, or another one
    /// raised the label. Nothing that was listed is known to be all there is, from now on.
    pub fn lose(&mut self) {}

    /// The bytes of replies that are kept.
    pub fn bytes(&self) -> usize {
        0
    }

    /// Lets go of the oldest reply that is kept. Says whether there was one.
    pub fn evict(&mut self) -> bool {
        false
    }

    /// The first reply in which this value stands, if any that is still kept.
    pub fn first_sight(&self, _value: &str) -> Option<Sight> {
        None
    }

    pub(crate) fn has_words(&self) -> bool {
        self.has_words
    }
}
