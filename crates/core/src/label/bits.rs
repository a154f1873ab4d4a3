//! The label as bits: a storage format. Append, never renumber.

use highwater_notation::{Word, Words};

use crate::annotation::{ClassSet, Source, SourceSet};
use crate::trust::TrustLevel;

/// The part of a label that is a fixed set. Joins by OR, so replicas may merge in any order.
///
/// A bit this build does not know was set by a newer one: it is kept, and the whole label is read as the top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelBits(u64);

const OPEN_WORLD: u64 = 1;
const MALICIOUS: u64 = 1 << 1;
/// Bits 2 to 6: below owner, below user, below system, below agent, below tool.
const INTEGRITY_SHIFT: u32 = 2;
const INTEGRITY: u64 = 0b1_1111 << INTEGRITY_SHIFT;
/// Bits 8 to 14, in the order of `DataClass`.
const CLASS_SHIFT: u32 = 8;
const CLASSES: u64 = 0b111_1111 << CLASS_SHIFT;
/// Bits 15 to 19, in the reverse order of `Source`: `untrustedPublic` is the lowest.
const SOURCE_TOP: u32 = 19;
const SOURCES: u64 = 0b1_1111 << 15;
const WROTE_EXTERNALLY: u64 = 1 << 20;
/// The eighth class, which came when the bits beside the others were taken.
const NAMED: u64 = 1 << 21;
const NAMED_INDEX: u32 = 7;
/// Bits 48 to 55, in the order of `DataClass`: classes that came with what another agent wrote. They count like the others
/// and are not told.
const UNTOLD_SHIFT: u32 = 48;
const UNTOLD: u64 = 0xff << UNTOLD_SHIFT;
const NAMES_OPEN: u64 = 1 << 59;
const SCOPES_OPEN: u64 = 1 << 60;
const ORIGINS_OPEN: u64 = 1 << 61;
const KNOWN: u64 = OPEN_WORLD
    | MALICIOUS
    | INTEGRITY
    | CLASSES
    | SOURCES
    | WROTE_EXTERNALLY
    | NAMED
    | UNTOLD
    | NAMES_OPEN
    | SCOPES_OPEN
    | ORIGINS_OPEN;

// === impl LabelBits ===

impl LabelBits {
    /// Nothing read yet.
    pub const BOTTOM: Self = Self(0);
    /// Everything possible: every bit a database's signed integer can hold without a sign.
    pub const TOP: Self = Self(i64::MAX.cast_unsigned());

    /// From a database column.
    pub const fn from_i64(stored: i64) -> Self {
        Self(stored.cast_unsigned())
    }

    /// For a database column.
    pub const fn to_i64(self) -> i64 {
        self.0.cast_signed()
    }

    /// Both together.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether everything of the other is in this one.
    pub const fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether a newer build has set something that this one cannot read.
    pub const fn is_foreign(self) -> bool {
        self.0 & !KNOWN != 0
    }

    /// What decisions see: the bits, or the top if some of them cannot be read.
    const fn read(self) -> u64 {
        if self.is_foreign() { Self::TOP.0 } else { self.0 }
    }

    const fn has(self, bit: u64) -> bool {
        self.read() & bit != 0
    }

    /// Content from the open world was read.
    pub const fn open_world(self) -> bool {
        self.has(OPEN_WORLD)
    }

    /// Content that somebody called malicious was read.
    pub const fn malicious(self) -> bool {
        self.has(MALICIOUS)
    }

    /// The session sent something to a public destination.
    pub const fn wrote_externally(self) -> bool {
        self.has(WROTE_EXTERNALLY)
    }

    /// More scopes than are listed may apply.
    pub const fn scopes_open(self) -> bool {
        self.has(SCOPES_OPEN)
    }

    /// More origins than are listed may have contributed.
    pub const fn origins_open(self) -> bool {
        self.has(ORIGINS_OPEN)
    }

    /// More classes of the operator's own than are listed may be in it.
    pub const fn names_open(self) -> bool {
        self.has(NAMES_OPEN)
    }

