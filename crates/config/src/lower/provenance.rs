//! What vouches for the arguments of a call: own addresses, people, what replies list, and bounds on numbers.

use std::sync::Arc;

use highwater_core::annotation::{Cap, Caps};
use highwater_core::provenance::RecordShape;
use highwater_notation::Pointer;
use highwater_notation::suggest::choose;

use super::{Lowering, Refused};
use crate::file::words::ProvenanceWord;
use crate::file::{ConfigFile, DirectoryFile, RecordsFile};
use crate::human::Scalar;
use crate::node::Span;
use crate::read::{Entries, Field, OneOrMany, Written};
use crate::settings::DirectoryEntry;

impl Lowering<'_> {
    /// The operator's own addresses.
    pub(super) fn identity(&self, file: &ConfigFile) -> Vec<String> {
        self.each(&file.identity, |address| match address.value.trim() {
            "" => Err(Refused::new("`identity` has an empty address", "remove it, or write your address")),
            address => Ok(address.to_owned()),
        })
    }

    /// The directory. `names` are all servers that were written.
    pub(super) fn directory(&self, file: &ConfigFile, names: &[&str]) -> Vec<DirectoryEntry> {
        let entries = file.directory.value().into_iter().flatten();
        entries.filter_map(|entry| self.directory_entry(entry.span, &entry.value, names)).collect()
    }

    fn directory_entry(&self, at: Span, file: &DirectoryFile, names: &[&str]) -> Option<DirectoryEntry> {
        match (file.tool.read(), &file.name, &file.address) {
            (Some(tool), Field::Absent, Field::Absent) => self.directory_tool(tool, names),
            (Some(tool), ..) => {
                let message = "an entry of `directory` is a tool or a person, and this one is both";
                self.report(tool.span, message, "make two entries of it");
                None
            }
            (None, name, address) => {
                let broken = |field: &Field<_>| matches!(field, Field::Broken);
                if matches!(file.tool, Field::Broken) || broken(name) || matches!(address, Field::Broken) {
                    return None;
                }
                let name = name.value().map(|name| name.trim()).filter(|name| !name.is_empty());
                let addresses: Vec<String> = address
                    .value()
                    .into_iter()
                    .flat_map(|OneOrMany(all)| all)
                    .map(|address| address.value.trim().to_owned())
                    .filter(|address| !address.is_empty())
                    .collect();
                match (name, addresses.is_empty()) {
                    (Some(name), false) => Some(DirectoryEntry::Person { name: name.to_owned(), addresses }),
                    _ => {
                        self.report(
                            at,
                            "an entry of `directory` has a `name` and an `address`, or a `tool`",
                            "write `{ name: Grace Hopper, address: grace@example.com }` or `{ tool: mail:list_contacts }`",
                        );
                        None
                    }
                }
            }
        }
    }

    fn directory_tool(&self, tool: &Written<String>, names: &[&str]) -> Option<DirectoryEntry> {
        let Some((server, own)) =
            tool.value.split_once(':').filter(|(server, own)| !server.is_empty() && !own.is_empty())
        else {
            self.report(
                tool.span,
                format!("`tool` in `directory`: `{}` names no server", tool.value),
                "write it as `SERVER:TOOL`, by the server's own name for the tool",
            );
            return None;
        };
        if !names.contains(&server) {
            let message = format!("unknown server `{server}` in `directory`");
            self.report(tool.span, message, choose(server, names));
            return None;
        }
        Some(DirectoryEntry::Tool { server: server.to_owned(), tool: own.to_owned() })
    }

    /// What the replies of a tool list.
    pub(super) fn records(
        &self,
        subject: &str,
        field: &Field<RecordsFile>,
        written: &mut String,
    ) -> Option<Arc<RecordShape>> {
        let said = field.read()?;
        let file = &said.value;
        let one = |key: &str, field: &Field<String>| -> Option<Arc<str>> {
            let text = field.read()?;
            match text.value.trim() {
                "" => {
                    let message = format!("`{key}` in `records` of {subject} is empty");
                    self.report(text.span, message, format!("write a word, or remove `{key}`"));
                    None
                }
                text => Some(text.into()),
            }
        };
        let many = |field: &Field<Vec<Written<String>>>| -> Vec<Arc<str>> {
            self.each(field, |name| Ok(name.value.clone())).iter().map(|name| name.as_str().into()).collect()
        };
        let shape = RecordShape {
            kind: one("kind", &file.kind),
            id: one("id", &file.id),
            names: many(&file.names),
            attested: many(&file.attested),
        };
        let says_nothing = [&file.kind, &file.id].iter().all(|field| matches!(field, Field::Absent))
            && [&file.names, &file.attested].iter().all(|field| matches!(field, Field::Absent));
        if says_nothing {
            let help = "say what it lists, such as `{ kind: mail, attested: [sender] }`, or remove the key";
            self.report(said.span, format!("`records` of {subject} say nothing"), help);
        }
        written.push_str(&format!("; records {shape:?}"));
        Some(Arc::new(shape))
    }

    /// The bounds on numbers.
    pub(super) fn caps(
        &self,
        subject: &str,
        field: &Field<Entries<Written<Scalar>>>,
        written: &mut String,
    ) -> Caps {
        let caps: Caps = field
            .value()
            .into_iter()
            .flat_map(|Entries(all)| all)
            .filter_map(|(argument, most)| self.cap(subject, argument, most))
            .collect();
        if !caps.is_empty() {
            written.push_str(&format!("; caps {caps:?}"));
        }
        caps
    }

    fn cap(&self, subject: &str, argument: &Written<String>, most: &Written<Scalar>) -> Option<Cap> {
        let path = argument.value.strip_prefix('/').unwrap_or(&argument.value);
        let pointer = Pointer::parse(path);
        if pointer.is_none() {
            self.report(
                argument.span,
                format!("`{}` in `caps` of {subject} names no argument", argument.value),
                "write the name of an argument, or a pointer such as `/items/*/price`",
            );
        }
        let number = serde_json::from_str::<serde_json::Number>(&most.value.0).ok();
        if number.is_none() {
            self.report(
                most.span,
                format!("the cap on `{}` of {subject} is no number: `{}`", argument.value, most.value.0),
                "write a number such as `100` or `0.5`",
            );
        }
        Some(Cap { argument: pointer?.as_str().into(), most: number? })
    }
}

/// Whether calls are judged by where their arguments come from.
pub(super) fn is_on(field: &Field<ProvenanceWord>, otherwise: bool) -> bool {
    field.value().map_or(otherwise, |word| *word == ProvenanceWord::On)
}
