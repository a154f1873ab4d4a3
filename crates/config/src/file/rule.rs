//! Rules and waivers as they are written. Their conditions are taken as they stand; core checks them.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::read::{Field, Tree, Written};

/// A rule: what happens to calls, reads and replies of which its condition holds, or may hold. All rules are
/// looked at, and the strictest effect wins; their order does not matter.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "rule")]
pub(crate) struct RuleFile {
    /// The name, by which decisions, waivers and people call it: `rule.NAME`. No two rules share one.
    pub(crate) name: Field<String>,

    /// What happens: `redact` edits the reply, `confirm` asks a person (`escalate` is another word for it),
    /// `passkey` asks for a signature, `block` refuses.
    #[schemars(extend("enum" = highwater_core::policy::Effect::RULE_WORDS))]
    pub(crate) effect: Field<String>,

    /// When: a test `{ fact: PATH, OPERATOR: VALUE }`, or tests joined by `and`, `or` and `not`. Either this or
    /// `when` is needed.
    #[schemars(schema_with = "condition_schema")]
    pub(crate) conditions: Field<Tree>,

    /// When, in short: tests that must all hold, as `PATH: VALUE` or `PATH: { OPERATOR: VALUE }`.
    #[schemars(schema_with = "when_schema")]
    pub(crate) when: Field<Tree>,

    /// What people are told. The model never sees it.
    pub(crate) message: Field<String>,

    /// Where the rule is looked at. Without this key it follows from the facts; with it, only `list` adds
    /// something: such a rule hides tools.
    #[schemars(extend("enum" = highwater_core::policy::Phase::WORDS))]
    pub(crate) phase: Field<String>,

    /// Accepts a rule that may fall silent as the session reads more. Each decision that involves it then costs a
    /// look into the store.
    #[schemars(extend("default" = false))]
    pub(crate) non_monotone: Field<bool>,

    /// A rule on trial: where it fires, decisions record what it would have done, in every flow mode, and nothing follows
    /// from it.
    #[schemars(extend("default" = false))]
    pub(crate) dry_run: Field<bool>,
}

/// A waiver: where it certainly applies, the findings it names ask a person at most. It never touches findings
/// that start with `structural`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "waiver")]
pub(crate) struct WaiverFile {
    /// The findings: `flow.write`, `flow.act`, `flow.doubt`, `flow.read`, or `rule.NAME`.
    #[schemars(extend("examples" = [["flow.write", "rule.finance-stays-inside"]]))]
    pub(crate) waive: Field<Vec<Written<String>>>,

    /// Where it applies, in short.
    #[schemars(schema_with = "when_schema")]
    pub(crate) when: Field<Tree>,

    /// Where it applies, in the long form. Either this or `when` is needed.
    #[schemars(schema_with = "condition_schema")]
    pub(crate) conditions: Field<Tree>,

    /// The last day it holds, such as `2027-01-31`. After that it is shown and does nothing.
    pub(crate) until: Field<String>,

    /// Why. Every use of the waiver is recorded with this.
    pub(crate) reason: Field<String>,
}

pub(crate) fn condition_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "minProperties": 1 })
}

pub(crate) fn when_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "minProperties": 1 })
}

/// The list itself, or the list inside a mapping as rule documents are printed. The name of a set that comes with the
/// program can stand in place of a rule.
pub(crate) fn rules_schema(generator: &mut SchemaGenerator) -> Schema {
    let rule = generator.subschema_for::<RuleFile>();
    let shipped = crate::lower::shipped::names();
    let list = json_schema!({ "type": "array", "items": { "anyOf": [rule, { "enum": shipped }] } });
    json_schema!({
        "anyOf": [list, {
            "type": "object",
            "properties": { "rules": list },
            "required": ["rules"],
            "additionalProperties": false
        }]
    })
}
