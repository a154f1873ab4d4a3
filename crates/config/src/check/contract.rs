//! The contract of a tool as variables, and an example of one.

use highwater_core::annotation::{
    ApprovalWish, Authority, Axis, CallVariant, Capability, CapabilityClaim, Claim, Claims, Contract,
    DataClass, Destination, Hints, Outcome, Possible, Reach, Sensitivity, Source,
};
use highwater_core::label::TextSet;
use highwater_core::trust::ServerTrust;
use highwater_notation::{Word, Words};

use super::diagram::{Function, NEVER};
use super::label::{LabelModel, chosen};
use super::scopes::{ScopeList, ScopeSet};
use super::space::{GaveUp, Space, TextId, Values};
use super::texts::Pattern;

/// What may be known of a tool.
#[derive(Debug)]
pub(crate) struct ContractModel {
    /// Where arguments may end up, in the order of [`Destination::ALL`]; all of them where nobody said.
    pub(crate) destination: Vec<Function>,
    pub(crate) accepts: AcceptsModel,
    /// In the order of [`Outcome::ALL`]; all of them where nobody said.
    pub(crate) outcomes: Vec<Function>,
    /// In the order of [`Source::ALL`]; all of them where nobody said.
    pub(crate) source: Vec<Function>,
    pub(crate) returns: ReturnsModel,
    /// Whether somebody spoke of an axis, for the axes on which the value alone does not tell.
    destination_said: Function,
    outcomes_said: Function,
    source_said: Function,
    capabilities_said: Function,
    pub(crate) idempotent: Function,
    pub(crate) malicious: Function,
    pub(crate) requires_verified: Function,
    /// Exactly one holds, in the order of [`CallVariant::ALL`].
    pub(crate) variant: Vec<Function>,
    /// In the order of [`Capability::ALL`].
    pub(crate) capabilities: Vec<Function>,
    pub(crate) attribution: TextId,
    pub(crate) attribution_open: Function,
}

/// Which classes a tool is built to receive.
#[derive(Debug)]
pub(crate) struct AcceptsModel {
    pub(crate) unknown: Function,
    pub(crate) any: Function,
    /// In the order of [`DataClass::ALL`].
    pub(crate) classes: Vec<Function>,
    none: Function,
    pub(crate) scopes: ScopeSet,
}

/// Which classes replies may hold.
#[derive(Debug)]
pub(crate) struct ReturnsModel {
    pub(crate) said: Function,
    /// The operator said it, so that the source adds nothing.
    by_operator: Function,
    /// In the order of [`DataClass::ALL`]. Where nobody said, `unclassified` alone.
    pub(crate) classes: Vec<Function>,
    pub(crate) none: Function,
    pub(crate) scopes: ScopeSet,
}

/// What stands in which order in the diagram is decided by whoever makes the variables; these are made first,
/// because `flow.write` looks at them together.
pub(crate) struct ClassVariables {
    pub(crate) destination: Vec<Function>,
    pub(crate) held: Vec<Function>,
    accepted: Vec<Function>,
    returned: Vec<Function>,
}

// === impl ClassVariables ===

impl ClassVariables {
    pub(crate) fn new(space: &mut Space) -> Result<Self, GaveUp> {
        let destination = space.part(Destination::ALL.len())?;
        let (mut held, mut accepted, mut returned) = (Vec::new(), Vec::new(), Vec::new());
        for _ in DataClass::ALL {
            held.push(space.switch()?);
            accepted.push(space.switch()?);
            returned.push(space.switch()?);
        }
        Ok(Self { destination, held, accepted, returned })
    }
}

// === impl ContractModel ===

impl ContractModel {
    /// Makes the variables.
    pub(crate) fn new(
        space: &mut Space,
        classes: &ClassVariables,
        scopes: &ScopeList,
        attribution: Vec<Pattern>,
    ) -> Result<Self, GaveUp> {
        let accepts = AcceptsModel::new(space, classes.accepted.clone(), scopes)?;
        let returns = ReturnsModel::new(space, classes.returned.clone(), scopes)?;
        let model = Self {
            destination: classes.destination.clone(),
            accepts,
            outcomes: space.part(Outcome::ALL.len())?,
            source: space.part(Source::ALL.len())?,
            returns,
            destination_said: space.switch()?,
            outcomes_said: space.switch()?,
            source_said: space.switch()?,
            capabilities_said: space.switch()?,
            idempotent: space.switch()?,
            malicious: space.switch()?,
            requires_verified: space.switch()?,
            variant: space.last_choice(CallVariant::ALL.len())?,
            capabilities: space.switches(Capability::ALL.len())?,
            attribution: space.text_set(attribution, "https://elsewhere.example/")?,
            attribution_open: space.switch()?,
        };
        model.unsaid(space, model.destination_said, &model.destination)?;
        model.unsaid(space, model.outcomes_said, &model.outcomes)?;
        model.unsaid(space, model.source_said, &model.source)?;
        model.unsaid(space, model.capabilities_said, &model.capabilities)?;
        model.vary(space)?;
        Ok(model)
    }

