//! Mandates: what a person signs so that an agent may work without them, and whether a call keeps within it.
//!
//! A mandate is the arguments of the reserved action `highwater/delegate`, so its receipt means what every receipt
//! means. It names tools exactly and says of every argument what it may be; an argument it does not name may not be
//! there.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::arguments::CanonicalArguments;
use super::grant::MandatedCall;
use super::signed::{ActionHash, ServerId, ToolName};
use crate::annotation::ClassSet;
use crate::id::{Principal, Timestamp};
use crate::label::Label;
use crate::pin::{Json, parse_time};

/// The longest that a mandate lasts.
pub const MAX_MANDATE_MS: u64 = 8 * 60 * 60 * 1000;

/// What a person allows an agent to do by itself.
#[derive(Clone, Debug)]
pub struct Mandate {
    tools: Vec<ToolName>,
    arguments: BTreeMap<String, Constraint>,
    max_calls: u64,
    not_before: Timestamp,
    expires: Timestamp,
    agent: Principal,
    max_sensitivity: ClassSet,
    while_tainted: bool,
}

/// What an argument may be. There are no others, so that a person can tell what they sign.
#[derive(Clone, Debug)]
enum Constraint {
    Const(Value),
    Enum(Vec<Value>),
    /// The greatest number. No text is within it: a server may read one as a number.
    Max(u64),
    /// How a text begins.
    Prefix(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    tools: Vec<String>,
    max_calls: u64,
    not_before: String,
    expires: String,
    agent: String,
    #[serde(default = "no_classes")]
    max_sensitivity: ClassSet,
    #[serde(default)]
    while_tainted: bool,
}

fn no_classes() -> ClassSet {
    ClassSet::EMPTY
}

/// Why arguments are no mandate, or a call is not within one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unmandated {
    /// It is not in the form of a mandate.
    #[error("this is not in the form of a mandate")]
    Malformed,
    /// It lasts too long, or not at all.
    #[error("a mandate lasts at most eight hours")]
    Lifetime,
    /// A prefix that would match more than it seems to.
    #[error("a prefix of an address must reach its path")]
    LoosePrefix,
    /// It is of another agent.
    #[error("the mandate is another agent's")]
    Agent,
    /// It has not begun, or it has ended.
    #[error("the mandate has not begun or has ended")]
    Time,
    /// The tool is not in it, or must not be delegated.
    #[error("the mandate does not name the tool")]
    Tool,
    /// An argument is not within it.
    #[error("the mandate does not allow these arguments")]
    Argument,
    /// The session holds data that it does not allow.
    #[error("the session holds data that the mandate does not allow")]
    Sensitivity,
    /// The session has read what a stranger may have written.
    #[error("the mandate does not hold in an untrusted session")]
    Tainted,
}

/// A call that would rest on a mandate.
#[derive(Clone, Debug)]
pub struct MandateUse<'a> {
    /// Who calls.
    pub principal: &'a Principal,
    /// The tool, as the client calls it.
    pub tool: &'a ToolName,
    /// Whether the operator lets the tool be delegated at all.
    pub delegable: bool,
    /// The arguments.
    pub arguments: &'a CanonicalArguments,
    /// Which arguments say what is acted on and where; `None` if nobody knows, which counts as all of them.
    pub aims: Option<&'a [&'a str]>,
    /// What the session has taken in.
    pub label: &'a Label,
    /// Now.
    pub now: Timestamp,
}

// === impl Mandate ===

impl Mandate {
    /// Reads the arguments of `highwater/delegate`.
    pub fn read(arguments: &CanonicalArguments) -> Result<Self, Unmandated> {
        let Value::Object(mut members) = arguments.value() else { return Err(Unmandated::Malformed) };
        // By hand: the library's own reading of values has a key with a meaning of its own.
        let arguments = match members.remove("arguments") {
            None => BTreeMap::new(),
            Some(Value::Object(named)) => named
                .into_iter()
                .map(|(name, may)| Constraint::read(may).map(|may| (name, may)))
                .collect::<Option<_>>()
                .ok_or(Unmandated::Malformed)?,
            Some(_) => return Err(Unmandated::Malformed),
        };
        let shape: Shape =
            serde_json::from_value(Value::Object(members)).map_err(|_| Unmandated::Malformed)?;
        let tools: Result<Vec<_>, _> = shape.tools.iter().map(|name| ToolName::exposed(name)).collect();
        let tools = tools.ok().filter(|tools| !tools.is_empty()).ok_or(Unmandated::Malformed)?;
        let time = |text: &str| parse_time(text).ok_or(Unmandated::Malformed);
        let (not_before, expires) = (time(&shape.not_before)?, time(&shape.expires)?);
        if shape.max_calls == 0 || shape.agent.is_empty() {
            return Err(Unmandated::Malformed);
        }
        if !expires.0.checked_sub(not_before.0).is_some_and(|lasts| (1..=MAX_MANDATE_MS).contains(&lasts)) {
            return Err(Unmandated::Lifetime);
        }
        for constraint in arguments.values() {
            if let Constraint::Prefix(prefix) = constraint
                && !is_sound_prefix(prefix)
            {
                return Err(Unmandated::LoosePrefix);
            }
        }
        Ok(Self {
            tools,
            arguments,
            max_calls: shape.max_calls,
            not_before,
            expires,
            agent: Principal::new(shape.agent),
            max_sensitivity: shape.max_sensitivity,
            while_tainted: shape.while_tainted,
        })
    }

