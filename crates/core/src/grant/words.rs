//! Whose words the prompts are that a token's clients tell of.

use highwater_notation::vocabulary;

vocabulary! {
    /// Whose words the prompts of a token's clients are. Only the owner's say what is wanted, so the operator says whether
    /// it is the owner who writes there.
    #[derive(Default)]
    AcceptedWords {
        /// What the owner types.
        #[default]
        Owner = "owner",
        /// That, and what programs of the owner's start the client with.
        Sdk = "sdk",
        /// Nobody's: those who write there are strangers.
        None = "none",
    }
}
