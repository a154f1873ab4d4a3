//! The keys that say how calls are judged: trust, flow, clearance, and where the record of it is kept.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::label::ClassFile;
use super::words::TrustWord;
use crate::human::Period;
use crate::read::{Deliberate, Field, OneOrMany, Written};

/// How far a server is trusted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "trust")]
pub(crate) struct TrustFile {
    /// The trust that replies of its tools deserve. It counts only with `verified: true`; without that every
    /// reply counts as written by anyone.
    #[schemars(extend("default" = "none"))]
    pub(crate) server_trust: Field<TrustWord>,

    /// The trust that the contents of its resources deserve. A server passes on what others wrote, so raise this
    /// only if both the server and the data are yours. It counts only with `verified: true`.
    #[schemars(extend("default" = "none"))]
    pub(crate) resource_trust: Field<TrustWord>,

    /// You know this server and stand for it: what it says about its own tools may then make things easier, and
    /// not only stricter.
    #[schemars(extend("default" = false))]
    pub(crate) verified: Field<bool>,

    /// As `allowed_tools` of the server. It can be written in one of the two places.
    #[schemars(extend("type" = ["array", "null"], "default" = null))]
    pub(crate) allowed_tools: Deliberate<Vec<Written<String>>>,

    /// A name for people.
    #[schemars(extend("examples" = ["Internal MCP"]))]
    pub(crate) label: Field<String>,
}

/// What happens when private data, untrusted text and powerful tools are about to meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "flow")]
pub(crate) enum FlowWord {
    /// Nothing is stopped by the flow rules; what each mode would have done is recorded. Your own `rules` are enforced.
    Observe,
    /// Asks a person where a trusted session would send private data out or an untrusted one would act, and
    /// refuses to let an untrusted session send private data out.
    Balanced,
    /// Refuses private data where it may not go, refuses private reads to an untrusted session, and asks before
    /// an untrusted session acts or fetches anything public.
    Strict,
    /// The one-bit model of the SAMOS thesis, for comparison. It does not stop an untrusted session from acting.
    Samos,
}

/// Which classes of data may go to each kind of destination. What is not written stays as it was.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "clearance")]
pub(crate) struct ClearanceFile {
    /// Nothing is kept.
    #[schemars(extend("default" = "any"))]
    pub(crate) ephemeral: Field<OneOrMany<ClassFile>>,

    /// The platform keeps it; neither users nor developers see it.
    #[schemars(extend("default" = ["user", "pii", "financial", "regulated", "confidential"]))]
    pub(crate) system: Field<OneOrMany<ClassFile>>,

    /// Only the user sees it.
    #[schemars(extend("default" = ["user", "pii", "financial", "regulated", "confidential"]))]
    pub(crate) user: Field<OneOrMany<ClassFile>>,

    /// A restricted audience inside the organisation sees it.
    #[schemars(extend("default" = ["user", "pii", "financial", "regulated", "confidential"]))]
    pub(crate) internal: Field<OneOrMany<ClassFile>>,

    /// Anyone may see it.
    #[schemars(extend("default" = "none"))]
    pub(crate) public: Field<OneOrMany<ClassFile>>,
}

/// Where labels of sessions are kept.
#[derive(Debug, Clone)]
pub(crate) enum StoreFile {
    Sqlite,
    Postgres { url: Written<String>, timeout: Field<Period> },
}

// === impl StoreFile ===

impl<'de> Deserialize<'de> for StoreFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StoreVisitor;

        const WORDS: &[&str] = &["sqlite", "{ postgres: URL }"];

        impl<'de> Visitor<'de> for StoreVisitor {
            type Value = StoreFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`sqlite` or `{ postgres: URL }`")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<StoreFile, E> {
                match word {
                    "sqlite" => Ok(StoreFile::Sqlite),
                    other => Err(E::unknown_variant(other, WORDS)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<StoreFile, A::Error> {
                let (mut url, mut timeout) = (None, Field::Absent);
                while let Some(key) = members.next_key::<String>()? {
                    match key.as_str() {
                        "postgres" => url = Some(members.next_value()?),
                        "timeout" => timeout = Field::Read(members.next_value()?),
                        _ => {
                            members.next_value::<IgnoredAny>()?;
                            return Err(de::Error::unknown_variant(&key, WORDS));
                        }
                    }
                }
                url.map(|url| StoreFile::Postgres { url, timeout }).ok_or_else(|| {
                    de::Error::custom("nothing is named\nwrite `sqlite` or `{ postgres: URL }`")
                })
            }
        }

        deserializer.deserialize_any(StoreVisitor)
    }
}

impl JsonSchema for StoreFile {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "store".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "const": "sqlite" },
                {
                    "type": "object",
                    "properties": { "postgres": { "type": "string" }, "timeout": Period::json_schema(generator) },
                    "required": ["postgres"],
                    "additionalProperties": false
                }
            ]
        })
    }
}
