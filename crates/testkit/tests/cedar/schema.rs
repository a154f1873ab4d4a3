//! Cedar's schema, made from the fact table: an enumerated entity for each list of words, an action for each phase.

use std::fmt::Write as _;

use cedar_policy::Schema;
use highwater_core::policy::{FACTS, Fact, Kind, Phase};

use super::world::POINTERS;

/// A path as an identifier.
pub(super) fn identifier(path: &str) -> String {
    path.replace(['.', '/'], "_")
}

fn attribute(fact: &Fact) -> String {
    let name = identifier(fact.path);
    match fact.kind {
        Kind::Bool | Kind::Enum { .. } | Kind::OneOf(_) => {
            format!("{name}: {{possible: Set<{name}>, absent: Bool, unknown: Bool}}")
        }
        Kind::Set(_) => format!("{name}: {{members: Set<{name}>, maybe: Set<{name}>, unknown: Bool}}"),
        Kind::Int(..) => format!("{name}: {{least: Long, most: Long, unknown: Bool}}"),
        Kind::Str => format!("{name}: {{text: String, absent: Bool, unknown: Bool}}"),
        Kind::Open { .. } => format!("{name}: {{members: Set<String>, open: Bool, unknown: Bool}}"),
    }
}

pub(super) fn text() -> String {
    let mut text = String::from("entity Agent;\nentity Target;\n");
    for fact in FACTS {
        if let Some(words) = fact.kind.words() {
            writeln!(text, "entity {} enum {words:?};", identifier(fact.path)).unwrap();
        }
    }
    for phase in Phase::ALL {
        let mut attributes: Vec<String> =
            FACTS.iter().filter(|fact| fact.phases.has(phase)).map(attribute).collect();
        if phase != Phase::List {
            attributes.extend(POINTERS.iter().map(|path| {
                format!("{}: {{form: String, text: String, number: Long, flag: Bool}}", identifier(path))
            }));
        }
        writeln!(
            text,
            "action {:?} appliesTo {{ principal: Agent, resource: Target, context: {{\n  {}\n}} }};",
            phase.as_str(),
            attributes.join(",\n  ")
        )
        .unwrap();
    }
    text
}

pub(super) fn schema() -> Schema {
    let text = text();
    match Schema::from_cedarschema_str(&text) {
        Ok((schema, _warnings)) => schema,
        Err(error) => panic!("{error:?}\n{text}"),
    }
}
