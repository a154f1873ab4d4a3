//! Records: things that a reply lists, with their ids, their names and what the platform says of them.
//!
//! They are read from structured results only, never from prose: whoever writes a text cannot make one.

use std::sync::Arc;

use highwater_core::provenance::RecordShape;
use serde_json::{Map, Value};

use crate::normal::{normal, spaced};
use crate::significance::significant_count;
use crate::text::without_ending;

/// The most records that are read from one reply. Where there are more, they are not all there is.
pub(crate) const MOST_RECORDS: usize = 4096;

/// How deep records are looked for.
const DEPTH: usize = 4;

/// The lengths of a string that names its record in a reply that no stranger could write.
const NAME_LENGTHS: std::ops::RangeInclusive<usize> = 4..=80;

/// A thing that a reply lists.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// Its id, in its normal form.
    pub(crate) id: String,
    /// What people call it.
    pub(crate) names: Vec<Name>,
    /// What the platform says of it, in normal form: people and accounts.
    pub(crate) attested: Vec<String>,
    /// Its sum of money.
    pub(crate) amounts: Vec<f64>,
}

/// One name of a record.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    /// In its normal form.
    pub(crate) normal: String,
    /// Its words, without the ending of a file.
    pub(crate) spaced: String,
    /// How many of them mean something.
    pub(crate) significant: usize,
}

/// The records of one document, and whether they are all there is.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) records: Vec<Record>,
    pub(crate) is_partial: bool,
}

/// Reads the records of a document. `limit` is the number of things that the call asked for at most.
pub(crate) fn read(
    document: &Value,
    shape: Option<&RecordShape>,
    trusted: bool,
    limit: Option<usize>,
    listing: &mut Listing,
) {
    let mut reader = Reader { shape, trusted, listing };
    reader.walk(document, None, DEPTH);
    let rows = longest_list(document);
    if limit.is_some_and(|limit| limit > 0 && rows >= limit) || says_more(document, rows) {
        listing.is_partial = true;
    }
}

/// Reads records.
struct Reader<'a> {
    shape: Option<&'a RecordShape>,
    trusted: bool,
    listing: &'a mut Listing,
}

// === impl Reader ===

