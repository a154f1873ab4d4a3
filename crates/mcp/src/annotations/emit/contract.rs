//! A contract as clients see it, in the spelling of SEP-1913 so that they can lift it out.

use highwater_core::annotation::{Accepts, Axis, Contract, DataClass, Sensitivity};
use highwater_notation::Words;

use super::{push_classes, push_list, push_words};
use crate::text::elements;

/// The axes that say who established them.
const BASED: [Axis; 5] = [Axis::Destination, Axis::Accepts, Axis::Outcomes, Axis::Source, Axis::Returns];

/// The contract as JSON text.
///
/// `confidential` and the operator's own classes show as a high reading confidentiality, `unclassified` as an undeclared
/// sensitivity: they are no words of SEP-1913.
pub fn contract_json(contract: &Contract) -> String {
    let mut out = String::with_capacity(512);
    out.push_str(r#"{"v":1,"inputMetadata":{"destination":"#);
    push_words(&mut out, contract.destination().members());
    out.push_str(r#","sensitivity":"#);
    push_accepts(&mut out, contract.accepts());
    out.push_str(r#","outcomes":"#);
    push_words(&mut out, contract.outcomes().members());
    out.push_str(r#"},"returnMetadata":{"source":"#);
    push_words(&mut out, contract.source().members());
    out.push_str(r#","sensitivity":"#);
    push_sensitivity(&mut out, &returned(contract));
    out.push_str(r#"},"readConfidentiality":""#);
    out.push_str(contract.read_confidentiality().as_str());
    out.push_str(r#"","writeConfidentiality":""#);
    out.push_str(contract.write_confidentiality().as_str());
    out.push_str(r#"","approval":""#);
    out.push_str(contract.approval().as_str());
    out.push_str(r#"","basis":{"#);
    for (place, axis) in BASED.into_iter().enumerate() {
        out.push_str(if place == 0 { "\"" } else { ",\"" });
        out.push_str(axis.short());
        out.push_str("\":\"");
        out.push_str(contract.basis(axis).as_str());
        out.push('"');
    }
    out.push_str(r#"},"undeclared":"#);
    push_words(&mut out, contract.undeclared());
    out.push('}');
    out
}

/// What the possible sets of a tool come to for one call: `inputMetadata` and `returnMetadata` as SEP-1913 has them in a
/// resolved tool, where a single value is no list.
pub(super) fn resolved_metadata(contract: &Contract) -> (String, String) {
    let (mut input, mut returned_data) = (String::with_capacity(128), String::with_capacity(128));
    input.push_str(r#"{"destination":"#);
    push_single(&mut input, |out| push_words(out, contract.destination().members()));
    input.push_str(r#","sensitivity":"#);
    push_single(&mut input, |out| push_accepts(out, contract.accepts()));
    input.push_str(r#","outcomes":"#);
    push_single(&mut input, |out| push_words(out, contract.outcomes().members()));
    input.push('}');
    returned_data.push_str(r#"{"source":"#);
    push_single(&mut returned_data, |out| push_words(out, contract.source().members()));
    returned_data.push_str(r#","sensitivity":"#);
    push_single(&mut returned_data, |out| push_sensitivity(out, &returned(contract)));
    returned_data.push('}');
    (input, returned_data)
}

/// Writes a list, or its only member.
fn push_single(out: &mut String, push: impl FnOnce(&mut String)) {
    let mut list = String::with_capacity(32);
    push(&mut list);
    let mut items = elements(&list);
    match (items.next(), items.next()) {
        (Some(only), None) => out.push_str(only),
        _ => out.push_str(&list),
    }
}

/// What replies hold, with what their source adds.
fn returned(contract: &Contract) -> Sensitivity {
    let added = contract.reply_label().classes().minus(contract.returns().classes());
    contract.returns().clone().and(&Sensitivity::of(added.iter()))
}

/// A tool that nobody described is built to receive nothing sensitive.
fn push_accepts(out: &mut String, accepts: &Accepts) {
    match accepts {
        Accepts::Unknown => push_sensitivity(out, &Sensitivity::none()),
        Accepts::Only(classes) => push_sensitivity(out, classes),
        Accepts::Any => push_sensitivity(out, &Sensitivity::of(published().iter())),
    }
}

fn push_sensitivity(out: &mut String, sensitivity: &Sensitivity) {
    let classes = sensitivity.classes().intersection(published());
    if !sensitivity.may_be_none() {
        return push_classes(out, classes, sensitivity.scopes());
    }
    if classes.is_empty() {
        return push_list(out, ["none"].iter(), |out, _| out.push_str("\"none\""));
    }
    let mut list = String::new();
    push_classes(&mut list, classes, sensitivity.scopes());
    out.push_str("[\"none\",");
    out.push_str(list.strip_prefix('[').unwrap_or_default());
}

/// The classes that SEP-1913 knows.
fn published() -> Words<DataClass> {
    Words::all().without(DataClass::Confidential).without(DataClass::Unclassified).without(DataClass::Named)
}