    /// How many calls may rest on it. The store counts them.
    pub fn max_calls(&self) -> u64 {
        self.max_calls
    }

    /// The tools, by the names clients call them.
    pub fn tools(&self) -> &[ToolName] {
        &self.tools
    }

    /// Who may use it.
    pub fn agent(&self) -> &Principal {
        &self.agent
    }

    /// When it begins.
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }

    /// When it ends.
    pub fn expires(&self) -> Timestamp {
        self.expires
    }

    /// A call that is within it, at this installation. Whether calls are left is the store's to say.
    pub fn call(&self, call: &MandateUse<'_>, server: &ServerId) -> Result<MandatedCall, Unmandated> {
        self.permits(call)?;
        let action = ActionHash::of(call.tool, call.arguments, server);
        Ok(MandatedCall::new(call.principal.clone(), action))
    }

    /// Whether a call is within it. Whether calls are left is the store's to say.
    pub fn permits(&self, call: &MandateUse<'_>) -> Result<(), Unmandated> {
        if !call.delegable {
            return Err(Unmandated::Tool);
        }
        self.covers(call.principal, call.tool, call.arguments, call.now)?;
        if !self.max_sensitivity.covers(call.label.classes()) {
            return Err(Unmandated::Sensitivity);
        }
        let tainted = call.label.untrusted() || call.label.malicious();
        if tainted && !(self.while_tainted && self.fixes(call.aims)) {
            return Err(Unmandated::Tainted);
        }
        Ok(())
    }

    /// Whether a call is within what can be told of it later, from its receipt.
    pub(super) fn covers(
        &self,
        principal: &Principal,
        tool: &ToolName,
        arguments: &CanonicalArguments,
        at: Timestamp,
    ) -> Result<(), Unmandated> {
        if *principal != self.agent {
            return Err(Unmandated::Agent);
        }
        if at < self.not_before || at >= self.expires {
            return Err(Unmandated::Time);
        }
        if !self.tools.contains(tool) {
            return Err(Unmandated::Tool);
        }
        let Value::Object(given) = arguments.value() else { return Err(Unmandated::Argument) };
        let known =
            |(name, value)| self.arguments.get(name).is_some_and(|may: &Constraint| may.admits(value));
        // All must be there: what a server puts in the place of one that is left out nobody signed.
        if given.iter().all(known) && self.arguments.keys().all(|name| given.contains_key(name)) {
            Ok(())
        } else {
            Err(Unmandated::Argument)
        }
    }

    /// Whether everything that says what is acted on is fixed, so that no text in the session can choose it.
    fn fixes(&self, aims: Option<&[&str]>) -> bool {
        match aims {
            Some(aims) => aims.iter().all(|aim| self.arguments.get(*aim).is_some_and(Constraint::fixes)),
            None => self.arguments.values().all(Constraint::fixes),
        }
    }
}

// === impl Constraint ===

impl Constraint {
    /// Reads an object with one member.
    fn read(value: Value) -> Option<Self> {
        let Value::Object(members) = value else { return None };
        let mut members = members.into_iter();
        let (kind, value) = members.next()?;
        let read = match (kind.as_str(), value) {
            ("const", value) => Self::Const(value),
            ("enum", Value::Array(values)) => Self::Enum(values),
            ("max", Value::Number(number)) => Self::Max(number.as_u64()?),
            ("prefix", Value::String(prefix)) => Self::Prefix(prefix),
            _ => return None,
        };
        members.next().is_none().then_some(read)
    }

    fn fixes(&self) -> bool {
        match self {
            Self::Const(_) | Self::Enum(_) => true,
            Self::Max(_) | Self::Prefix(_) => false,
        }
    }

    fn admits(&self, value: &Value) -> bool {
        let same = |known: &Value| Json::from(known.clone()) == Json::from(value.clone());
        match (self, value) {
            (Self::Const(known), _) => same(known),
            (Self::Enum(known), _) => known.iter().any(same),
            (Self::Max(max), Value::Number(number)) => {
                // Both are at most 2^53 - 1, so a double holds them exactly.
                number.as_f64().is_some_and(|number| number <= *max as f64)
            }
            (Self::Prefix(prefix), Value::String(text)) => text.starts_with(prefix) && is_plain_path(text),
            (Self::Max(_) | Self::Prefix(_), _) => false,
        }
    }
}

/// Whether a path or an address says where it leads: nothing in it is left out, taken back or written in another way.
/// What would have to be normalised is refused instead, since servers do not normalise alike.
fn is_plain_path(text: &str) -> bool {
    let behind = text.split_once("://").map_or(text, |(_, behind)| behind);
    let path = behind.strip_prefix('/').unwrap_or(behind);
    let path = path.strip_suffix('/').unwrap_or(path);
    let plain = |c: char| !c.is_control() && !matches!(c, '\\' | '%' | '@');
    path.chars().all(plain) && path.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

/// A prefix without a `/` behind the host would match other hosts that begin alike.
fn is_sound_prefix(prefix: &str) -> bool {
    match prefix.split_once("://") {
        Some((_, behind)) => behind.contains('/') && is_plain_path(prefix),
        None => prefix.is_empty() || is_plain_path(prefix),
    }
}

#[cfg(test)]
mod tests;
