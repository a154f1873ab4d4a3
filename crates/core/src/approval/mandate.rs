//! Mandates: what a person signs so that an agent may work without them, and whether a call keeps within it.
//!
//! A mandate is the arguments of the reserved action `highwater/delegate`, so its receipt means what every receipt
//! means. It names tools exactly and says of every argument what it may be; an argument it does not name may not be
//! there.

mod constraint;
mod standing_permit;

pub use standing_permit::{PermitUse, StandingPermit};

use std::collections::BTreeMap;

use highwater_notation::{ArgumentTypes, CanonicalArguments, Timestamp, parse_time};
use highwater_passkey::{ActionHash, ServerId, ToolName};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::grant::MandatedCall;
use crate::annotation::ClassSet;
use crate::id::Principal;
use crate::label::Label;
use constraint::{Constraint, NoConstraint};

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
    /// A person is wanted at every call.
    #[error("a person is wanted at every call of the tool")]
    Person,
}

/// Why terms are not signed, or not taken from the file, and where in them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{place}`: {why}")]
pub struct TermsFault {
    /// The key.
    pub place: String,
    /// What is wrong, and what to write.
    pub why: String,
}

/// What is known of a tool that somebody is about to delegate.
#[derive(Clone, Copy)]
pub struct DelegatedTool<'a> {
    /// The types that its definition names.
    pub types: &'a ArgumentTypes,
    /// Whether an argument says what is acted on or where.
    pub is_aim: &'a dyn Fn(&str) -> bool,
    /// Whether the operator lets it be delegated at all.
    pub delegable: bool,
    /// Whether several people must sign for it.
    pub quorum: bool,
    /// Whether its server verifies approvals itself.
    pub verified_by_server: bool,
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
    /// The types that the tool's definition names.
    pub types: &'a ArgumentTypes,
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
        let arguments = read_arguments(members.remove("arguments")).map_err(|(_, fault)| match fault {
            NoConstraint::Malformed => Unmandated::Malformed,
            NoConstraint::LoosePrefix => Unmandated::LoosePrefix,
        })?;
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

    /// Refuses what its use would refuse, before anybody signs it. `tool` is one of its tools.
    pub fn check(&self, name: &ToolName, tool: &DelegatedTool<'_>) -> Result<(), TermsFault> {
        let name = name.as_str();
        let refused = |why: String| Err(TermsFault::new("tools", why));
        if tool.verified_by_server {
            return refused(format!("the server of `{name}` verifies every approval itself"));
        }
        if tool.quorum {
            return refused(format!("several people must sign for `{name}`, and a mandate is one person's"));
        }
        if !tool.delegable {
            return refused(format!(
                "`{name}` must not be delegated: `approvals.tools` says so, or it may destroy something and nothing there \
                 says `delegable: true`"
            ));
        }
        for (argument, may) in &self.arguments {
            let place = || format!("arguments.{argument}");
            if let Some(why) = may.misfit(tool.types.of(argument)) {
                return Err(TermsFault::new(place(), why));
            }
            if self.while_tainted && !may.fixes() && (tool.is_aim)(argument) {
                return Err(TermsFault::new(
                    place(),
                    "it says what is acted on or where; with `while_tainted: true` it must be fixed by `const` or listed by \
                     `enum`",
                ));
            }
        }
        Ok(())
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
        if let Value::Object(given) = call.arguments.value() {
            let is_typed = |(name, value): (&String, &Value)| {
                let may = self.arguments.get(name);
                may.is_some_and(|may| may.admits_typed(value, call.types.of(name)))
            };
            if !given.iter().all(is_typed) {
                return Err(Unmandated::Argument);
            }
        }
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
    pub fn covers(
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

// === impl TermsFault ===

impl TermsFault {
    pub(crate) fn new(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self { place: place.into(), why: why.into() }
    }
}

/// Reads what arguments may be; on a fault, its place.
fn read_arguments(arguments: Option<Value>) -> Result<BTreeMap<String, Constraint>, (String, NoConstraint)> {
    // By hand: the library's own reading of values has a key with a meaning of its own.
    match arguments {
        None => Ok(BTreeMap::new()),
        Some(Value::Object(named)) => named
            .into_iter()
            .map(|(name, may)| match Constraint::read(may) {
                Ok(may) => Ok((name, may)),
                Err(fault) => Err((format!("arguments.{name}"), fault)),
            })
            .collect(),
        Some(_) => Err(("arguments".to_owned(), NoConstraint::Malformed)),
    }
}

#[cfg(test)]
mod tests;
