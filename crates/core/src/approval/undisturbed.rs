//! Whether a session has heard anybody else since a call was permitted whose server asks for more.
//!
//! What the call does was decided before its server's question was there, and that question is mostly a stranger's
//! words: it makes no new question of the call (G25). Words of others do.

use crate::label::{Label, LabelDigest};

/// A session as it is for as long as it has taken in nothing since a call was permitted, but what the call's server said
/// in its course. Nothing where that cannot be told.
#[derive(Clone, Debug)]
pub struct Undisturbed(Option<Label>);

// === impl Undisturbed ===

impl Undisturbed {
    /// Beginning with the session in which a call was permitted, by a person or by itself. Where strangers had a say in it by then, it is not they who
    /// came later, and nothing of this is excused.
    pub fn since(session: &Label) -> Self {
        Self::of(session).filter(|label| !label.untrusted())
    }

    /// Going on with a session of which it was told by this digest.
    pub(crate) fn still(session: &Label, known: Option<LabelDigest>) -> Self {
        Self::of(session).filter(|label| known == Some(LabelDigest::of(label)))
    }

    /// Of a session with more origins than are listed nobody can tell who is among them.
    fn of(session: &Label) -> Self {
        Self(Some(session.clone())).filter(|label| !label.bits().origins_open())
    }

    fn filter(self, told: impl FnOnce(&Label) -> bool) -> Self {
        Self(self.0.filter(told))
    }

    /// The same once the server of the call has said something with this label.
    #[must_use]
    pub fn with(&self, said: &Label) -> Self {
        match &self.0 {
            Some(label) => Self::of(&label.clone().joined(said)),
            None => Self(None),
        }
    }

    /// Whether strangers may have had a say in the session who are not the call's server.
    pub fn is_disturbed(&self, now: &Label) -> bool {
        now.untrusted() && self.0.as_ref() != Some(now)
    }

    /// For where the label has no room.
    pub(crate) fn digest(&self) -> Option<LabelDigest> {
        self.0.as_ref().map(LabelDigest::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_undisturbed_while_the_server_alone_has_spoken() {
        let clean = Label::bottom().with_origin("mcp:notes:read");
        let said = Label::bottom().with_open_world().with_origin("mcp:files:delete");
        let other = Label::bottom().with_open_world().with_origin("mcp:web:fetch");
        let asked = Undisturbed::since(&clean).with(&said);
        assert!(!asked.is_disturbed(&clean.clone().joined(&said)));
        assert!(asked.is_disturbed(&clean.clone().joined(&other)));
        assert!(asked.is_disturbed(&clean.clone().joined(&said).joined(&other)));
        assert!(!asked.is_disturbed(&Label::bottom()), "nobody's words are in it");
        assert!(asked.is_disturbed(&Label::top()));
    }

    #[test]
    fn where_it_cannot_be_told_it_is_disturbed() {
        let stranger = Label::bottom().with_open_world();
        let crowd = Label::bottom().with_origins(&crate::label::TextSet::EVERY);
        for session in [stranger.clone(), Label::top(), crowd.clone()] {
            let asked = Undisturbed::since(&session).with(&stranger);
            assert_eq!(asked.digest(), None);
            assert!(asked.is_disturbed(&session.joined(&stranger)));
        }
        // Also where it is the question that brings them.
        let asked = Undisturbed::since(&Label::bottom()).with(&stranger.joined(&crowd));
        assert_eq!(asked.digest(), None);
    }
}
