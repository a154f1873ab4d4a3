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

    /// The members besides those of the eras and what is looked at by itself.
    fn lasting(&self) -> Vec<(&str, &str)> {
        let members = self.0.iter().map(|(key, value)| (key.get(), value.get()));
        members.filter(|(key, _)| !ERA_FIELDS.contains(key) && *key != r#""_meta""#).collect()
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

/// What the gateway adds to the `_meta` of tools and results. Everything else must be as it was.
const OURS: [&str; 6] = [
    "annotations",
    "dev.highwater/contract",
    "dev.highwater/decision",
    "dev.highwater/label",
    "io.modelcontextprotocol/tool-resolution",
    "io.modelcontextprotocol/trust-annotations",
];

/// A tool or a result is what it should be, to the byte, but for what the gateway says of it at the end of its `_meta`, or
/// in one of its own at the end.
pub(crate) fn same_but_ours(got: &str, expected: &str) -> anyhow::Result<()> {
    let differs = || format!("the text differs\n     got: {got}\nexpected: {expected}");
    let open = |object: &'_ str| object.trim_end().strip_suffix('}').map(|open| open.trim_end().len());
    let wanted = Members::of(expected)?;
    let (before, meta, after) = match wanted
        .get("_meta")
        .ok()
        .and_then(|meta| expected.split_once(meta).map(|around| (around, meta)))
    {
        Some(((before, after), meta)) => (before, meta, after),
        None => (expected.get(..open(expected).with_context(differs)?).with_context(differs)?, "{}", "}"),
    };
    let rest =
        got.strip_prefix(before).with_context(differs)?.trim_start_matches([' ', '\n', '\r', '\t', ',']);
    let rest = rest.strip_prefix(r#""_meta":"#).unwrap_or(rest);
    let said = rest.strip_suffix(after).with_context(differs)?;
    let kept = meta.get(..open(meta).with_context(differs)?).with_context(differs)?;
    ensure!(said.starts_with(kept), differs());
    only_ours_added(&Members::of(said)?, &Members::of(meta)?).with_context(differs)
}

/// Whether one `_meta` is another with nothing but our own words besides.
fn only_ours_added(shown: &Members, wanted: &Members) -> anyhow::Result<()> {
    ensure!(
        shown.has("dev.highwater/label") || shown.has("dev.highwater/contract"),
        "the gateway says nothing of it"
    );
    let ours = |key: &str| OURS.contains(&key.trim_matches('"'));
    let shown: Vec<_> = shown.0.iter().map(|(key, value)| (key.get(), value.get())).collect();
    let (kept, added): (Vec<_>, Vec<_>) = shown.into_iter().partition(|(key, _)| !ours(key));
    let wanted: Vec<_> = wanted.0.iter().map(|(key, value)| (key.get(), value.get())).collect();
    ensure!(kept == wanted, "`_meta` differs\n     got: {kept:?}\nexpected: {wanted:?}");
    ensure!(!added.is_empty(), "the gateway says nothing of it");
    Ok(())
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
        return same_but_ours(got, expected);
    }
    let nothing = Members(Vec::new());
    let meta = |of: &Members| of.get("_meta").and_then(Members::of);
    only_ours_added(&meta(&shown)?, &meta(&wanted).unwrap_or(nothing))?;
    let (shown, wanted) = (shown.lasting(), wanted.lasting());
    ensure!(shown == wanted, "members differ\n     got: {shown:?}\nexpected: {wanted:?}");
    Ok(())
}