    /// What nobody spoke of may be anything.
    fn unsaid(&self, space: &mut Space, said: Function, members: &[Function]) -> Result<(), GaveUp> {
        let all = space.diagram.all(members.iter().copied())?;
        let either = space.diagram.or(said, all)?;
        space.require(either)
    }

    /// The class of a call follows from what was said of its outcomes.
    fn vary(&self, space: &mut Space) -> Result<(), GaveUp> {
        let [read, _, destructive] = self.variant.as_slice() else { return Ok(()) };
        let irreversible = self.outcome(Outcome::Irreversible);
        let same = space.diagram.same(*destructive, irreversible)?;
        space.require_if(self.outcomes_said, same)?;
        let benign = self.benign(space)?;
        let said = space.diagram.and(self.outcomes_said, benign)?;
        space.require_if(*read, said)
    }

    /// Leaves aside tools whose server requires an approval of its own, which no policy can change.
    pub(crate) fn leave_aside_own_approval(&self, space: &mut Space) -> Result<(), GaveUp> {
        let not = space.diagram.not(self.requires_verified)?;
        space.require(not)
    }

    /// Whether somebody spoke of this axis.
    pub(crate) fn said(&self, space: &mut Space, axis: Axis) -> Result<Function, GaveUp> {
        Ok(match axis {
            Axis::Destination => self.destination_said,
            Axis::Outcomes => self.outcomes_said,
            Axis::Source => self.source_said,
            Axis::Returns => self.returns.said,
            Axis::Capabilities => self.capabilities_said,
            Axis::Accepts => space.diagram.not(self.accepts.unknown)?,
            // These are never listed among what nobody said.
            Axis::Integrity | Axis::Approval => super::diagram::ALWAYS,
        })
    }

    pub(crate) fn destination(&self, word: Destination) -> Function {
        nth(&self.destination, word)
    }

    pub(crate) fn outcome(&self, word: Outcome) -> Function {
        nth(&self.outcomes, word)
    }

    pub(crate) fn source(&self, word: Source) -> Function {
        nth(&self.source, word)
    }

    /// A call can do nothing but look.
    pub(crate) fn benign(&self, space: &mut Space) -> Result<Function, GaveUp> {
        let acts =
            space.diagram.or(self.outcome(Outcome::Consequential), self.outcome(Outcome::Irreversible))?;
        Ok(space.diagram.not(acts)?)
    }

    /// When a reply holds data of some class: what is returned, and what the source adds to it.
    pub(crate) fn returns_private(&self, space: &mut Space) -> Result<Function, GaveUp> {
        let inside = space.diagram.or(self.source(Source::Internal), self.source(Source::User))?;
        let inside = space.diagram.and(inside, self.source_said)?;
        let added = space.diagram.minus(inside, self.returns.by_operator)?;
        let classes = space.diagram.any(self.returns.classes.iter().copied())?;
        Ok(space.diagram.or(classes, added)?)
    }

    /// When a class of the session is one that somebody says the tool is not built to receive, in the order of
    /// [`DataClass::ALL`].
    pub(crate) fn refuses(&self, space: &mut Space, session: &LabelModel) -> Result<Vec<Function>, GaveUp> {
        let covered = self.accepts.scopes.covers(space, &session.scopes)?;
        // Regulated data whose scopes nobody named may be of any.
        let named = session.scopes.has_member(space)?;
        let named = space.diagram.or(named, self.accepts.scopes.open)?;
        let covered = space.diagram.and(covered, named)?;
        let mut refused = Vec::new();
        for class in DataClass::ALL {
            let accepted = match class {
                // Questions for the destination alone.
                DataClass::Confidential | DataClass::Unclassified => {
                    refused.push(NEVER);
                    continue;
                }
                DataClass::Regulated => space.diagram.and(nth(&self.accepts.classes, *class), covered)?,
                _ => nth(&self.accepts.classes, *class),
            };
            let held = space.diagram.minus(session.class(*class), accepted)?;
            let held = space.diagram.minus(held, self.accepts.any)?;
            refused.push(space.diagram.minus(held, self.accepts.unknown)?);
        }
        Ok(refused)
    }

