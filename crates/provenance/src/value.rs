//! One value of a call, in the forms in which it is compared.

use crate::argument::{Leaf, Takes};
use crate::carrier::{Carrier, code, mail, page};
use crate::normal::{composed, normal, spaced};
use crate::text::{LONG_NUMBER, Text, path};

/// A value and what it is.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// In its normal form.
    pub(crate) normal: String,
    /// Its words.
    pub(crate) spaced: String,
    pub(crate) kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A mail address, a page, an account or a key.
    Carrier(Carrier),
    /// A path.
    Path(String),
    /// An id or a number that is too short to be told from others.
    Short,
    /// Any other text.
    Words,
}

// === impl Value ===

impl Value {
    pub(crate) fn new(written: &str) -> Self {
        let composed = composed(written);
        let normal = normal(written);
        let spaced = spaced(written);
        let letters = spaced.chars().filter(|letter| *letter != ' ').count();
        let kind = if let Some(mail) = mail(&composed) {
            Kind::Carrier(Carrier::Mail(mail))
        } else if let Some(page) = page(&composed) {
            Kind::Carrier(page)
        } else if let Some(code) = code(&composed) {
            Kind::Carrier(Carrier::Code(code))
        } else if let Some(path) = path(&composed) {
            Kind::Path(path)
        } else if letters < LONG_NUMBER && spaced.contains(char::is_numeric) {
            Kind::Short
        } else {
            Kind::Words
        };
        Self { normal, spaced, kind }
    }

    /// Where it leads, if it is an address, a page or a code.
    pub(crate) fn carrier(self) -> Option<Carrier> {
        match self.kind {
            Kind::Carrier(carrier) => Some(carrier),
            Kind::Path(_) | Kind::Short | Kind::Words => None,
        }
    }

    /// Whether it is of the type that its argument takes.
    pub(crate) fn fits(&self, takes: Takes) -> bool {
        match takes {
            Takes::Mail => matches!(self.kind, Kind::Carrier(Carrier::Mail(_))),
            Takes::Page => matches!(self.kind, Kind::Carrier(Carrier::Page { .. })),
            Takes::Anything | Takes::Id | Takes::Secret => true,
        }
    }

    /// Whether it is a mere name: a word of any text could be one.
    pub(crate) fn is_name(&self) -> bool {
        self.kind == Kind::Words && !self.spaced.contains(char::is_numeric)
    }

    /// Whether a text says this value, whole and as what it is.
    pub(crate) fn is_said(&self, text: &Text, nouns: &[String]) -> bool {
        match &self.kind {
            Kind::Carrier(carrier) => text.carries(carrier),
            Kind::Path(path) => text.paths().iter().any(|said| said == path),
            Kind::Short => text.calls(&self.normal, nouns) || text.quotes(&self.normal),
            Kind::Words => text.has_words(&self.spaced),
        }
    }
}

/// The nouns beside which a short value of this argument counts.
pub(crate) fn nouns(leaf: &Leaf) -> Vec<String> {
    let mut nouns = crate::act::name_words(&leaf.key);
    nouns.retain(|noun| noun.len() > 2);
    nouns.extend(
        ["id", "number", "no", "nr", "nummer", "numéro", "número", "numero", "номер", "号", "番"]
            .map(str::to_owned),
    );
    nouns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_told_by_its_form() {
        let kind = |text: &str| Value::new(text).kind;
        assert!(
            matches!(kind("Ann@A.example"), Kind::Carrier(Carrier::Mail(mail)) if mail == "ann@a.example")
        );
        assert!(matches!(kind("www.a.example/x"), Kind::Carrier(Carrier::Page { .. })));
        assert!(matches!(kind("DE89 3704 0044 0532 0130 00"), Kind::Carrier(Carrier::Code(_))));
        assert_eq!(kind("/home/me/x"), Kind::Path("/home/me/x".to_owned()));
        assert_eq!(kind("24"), Kind::Short);
        assert_eq!(kind("general"), Kind::Words);
        assert_eq!(kind("bill.txt"), Kind::Words);
        assert!(Value::new("general").is_name() && !Value::new("room 101 b").is_name());
    }
}
