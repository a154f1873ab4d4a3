//! What a session had taken in when a yes was given, and whether it has taken in more since.
//!
//! What the approved call itself answers, as its contract predicts it, is nothing new: the person was told of it. Otherwise
//! a yes would end with its first use. Anything beyond that, and the same from anybody else, is new.

use highwater_core::annotation::DataClass;
use highwater_core::label::{Label, LabelBits, TextSet};
use serde::{Deserialize, Serialize};

/// What a session had taken in, as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptLabel {
    #[serde(flatten)]
    was: StoredLabel,
    /// What the call's own reply adds to that, as its contract predicts it.
    #[serde(default)]
    own: StoredLabel,
}

/// A label as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct StoredLabel {
    bits: i64,
    scopes: Vec<String>,
    names: Vec<String>,
    origins: Vec<String>,
}

/// What a reply is predicted to add to a session that does not hold it, for whoever is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplyAdds {
    /// Text that strangers may have written.
    pub(crate) strangers: bool,
    /// Data.
    pub(crate) data: bool,
}

// === impl KeptLabel ===

impl KeptLabel {
    /// A session, and the label that a reply of the call is predicted to have.
    pub(crate) fn of(session: &Label, reply: &Label) -> Self {
        let own = predicted(reply).map(|reply| StoredLabel::of(&reply)).unwrap_or_default();
        Self { was: StoredLabel::of(session), own }
    }

    /// Whether a session holds no more than this one did, and what the call itself has answered since.
    pub(crate) fn covers(&self, now: &Label) -> bool {
        is_nothing_new(&self.was.label(), &[self.own.label()], now)
    }

    /// The same for a yes that holds until the conversation ends. Who was told that strangers may steer the session need not
    /// hear of further strangers, and nobody of further sources that are trusted; but of further data.
    pub(crate) fn covers_conversation(&self, now: &Label) -> bool {
        let was = self.was.label();
        self.covers_data(now) && (was.untrusted() || !now.untrusted()) || self.covers(now)
    }

    /// Whether a session holds no other data than this one did, wherever it came from.
    pub(crate) fn covers_data(&self, now: &Label) -> bool {
        data(&self.was.label()).covers(&data(now))
    }

    /// Whether the session had read what strangers may have written.
    pub(crate) fn untrusted(&self) -> bool {
        self.was.label().untrusted()
    }

    /// Whether it held what is never sent on a word that was given before.
    pub(crate) fn is_grave(&self) -> bool {
        let classes = self.was.label().classes();
        classes.contains(DataClass::Credentials) || classes.contains(DataClass::Regulated)
    }

    /// What the predicted reply would add.
    pub(crate) fn reply_adds(&self) -> ReplyAdds {
        let (was, own) = (self.was.label(), self.own.label());
        ReplyAdds { strangers: own.untrusted() && !was.untrusted(), data: !data(&was).covers(&data(&own)) }
    }
}

/// The label of a reply as far as it may be predicted. What is flagged, or from origins that are too many to be listed, is
/// no reply that anybody was told of.
pub(crate) fn predicted(reply: &Label) -> Option<Label> {
    let can_be_told = !reply.malicious() && !reply.origins().is_open() && !reply.origins().is_empty();
    can_be_told.then(|| reply.clone())
}

/// Whether a session holds no more than one did, and what calls with these labels have answered since. Only who has answered
/// is excused.
pub(crate) fn is_nothing_new(was: &Label, own: &[Label], now: &Label) -> bool {
    let answered = |own: &&Label| !own.origins().is_empty() && now.origins().covers(own.origins());
    let excused = own.iter().filter(answered).fold(was.clone(), |was, own| was.joined(own));
    excused.covers(now)
}

fn data(label: &Label) -> Label {
    Label::bottom().with_names(label.names()).with_scopes(label.scopes()).with_classes_of(label)
}

// === impl StoredLabel ===

impl StoredLabel {
    fn of(label: &Label) -> Self {
        let texts = |set: &TextSet| set.members().iter().map(ToString::to_string).collect();
        Self {
            bits: label.bits().to_i64(),
            scopes: texts(label.scopes()),
            names: texts(label.names()),
            origins: texts(label.origins()),
        }
    }

