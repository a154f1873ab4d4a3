//! Enumerated words and small sets of them: one spelling, one reading, one bit each.

use std::fmt;
use std::marker::PhantomData;

use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A word of a closed vocabulary, declared from mild to severe.
pub trait Word: Copy + Eq + Ord + fmt::Debug + Sized + 'static {
    /// Every word, mild to severe.
    const ALL: &'static [Self];

    /// Its place in [`Word::ALL`], and its bit in a [`Words`].
    fn index(self) -> u32;

    /// The published spelling.
    fn as_str(self) -> &'static str;
}

/// A set of words, as bits. Copying and joining cost nothing.
pub struct Words<T>(u16, PhantomData<T>);

/// Compares two words as vocabularies do: without `-`, `_` and case.
pub fn same_word(left: &str, right: &str) -> bool {
    fn plain(text: &str) -> impl Iterator<Item = u8> {
        text.bytes().filter(|byte| !matches!(byte, b'-' | b'_')).map(|byte| byte.to_ascii_lowercase())
    }
    plain(left).eq(plain(right))
}

/// Declares a vocabulary: the enum, its spelling, its lenient reading and its serde form.
#[macro_export]
macro_rules! vocabulary {
    (
        $(#[$doc:meta])* $name:ident { $( $(#[$word_doc:meta])* $word:ident = $text:literal, )+ }
        $( aliases { $( $alias:literal = $meant:ident ),+ } )?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $( $(#[$word_doc])* $word, )+ }

        impl $name {
            /// Every word, in the order of the declaration.
            pub const ALL: &'static [Self] = &[ $( Self::$word ),+ ];
            /// The published spellings, in the same order.
            pub const NAMES: &'static [&'static str] = &[ $( $text ),+ ];

            /// The published spelling.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$word => $text ),+ }
            }

            /// Reads a word without regard to `-`, `_` and case; nothing looser.
            pub fn parse(text: &str) -> Option<Self> {
                let same = $crate::same_word;
                $( if same(text, $text) { return Some(Self::$word); } )+
                $( $( if same(text, $alias) { return Some(Self::$meant); } )+ )?
                None
            }
        }

        impl $crate::Word for $name {
            const ALL: &'static [Self] = Self::ALL;
            fn index(self) -> u32 { self as u32 }
            fn as_str(self) -> &'static str { Self::as_str(self) }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
                Self::parse(&text).ok_or_else(|| serde::de::Error::unknown_variant(&text, Self::NAMES))
            }
        }
    };
}

// === impl Words ===

impl<T> Words<T> {
    /// No word.
    pub const EMPTY: Self = Self(0, PhantomData);

    /// The bits, one per word, the first word lowest.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether there is no word in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many words are in it.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Both sets together.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0, PhantomData)
    }

    /// What is in both.
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0, PhantomData)
    }

    /// What is in this one alone.
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0, PhantomData)
    }

    /// Whether everything of the other is in this one.
    pub const fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }
}

impl<T: Word> Words<T> {
    /// Every word there is.
    pub fn all() -> Self {
        T::ALL.iter().copied().collect()
    }

    /// One word.
    pub fn only(word: T) -> Self {
        Self::EMPTY.with(word)
    }

    /// This set and one word more.
    pub fn with(self, word: T) -> Self {
        Self(self.0 | 1 << word.index(), PhantomData)
    }

    /// This set without one word.
    pub fn without(self, word: T) -> Self {
        Self(self.0 & !(1 << word.index()), PhantomData)
    }

    /// Whether the word is in it.
    pub fn contains(self, word: T) -> bool {
        self.0 & 1 << word.index() != 0
    }

    /// Its words, mild to severe.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = T> {
        T::ALL.iter().copied().filter(move |word| self.contains(*word))
    }

    /// The words whose bits are set; bits that belong to no word are dropped.
    pub fn from_bits(bits: u16) -> Self {
        Self(bits, PhantomData).intersection(Self::all())
    }
}

impl<T> Clone for Words<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Words<T> {}

impl<T> PartialEq for Words<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Words<T> {}

impl<T> std::hash::Hash for Words<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<T> Default for Words<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<T: Word> fmt::Debug for Words<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Word::as_str)).finish()
    }
}

impl<T: Word> FromIterator<T> for Words<T> {
    fn from_iter<I: IntoIterator<Item = T>>(words: I) -> Self {
        words.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl<T: Word> Serialize for Words<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(self.0.count_ones() as usize))?;
        for word in self.iter() {
            list.serialize_element(word.as_str())?;
        }
        list.end()
    }
}

impl<'de, T: Word + Deserialize<'de>> Deserialize<'de> for Words<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Vec::<T>::deserialize(from)?.into_iter().collect())
    }
}
