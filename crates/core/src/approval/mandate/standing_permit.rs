//! Permits: the same as a mandate, in the operator's file, for an operator without a passkey. A permit is no signature: it
//! answers what a word answers, and never what takes a passkey.
//!
//! It holds whatever strangers have written in the session, so everything that says where and what must be written down in
//! it. It holds for no session with credentials or regulated data, after no malicious flag, and for nothing that a tool or
//! a server wants a person for at every call.

use std::collections::BTreeMap;

use highwater_notation::{ArgumentTypes, CanonicalArguments, Timestamp};
use serde_json::Value;

use super::constraint::{Constraint, NoConstraint};
use super::{TermsFault, Unmandated, read_arguments};
use crate::annotation::DataClass;
use crate::decide::{FindingId, Told};
use crate::id::{Principal, UpstreamId};
use crate::label::Label;

/// What an operator permits an agent to do by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingPermit {
    name: String,
    principal: Principal,
    upstream: UpstreamId,
    tool: String,
    arguments: BTreeMap<String, Constraint>,
    until: Timestamp,
}

/// A call that would rest on a permit.
#[derive(Clone, Copy, Debug)]
pub struct PermitUse<'a> {
    /// Who calls.
    pub principal: &'a Principal,
    /// The server.
    pub upstream: &'a UpstreamId,
    /// The tool, by its server's own name.
    pub tool: &'a str,
    /// The arguments.
    pub arguments: &'a CanonicalArguments,
    /// The types that the tool's definition names.
    pub types: &'a ArgumentTypes,
    /// Which arguments say what is acted on and where.
    pub aims: &'a [&'a str],
    /// What the session has taken in.
    pub label: &'a Label,
    /// Why it is a question.
    pub told: &'a Told,
    /// Now.
    pub now: Timestamp,
}

// === impl StandingPermit ===

impl StandingPermit {
    /// A permit under a name, for calls of one tool, by its server's own name, until then. `arguments` says of each argument
    /// what it may be.
    pub fn new(
        name: &str,
        principal: Principal,
        (upstream, tool): (UpstreamId, &str),
        arguments: Value,
        until: Timestamp,
    ) -> Result<Self, TermsFault> {
        let arguments = read_arguments(Some(arguments)).map_err(|(place, fault)| {
            let why = match fault {
                NoConstraint::Malformed => {
                    "say `const`, `enum`, `min` and `max` for a number, or `prefix` and `max_length` for a text"
                }
                NoConstraint::LoosePrefix => "a prefix must end where a folder or a path of an address does",
            };
            TermsFault::new(place, why)
        })?;
        Ok(Self { name: name.to_owned(), principal, upstream, tool: tool.to_owned(), arguments, until })
    }

    /// Its name in the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whose calls it is for.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The server and the tool.
    pub fn tool(&self) -> (&UpstreamId, &str) {
        (&self.upstream, &self.tool)
    }

    /// The first moment at which it does nothing any more.
    pub fn until(&self) -> Timestamp {
        self.until
    }

    /// Whether it does nothing any more.
    pub fn is_over(&self, now: Timestamp) -> bool {
        now >= self.until
    }

    /// Whether a call is within it.
    pub fn admits(&self, call: &PermitUse<'_>) -> Result<(), Unmandated> {
        if *call.principal != self.principal {
            return Err(Unmandated::Agent);
        }
        if *call.upstream != self.upstream || call.tool != self.tool {
            return Err(Unmandated::Tool);
        }
        if self.is_over(call.now) {
            return Err(Unmandated::Time);
        }
        let is_asked = |id: &FindingId| matches!(id, FindingId::Flow(_) | FindingId::Rule(_));
        if !call.told.findings().all(is_asked) {
            return Err(Unmandated::Person);
        }
        if call.label.malicious() {
            return Err(Unmandated::Tainted);
        }
        let classes = call.label.classes();
        if classes.contains(DataClass::Credentials) || classes.contains(DataClass::Regulated) {
            return Err(Unmandated::Sensitivity);
        }
        let Value::Object(given) = call.arguments.value() else { return Err(Unmandated::Argument) };
        let within = |(name, value): (&String, &Value)| {
            let is_aim = call.aims.contains(&name.as_str());
            self.arguments
                .get(name)
                .is_some_and(|may| may.admits_typed(value, call.types.of(name)) && (may.fixes() || !is_aim))
        };
        // All must be there: what a server puts in the place of one that is left out nobody wrote down.
        if given.iter().all(within) && self.arguments.keys().all(|name| given.contains_key(name)) {
            Ok(())
        } else {
            Err(Unmandated::Argument)
        }
    }
}
