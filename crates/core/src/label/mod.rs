//! What a context has taken in: which classes of data, how far its sources are trusted, where they were.
//!
//! A join-semilattice: joining is associative, commutative and idempotent, and never lowers anything.

mod bits;
mod digest;
mod show;
mod text_set;
mod told;

pub use bits::LabelBits;
pub use digest::LabelDigest;
pub(crate) use show::publish;
pub use text_set::{TextSet, is_own_origin};
pub use told::ANOTHER_CONVERSATION;

use highwater_notation::Words;

use crate::annotation::{ClassSet, Confidentiality, DataClass, Source, SourceSet};
use crate::trust::TrustLevel;

/// The label of a context, a reply or a stored object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Says *open* of the sets exactly when they are.
    bits: LabelBits,
    scopes: TextSet,
    /// Of the class `named`. Open where that class is there and no name is.
    names: TextSet,
    origins: TextSet,
}

// === impl Label ===

impl Label {
    /// Nothing read yet: no class, the owner's integrity, no origin, no flag.
    pub const fn bottom() -> Self {
        Self {
            bits: LabelBits::BOTTOM,
            scopes: TextSet::EMPTY,
            names: TextSet::EMPTY,
            origins: TextSet::EMPTY,
        }
    }

    /// Everything possible. What is assumed where a label cannot be read.
    pub const fn top() -> Self {
        Self { bits: LabelBits::TOP, scopes: TextSet::EVERY, names: TextSet::EVERY, origins: TextSet::EVERY }
    }

    /// From its stored parts, without the names of classes. Where either says that a set is open, it is.
    pub fn from_parts(bits: LabelBits, scopes: TextSet, origins: TextSet) -> Self {
        Self::from_sets(bits, scopes, TextSet::EMPTY, origins)
    }

    /// From all of its stored parts.
    pub fn from_sets(bits: LabelBits, scopes: TextSet, names: TextSet, origins: TextSet) -> Self {
        let names = if bits.names_open() { names.opened() } else { names };
        let scopes = if bits.scopes_open() { scopes.opened() } else { scopes };
        let origins = if bits.origins_open() { origins.opened() } else { origins };
        Self { bits, scopes, names, origins }.settled()
    }

    fn settled(mut self) -> Self {
        self.settle();
        self
    }

    /// The bits say of the sets what the sets say of themselves.
    fn settle(&mut self) {
        if self.scopes.is_open() {
            self.bits = self.bits.with_scopes_open();
        }
        if self.origins.is_open() {
            self.bits = self.bits.with_origins_open();
        }
        if self.names.is_empty() && self.bits.is_named() {
            self.names = TextSet::EVERY;
        }
        if self.names.is_open() {
            self.bits = self.bits.with_names_open();
        } else if !self.names.is_empty() {
            self.bits = self.bits.with_classes(Words::only(DataClass::Named));
        }
    }

    /// Takes in everything of the other.
    pub fn join(&mut self, other: &Self) {
        self.bits = self.bits.union(other.bits);
        self.scopes.join(&other.scopes);
        self.names.join(&other.names);
        self.origins.join(&other.origins);
        self.settle();
    }

    /// This label and everything of the other.
    #[must_use]
    pub fn joined(mut self, other: &Self) -> Self {
        self.join(other);
        self
    }

    /// Whether joining the other would add nothing that a decision could see.
    pub fn covers(&self, other: &Self) -> bool {
        self.bits.covers(other.bits)
            && self.scopes.covers(&other.scopes)
            && self.names.covers(&other.names)
            && self.origins.covers(&other.origins)
    }

    /// Whether joining the other would leave this label as it is, each listed origin among it. What this says yes to
    /// need not be stored; [`Label::covers`] is the weaker question, whether a decision would be the same.
    pub fn includes(&self, other: &Self) -> bool {
        self.bits.covers(other.bits)
            && self.scopes.includes(&other.scopes)
            && self.names.includes(&other.names)
            && self.origins.includes(&other.origins)
    }

    /// The part that is stored as bits.
    pub fn bits(&self) -> LabelBits {
        self.bits
    }

    /// The scopes of its regulated data, in lower case.
    pub fn scopes(&self) -> &TextSet {
        &self.scopes
    }

    /// The classes of the operator's own in it.
    pub fn names(&self) -> &TextSet {
        &self.names
    }

    /// Who contributed.
    pub fn origins(&self) -> &TextSet {
        &self.origins
    }

    /// The lowest trust that contributed; `none` where anything is flagged.
    pub fn integrity(&self) -> TrustLevel {
        self.bits.integrity()
    }