    /// A contract with these values, on a server of this trust.
    pub(crate) fn spelled(&self, space: &Space, values: &Values, trust: &ServerTrust) -> Contract {
        let has = |function: Function| space.value(function, values);
        let mut claims = Claims::new();
        let mut say = |claim: Claim, by: Authority| claims.push(claim, by, "example");
        if has(self.destination_said)
            && let Some(words) = Possible::of(chosen(&self.destination, has))
        {
            say(Claim::SetDestination(words), Authority::Operator);
        }
        if let Some(accepts) = self.accepts.spelled(space, values) {
            say(accepts, Authority::Operator);
        }
        let destructive = self.variant.get(2).is_some_and(|is| has(*is));
        match (has(self.outcomes_said), Possible::of(chosen(&self.outcomes, has))) {
            (true, Some(words)) => say(Claim::SetOutcomes(words), Authority::Operator),
            // An unverified server that calls itself destructive is believed that much.
            _ if destructive => {
                say(Claim::AddOutcomes(Words::only(Outcome::Irreversible)), Authority::Declared);
            }
            _ => {}
        }
        if has(self.source_said)
            && let Some(words) = Possible::of(chosen(&self.source, has))
        {
            say(Claim::SetSource(words), Authority::Operator);
        }
        if has(self.returns.said) {
            let by = if has(self.returns.by_operator) { Authority::Operator } else { Authority::Catalogue };
            say(Claim::SetReturns(self.returns.spelled(space, values)), by);
        }
        let read = self.variant.first().is_some_and(|is| has(*is));
        let hints = Hints {
            read_only: read.then_some(true),
            idempotent: has(self.idempotent).then_some(true),
            ..Hints::default()
        };
        if hints != Hints::default() {
            say(Claim::Hints(hints), Authority::Catalogue);
        }
        if has(self.malicious) {
            say(Claim::Malicious, Authority::Declared);
        }
        if has(self.requires_verified) {
            say(Claim::RequiresVerified, Authority::Declared);
        }
        if has(self.capabilities_said) {
            let denied = Words::<Capability>::all().minus(chosen(&self.capabilities, has));
            // Somebody spoke, even if nothing is denied.
            let asked = Words::<Capability>::all().minus(denied);
            for capability in denied.iter() {
                let reach = Reach::Nothing;
                let claim = CapabilityClaim { capability, reach, reads: false, writes: false };
                say(Claim::Capability(claim), Authority::Catalogue);
            }
            if denied.is_empty() && asked.contains(Capability::Environment) {
                let claim = CapabilityClaim {
                    capability: Capability::Environment,
                    reach: Reach::All,
                    reads: false,
                    writes: false,
                };
                say(Claim::Capability(claim), Authority::Catalogue);
            }
        }
        let origins = TextSet::of(space.members(self.attribution, values));
        let origins = if has(self.attribution_open) { origins.opened() } else { origins };
        if !origins.is_empty() {
            say(Claim::AddOrigins(origins), Authority::Catalogue);
        }
        // Wishes for a person are findings of their own; an example is about everything else.
        say(Claim::SetApproval(ApprovalWish::None), Authority::Operator);
        Contract::weigh(&claims, trust).0
    }
}

// === impl AcceptsModel ===

impl AcceptsModel {
    fn new(space: &mut Space, classes: Vec<Function>, scopes: &ScopeList) -> Result<Self, GaveUp> {
        let (unknown, any, none) = (space.switch()?, space.switch()?, space.switch()?);
        let every_scope = space.switch()?;
        let scopes = scopes.set(space, every_scope)?;
        let not_any = space.diagram.not(any)?;
        space.require_if(unknown, not_any)?;
        let only = {
            let not = space.diagram.not(unknown)?;
            space.diagram.and(not, not_any)?
        };
        // A list names something, if only `none`; the other two forms have no list.
        let listed = space.diagram.any(classes.iter().copied())?;
        let listed = space.diagram.or(listed, none)?;
        space.require_same(listed, only)?;
        let own = space
            .diagram
            .or(nth(&classes, DataClass::Confidential), nth(&classes, DataClass::Unclassified))?;
        let not_own = space.diagram.not(own)?;
        space.require(not_own)?;
        regulate(space, &scopes, nth(&classes, DataClass::Regulated))?;
        Ok(Self { unknown, any, classes, none, scopes })
    }

    /// The members of the set as rules see it: `none`, then the classes that can be accepted.
    pub(crate) fn members(&self, space: &mut Space) -> Result<Vec<Function>, GaveUp> {
        let classes = space.diagram.any(self.classes.iter().copied())?;
        let empty = space.diagram.not(classes)?;
        let none = space.diagram.or(self.none, empty)?;
        let none = space.diagram.minus(none, self.unknown)?;
        let mut members = vec![space.diagram.or(none, self.any)?];
        for class in self.classes.iter().take(5) {
            members.push(space.diagram.or(*class, self.any)?);
        }
        Ok(members)
    }