    /// The lowest trust that contributed. Open-world and malicious content is worth nothing.
    pub fn integrity(self) -> TrustLevel {
        if self.open_world() || self.malicious() {
            return TrustLevel::None;
        }
        let thermometer = (self.read() & INTEGRITY) >> INTEGRITY_SHIFT;
        // The highest bit set says below which level the label has sunk; none set is the owner's.
        match u64::BITS - thermometer.leading_zeros() {
            0 => TrustLevel::Owner,
            1 => TrustLevel::User,
            2 => TrustLevel::System,
            3 => TrustLevel::Agent,
            4 => TrustLevel::Tool,
            _ => TrustLevel::None,
        }
    }

    /// The data classes.
    pub fn classes(self) -> ClassSet {
        self.own_classes().union(self.untold_classes())
    }

    /// Those of them that came with what another agent wrote.
    pub fn untold_classes(self) -> ClassSet {
        Words::from_bits(((self.read() & UNTOLD) >> UNTOLD_SHIFT) as u16 & 0xff)
    }

    /// Those of them that came otherwise.
    pub(super) fn own_classes(self) -> ClassSet {
        let named = u16::from(self.has(NAMED)) << NAMED_INDEX;
        Words::from_bits(((self.read() & CLASSES) >> CLASS_SHIFT) as u16 & 0x7f | named)
    }

    /// The kinds of source that were read.
    pub fn sources(self) -> SourceSet {
        Source::ALL.iter().copied().filter(|source| self.has(source_bit(*source))).collect()
    }

    /// With open-world content, which is worth nothing.
    pub fn with_open_world(self) -> Self {
        Self(self.0 | OPEN_WORLD).with_integrity(TrustLevel::None)
    }

    /// With malicious content, which is worth nothing.
    pub fn with_malicious(self) -> Self {
        Self(self.0 | MALICIOUS).with_integrity(TrustLevel::None)
    }

    /// With a contribution of this trust: the bits of every level above it.
    pub fn with_integrity(self, level: TrustLevel) -> Self {
        let above = 5 - level.index();
        Self(self.0 | ((1 << above) - 1) << INTEGRITY_SHIFT)
    }

    /// With these classes.
    pub fn with_classes(self, classes: ClassSet) -> Self {
        let bits = u64::from(classes.bits());
        let named = if bits & 1 << NAMED_INDEX == 0 { 0 } else { NAMED };
        Self(self.0 | (bits << CLASS_SHIFT & CLASSES) | named)
    }

    /// With these classes of what another agent wrote.
    pub(super) fn with_untold_classes(self, classes: ClassSet) -> Self {
        Self(self.0 | u64::from(classes.bits()) << UNTOLD_SHIFT & UNTOLD)
    }

    /// The same, with what another agent wrote counted among the rest.
    pub fn folded(self) -> Self {
        match self.0 & UNTOLD {
            0 => self,
            _ => Self(self.0 & !UNTOLD).with_classes(self.untold_classes()),
        }
    }

    /// With these kinds of source.
    pub fn with_sources(self, sources: SourceSet) -> Self {
        sources.iter().fold(self, |bits, source| Self(bits.0 | source_bit(source)))
    }

    /// With something sent to a public destination.
    pub const fn with_wrote_externally(self) -> Self {
        Self(self.0 | WROTE_EXTERNALLY)
    }

    /// Whether classes of the operator's own are in it, as this build stores it.
    pub(super) const fn is_named(self) -> bool {
        self.0 & NAMED != 0
    }

    /// With more classes of the operator's own than are listed.
    pub(super) const fn with_names_open(self) -> Self {
        Self(self.0 | NAMES_OPEN | NAMED)
    }

    /// With more scopes than are listed.
    pub(super) const fn with_scopes_open(self) -> Self {
        Self(self.0 | SCOPES_OPEN)
    }

    /// With more origins than are listed.
    pub(super) const fn with_origins_open(self) -> Self {
        Self(self.0 | ORIGINS_OPEN)
    }
}

fn source_bit(source: Source) -> u64 {
    1 << (SOURCE_TOP - source.index())
}
