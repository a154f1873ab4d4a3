//! What the operator says about a tool, a resource or a prompt. It replaces what the server says.

use std::borrow::Cow;
use std::fmt;

use highwater_core::annotation::class_name;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

use super::provenance::RecordsFile;
use super::words::{ApprovalWord, ConfidentialityWord, DestinationWord, OutcomeWord, RoleWord, SourceWord};
use crate::human::Scalar;
use crate::read::{Entries, Field, OneOrMany, Tree, Written};

/// What the operator says about a tool. What is written replaces what the server says; what is not, stays.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "label")]
pub(crate) struct LabelFile {
    /// What becomes of the arguments.
    pub(crate) input_metadata: Field<InputMetadataFile>,

    /// What the replies hold.
    pub(crate) return_metadata: Field<ReturnMetadataFile>,

    /// Whether the tool only looks. It is then called with `call_tool_read`; tools of which nobody that you trust says
    /// this need `call_tool_write`.
    pub(crate) read_only_hint: Field<bool>,

    /// Whether the tool destroys something. It then needs `call_tool_destructive`.
    pub(crate) destructive_hint: Field<bool>,

    /// Whether calling it twice does no more than calling it once. Such a call is sent again when the connection to its
    /// server fails; see `retry` of the server.
    pub(crate) idempotent_hint: Field<bool>,

    /// Whether it deals with strangers: their text comes back, and they may see what is sent.
    pub(crate) open_world_hint: Field<bool>,

    /// SAMOS' word for what is read: `low` if it is public, `high` if it is not. A list means that it may be either.
    #[serde(rename = "read_confidentiality")]
    pub(crate) read_confidentiality: Field<OneOrMany<ConfidentialityWord>>,

    /// SAMOS' word for where arguments end up: `low` if that is public, `high` if it is not. A list means that it may be
    /// either.
    #[serde(rename = "write_confidentiality")]
    pub(crate) write_confidentiality: Field<OneOrMany<ConfidentialityWord>>,

    /// What the tool's process touches, in place of what its server declares. It says what rules see and can make the
    /// label stricter; it confines nothing.
    #[schemars(extend("examples" = [{ "network": ["api.example.com"], "filesystem": false }]))]
    pub(crate) capabilities: Field<CapabilitiesFile>,

    /// Whether a person must agree to every call.
    pub(crate) approval: Field<ApprovalWord>,

    /// What a call of it does, in a sentence for whoever is asked about one. `{NAME}` stands for the argument of that name,
    /// `{{` for a brace.
    #[schemars(extend("examples" = ["Transfer {amount} EUR to {to}"]))]
    pub(crate) display: Field<String>,

    /// What each argument decides, by its name, or by its pointer such as `/message/to`.
    #[schemars(extend("examples" = [{ "to": "target", "body": "content" }]))]
    pub(crate) roles: Field<Entries<Written<RoleWord>>>,

    /// The largest number that each argument may be without a person being asked, by its name, or by its pointer such as
    /// `/items/*/price`. It holds in every flow mode.
    #[schemars(with = "std::collections::BTreeMap<String, f64>")]
    #[schemars(extend("examples" = [{ "amount": 100 }]))]
    pub(crate) caps: Field<Entries<Written<Scalar>>>,

    /// Which things its replies list, and which of their fields its server itself writes.
    #[schemars(extend("examples" = [{ "kind": "mail", "id": "id", "names": ["subject"], "attested": ["sender"] }]))]
    pub(crate) records: Field<RecordsFile>,

    /// What holds for some calls alone, by their arguments. A case narrows what stands above it; the first that
    /// certainly applies is taken. Cases that could apply to one call must not contradict each other.
    pub(crate) cases: Field<Vec<Written<CaseFile>>>,

    /// What holds for some replies alone, by what stands in them. A case narrows what stands above it.
    pub(crate) result: Field<Vec<Written<ResultCaseFile>>>,
}

/// What a tool's process touches: `true` for everything, `false` or an empty list for nothing, or a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "capabilities")]
pub(crate) struct CapabilitiesFile {
    /// The hosts it reaches.
    pub(crate) network: Field<ReachFile>,

