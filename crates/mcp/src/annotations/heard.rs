//! What is heard while annotations are read: claims for the core, remarks for people, both bounded.

use std::borrow::Cow;
use std::sync::Arc;

use highwater_core::annotation::{
    Authority, Axis, Claim, Claimed, Claims, Confidentiality, DataClass, Hints, Notice, NoticeKind, Possible,
    Sensitivity,
};
use highwater_core::label::{TextSet, is_own_origin};
use highwater_notation::Words;

use super::table::{self, Of};
use crate::era::meta_key;
use crate::text::{is_null, is_object, members};

/// Remarks kept of one message. Whoever sends more nonsense than this is known well enough.
const NOTICES: usize = 256;
/// The longest text of theirs that a remark repeats.
const DETAIL: usize = 2048;

/// References to evidence kept of one message, and the longest text in one.
const EVIDENCE: usize = 16;
const EVIDENCE_TEXT: usize = 256;

/// What was read: claims for the core, remarks for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What is claimed.
    pub claims: Claims,
    /// What there is to say about how it was claimed.
    pub notices: Vec<Notice>,
}

/// What is being described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A tool, or one call of it. Claims may loosen if their speaker may.
    Tool,
    /// A reply or a part of it. Whatever is said only tightens.
    Reply,
    /// What the client has in its context. Whatever is said only tightens.
    Request,
}

/// Where a member stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On the tool itself, among what the protocol defines.
    Tool,
    /// In `annotations`, or in `_meta`.
    Inside,
}

/// The ear: collects claims of one speaker about one subject.
pub(super) struct Heard {
    pub(super) subject: Subject,
    pub(super) place: Place,
    /// The member being read, for remarks.
    pub(super) key: &'static str,
    /// The vocabulary being read.
    from: &'static str,
    by: Authority,
    hints: Hints,
    reads: Words<Confidentiality>,
    writes: Words<Confidentiality>,
    said: Vec<Claimed>,
    notices: Vec<Notice>,
    /// Whether a key of ours was met.
    pub(super) forged: bool,
    /// References to records of evidence.
    pub(super) evidence: Vec<Evidence>,
}

/// A reference to a record that is kept elsewhere. For the audit alone: nothing is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Which scheme the record follows.
    pub kind: Box<str>,
    /// The digest of the record.
    pub digest: Box<str>,
}

// === impl Heard ===

impl Heard {
    pub(super) fn new(subject: Subject, by: Authority) -> Self {
        Self {
            subject,
            place: Place::Inside,
            key: "",
            from: "",
            by,
            hints: Hints::default(),
            reads: Words::EMPTY,
            writes: Words::EMPTY,
            said: Vec::new(),
            notices: Vec::new(),
            forged: false,
            evidence: Vec::new(),
        }
    }

    /// Whether what is described is data and not a tool.
    pub(super) fn of_data(&self) -> bool {
        self.subject != Subject::Tool
    }

    /// Reads `_meta`: members of its own, and the `annotations` that some put inside it.
    pub(super) fn meta(&mut self, raw: &str) {
        self.object(raw, "_meta");
    }

    /// Reads `annotations`, wherever they stand.
    pub(super) fn annotations(&mut self, raw: &str) {
        if !is_object(raw) && !is_null(raw) {
            self.from = super::core_hints::VOCABULARY.name;
            self.notice(NoticeKind::Malformed, None, "annotations");
            return self.distrust();
        }
        self.object(raw, "annotations");
    }

    /// What could have been said where nothing can be read.
    fn distrust(&mut self) {
        if self.of_data() {
            self.say(Claim::Untrusted);
            self.returns([DataClass::Unclassified]);
        } else {
            self.hint(Hints {
                read_only: Some(false),
                destructive: Some(true),
                idempotent: Some(false),
                open_world: Some(true),
            });
        }
    }

    fn object(&mut self, raw: &str, name: &'static str) {
        if !is_object(raw) {
            if !is_null(raw) {
                self.from = super::core_hints::VOCABULARY.name;
                self.notice(NoticeKind::Malformed, None, name);
            }
            return;
        }
        for (key, value) in members(raw) {
            if key == "annotations" && name == "_meta" {
                self.annotations(value);
            } else {
                self.member(Place::Inside, &key, value);
            }
        }
    }

    /// Reads one member with the vocabulary whose key it is, if there is one.
    pub(super) fn member(&mut self, place: Place, key: &str, raw: &str) {
        if let Some((vocabulary, row)) = table::find(key) {
            let asked = match row.of {
                Of::Tools => self.subject == Subject::Tool,
                Of::Requests => self.subject == Subject::Request,
                Of::Anything => true,
            };
            if asked {
                self.place = place;
                self.from = vocabulary.name;
                self.key = row.name;
                (row.read)(self, raw);
            }
        } else if key.starts_with(meta_key::OURS) {
            self.forged = true;
            self.from = super::ours::NAME;
            self.notice(NoticeKind::Spoofed, None, key);
        }
    }

