//! What our own tools are given. Everything is checked: a misspelt filter that counted for nothing would show what the
//! caller asked not to see.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use highwater_mcp::text::{is_false, is_null, is_object, is_true, members, unquote};

use crate::pipeline::{Arrival, Refusal};

/// The arguments of a call of one of our tools.
pub(super) struct Given<'a>(Vec<(Cow<'a, str>, &'a str)>);

// === impl Given ===

impl<'a> Given<'a> {
    /// Reads them; only these keys may be there.
    pub(super) fn read(arrival: &'a Arrival, known: &[&str]) -> Result<Self, Refusal> {
        let given = arrival.frame.param("arguments").unwrap_or("{}");
        if !is_object(given) {
            return Err(Refusal::unfit("`arguments` is not an object"));
        }
        let given: Vec<_> = members(given).collect();
        if let Some((key, _)) = given.iter().find(|(key, _)| !known.contains(&&**key)) {
            let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
            return Err(Refusal::unfit(format!("unknown argument `{key}`; there are {}", known.join(", "))));
        }
        Ok(Self(given))
    }

    /// The raw value of one; one that is null counts as left out.
    fn raw(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, raw)| known == key && !is_null(raw)).map(|(_, raw)| *raw)
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<Cow<'a, str>>, Refusal> {
        let Some(raw) = self.raw(key) else { return Ok(None) };
        unquote(raw).map(Some).ok_or_else(|| Refusal::unfit(format!("`{key}` is not a text")))
    }

    /// The name of a tool, which must be there.
    pub(super) fn tool(&self) -> Result<Cow<'a, str>, Refusal> {
        self.text("name")?
            .ok_or_else(|| Refusal::unfit("`name` is missing: the tool's name as `retrieve_tools` gives it"))
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, Refusal> {
        match self.raw(key) {
            None => Ok(false),
            Some(raw) if is_false(raw) => Ok(false),
            Some(raw) if is_true(raw) => Ok(true),
            Some(_) => Err(Refusal::unfit(format!("`{key}` is neither true nor false"))),
        }
    }

    pub(super) fn number(&self, key: &str, within: RangeInclusive<usize>) -> Result<Option<usize>, Refusal> {
        let Some(raw) = self.raw(key) else { return Ok(None) };
        let number = raw.parse().ok().filter(|number| within.contains(number));
        let (least, most) = (within.start(), within.end());
        let unfit = || Refusal::unfit(format!("`{key}` is not a whole number from {least} to {most}"));
        number.map(Some).ok_or_else(unfit)
    }

    pub(super) fn object(&self, key: &str) -> Result<Option<&'a str>, Refusal> {
        match self.raw(key) {
            Some(raw) if !is_object(raw) => Err(Refusal::unfit(format!("`{key}` is not an object"))),
            raw => Ok(raw),
        }
    }
}