    fn label(&self) -> Label {
        Label::from_sets(
            LabelBits::from_i64(self.bits),
            TextSet::of(self.scopes.iter().cloned()),
            TextSet::of(self.names.iter().cloned()),
            TextSet::of(self.origins.iter().cloned()),
        )
    }
}

#[cfg(test)]
mod tests {
    use highwater_core::annotation::Source;
    use highwater_core::trust::TrustLevel;

    use super::*;

    fn kept(was: &Label, reply: &Label) -> KeptLabel {
        let kept = serde_json::to_string(&KeptLabel::of(was, reply)).unwrap();
        serde_json::from_str(&kept).unwrap()
    }

    /// Otherwise an answer would end with its first use.
    #[test]
    fn what_the_call_itself_was_to_answer_is_nothing_new_and_everything_else_is() {
        let was = Label::bottom().with_integrity(TrustLevel::Agent).with_origin("mcp:a:read");
        let tool = Label::bottom().with_integrity(TrustLevel::Tool).with_source(Source::System);
        let tool = tool.with_origin("mcp:a:write");
        let strangers = tool.clone().with_open_world();
        let data = strangers.clone().with_class(DataClass::Unclassified);
        for own in [&tool, &strangers, &data] {
            let kept = kept(&was, own);
            let used = was.clone().joined(own);
            assert!(kept.covers(&was) && kept.covers(&used), "{own:?}");
            for more in [
                used.clone().with_origin("mcp:a:other"),
                used.clone().with_source(Source::User),
                used.clone().with_class(DataClass::User),
                used.clone().with_wrote_externally(),
                used.clone().with_malicious(),
                used.clone().with_origins(&TextSet::EVERY),
            ] {
                assert!(!kept.covers(&more), "{own:?} {more:?}");
            }
        }
        // The same from somebody else.
        assert!(!kept(&was, &strangers).covers(&was.clone().with_open_world()));
        assert!(!kept(&was, &data).covers(&was.clone().with_class(DataClass::Unclassified)));
        // What was flagged beforehand is no prediction.
        let flagged = tool.clone().with_malicious();
        assert!(!kept(&was, &flagged).covers(&was.clone().joined(&tool)));
    }

    #[test]
    fn an_answer_that_was_kept_before_any_of_this_covers_what_it_covered() {
        let used = Label::bottom().with_origin("mcp:a:read").with_origin("mcp:a:write");
        let old = r#"{"bits":0,"scopes":[],"origins":["mcp:a:read"],"own":{"bits":0,"origins":[]}}"#;
        let old: KeptLabel = serde_json::from_str(old).unwrap();
        assert!(!old.covers(&used) && old.covers(&Label::bottom().with_origin("mcp:a:read")));
    }

    #[test]
    fn until_the_conversation_ends_further_data_is_new_and_so_are_the_first_strangers() {
        let clean = Label::bottom().with_origin("mcp:a:read");
        let own = Label::bottom().with_origin("mcp:a:write");
        let asked = kept(&clean, &own);
        let trusted = clean.clone().with_origin("mcp:b:list").with_integrity(TrustLevel::Tool);
        assert!(asked.covers_conversation(&trusted));
        assert!(!asked.covers_conversation(&clean.clone().with_open_world()));
        assert!(!asked.covers_conversation(&trusted.with_class(DataClass::User)));
        let steered = kept(&clean.clone().with_open_world(), &own);
        let more = clean.with_open_world().with_origin("mcp:web:fetch");
        assert!(steered.covers_conversation(&more));
        assert!(!steered.covers_conversation(&more.with_class(DataClass::Confidential)));
    }

    #[test]
    fn people_hear_of_what_the_reply_adds() {
        let own = Label::bottom().with_open_world().with_class(DataClass::User).with_origin("mcp:a:b");
        let adds = |was: &Label| kept(was, &own).reply_adds();
        assert_eq!(adds(&Label::bottom()), ReplyAdds { strangers: true, data: true });
        assert_eq!(adds(&own), ReplyAdds { strangers: false, data: false });
    }
}
