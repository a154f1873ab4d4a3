//! `x-mcp-header` in a tool's input schema: arguments that are repeated as `Mcp-Param-…` headers.

use std::borrow::Cow;

use memchr::memmem;

use crate::headers::{BadEncoding, HeaderMismatch, HeaderProblem, PARAM_PREFIX, decode_value, encode_value};
use crate::text::{elements, is_array, is_null, is_object, member, members, unquote};

const KEYWORD: &str = "x-mcp-header";
/// How deep schemas may be nested in schemas.
const MAX_DEPTH: usize = 64;
/// How many schemas one input schema may be made of.
const MAX_SCHEMAS: usize = 10_000;
/// How many headers one tool may ask for. HTTP servers commonly stop at a hundred in all.
const MAX_HEADERS: usize = 64;
/// The longest name of a header.
const MAX_NAME: usize = 128;
/// The largest integer that every JSON reader keeps exact.
const MAX_INTEGER: i64 = (1 << 53) - 1;

/// An argument that is repeated as a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamHeader {
    /// The name, without `Mcp-Param-`.
    pub header: String,
    /// The keys that lead to the value in the arguments.
    pub path: Vec<String>,
    pub kind: ParamKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    String,
    Integer,
    Boolean,
}

/// Why a tool with this schema must not be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSchemaHeader {
    #[error("`x-mcp-header` at `{0}` is not a header name")]
    BadName(String),
    #[error("`x-mcp-header` at `{0}` repeats the name `{1}`")]
    Repeated(String, String),
    #[error("`x-mcp-header` at `{0}` needs a property of type string, integer or boolean")]
    BadType(String),
    #[error("`x-mcp-header` at `{0}` cannot be reached through `properties` alone")]
    Unreachable(String),
    #[error("the schema has more than {MAX_HEADERS} `x-mcp-header`")]
    TooMany,
    #[error("the schema is too deep or too large to look for `x-mcp-header`")]
    TooComplex,
}

/// The headers that an input schema asks for.
pub fn param_headers(input_schema: &str) -> Result<Vec<ParamHeader>, InvalidSchemaHeader> {
    let bytes = input_schema.as_bytes();
    // A key spelled with escapes hides from the search, so a backslash anywhere means looking closely.
    if memmem::find(bytes, KEYWORD.as_bytes()).is_none() && memchr::memchr(b'\\', bytes).is_none() {
        return Ok(Vec::new());
    }
    let mut walk = Walk::default();
    walk.schema(input_schema, SchemaPosition::Top)?;
    Ok(walk.found)
}

/// The headers to send with these arguments: name without `Mcp-Param-`, and encoded value. A value that is
/// absent, `null` or no scalar has none.
pub fn header_values(headers: &[ParamHeader], arguments: Option<&str>) -> Vec<(String, String)> {
    headers
        .iter()
        .filter_map(|header| {
            let text = scalar_text(header.value(arguments)?)?;
            Some((header.header.clone(), encode_value(&text).into_owned()))
        })
        .collect()
}

/// Compares the `Mcp-Param-…` headers of a request with its arguments. `get_header` is as in
/// [`headers::check`](crate::headers::check) and is asked for the full name in lower case.
pub fn check_values<'h>(
    headers: &[ParamHeader],
    arguments: Option<&str>,
    get_header: impl Fn(&str) -> Option<&'h str>,
) -> Result<(), HeaderMismatch> {
    for header in headers {
        let name = format!("{PARAM_PREFIX}{}", header.header.to_ascii_lowercase());
        let problem = match (header.value(arguments), get_header(&name)) {
            (None, None) => continue,
            (None, Some(_)) => HeaderProblem::Unexpected,
            (Some(_), None) => HeaderProblem::Missing,
            (Some(raw), Some(value)) => match decode_value(value) {
                Ok(value) if agree(raw, &value) => continue,
                Ok(_) => HeaderProblem::Differs,
                Err(BadEncoding) => HeaderProblem::BadEncoding,
            },
        };
        return Err(HeaderMismatch::new(&name, problem));
    }
    Ok(())
}

// === impl ParamHeader ===

impl ParamHeader {
    /// The raw argument, unless it is absent or `null`.
    fn value<'a>(&self, arguments: Option<&'a str>) -> Option<&'a str> {
        let found = self.path.iter().try_fold(arguments?, |object, key| member(object, key))?;
        (!is_null(found)).then_some(found)
    }
}

/// A scalar as text: strings unescaped, everything else as it is written.
fn scalar_text(raw: &str) -> Option<Cow<'_, str>> {
    if is_object(raw) || is_array(raw) {
        return None;
    }
    unquote(raw).or(Some(Cow::Borrowed(raw)))
}