    /// Whether text that a stranger may have written is in it.
    pub fn untrusted(&self) -> bool {
        self.integrity() == TrustLevel::None
    }

    /// Whether somebody called part of it malicious.
    pub fn malicious(&self) -> bool {
        self.bits.malicious()
    }

    /// Whether open-world content is in it.
    pub fn open_world(&self) -> bool {
        self.bits.open_world()
    }

    /// Whether any class of data is in it.
    pub fn private(&self) -> bool {
        !self.classes().is_empty()
    }

    /// The classes of data in it.
    pub fn classes(&self) -> ClassSet {
        self.bits.classes()
    }

    /// The kinds of source that were read.
    pub fn sources(&self) -> SourceSet {
        self.bits.sources()
    }

    /// Whether the context sent something to a public destination.
    pub fn wrote_externally(&self) -> bool {
        self.bits.wrote_externally()
    }

    /// SAMOS's word for whether any class of data is in it.
    pub fn confidentiality(&self) -> Confidentiality {
        if self.private() { Confidentiality::High } else { Confidentiality::Low }
    }

    /// How much there is to lose, from 0 to 100: what could go wrong here, weighed by how badly. It only rises as
    /// the label rises, and is never stored.
    pub fn risk(&self) -> u8 {
        let classes = self.classes();
        let severest = classes.iter().map(weight).max().unwrap_or(0);
        // Several kinds of data are more than one, but less than their sum.
        let several = if classes.len() > 1 { 5 } else { 0 };
        let doubt = match self.integrity() {
            TrustLevel::None => 40,
            TrustLevel::Tool | TrustLevel::Agent => 5,
            TrustLevel::System | TrustLevel::User | TrustLevel::Owner => 0,
        };
        let flagged = if self.malicious() { 10 } else { 0 };
        let wrote = if self.wrote_externally() { 5 } else { 0 };
        severest + several + doubt + flagged + wrote
    }

    /// With one class more.
    #[must_use]
    pub fn with_class(self, class: DataClass) -> Self {
        self.with_classes(Words::only(class))
    }

    /// With these classes.
    #[must_use]
    pub fn with_classes(mut self, classes: ClassSet) -> Self {
        self.bits = self.bits.with_classes(classes);
        self.settled()
    }

    /// With these classes of the operator's own. Where there are some, they are named before the class is.
    #[must_use]
    pub fn with_names(mut self, names: &TextSet) -> Self {
        self.names.join(names);
        self.settled()
    }

    /// With these scopes of regulated data.
    #[must_use]
    pub fn with_scopes(mut self, scopes: &TextSet) -> Self {
        self.scopes.join(scopes);
        self.settled()
    }

    /// With a contribution of this trust.
    #[must_use]
    pub fn with_integrity(mut self, level: TrustLevel) -> Self {
        self.bits = self.bits.with_integrity(level);
        self
    }

    /// With one kind of source.
    #[must_use]
    pub fn with_source(self, source: Source) -> Self {
        self.with_sources(Words::only(source))
    }

    /// With these kinds of source.
    #[must_use]
    pub fn with_sources(mut self, sources: SourceSet) -> Self {
        self.bits = self.bits.with_sources(sources);
        self
    }

    /// With one origin.
    #[must_use]
    pub fn with_origin(self, origin: &str) -> Self {
        self.with_origins(&TextSet::of([origin]))
    }

    /// With these origins.
    #[must_use]
    pub fn with_origins(mut self, origins: &TextSet) -> Self {
        self.origins.join(origins);
        self.settled()
    }

    /// With open-world content: flagged, and worth nothing.
    #[must_use]
    pub fn with_open_world(mut self) -> Self {
        self.bits = self.bits.with_open_world();
        self
    }

    /// With content that somebody called malicious: flagged, and worth nothing.
    #[must_use]
    pub fn with_malicious(mut self) -> Self {
        self.bits = self.bits.with_malicious();
        self
    }

    /// With something sent to a public destination.
    #[must_use]
    pub fn with_wrote_externally(mut self) -> Self {
        self.bits = self.bits.with_wrote_externally();
        self
    }
}

/// What losing data of one class weighs. What nobody classified may be the worst of them.
fn weight(class: DataClass) -> u8 {
    match class {
        DataClass::User => 15,
        DataClass::Confidential => 20,
        DataClass::Pii | DataClass::Financial | DataClass::Named => 30,
        DataClass::Regulated => 35,
        DataClass::Credentials | DataClass::Unclassified => 40,
    }
}

#[cfg(test)]
mod tests;
