//! What the model is told of a refusal: one sentence and what to do next. It hangs on the effect, on what the person
//! said and on the name of the tool, and on nothing else; more would be an oracle for whoever steers the model.

use super::{Answer, Effect};
use crate::grant::{CallVariant, Permission};

/// Whether a person could be asked, and what they said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// Nobody was to be asked.
    NotNeeded,
    /// Somebody was to be asked, and this client has no way to do that.
    Impossible,
    /// Somebody was asked.
    Answered(Answer),
}

/// The sentence for a call that does not happen. `tool` is its name as the client knows it.
pub fn refusal(effect: Effect, asking: Asking, tool: &str) -> String {
    match (effect, asking) {
        (Effect::Confirm | Effect::Passkey, Asking::Impossible) => format!(
            "`{tool}` needs the approval of a person, and this client cannot ask for it; tell the user, and do not \
             call it again unchanged"
        ),
        (Effect::Confirm | Effect::Passkey, Asking::Answered(_)) => {
            format!(
                "the person who was asked about `{tool}` did not approve; do not call it again unless they say so"
            )
        }
        (Effect::Confirm | Effect::Passkey, Asking::NotNeeded)
        | (Effect::Allow | Effect::Redact | Effect::Block, _) => {
            format!(
                "`{tool}` is not permitted now; do not call it again unchanged, go on without it or tell the user"
            )
        }
    }
}

/// The sentence for a call that the caller's token does not grant. What is missing is no secret: whoever holds the token
/// could find out, and a person has to know what to ask for.
pub fn ungranted(permission: Permission, tool: &str) -> String {
    format!(
        "`{tool}` needs `{permission}`, which this token does not grant; go on without it or tell the user"
    )
}

/// The sentence for a call through a variant below the tool's class.
pub fn misjudged(class: CallVariant, tool: &str) -> String {
    format!("`{tool}` does more than the call says; it can only be called through `{class}` or above")
}

/// The sentence for a call that has run and whose reply is not passed on.
pub fn withheld(tool: &str) -> String {
    format!("`{tool}` has run, but its reply is withheld; do not call it again to see it, and tell the user")
}