fn agree(raw: &str, header: &str) -> bool {
    if let Some(text) = unquote(raw) {
        return text == header;
    }
    match (exact_integer(raw), exact_integer(header)) {
        (Some(body), Some(header)) => body == header,
        _ => scalar_text(raw).is_some_and(|text| text == header),
    }
}

/// The value of a number that is whole and small enough to be the same to every reader: `42`, `42.0` and
/// `4.2e1` are one.
fn exact_integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Shift the point by moving digits between the parts; what is left behind it must be zero.
    let shift = usize::try_from(exponent.unsigned_abs()).ok().filter(|shift| *shift <= 32)?;
    let all: String = [whole, fraction].concat();
    let point = if exponent < 0 { whole.len().checked_sub(shift)? } else { whole.len() + shift };
    let (kept, dropped) = match all.split_at_checked(point) {
        Some((kept, dropped)) => (Cow::Borrowed(kept), dropped),
        None => (Cow::Owned(format!("{all:0<point$}")), ""),
    };
    if dropped.bytes().any(|byte| byte != b'0') {
        return None;
    }
    let value: i64 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    (value <= MAX_INTEGER).then_some(if negative { -value } else { value })
}

/// Where a schema stands.
#[derive(Clone, Copy)]
enum SchemaPosition {
    Top,
    /// Reached from the top through `properties` alone.
    Property,
    /// Anywhere else: here no header may be asked for.
    Elsewhere,
}

#[derive(Default)]
struct Walk {
    found: Vec<ParamHeader>,
    path: Vec<String>,
    depth: usize,
    schemas: usize,
}

impl Walk {
    fn schema(&mut self, schema: &str, place: SchemaPosition) -> Result<(), InvalidSchemaHeader> {
        self.schemas += 1;
        if self.depth >= MAX_DEPTH || self.schemas > MAX_SCHEMAS {
            return Err(InvalidSchemaHeader::TooComplex);
        }
        self.depth += 1;
        for (key, value) in members(schema) {
            match key.as_ref() {
                KEYWORD => self.header(schema, value, place)?,
                "properties" => self.properties(value, place)?,
                "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies" => {
                    for (_, inner) in members(value) {
                        self.schema(inner, SchemaPosition::Elsewhere)?;
                    }
                }
                "items"
                | "prefixItems"
                | "allOf"
                | "anyOf"
                | "oneOf"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "additionalItems"
                | "additionalProperties"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "contentSchema" => {
                    // A schema, or an array of them; on anything else both walks do nothing.
                    if is_array(value) {
                        for inner in elements(value) {
                            self.schema(inner, SchemaPosition::Elsewhere)?;
                        }
                    } else {
                        self.schema(value, SchemaPosition::Elsewhere)?;
                    }
                }
                _ => {}
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn properties(&mut self, properties: &str, place: SchemaPosition) -> Result<(), InvalidSchemaHeader> {
        let inner_place = match place {
            SchemaPosition::Top | SchemaPosition::Property => SchemaPosition::Property,
            SchemaPosition::Elsewhere => SchemaPosition::Elsewhere,
        };
        for (key, inner) in members(properties) {
            self.path.push(key.into_owned());
            self.schema(inner, inner_place)?;
            self.path.pop();
        }
        Ok(())
    }

    fn header(&mut self, schema: &str, name: &str, place: SchemaPosition) -> Result<(), InvalidSchemaHeader> {
        let at = || self.path.join(".");
        if !matches!(place, SchemaPosition::Property) {
            return Err(InvalidSchemaHeader::Unreachable(at()));
        }
        let Some(name) = unquote(name).filter(|name| is_token(name)) else {
            return Err(InvalidSchemaHeader::BadName(at()));
        };
        let Some(kind) = member(schema, "type").and_then(unquote).and_then(|name| ParamKind::named(&name))
        else {
            return Err(InvalidSchemaHeader::BadType(at()));
        };
        if self.found.iter().any(|other| other.header.eq_ignore_ascii_case(&name)) {
            return Err(InvalidSchemaHeader::Repeated(at(), name.into_owned()));
        }
        if self.found.len() == MAX_HEADERS {
            return Err(InvalidSchemaHeader::TooMany);
        }
        self.found.push(ParamHeader { header: name.into_owned(), path: self.path.clone(), kind });
        Ok(())
    }
}

impl ParamKind {
    fn named(name: &str) -> Option<Self> {
        match name {
            "string" => Some(Self::String),
            "integer" => Some(Self::Integer),
            "boolean" => Some(Self::Boolean),
            _ => None,
        }
    }
}

/// A token of HTTP, of a length that header parsers take.
fn is_token(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests;