impl Reader<'_> {
    fn walk(&mut self, node: &Value, key: Option<&str>, depth: usize) {
        if depth == 0 {
            return;
        }
        match node {
            Value::Object(fields) => {
                self.object(fields, key);
                for (name, value) in fields {
                    match value {
                        Value::Object(_) => self.walk(value, Some(name), depth - 1),
                        Value::Array(_) => self.walk(value, None, depth - 1),
                        _ => {}
                    }
                }
            }
            Value::Array(rows) => {
                for row in rows {
                    match row {
                        // Only a label says that strings are things, and then those of the list itself.
                        Value::String(text) if self.shape.is_some() && depth + 1 >= DEPTH => {
                            self.string(text)
                        }
                        row => self.walk(row, None, depth - 1),
                    }
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, record: Record) {
        if self.listing.records.len() == MOST_RECORDS {
            self.listing.is_partial = true;
        } else if !self
            .listing
            .records
            .iter()
            .any(|known| known.id == record.id && known.names.len() >= record.names.len())
        {
            self.listing.records.push(record);
        }
    }

    fn string(&mut self, text: &str) {
        if text.len() <= *NAME_LENGTHS.end() {
            self.push(Record {
                id: normal(text),
                names: Name::new(text).into_iter().collect(),
                attested: Vec::new(),
                amounts: Vec::new(),
            });
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, key: Option<&str>) {
        let Some((id_field, id)) = self.id(fields) else { return };
        let mut names: Vec<Name> = fields
            .iter()
            .filter(|(field, _)| self.is_name(field))
            .filter_map(|(_, value)| Name::new(value.as_str()?))
            .collect();
        if names.is_empty() {
            names.extend(key.and_then(Name::new));
        }
        if self.trusted {
            let others = fields.iter().filter(|(field, _)| **field != id_field && !self.is_name(field));
            names.extend(
                others
                    .filter_map(|(_, value)| value.as_str())
                    .filter(|text| is_label(text))
                    .filter_map(Name::new),
            );
        }
        let attested = self.shape.map(|shape| shape.attested.as_slice()).unwrap_or_default();
        let attested =
            attested.iter().filter_map(|field| fields.get(&**field)).flat_map(attested_values).collect();
        let amounts = fields
            .iter()
            .filter(|(field, _)| is_amount_name(field))
            .filter_map(|(_, value)| value.as_f64())
            .collect();
        self.push(Record { id: normal(&id), names, attested, amounts });
    }

    /// The field that tells a record apart, with its value.
    fn id(&self, fields: &Map<String, Value>) -> Option<(String, String)> {
        let text = |field: &str| fields.get(field).and_then(scalar_text).map(|text| (field.to_owned(), text));
        match self.shape.and_then(|shape| shape.id.as_deref()) {
            Some(field) => text(field),
            None => {
                let usual = fields.keys().find(|field| matches!(field.as_str(), "id" | "id_" | "_id"));
                usual.or_else(|| fields.keys().find(|field| is_id_name(field))).and_then(|field| text(field))
            }
        }
    }

    fn is_name(&self, field: &str) -> bool {
        match self.shape {
            Some(shape) if !shape.names.is_empty() => shape.names.iter().any(|name| **name == *field),
            _ => {
                let lower = field.to_ascii_lowercase();
                matches!(lower.as_str(), "name" | "title" | "subject" | "filename")
                    || lower.ends_with("_name")
                    || field.ends_with("Name")
            }
        }
    }
}

// === impl Name ===

impl Name {
    fn new(text: &str) -> Option<Self> {
        let normal = normal(text);
        let spaced = spaced(without_ending(&normal));
        let significant = significant_count(&spaced);
        (!spaced.is_empty() && normal.len() <= 4 * *NAME_LENGTHS.end()).then_some(Self {
            normal,
            spaced,
            significant,
        })
    }
}

/// A string or a number, as it is written.
pub(crate) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Whether a field holds an id.
pub(crate) fn is_id_name(field: &str) -> bool {
    let lower = field.to_ascii_lowercase();
    lower == "id"
        || lower == "id_"
        || lower.ends_with("_id")
        || field.ends_with("Id")
        || field.ends_with("ID") && field.len() > 2
}

/// Whether a field or an argument holds a sum of money.
pub(crate) fn is_amount_name(field: &str) -> bool {
    let words = crate::act::name_words(field);
    words.iter().any(|word| {
        matches!(word.as_str(), "amount" | "price" | "cost" | "fee" | "budget" | "fare" | "payment")
    })
}

/// What a field that the platform writes says: its values, or the keys of a map of people.
fn attested_values(field: &Value) -> Vec<String> {
    match field {
        Value::Object(map) => map.keys().map(|key| normal(key)).collect(),
        Value::Array(rows) => rows.iter().flat_map(attested_values).collect(),
        value => scalar_text(value).map(|text| normal(&text)).into_iter().collect(),
    }
}

/// Whether a string of a trusted record is a name of it: no number, date or essay.
fn is_label(text: &str) -> bool {
    NAME_LENGTHS.contains(&text.chars().count())
        && text.chars().any(char::is_alphabetic)
        && !text.starts_with(|letter: char| letter.is_ascii_digit())
}

fn longest_list(document: &Value) -> usize {
    match document {
        Value::Array(rows) => rows.len(),
        Value::Object(fields) => fields.values().filter_map(Value::as_array).map(Vec::len).max().unwrap_or(0),
        _ => 0,
    }
}

/// Whether a document says that there is more than it lists.
fn says_more(document: &Value, rows: usize) -> bool {
    let Value::Object(fields) = document else { return false };
    fields.iter().any(|(field, value)| {
        let plain: String = field
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        match plain.as_str() {
            "cursor" | "nextcursor" | "next" | "nextpage" | "nextpagetoken" | "nextlink" | "nexttoken"
            | "odatanextlink" | "hasmore" | "hasnext" | "hasnextpage" | "truncated" | "istruncated"
            | "more" => is_something(value),
            "total" | "totalcount" | "totalresults" | "totalitems" | "totalsize" => {
                value.as_u64().is_some_and(|total| usize::try_from(total).is_ok_and(|total| total > rows))
            }
            "pagination" | "pageinfo" | "paging" | "meta" | "page" => says_more(value, rows),
            _ => false,
        }
    })
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Object(_) | Value::Array(_) | Value::Bool(true) => true,
    }
}

/// What the records are of, where nobody says: the last noun of the tool that lists them, in the singular.
pub(crate) fn kind(shape: Option<&RecordShape>, tool: &str) -> Arc<str> {
    if let Some(kind) = shape.and_then(|shape| shape.kind.clone()) {
        return kind;
    }
    let words = crate::act::name_words(tool);
    let noun = words
        .iter()
        .take_while(|word| !matches!(word.as_str(), "by" | "for" | "in" | "with" | "from" | "of" | "to"))
        .last();
    noun.map(|noun| noun.strip_suffix('s').unwrap_or(noun)).unwrap_or_default().into()
}

/// Nouns that people use for the same things.
const SYNONYMS: &[&str] = &[
    "event meeting appointment call",
    "email mail message",
    "file document doc spreadsheet sheet presentation",
    "transaction payment transfer",
    "issue ticket bug",
    "task todo",
    "contact person",
    "channel room",
];

/// What people call things of a kind.
pub(crate) fn nouns(kind: &str) -> Vec<String> {
    let mut nouns = crate::act::name_words(kind);
    let is_of =
        |list: &&&str| list.split_ascii_whitespace().any(|noun| nouns.iter().any(|known| known == noun));
    let others: Vec<String> = SYNONYMS
        .iter()
        .filter(is_of)
        .flat_map(|list| list.split_ascii_whitespace())
        .map(str::to_owned)
        .collect();
    nouns.extend(others);
    nouns
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn listing(document: &Value, trusted: bool) -> Listing {
        let mut listing = Listing::default();
        read(document, None, trusted, None, &mut listing);
        listing
    }

    #[test]
    fn records_are_found_in_lists_in_wrapped_lists_and_in_maps_of_objects() {
        for document in [
            json!([{"id": 7, "title": "Team Lunch"}]),
            json!({"items": [{"event_id": "7", "name": "Team Lunch"}], "total": 1}),
            json!({"Team Lunch": {"id": 7}}),
        ] {
            let found = listing(&document, false);
            assert_eq!(found.records.len(), 1, "{document}");
            assert_eq!(found.records[0].id, "7");
            assert_eq!(found.records[0].names[0].spaced, " team lunch ");
            assert!(!found.is_partial);
        }
        assert!(listing(&json!(["general", "random"]), false).records.is_empty(), "only a label says so");
    }

    #[test]
    fn every_string_names_its_record_only_where_no_stranger_writes() {
        let document = json!([{"id": 7, "city": "Paris Nord", "text": "x".repeat(200), "on": "2024-05-15"}]);
        assert_eq!(listing(&document, true).records[0].names.len(), 1);
        assert!(listing(&document, false).records[0].names.is_empty());
    }

    #[test]
    fn a_list_that_goes_on_is_partial() {
        for document in [
            json!({"items": [{"id": 1}], "next_cursor": "x"}),
            json!({"items": [{"id": 1}], "has_more": true}),
            json!({"items": [{"id": 1}], "total": 2}),
            json!({"items": [{"id": 1}], "pageInfo": {"hasNextPage": true}}),
        ] {
            assert!(listing(&document, false).is_partial, "{document}");
        }
        let mut full = Listing::default();
        read(&json!([{"id": 1}, {"id": 2}]), None, false, Some(2), &mut full);
        assert!(full.is_partial, "as many as were asked for");
        assert!(
            !listing(&json!({"items": [{"id": 1}], "next_cursor": null, "has_more": false}), false)
                .is_partial
        );
    }

    #[test]
    fn what_the_platform_writes_is_attested_where_a_label_says_so() {
        let shape = RecordShape { attested: vec!["shared_with".into()], ..RecordShape::default() };
        let mut found = Listing::default();
        read(
            &json!([{"id": 1, "shared_with": {"Ann@a.example": "rw"}}]),
            Some(&shape),
            false,
            None,
            &mut found,
        );
        assert_eq!(found.records[0].attested, ["ann@a.example"]);
        assert_eq!(&*kind(None, "search_contacts_by_email"), "contact");
        assert_eq!(&*kind(None, "listFiles"), "file");
    }
}