    /// Takes a claim down. Additions of one vocabulary become one claim, so that a message that repeats itself
    /// costs no more than one that does not.
    pub(super) fn say(&mut self, claim: Claim) {
        let from = self.from;
        let mut same = self.said.iter_mut().filter(|said| said.from == from);
        let merged = match &claim {
            Claim::AddReturns(classes) => same.any(|said| match &mut said.claim {
                Claim::AddReturns(held) => {
                    *held = held.clone().or(classes);
                    true
                }
                _ => false,
            }),
            Claim::AddOrigins(origins) => same.any(|said| match &mut said.claim {
                Claim::AddOrigins(held) => {
                    held.join(origins);
                    true
                }
                _ => false,
            }),
            Claim::AddSource(words) => same.any(|said| match &mut said.claim {
                Claim::AddSource(held) => {
                    *held = held.union(*words);
                    true
                }
                _ => false,
            }),
            _ => same.any(|said| said.claim == claim),
        };
        if !merged {
            self.said.push(Claimed { claim, by: self.by, from });
        }
    }

    /// Takes a claim down unless one like it was heard.
    pub(super) fn unless_said(&mut self, like: impl Fn(&Claim) -> bool, claim: Claim) {
        if !self.said.iter().any(|said| like(&said.claim)) {
            self.from = super::flow::VOCABULARY.name;
            self.say(claim);
        }
    }

    /// Replies also hold these classes.
    pub(super) fn returns(&mut self, classes: impl IntoIterator<Item = DataClass>) {
        let classes = Sensitivity::of(classes);
        if !classes.classes().is_empty() {
            self.say(Claim::AddReturns(classes));
        }
    }

    /// Takes hints down. Of one hint in two places the severe one counts.
    pub(super) fn hint(&mut self, more: Hints) {
        fn worse(held: Option<bool>, more: Option<bool>, severe: bool) -> Option<bool> {
            if held == Some(severe) || more == Some(severe) { Some(severe) } else { held.or(more) }
        }
        self.hints = Hints {
            read_only: worse(self.hints.read_only, more.read_only, false),
            destructive: worse(self.hints.destructive, more.destructive, true),
            idempotent: worse(self.hints.idempotent, more.idempotent, false),
            open_world: worse(self.hints.open_world, more.open_world, true),
        };
    }

    /// What is read is of one of these grades.
    pub(super) fn reads(&mut self, grades: Words<Confidentiality>) {
        self.reads = self.reads.union(grades);
    }

    /// What is written goes to one of these grades.
    pub(super) fn writes(&mut self, grades: Words<Confidentiality>) {
        self.writes = self.writes.union(grades);
    }

    /// Takes a remark down.
    pub(super) fn notice(&mut self, kind: NoticeKind, axis: Option<Axis>, detail: &str) {
        if self.notices.len() >= NOTICES {
            return;
        }
        let notice = Notice::new(kind, axis, self.from, clipped(detail, DETAIL));
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    /// Takes a reference to evidence down.
    pub(super) fn evidence(&mut self, kind: &str, digest: &str) {
        let fits = |text: &str| text.len() <= EVIDENCE_TEXT;
        let evidence = Evidence { kind: kind.into(), digest: digest.into() };
        if self.evidence.len() < EVIDENCE && fits(kind) && fits(digest) && !self.evidence.contains(&evidence)
        {
            self.evidence.push(evidence);
        }
    }

    /// Leaves no more origins than one message may add. What is left out is marked, and said.
    fn bound_origins(&mut self) {
        let mut room = MAX_MESSAGE_ORIGINS;
        let mut truncated = Vec::new();
        for said in &mut self.said {
            if let Claim::AddOrigins(origins) = &mut said.claim {
                // An open one was remarked on when it was read.
                if origins.members().len() > room && !origins.is_open() {
                    truncated.push(said.from);
                }
                *origins = std::mem::take(origins).first(room);
                room -= origins.members().len();
            }
        }
        for from in truncated {
            self.from = from;
            self.notice(NoticeKind::Truncated, None, "attribution");
        }
    }

    /// Everything heard.
    pub(super) fn finish(mut self) -> Reading {
        if self.hints != Hints::default() {
            self.from = super::core_hints::VOCABULARY.name;
            self.say(Claim::Hints(self.hints));
        }
        self.from = super::samos::VOCABULARY.name;
        if let Some(grades) = Possible::of(self.reads) {
            self.say(Claim::ReadConfidentiality(grades));
        }
        if let Some(grades) = Possible::of(self.writes) {
            self.say(Claim::WriteConfidentiality(grades));
        }
        self.bound_origins();
        Reading { claims: self.said.into_iter().collect(), notices: self.notices }
    }
}

/// How many origins one message adds to a label, in all vocabularies together. A label lists four times as many, so
/// that no message alone can take the room of all others.
pub(super) const MAX_MESSAGE_ORIGINS: usize = TextSet::LIMIT / 4;

/// Attributions as origins. One that poses as an origin of ours is marked as somebody's claim.
pub(super) fn origins<'a>(texts: impl Iterator<Item = Cow<'a, str>>) -> TextSet {
    TextSet::of(texts.map(|text| -> Arc<str> {
        if is_own_origin(&text) { format!("claimed:{text}").into() } else { text.into() }
    }))
}

fn clipped(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}
