//! What an operator writes of one tool: values, and cases in which others hold, by argument or by what came back.

use std::sync::Arc;

use highwater_notation::{Arguments, Found, Pointer, Wanted};

use super::{Authority, Caps, Claim, Claimed, Claims, Hints};
use crate::policy::{Case, Subject, Truth};

/// An operator's label of a tool, a resource or a prompt.
#[derive(Clone, Debug, Default)]
pub struct OperatorLabel {
    claims: Claims,
    cases: Vec<ArgumentCase>,
    results: Vec<ResultCase>,
    /// The places that the result cases look at, each once.
    places: Vec<Subject>,
    wanted: Wanted,
    caps: Caps,
}

/// What holds where the arguments meet a condition.
#[derive(Clone, Debug)]
pub struct ArgumentCase {
    when: Case,
    claims: Claims,
    /// The same, said by somebody who may only tighten: for where the condition may hold and may not.
    perhaps: Claims,
}

/// What holds where the reply has a certain value at a certain place.
#[derive(Clone, Debug)]
pub struct ResultCase {
    pointer: Pointer,
    equals: Scalar,
    claims: Claims,
}

/// A value that a result case compares with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Text, compared exactly.
    Text(Arc<str>),
}

// === impl OperatorLabel ===

impl OperatorLabel {
    /// Takes what is written as the operator's word, whatever authority it came with.
    pub fn new(claims: &Claims, cases: Vec<ArgumentCase>, results: Vec<ResultCase>) -> Self {
        let mut places: Vec<Subject> = Vec::new();
        for case in &results {
            if !places.iter().any(|place| case.looks_at(place)) {
                places.push(Subject::Argument(case.pointer.clone()));
            }
        }
        let wanted = Wanted::of(places.iter().map(Subject::argument));
        let claims = spoken_by(claims, Authority::Operator);
        Self { claims, cases, results, places, wanted, caps: Caps::NONE }
    }

    /// The same with bounds on numbers.
    #[must_use]
    pub fn with_caps(self, caps: Caps) -> Self {
        Self { caps, ..self }
    }

    /// The label of every tool of a server, for one of which nothing else is said.
    #[must_use]
    pub fn of_every_tool(&self) -> Self {
        Self::default().over(self)
    }

    /// This label above that of every tool of the server: axis by axis, what is said here replaces what is said there.
    /// Cases are taken whole, those of the tool or those of every tool.
    #[must_use]
    pub fn over(&self, general: &Self) -> Self {
        let own = |hints: Hints, said: &Claimed| match said.claim {
            Claim::Hints(these) => hints.or(these),
            _ => hints,
        };
        let own = self.claims.iter().fold(Hints::default(), own);
        let mut next = Self { caps: self.caps.over(&general.caps), ..self.clone() };
        for said in &general.claims {
            let claim = match said.claim {
                // What one hint means depends on the others, so it is read beside those of the tool.
                Claim::Hints(hints) => Claim::Hints(own.or(hints)),
                _ => said.claim.clone(),
            };
            next.claims.push(claim, Authority::OperatorDefault, said.from);
        }
        if next.cases.is_empty() {
            next.cases.clone_from(&general.cases);
        }
        if next.results.is_empty() {
            next.results.clone_from(&general.results);
            next.places.clone_from(&general.places);
            next.wanted = general.wanted.clone();
        }
        next
    }

    /// What holds in every case.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// The cases by argument.
    pub fn cases(&self) -> &[ArgumentCase] {
        &self.cases
    }

    /// The bounds on numbers.
    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// The cases by what came back.
    pub fn results(&self) -> &[ResultCase] {
        &self.results
    }

    /// What holds for these arguments: every case that applies speaks, in any order. Where a case may apply and
    /// may not, it only tightens.
    pub fn for_call(&self, arguments: Arguments<'_>) -> Claims {
        let mut said = Claims::new();
        for case in &self.cases {
            match case.when.truth(arguments) {
                Truth::True => said.extend(&case.claims),
                Truth::Unknown => said.extend(&case.perhaps),
                Truth::False => {}
            }
        }
        said
    }

    /// What holds for this result, given as JSON text. A text that cannot be read meets no case.
    pub fn for_reply(&self, result: &str) -> Claims {
        let mut said = Claims::new();
        if self.results.is_empty() {
            return said;
        }
        let Some(found) = self.wanted.find(result) else { return said };
        for (place, value) in self.places.iter().zip(&found) {
            for case in self.results.iter().filter(|case| case.looks_at(place) && case.equals.is(value)) {
                said.extend(&case.claims);
            }
        }
        said
    }
}

fn spoken_by(claims: &Claims, by: Authority) -> Claims {
    claims.iter().map(|said| Claimed { by, ..said.clone() }).collect()
}

// === impl ArgumentCase ===

impl ArgumentCase {
    /// What holds where the condition does.
    pub fn new(when: Case, claims: &Claims) -> Self {
        Self {
            when,
            claims: spoken_by(claims, Authority::Operator),
            perhaps: spoken_by(claims, Authority::Resolved),
        }
    }

    /// The condition.
    pub fn when(&self) -> &Case {
        &self.when
    }

    /// What holds.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }
}

// === impl ResultCase ===

impl ResultCase {
    /// What holds where the result has this value at this place; the pointer starts at the result object.
    pub fn new(pointer: Pointer, equals: Scalar, claims: &Claims) -> Self {
        Self { pointer, equals, claims: spoken_by(claims, Authority::Operator) }
    }

    fn looks_at(&self, place: &Subject) -> bool {
        match place {
            Subject::Argument(pointer) => *pointer == self.pointer,
            Subject::Fact(_) => false,
        }
    }

    /// Where to look.
    pub fn pointer(&self) -> &Pointer {
        &self.pointer
    }

    /// What to find there.
    pub fn equals(&self) -> &Scalar {
        &self.equals
    }

    /// What holds.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }
}

// === impl Scalar ===

impl Scalar {
    fn is(&self, found: &Found<'_>) -> bool {
        match (self, found) {
            (Self::Bool(wanted), Found::Bool(value)) => wanted == value,
            (Self::Int(wanted), Found::Int(value)) => wanted == value,
            (Self::Text(wanted), Found::Text(value)) => **wanted == **value,
            (
                Self::Bool(_) | Self::Int(_) | Self::Text(_),
                Found::Missing | Found::Bool(_) | Found::Int(_) | Found::Text(_) | Found::Other(_),
            ) => false,
        }
    }
}
