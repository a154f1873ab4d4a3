//! Arguments: what can stand at each place that some condition looks at, and an example of it.

use std::collections::{BTreeMap, BTreeSet};

use highwater_core::policy::{Check, Test};
use highwater_notation::Parameters;
use serde_json::{Map, Value, json};

use super::diagram::Function;
use super::space::{GaveUp, Rails, Space, TextId, Values};
use super::spelling;
use super::texts::Pattern;

/// What conditions ask of one argument.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    texts: Vec<Pattern>,
    /// The numbers at which the answer of some test changes: "at least this".
    cuts: BTreeSet<i64>,
}

/// Every argument that some condition looks at, by its pointer without the first slash.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    models: BTreeMap<String, Model>,
    /// Whether the tool declares an argument, by the names that pointers start with.
    declared: BTreeMap<String, Function>,
}

#[derive(Debug)]
struct Model {
    present: Function,
    is_text: Function,
    is_number: Function,
    is_flag: Function,
    /// The value, where it is a flag.
    flag: Function,
    text: TextId,
    /// "At least this", rising.
    at_least: Vec<(i64, Function)>,
}

// === impl Asked ===

impl Asked {
    /// Takes note of a test.
    pub(crate) fn note(&mut self, test: &Test) {
        if let Some(spellings) = test.spellings() {
            self.texts.extend(spelling::compared(test.check(), spellings));
        }
        match test.check() {
            Check::Above(bound) => self.cuts.extend(bound.checked_add(1)),
            Check::Below(bound) => self.cuts.extend([*bound]),
            Check::Number(numbers) => {
                for number in numbers {
                    self.cuts.extend([Some(*number), number.checked_add(1)].into_iter().flatten());
                }
            }
            Check::Among(_) | Check::Has(_) | Check::Text(_) | Check::Matches(_) | Check::Exists => {}
        }
    }
}

// === impl Arguments ===

impl Arguments {
    /// Makes the variables.
    pub(crate) fn new(space: &mut Space, asked: BTreeMap<String, Asked>) -> Result<Self, GaveUp> {
        let (mut models, mut declared) = (BTreeMap::new(), BTreeMap::new());
        for (pointer, asked) in asked {
            let name = first(&pointer).to_owned();
            if !declared.contains_key(&name) {
                declared.extend(space.usual_switches(1)?.pop().map(|switch| (name, switch)));
            }
            let present = space.switch()?;
            let kinds = [space.switch()?, space.switch()?, space.switch()?];
            let [is_text, is_number, is_flag] = kinds;
            for (index, kind) in kinds.into_iter().enumerate() {
                space.require_if(kind, present)?;
                for other in kinds.iter().skip(index + 1) {
                    let not = space.diagram.not(*other)?;
                    space.require_if(kind, not)?;
                }
            }
            let flag = space.switch()?;
            let text = space.text(asked.texts, "text")?;
            let mut at_least: Vec<(i64, Function)> = Vec::new();
            for cut in asked.cuts {
                let reached = space.switch()?;
                if let Some((_, before)) = at_least.last() {
                    space.require_if(reached, *before)?;
                }
                at_least.push((cut, reached));
            }
            models.insert(pointer, Model { present, is_text, is_number, is_flag, flag, text, at_least });
        }
        let arguments = Self { models, declared };
        arguments.relate(space)?;
        Ok(arguments)
    }

    /// What holds another argument is neither text nor number nor flag.
    fn relate(&self, space: &mut Space) -> Result<(), GaveUp> {
        for (pointer, inner) in &self.models {
            let outer = self.models.iter().filter(|(other, _)| {
                pointer.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/'))
            });
            for (_, outer) in outer {
                space.require_if(inner.present, outer.present)?;
                let scalar = space.diagram.any([outer.is_text, outer.is_number, outer.is_flag])?;
                let not = space.diagram.not(scalar)?;
                space.require_if(inner.present, not)?;
            }
        }
        Ok(())
    }

    /// Whether each name is one that the tool declares.
    pub(crate) fn declared(&self) -> impl Iterator<Item = Function> {
        self.declared.values().copied()
    }

    /// When a rule on this argument concerns the tool: it declares it, or the call brings it.
    pub(crate) fn concern(&self, space: &mut Space, pointer: &str) -> Result<Function, GaveUp> {
        let found = (self.declared.get(first(pointer)), self.models.get(pointer));
        let (Some(declared), Some(model)) = found else { return Ok(super::diagram::ALWAYS) };
        Ok(space.diagram.or(*declared, model.present)?)
    }

