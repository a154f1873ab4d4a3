//! Whether a form that a token's client answers is a person's word.

use highwater_notation::vocabulary;

vocabulary! {
    /// Who answers the forms that a token's clients are sent. A form comes back from the client, so that a person stands
    /// behind it is the client's word, and the operator says whether it counts.
    #[derive(Default)]
    Forms {
        /// A person: what they answer there counts.
        Person = "person",
        /// Nobody can tell: people are asked on the page alone.
        #[default]
        Never = "never",
    }
}
