//! The arguments that an input schema names, down to a fixed depth.
//!
//! The schema is what the server says, so more found in it may only make things stricter. What cannot be followed
//! makes the whole of it unknown.

use serde_json::{Map, Value};

use super::argument::{Argument, Kind, Siblings};

/// How many steps into the arguments are followed: four objects, each in a list.
const DEEPEST: usize = 8;

/// How many schemas are looked at. The largest that real servers publish have some hundreds.
const MOST_SCHEMAS: usize = 4096;

/// How many references and alternatives may lead to one place, one inside the other.
const MOST_HOPS: usize = 16;

/// What an input schema tells.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// Every argument and every part of one that has a name, or lies in a list that has.
    pub(super) all: Vec<Argument>,
    /// Whether every part of the schema could be followed.
    pub(super) known: bool,
    /// Whether calls may hold values in places that are not among `all`.
    pub(super) open: bool,
}

/// Stands for what is not said.
static ANYTHING: Value = Value::Bool(true);

/// Reads the schema of a tool that moves or copies something, or does not. Of no schema, or of a text that is none, nothing is known.
pub(super) fn arguments(schema: Option<&str>, moves: bool) -> Arguments {
    let Some(root @ Value::Object(_)) = schema.and_then(|text| serde_json::from_str(text).ok()) else {
        return Arguments { open: true, ..Arguments::default() };
    };
    let mut walk =
        Walk { root: &root, moves, seen: 0, found: Arguments { known: true, ..Arguments::default() } };
    let place = walk.merge(&root, &[]);
    walk.found.open |= place.extends;
    walk.members(&place, &Step { pointer: "", name: "", depth: 0 });
    walk.found
}

struct Walk<'a> {
    root: &'a Value,
    /// The tool moves or copies something.
    moves: bool,
    seen: usize,
    found: Arguments,
}

/// Everything that is said of one place.
#[derive(Default)]
struct Place<'a> {
    types: Vec<&'a str>,
    /// Its members by name.
    properties: Vec<(&'a str, &'a Value)>,
    /// The items of a list.
    items: Vec<&'a Value>,
    /// The members of a map whose keys are not said.
    values: Vec<&'a Value>,
    /// Members that are not said are allowed explicitly.
    extends: bool,
    /// A format, a pattern or an example says that it is an address on the network.
    url: bool,
    /// A format says that it is somebody's address.
    address: bool,
    /// A format says that it is a time.
    time: bool,
    /// The values are listed.
    listed: bool,
    /// The references on the way here.
    references: Vec<&'a str>,
}

/// Where a walk is.
#[derive(Clone, Copy)]
struct Step<'s> {
    pointer: &'s str,
    /// The nearest name: an item of a list has the name of the list.
    name: &'s str,
    depth: usize,
}

// === impl Walk ===

impl<'a> Walk<'a> {
    /// Looks at one place and what is in it.
    fn place(&mut self, schema: &'a Value, step: &Step<'_>, beside: Siblings, references: &[&'a str]) {
        let place = self.merge(schema, references);
        let kind = place.kind();
        let is_leaf = place.properties.is_empty() && !place.may_be_list();
        self.found.open |= place.is_open();
        let mut argument = Argument::new(step.pointer, step.name, beside, kind, is_leaf);
        argument.url |= place.url;
        argument.address |= place.address;
        (argument.listed, argument.time) = (place.listed, place.time);
        self.found.all.push(argument);
        self.members(&place, step);
    }

    /// Looks at what is in a place.
    fn members(&mut self, place: &Place<'a>, step: &Step<'_>) {
        let siblings = Siblings::new(place.properties.iter().map(|(name, _)| *name), self.moves);
        let below = |name: &str| {
            let separator = if step.pointer.is_empty() { "" } else { "/" };
            format!("{}{separator}{}", step.pointer, name.replace('~', "~0").replace('/', "~1"))
        };
        let unsaid = place.may_be_list() && place.items.is_empty();
        let items = place.items.iter().chain(&place.values).copied().chain(unsaid.then_some(&ANYTHING));
        let named = place.properties.iter().map(|(name, schema)| (*name, Some(*name), *schema));
        for (token, name, schema) in named.chain(items.map(|schema| ("*", None, schema))) {
            if step.depth >= DEEPEST || self.seen > MOST_SCHEMAS {
                self.found.known = false;
                return;
            }
            let pointer = below(token);
            let next = Step { pointer: &pointer, name: name.unwrap_or(step.name), depth: step.depth + 1 };
            let beside = if name.is_some() { siblings } else { Siblings::Other };
            self.place(schema, &next, beside, &place.references);
        }
    }

    /// Everything that a schema says of one place, with its alternatives and references.
    fn merge(&mut self, schema: &'a Value, references: &[&'a str]) -> Place<'a> {
        let mut place = Place { references: references.to_vec(), ..Place::default() };
        self.add(schema, &mut place, 0);
        place
    }

    fn add(&mut self, schema: &'a Value, place: &mut Place<'a>, hops: usize) {
        self.seen += 1;
        let map = match schema {
            Value::Object(map) if self.seen <= MOST_SCHEMAS && hops <= MOST_HOPS => map,
            Value::Bool(_) => return,
            _ => return self.found.known = false,
        };
        place.add(map);
        let maps =
            ["properties", "patternProperties", "dependentSchemas"].iter().filter_map(|key| map.get(*key));
        if maps.into_iter().any(|value| !value.is_object())
            || map.contains_key("$dynamicRef")
            || map.contains_key("$recursiveRef")
        {
            self.found.known = false;
        }
        if let Some(reference) = map.get("$ref") {
            self.follow(reference, place, hops);
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            match map.get(key) {
                None => {}
                Some(Value::Array(all)) => all.iter().for_each(|schema| self.add(schema, place, hops + 1)),
                Some(_) => self.found.known = false,
            }
        }
        for schema in ["if", "then", "else"].iter().filter_map(|key| map.get(*key)) {
            self.add(schema, place, hops + 1);
        }
        for all in ["dependentSchemas", "dependencies"].iter().filter_map(|key| map.get(*key)?.as_object()) {
            // Where a dependency is a list of names, it says nothing of their schemas.
            for schema in all.values().filter(|schema| !schema.is_array()) {
                self.add(schema, place, hops + 1);
            }
        }
    }

    /// Follows a reference inside the schema. One that leads back to where it was followed before says nothing new, but
    /// there is no end to the places.
    fn follow(&mut self, reference: &'a Value, place: &mut Place<'a>, hops: usize) {
        let Some(reference) = reference.as_str() else { return self.found.known = false };
        if place.references.contains(&reference) {
            return self.found.open = true;
        }
        match reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)) {
            Some(schema) => {
                place.references.push(reference);
                self.add(schema, place, hops + 1);
            }
            None => self.found.known = false,
        }
    }
}

