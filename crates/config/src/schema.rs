//! The JSON Schema of the file, made from the shapes and their doc comments.

use serde_json::Value;

use crate::file::ConfigFile;

/// The JSON Schema of the configuration file.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(ConfigFile).to_value();
    unwrap_descriptions(&mut schema);
    schema
}

/// Doc comments are broken into lines for the source; a description keeps only its paragraphs.
fn unwrap_descriptions(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                match member {
                    Value::String(text) if key == "description" => {
                        let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
                        *text = paragraphs.collect::<Vec<_>>().join("\n\n");
                    }
                    other => unwrap_descriptions(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unwrap_descriptions),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
