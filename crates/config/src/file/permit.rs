//! The keys of a permit: what an agent that nobody watches may do by itself.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use crate::read::{Field, Tree};

/// What an agent may do without anybody being asked, also after it has read what strangers may have written. It answers
/// what a confirmation answers, and never what takes a passkey: it is no signature.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "permit")]
pub(crate) struct PermitFile {
    /// The token whose calls it is for, by name.
    #[schemars(required)]
    #[schemars(extend("examples" = ["nightly"]))]
    pub(crate) token: Field<String>,

    /// The tool, as `SERVER:TOOL`, by its server's own name.
    #[schemars(required)]
    #[schemars(extend("examples" = ["mail:send"]))]
    pub(crate) tool: Field<String>,

    /// What each argument may be: `const` (one value), `enum` (one of several), `min` and `max` (a number), `prefix` and
    /// `max_length` (a text). What is not named may not be there, and what is named must be. Whatever says what is acted on
    /// or where must be fixed by `const` or `enum`; a limit holds only for an argument of which the tool's definition names
    /// the type.
    #[schemars(schema_with = "arguments_schema")]
    #[schemars(extend("examples" = [{ "to": { "enum": ["ada@example.com"] }, "body": { "max_length": 4000 } }]))]
    pub(crate) arguments: Field<Tree>,

    /// The last day on which it permits anything, in UTC.
    #[schemars(required)]
    #[schemars(with = "String", extend("format" = "date", "examples" = ["2027-01-31"]))]
    pub(crate) until: Field<String>,
}

fn arguments_schema(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "additionalProperties": false,
            "minProperties": 1,
            "properties": {
                "const": {},
                "enum": { "type": "array", "minItems": 1 },
                "min": { "type": "number" },
                "max": { "type": "number" },
                "prefix": { "type": "string" },
                "max_length": { "type": "integer", "minimum": 0 },
            },
        },
        "default": {},
    })
}