// === impl Place ===

impl<'a> Place<'a> {
    /// Adds what one schema says itself.
    fn add(&mut self, schema: &'a Map<String, Value>) {
        match schema.get("type") {
            Some(Value::String(kind)) => self.types.push(kind),
            Some(Value::Array(kinds)) => self.types.extend(kinds.iter().filter_map(Value::as_str)),
            _ => {}
        }
        if let Some(Value::Object(properties)) = schema.get("properties") {
            self.properties.extend(properties.iter().map(|(name, schema)| (name.as_str(), schema)));
        }
        for key in ["items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"] {
            match schema.get(key) {
                Some(Value::Array(all)) => self.items.extend(all),
                Some(one @ Value::Object(_)) => self.items.push(one),
                _ => {}
            }
        }
        for key in ["additionalProperties", "unevaluatedProperties"] {
            match schema.get(key) {
                Some(Value::Bool(true)) => self.extends = true,
                Some(one @ Value::Object(_)) => self.values.push(one),
                _ => {}
            }
        }
        if let Some(Value::Object(patterns)) = schema.get("patternProperties") {
            self.values.extend(patterns.values());
        }
        self.listed |= schema.contains_key("enum") || schema.contains_key("const");
        self.add_format(schema);
    }

    fn add_format(&mut self, schema: &Map<String, Value>) {
        match schema.get("format").and_then(Value::as_str).unwrap_or_default() {
            "uri" | "url" | "uri-reference" | "uri-template" | "iri" | "iri-reference" | "hostname"
            | "idn-hostname" | "ipv4" | "ipv6" => self.url = true,
            "email" | "idn-email" | "phone" => self.address = true,
            "date" | "date-time" | "time" | "duration" => self.time = true,
            _ => {}
        }
        let shown =
            ["pattern", "default", "examples", "example", "const"].iter().filter_map(|key| schema.get(*key));
        self.url |= shown.flat_map(texts).any(|text| text.contains("http://") || text.contains("https"));
    }

    fn is(&self, kind: &str) -> bool {
        self.types.contains(&kind)
    }

    fn kind(&self) -> Kind {
        let only = |kinds: &[&str]| {
            self.types.iter().any(|kind| *kind != "null")
                && self.types.iter().all(|kind| *kind == "null" || kinds.contains(kind))
        };
        if only(&["boolean"]) {
            Kind::Boolean
        } else if only(&["number", "integer"]) {
            Kind::Number
        } else {
            Kind::Other
        }
    }

    /// Whether it may be a list.
    fn may_be_list(&self) -> bool {
        self.is("array") || !self.items.is_empty()
    }

    /// Whether there may be something in it that is not said: the members of an object, the keys of a map, or what it
    /// is at all.
    fn is_open(&self) -> bool {
        let untyped = self.types.is_empty() && !self.listed && !self.url && !self.address;
        let says_members = !self.properties.is_empty() || !self.items.is_empty();
        self.extends || !self.values.is_empty() || !says_members && (untyped || self.is("object"))
    }
}

/// The texts in a value and in the list that it may be.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