    fn spelled(&self, space: &Space, values: &Values) -> Option<Claim> {
        let has = |function: Function| space.value(function, values);
        if has(self.unknown) {
            return None;
        }
        if has(self.any) {
            return Some(Claim::AcceptsAny);
        }
        Some(Claim::SetAccepts(sensitivity(space, values, &self.classes, self.none, &self.scopes)))
    }
}

// === impl ReturnsModel ===

impl ReturnsModel {
    fn new(space: &mut Space, classes: Vec<Function>, scopes: &ScopeList) -> Result<Self, GaveUp> {
        let (said, by_operator, none) = (space.switch()?, space.switch()?, space.switch()?);
        let every_scope = space.switch()?;
        let scopes = scopes.set(space, every_scope)?;
        space.require_if(by_operator, said)?;
        let classes_any = space.diagram.any(classes.iter().copied())?;
        let something = space.diagram.or(classes_any, none)?;
        space.require(something)?;
        // Nobody said: `unclassified`, and nothing else.
        let unclassified = nth(&classes, DataClass::Unclassified);
        let others = classes.iter().copied().filter(|class| *class != unclassified).chain([none]);
        let others = others.collect::<Vec<_>>();
        let others = space.diagram.any(others)?;
        let alone = space.diagram.minus(unclassified, others)?;
        let either = space.diagram.or(said, alone)?;
        space.require(either)?;
        regulate(space, &scopes, nth(&classes, DataClass::Regulated))?;
        Ok(Self { said, by_operator, classes, none, scopes })
    }

    /// What rules see as possible: `none`, then the classes; everything where nobody classified it.
    pub(crate) fn possible(&self, space: &mut Space) -> Result<Vec<Function>, GaveUp> {
        let unsaid = space.diagram.not(self.said)?;
        let anything = space.diagram.or(unsaid, nth(&self.classes, DataClass::Unclassified))?;
        let classes = space.diagram.any(self.classes.iter().copied())?;
        let empty = space.diagram.not(classes)?;
        let none = space.diagram.or(self.none, empty)?;
        let mut possible = vec![space.diagram.or(none, anything)?];
        for class in &self.classes {
            possible.push(space.diagram.or(*class, anything)?);
        }
        Ok(possible)
    }

    /// When the scopes of a reply cannot be told.
    pub(crate) fn scopes_unknown(&self, space: &mut Space) -> Result<Function, GaveUp> {
        let unsaid = space.diagram.not(self.said)?;
        let anything = space.diagram.or(unsaid, nth(&self.classes, DataClass::Unclassified))?;
        let regulated = nth(&self.classes, DataClass::Regulated);
        let others = self.classes.iter().copied().filter(|class| *class != regulated).chain([self.none]);
        let others = others.collect::<Vec<_>>();
        let others = space.diagram.any(others)?;
        let several = space.diagram.and(regulated, others)?;
        Ok(space.diagram.or(anything, several)?)
    }

    fn spelled(&self, space: &Space, values: &Values) -> Sensitivity {
        sensitivity(space, values, &self.classes, self.none, &self.scopes)
    }
}

/// Regulated data has scopes, or every scope; other data has none.
fn regulate(space: &mut Space, scopes: &ScopeSet, regulated: Function) -> Result<(), GaveUp> {
    scopes.require_only_if(space, regulated)?;
    let any = scopes.has_member(space)?;
    let any = space.diagram.or(any, scopes.open)?;
    space.require_if(regulated, any)
}

fn sensitivity(
    space: &Space,
    values: &Values,
    classes: &[Function],
    none: Function,
    scopes: &ScopeSet,
) -> Sensitivity {
    let has = |function: Function| space.value(function, values);
    let classes: Words<DataClass> = chosen(classes, has);
    let mut made: Option<Sensitivity> = has(none).then(Sensitivity::none);
    let mut add = |more: Sensitivity| {
        made = Some(match made.take() {
            Some(before) => before.or(&more),
            None => more,
        });
    };
    for class in classes.iter().filter(|class| *class != DataClass::Regulated) {
        add(Sensitivity::of([class]));
    }
    if classes.contains(DataClass::Regulated) {
        let listed = scopes.listed(space, values);
        if !listed.is_empty() {
            add(Sensitivity::regulated(listed));
        }
        if has(scopes.open) {
            add(Sensitivity::of([DataClass::Regulated]));
        }
    }
    made.unwrap_or_else(Sensitivity::none)
}

pub(crate) fn nth<T: Word>(functions: &[Function], word: T) -> Function {
    usize::try_from(word.index()).ok().and_then(|index| functions.get(index)).copied().unwrap_or(NEVER)
}