    /// The paths it reads or writes.
    pub(crate) filesystem: Field<ReachFile>,

    /// The environment variables it reads.
    pub(crate) environment: Field<ReachFile>,

    /// The programs it runs.
    pub(crate) execution: Field<ReachFile>,

    /// The libraries it loads.
    pub(crate) software_libraries: Field<ReachFile>,
}

/// How far one of them reaches.
#[derive(Debug, Clone)]
pub(crate) enum ReachFile {
    /// Everywhere or nowhere.
    Flag(bool),
    /// To these.
    Only(Vec<Written<Scalar>>),
}

/// What becomes of the arguments of a call.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "inputMetadata")]
pub(crate) struct InputMetadataFile {
    /// Where they may end up. A list means that it may be any of them.
    pub(crate) destination: Field<OneOrMany<DestinationWord>>,

    /// Which classes of data the tool is built to receive: `none`, `user`, `pii`, `financial`, `credentials`,
    /// `regulated`, or `any` for everything, data that nobody classified included. `{ regulated: { scopes: [hipaa]
    /// } }` names regulations, `com.example.project-x` is a class of your own.
    #[schemars(extend("examples" = ["none", ["user", "pii"]]))]
    pub(crate) sensitivity: Field<OneOrMany<ClassFile>>,

    /// What the call does to the world. A list means that it may be any of them.
    pub(crate) outcomes: Field<OneOrMany<OutcomeWord>>,
}

/// What replies hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "returnMetadata")]
pub(crate) struct ReturnMetadataFile {
    /// Where they come from. A list means that it may be any of them.
    pub(crate) source: Field<OneOrMany<SourceWord>>,

    /// Which classes of data they may hold: `none`, `user`, `pii`, `financial`, `credentials`, `regulated`,
    /// `confidential` for private data of no named class, `unclassified`. `{ regulated: { scopes: [hipaa] } }`
    /// names regulations, `com.example.project-x` is a class of your own.
    #[schemars(extend("examples" = ["none", ["user", "pii"]]))]
    pub(crate) sensitivity: Field<OneOrMany<ClassFile>>,
}

/// What holds for some calls alone.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "case")]
pub(crate) struct CaseFile {
    /// Which calls: tests on arguments, all of which must hold.
    #[schemars(schema_with = "super::rule::when_schema")]
    #[schemars(extend("examples" = [{ "arguments.repo": { "in": ["website", "docs"] } }]))]
    pub(crate) when: Field<Tree>,

    /// The same in the long form, with `and`, `or` and `not`.
    #[schemars(schema_with = "super::rule::condition_schema")]
    pub(crate) conditions: Field<Tree>,

    /// What becomes of their arguments.
    pub(crate) input_metadata: Field<InputMetadataFile>,

    /// What their replies hold.
    pub(crate) return_metadata: Field<ReturnMetadataFile>,

    /// SAMOS' word for what they read: `low` if it is public, `high` if it is not. A list means that it may be either.
    #[serde(rename = "read_confidentiality")]
    pub(crate) read_confidentiality: Field<OneOrMany<ConfidentialityWord>>,

    /// SAMOS' word for where their arguments end up: `low` if that is public, `high` if it is not. A list means that it
    /// may be either.
    #[serde(rename = "write_confidentiality")]
    pub(crate) write_confidentiality: Field<OneOrMany<ConfidentialityWord>>,

    /// What the tool's process touches in the course of them.
    #[schemars(extend("examples" = [{ "network": ["api.example.com"], "filesystem": false }]))]
    pub(crate) capabilities: Field<CapabilitiesFile>,

    /// Whether a person must agree to each.
    pub(crate) approval: Field<ApprovalWord>,
}

/// What holds for some replies alone.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "result_case")]
pub(crate) struct ResultCaseFile {
    /// Where to look, from the result object: `/structuredContent/private`, `/_meta/ifc/confidentiality`.
    #[schemars(extend("examples" = ["/structuredContent/private"]))]
    pub(crate) pointer: Field<String>,

