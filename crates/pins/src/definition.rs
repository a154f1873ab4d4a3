//! A definition as it is pinned: everything a server says of one tool, prompt, template or of itself, part by part.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use highwater_core::pin::PinDigest;
use highwater_notation::{Json, vocabulary};
use serde::{Deserialize, Serialize};

vocabulary! {
    /// What is pinned.
    PinKind {
        /// The server itself: how it is reached, what it calls itself, who signs for it.
        Identity = "identity",
        /// The text it gives every model.
        Instructions = "instructions",
        /// A tool.
        Tool = "tool",
        /// A prompt.
        Prompt = "prompt",
        /// A resource template.
        Template = "template",
        /// What its resources said of themselves when it was approved. It is kept, and not what anybody approves: resources
        /// come and go.
        Resources = "resources",
        /// The manifest that counted last. It is kept, and not what anybody approves.
        Manifest = "manifest",
        /// What a person said the server is, in the operator's one word for it. It is kept, and not what anybody approves.
        Profile = "profile",
    }
}

vocabulary! {
    /// What a part of a definition is, and so what follows when it changes.
    PartClass {
        /// For the eye: noted.
        Cosmetic = "cosmetic",
        /// What is claimed of the tool: judged by its direction.
        Annotation = "annotation",
        /// What a model reads: holds it.
        Wording = "wording",
        /// What may be sent or comes back: holds it.
        Schema = "schema",
        /// Who it is: holds everything of the server.
        Identity = "identity",
    }
}

/// What is pinned, by kind and the server's own name for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PinKey {
    /// Which kind.
    pub kind: PinKind,
    /// The server's own name; empty where there is one of the kind.
    pub name: Arc<str>,
}

/// One part of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub class: PartClass,
    /// Its canonical text.
    pub value: Arc<str>,
}

/// A definition: whole, in parts, and its digest.
///
/// Parts are told apart by pointers. Where the protocol has a default it is filled in, so that a server that leaves it
/// out and one that writes it have one digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    key: PinKey,
    text: Arc<str>,
    parts: BTreeMap<Arc<str>, Part>,
    digest: PinDigest,
}

// === impl PinKey ===

impl PinKey {
    /// The key of something that has a name.
    pub fn new(kind: PinKind, name: impl Into<Arc<str>>) -> Self {
        Self { kind, name: name.into() }
    }

    /// The server itself.
    pub fn identity() -> Self {
        Self::new(PinKind::Identity, "")
    }

    /// What its resources said.
    pub fn resources() -> Self {
        Self::new(PinKind::Resources, "")
    }

    /// Its manifest.
    pub fn manifest() -> Self {
        Self::new(PinKind::Manifest, "")
    }

    /// The person's one word for it.
    pub fn profile() -> Self {
        Self::new(PinKind::Profile, "")
    }

    /// Whether it is something that the server says, and that people approve or refuse.
    pub fn is_definition(&self) -> bool {
        !matches!(self.kind, PinKind::Resources | PinKind::Manifest | PinKind::Profile)
    }

    /// Its instructions.
    pub fn instructions() -> Self {
        Self::new(PinKind::Instructions, "")
    }
}

impl fmt::Display for PinKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            PinKind::Identity
            | PinKind::Instructions
            | PinKind::Resources
            | PinKind::Manifest
            | PinKind::Profile => f.write_str(self.kind.as_str()),
            PinKind::Tool | PinKind::Prompt | PinKind::Template => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

// === impl Definition ===

impl Definition {
    /// A definition of these parts. `text` is the whole as the server wrote it, to be shown and read again.
    pub fn new<J: Into<Json>>(
        key: PinKey,
        text: impl Into<Arc<str>>,
        parts: impl IntoIterator<Item = (Arc<str>, PartClass, J)>,
    ) -> Self {
        let parts: BTreeMap<Arc<str>, Part> = parts
            .into_iter()
            .map(|(pointer, class, value)| (pointer, Part { class, value: value.into().to_string().into() }))
            .collect();
        let digest = digest_of(&key, &parts);
        Self { key, text: text.into(), parts, digest }
    }

    /// What it defines.
    pub fn key(&self) -> &PinKey {
        &self.key
    }

    /// The whole, as JSON text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Its parts, by pointer.
    pub fn parts(&self) -> &BTreeMap<Arc<str>, Part> {
        &self.parts
    }

    /// The digest of its canonical form.
    pub fn digest(&self) -> PinDigest {
        self.digest
    }
}

fn digest_of(key: &PinKey, parts: &BTreeMap<Arc<str>, Part>) -> PinDigest {
    let mut digesting = Digesting::new("highwater pin 1");
    digesting.add(key.kind.as_str());
    digesting.add(&key.name);
    for (pointer, part) in parts {
        digesting.add(pointer);
        digesting.add(&part.value);
    }
    digesting.end()
}

/// The digest of several definitions together, in the order of their keys: everything that a person looked at.
pub fn digest_of_all<'a>(seen: impl IntoIterator<Item = (&'a PinKey, PinDigest)>) -> PinDigest {
    let sorted: BTreeMap<&PinKey, PinDigest> = seen.into_iter().collect();
    let mut digesting = Digesting::new("highwater review 1");
    for (key, digest) in sorted {
        digesting.add(key.kind.as_str());
        digesting.add(&key.name);
        digesting.add(&digest.to_string());
    }
    digesting.end()
}

/// Hashes texts, each with its length in front, so that two different splits of one text stay apart.
struct Digesting(aws_lc_rs::digest::Context);

impl Digesting {
    fn new(domain: &str) -> Self {
        let mut digesting = Self(aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256));
        digesting.add(domain);
        digesting
    }

    fn add(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_be_bytes());
        self.0.update(text.as_bytes());
    }

    fn end(self) -> PinDigest {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.finish().as_ref());
        PinDigest::new(bytes)
    }
}
