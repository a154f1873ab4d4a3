//! The stories of what must not be lost, and how two texts are compared.

pub(crate) mod down;
pub(crate) mod edges;
pub(crate) mod script;
pub(crate) mod up;

use anyhow::{Context, ensure};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::stage::{Stage, Upstream};

/// What the modern era adds to results; the only members in which two texts may differ.
const ERA_FIELDS: [&str; 3] = [r#""resultType""#, r#""ttlMs""#, r#""cacheScope""#];

/// The members of an object in their order, keys and values exactly as they were written.
pub(crate) struct Members(Vec<(Box<RawValue>, Box<RawValue>)>);

// === impl Members ===

impl Members {
    pub(crate) fn of(object: &str) -> anyhow::Result<Self> {
        serde_json::from_str(object).with_context(|| format!("no object: {object}"))
    }

    /// The text of a member; `key` is without its quotes and without escapes.
    pub(crate) fn get(&self, key: &str) -> anyhow::Result<&str> {
        let quoted = format!("\"{key}\"");
        let found = self.0.iter().find(|(written, _)| written.get() == quoted);
        let keys: Vec<&str> = self.0.iter().map(|(key, _)| key.get()).collect();
        found.map(|(_, value)| value.get()).with_context(|| format!("no member `{key}` among {keys:?}"))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_ok()
    }

    /// The members besides those of the eras.
    fn lasting(&self) -> Vec<(&str, &str)> {
        let members = self.0.iter().map(|(key, value)| (key.get(), value.get()));
        members.filter(|(key, _)| !ERA_FIELDS.contains(key)).collect()
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The elements of an array, exactly as they were written.
pub(crate) fn elements(array: &str) -> anyhow::Result<Vec<Box<RawValue>>> {
    serde_json::from_str(array).with_context(|| format!("no array: {array}"))
}

pub(crate) fn same(got: &str, expected: &str) -> anyhow::Result<()> {
    ensure!(got == expected, "the text differs\n     got: {got}\nexpected: {expected}");
    Ok(())
}

/// Whether client and upstream are of one era: then nothing is added to a result and nothing taken from it.
pub(crate) fn one_era(stage: &Stage) -> bool {
    stage.modern() == is_modern(stage.cell.upstream)
}

pub(crate) fn is_modern(upstream: Upstream) -> bool {
    matches!(upstream, Upstream::StdioModern | Upstream::HttpModern)
}

/// Compares a result with what should have come. Within one era every byte counts; across the eras every byte but the
/// era's own members, which must be what the client's era wants.
pub(crate) fn same_result(stage: &Stage, got: &str, expected: &str) -> anyhow::Result<()> {
    let (shown, wanted) = (Members::of(got)?, Members::of(expected)?);
    ensure!(shown.has("resultType") == stage.modern(), "a field of the wrong era: {got}");
    if one_era(stage) && !wanted.has("ttlMs") {
        return same(got, expected);
    }
    let (shown, wanted) = (shown.lasting(), wanted.lasting());
    ensure!(shown == wanted, "members differ\n     got: {shown:?}\nexpected: {wanted:?}");
    Ok(())
}