    /// What the tool declares of what is asked for.
    pub(crate) fn parameters(&self, space: &Space, values: &Values) -> Parameters {
        let declared = self.declared.iter().filter(|(_, declared)| space.value(**declared, values));
        Parameters::of(declared.map(|(name, _)| unescaped(name)))
    }

    /// When the check of an argument may hold, and when it certainly does.
    pub(crate) fn rails(&self, space: &mut Space, pointer: &str, test: &Test) -> Result<Rails, GaveUp> {
        let Some(model) = self.models.get(pointer) else {
            return Ok(Rails { may: super::diagram::ALWAYS, ..Rails::NEVER });
        };
        if let Some(spellings) = test.spellings() {
            let Rails { may, must } = spelling::rails(space, model.text, test.check(), spellings)?;
            return known_of(space, model.is_text, Rails { may, must });
        }
        let (kind, holds) = match test.check() {
            Check::Exists => return Ok(Rails::known(model.present)),
            Check::Among(words) => {
                let yes = if words & 2 != 0 { model.flag } else { super::diagram::NEVER };
                let not = space.diagram.not(model.flag)?;
                let no = if words & 1 != 0 { not } else { super::diagram::NEVER };
                (model.is_flag, space.diagram.or(yes, no)?)
            }
            Check::Above(bound) => (model.is_number, model.reached(bound.checked_add(1))),
            Check::Below(bound) => {
                let reached = model.reached(Some(*bound));
                (model.is_number, space.diagram.not(reached)?)
            }
            Check::Number(numbers) => {
                let mut any = Vec::new();
                for number in numbers {
                    let above = model.reached(number.checked_add(1));
                    any.push(space.diagram.minus(model.reached(Some(*number)), above)?);
                }
                (model.is_number, space.diagram.any(any)?)
            }
            Check::Has(_) | Check::Text(_) | Check::Matches(_) => {
                (super::diagram::NEVER, super::diagram::NEVER)
            }
        };
        known_of(space, kind, Rails::known(holds))
    }

    /// Arguments with these values, as JSON text.
    pub(crate) fn spelled(&self, space: &Space, values: &Values) -> Value {
        let mut root = Map::new();
        // Shorter pointers first: what holds others is made before them.
        for (pointer, model) in &self.models {
            if space.value(model.present, values) {
                let tokens: Vec<String> = pointer.split('/').map(unescaped).collect();
                put(&mut root, &tokens, model.spelled(space, values));
            }
        }
        Value::Object(root)
    }
}

/// Of an argument that is missing, or of another kind than the operator reads, nothing is known.
fn known_of(space: &mut Space, kind: Function, Rails { may, must }: Rails) -> Result<Rails, GaveUp> {
    let must = space.diagram.and(kind, must)?;
    Ok(Rails { may: space.diagram.choose(kind, may, super::diagram::ALWAYS)?, must })
}

// === impl Model ===

impl Model {
    fn reached(&self, number: Option<i64>) -> Function {
        let found = self.at_least.iter().find(|(cut, _)| Some(*cut) == number);
        found.map_or(super::diagram::NEVER, |(_, reached)| *reached)
    }

    fn spelled(&self, space: &Space, values: &Values) -> Value {
        if space.value(self.is_text, values) {
            return Value::from(space.spelled(self.text, values).unwrap_or_default());
        }
        if space.value(self.is_flag, values) {
            return Value::from(space.value(self.flag, values));
        }
        if space.value(self.is_number, values) {
            let reached = self.at_least.iter().rev().find(|(_, reached)| space.value(*reached, values));
            return match (reached, self.at_least.first()) {
                (Some((cut, _)), _) => Value::from(*cut),
                (None, Some((least, _))) => Value::from(least.saturating_sub(1)),
                (None, None) => Value::from(0),
            };
        }
        json!({})
    }
}

/// Puts a value where a pointer says. What is on the way becomes an object.
fn put(into: &mut Map<String, Value>, tokens: &[String], value: Value) {
    let Some((first, rest)) = tokens.split_first() else { return };
    if rest.is_empty() {
        into.insert(first.clone(), value);
        return;
    }
    let inside = into.entry(first.clone()).or_insert_with(|| json!({}));
    if !inside.is_object() {
        *inside = json!({});
    }
    if let Value::Object(inside) = inside {
        put(inside, rest, value);
    }
}

/// The first part of a pointer.
fn first(pointer: &str) -> &str {
    pointer.split('/').next().unwrap_or_default()
}

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}