    /// What must stand there: a text, a whole number, `true` or `false`.
    #[schemars(schema_with = "scalar_schema")]
    pub(crate) equals: Field<Tree>,

    /// What these replies hold.
    pub(crate) return_metadata: Field<ReturnMetadataFile>,

    /// SAMOS' word for what they hold: `low` if it is public, `high` if it is not. A list means that it may be either.
    #[serde(rename = "read_confidentiality")]
    pub(crate) read_confidentiality: Field<OneOrMany<ConfidentialityWord>>,
}

/// A class of data as it is written, or one of the words for none and for any.
#[derive(Debug, Clone)]
pub(crate) enum ClassFile {
    Word(String),
    /// A class of the operator's own, by its name.
    Own(String),
    /// Regulated data of these scopes.
    Regulated(Vec<Written<Scalar>>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RegulatedFile {
    scopes: Field<Vec<Written<Scalar>>>,
}

// === impl ClassFile ===

/// Every word that can stand where classes stand. Which of them fit is known only where they are used.
pub(crate) const CLASS_WORDS: &[&str] =
    &["none", "user", "pii", "financial", "credentials", "regulated", "confidential", "unclassified", "any"];

impl<'de> Deserialize<'de> for ClassFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ClassVisitor;

        impl<'de> Visitor<'de> for ClassVisitor {
            type Value = ClassFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a class of data")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<ClassFile, E> {
                match (CLASS_WORDS.contains(&word), class_name(word)) {
                    (true, _) => Ok(ClassFile::Word(word.to_owned())),
                    (false, Some(name)) => Ok(ClassFile::Own(name)),
                    (false, None) => Err(E::unknown_variant(word, CLASS_WORDS)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<ClassFile, A::Error> {
                let help = "only `{ regulated: { scopes: […] } }` is written as a mapping\nwrite the class as a word";
                match members.next_key::<String>()?.as_deref() {
                    Some("regulated") => {
                        let regulated: RegulatedFile = members.next_value()?;
                        if members.next_key::<String>()?.is_some() {
                            return Err(de::Error::custom(help));
                        }
                        Ok(ClassFile::Regulated(regulated.scopes.value().cloned().unwrap_or_default()))
                    }
                    _ => Err(de::Error::custom(help)),
                }
            }
        }

        deserializer.deserialize_any(ClassVisitor)
    }
}

impl JsonSchema for ClassFile {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "class".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "enum": CLASS_WORDS },
                { "type": "string", "pattern": "^[a-zA-Z0-9-]+(\\.[a-zA-Z0-9-]+)+$" },
                {
                    "type": "object",
                    "properties": {
                        "regulated": {
                            "type": "object",
                            "properties": { "scopes": { "type": "array", "items": { "type": "string" } } },
                            "additionalProperties": false
                        }
                    },
                    "required": ["regulated"],
                    "additionalProperties": false
                }
            ]
        })
    }
}

// === impl ReachFile ===

/// What is said of a value that is neither.
const NO_REACH: &str = "what a tool touches is `true`, `false` or a list\nwrite `[…]` with what it touches";

impl<'de> Deserialize<'de> for ReachFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReachVisitor;

        impl<'de> Visitor<'de> for ReachVisitor {
            type Value = ReachFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, `false` or a list")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<ReachFile, E> {
                Ok(ReachFile::Flag(flag))
            }

            fn visit_str<E: de::Error>(self, _: &str) -> Result<ReachFile, E> {
                Err(E::custom(NO_REACH))
            }

            fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<ReachFile, A::Error> {
                Err(de::Error::custom(NO_REACH))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ReachFile, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = items.next_element()? {
                    names.push(name);
                }
                Ok(ReachFile::Only(names))
            }
        }

        deserializer.deserialize_any(ReachVisitor)
    }
}

impl JsonSchema for ReachFile {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "reach".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "boolean" }, { "type": "array", "items": { "type": "string" } }] })
    }
}

fn scalar_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "integer", "boolean"] })
}
