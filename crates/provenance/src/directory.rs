//! People whom the operator knows, and the user's own addresses.

use std::collections::{BTreeMap, BTreeSet};

use highwater_core::provenance::People;
use serde_json::Value;

use crate::Body;
use crate::carrier::mail;
use crate::kept::Documents;
use crate::normal::{composed, normal, spaced, words};

/// The most addresses of a directory. Who comes later is not in it.
pub const DIRECTORY_ENTRIES: usize = 16 * 1024;

/// Own identities, and the addresses of people by name.
#[derive(Clone, Debug)]
pub struct Directory {
    /// Whom a given name may stand for.
    pub people: People,
    identities: BTreeSet<String>,
    addresses: AddressBook,
}

/// Addresses by the names of people: whole ones, and each word of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressBook {
    by_name: BTreeMap<String, BTreeSet<String>>,
    entries: usize,
}

// === impl Directory ===

impl Directory {
    /// A directory of the user's own addresses and accounts (`identity:`), without anybody else.
    pub fn new<'a>(identities: impl IntoIterator<Item = &'a str>, people: People) -> Self {
        let forms = |identity: &str| [Some(normal(identity)), crate::carrier::code(&composed(identity))];
        let identities = identities.into_iter().flat_map(forms).flatten();
        let identities = identities.filter(|identity| !identity.contains('*')).collect();
        Self { people, identities, addresses: AddressBook::default() }
    }

    /// Adds a person.
    pub fn add(&mut self, name: &str, address: &str) {
        self.addresses.add(name, address);
    }

    /// Adds everybody of a lookup that the operator trusts (`directory: [{tool: …}]`): the values that are addresses.
    /// Addresses in running text are not taken, for strangers are quoted there.
    pub fn read(&mut self, reply: &Body) {
        for (_, document) in &Documents::read(reply).structured {
            self.document(document);
        }
    }

    fn document(&mut self, document: &Value) {
        match document {
            Value::Object(fields) => {
                let own: Vec<&str> =
                    fields.values().filter_map(Value::as_str).filter(|text| mail(text).is_some()).collect();
                let names = fields.iter().filter(|(field, _)| field.to_ascii_lowercase().ends_with("name"));
                if let [address] = own.as_slice() {
                    names.filter_map(|(_, value)| value.as_str()).for_each(|name| self.add(name, address));
                }
                fields.iter().for_each(|(key, value)| {
                    self.value(key);
                    self.document(value);
                });
            }
            Value::Array(rows) => rows.iter().for_each(|row| self.document(row)),
            Value::String(text) => self.value(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// `ann@a.example` or `Ann <ann@a.example>`.
    fn value(&mut self, text: &str) {
        let (name, address) = match text.strip_suffix('>').and_then(|text| text.split_once('<')) {
            Some((name, address)) => (name, address),
            None => ("", text),
        };
        if mail(&composed(address)).is_some() {
            self.add(name, address);
        }
    }

    /// Whether a value, in its normal form, is the user's own.
    pub(crate) fn is_own(&self, normal: &str) -> bool {
        self.identities.contains(normal)
    }

    pub(crate) fn addresses(&self) -> &AddressBook {
        &self.addresses
    }
}

// === impl AddressBook ===

impl AddressBook {
    /// Adds a person, by name and by the words of the address itself.
    pub(crate) fn add(&mut self, name: &str, address: &str) {
        let address = normal(address);
        let local = address.split('@').next().unwrap_or_default();
        if self.entries >= DIRECTORY_ENTRIES {
            return;
        }
        self.entries += 1;
        let whole = spaced(name);
        let local = spaced(local);
        let parts: BTreeSet<&str> = words(&whole)
            .chain(words(&local))
            .filter(|word| word.chars().count() > 1 && !word.contains(char::is_numeric))
            .collect();
        for key in parts
            .into_iter()
            .chain([whole.as_str(), local.as_str()].into_iter().filter(|key| !key.is_empty()))
        {
            self.by_name.entry(key.to_owned()).or_default().insert(address.clone());
        }
    }

    /// Whether the address is known at all.
    pub(crate) fn has(&self, address: &str) -> bool {
        self.by_name.values().any(|addresses| addresses.contains(address))
    }

    /// The names that stand for this address alone.
    pub(crate) fn names_of<'a>(&'a self, address: &'a str) -> impl Iterator<Item = &'a str> {
        let is_it = move |addresses: &BTreeSet<String>| addresses.len() == 1 && addresses.contains(address);
        self.by_name.iter().filter(move |(_, addresses)| is_it(addresses)).map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_an_address_only_if_no_other_has_it() {
        let mut directory = Directory::new(["me@a.example"], People::Directory);
        directory.add("Ann Lee", "ann.lee@a.example");
        directory.add("Ann Moore", "ann.moore@a.example");
        let names: Vec<&str> = directory.addresses().names_of("ann.lee@a.example").collect();
        assert_eq!(names, [" ann lee ", "lee"]);
        assert!(directory.is_own("me@a.example") && !directory.is_own("ann.lee@a.example"));
    }

    #[test]
    fn a_lookup_gives_the_values_that_are_addresses_and_none_of_running_text() {
        let mut directory = Directory::new([], People::Directory);
        let sent = r#"[{"recipients": ["bob@a.example"], "body": "he wrote: mail mark@evil.example", "cc": "Eve Ng <eve@a.example>"}]"#;
        directory.read(&Body::Text(sent.into()));
        assert!(directory.addresses().has("bob@a.example"));
        assert!(directory.addresses().names_of("eve@a.example").any(|name| name == " eve ng "));
        assert!(!directory.addresses().has("mark@evil.example"));
    }
}
