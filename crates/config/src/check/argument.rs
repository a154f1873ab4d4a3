//! Arguments: what can stand at each place that some condition looks at, and an example of it.

use std::collections::{BTreeMap, BTreeSet};

use highwater_core::policy::Check;
use serde_json::{Map, Value, json};

use super::diagram::Function;
use super::space::{GaveUp, Rails, Space, TextId, Values};
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
    pub(crate) fn note(&mut self, check: &Check) {
        match check {
            Check::Text(texts) => {
                self.texts.extend(texts.iter().map(|text| Pattern::Exact(text.to_string())))
            }
            Check::Matches(glob) => self.texts.push(Pattern::Glob(glob.as_str().to_owned())),
            Check::Above(bound) => self.cuts.extend(bound.checked_add(1)),
            Check::Below(bound) => self.cuts.extend([*bound]),
            Check::Number(numbers) => {
                for number in numbers {
                    self.cuts.extend([Some(*number), number.checked_add(1)].into_iter().flatten());
                }
            }
            Check::Among(_) | Check::Has(_) | Check::Exists => {}
        }
    }
}

// === impl Arguments ===

impl Arguments {
    /// Makes the variables.
    pub(crate) fn new(space: &mut Space, asked: BTreeMap<String, Asked>) -> Result<Self, GaveUp> {
        let mut models = BTreeMap::new();
        for (pointer, asked) in asked {
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
        let arguments = Self { models };
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

    /// When a test of an argument may hold, and when it certainly does.
    pub(crate) fn rails(&self, space: &mut Space, pointer: &str, check: &Check) -> Result<Rails, GaveUp> {
        let Some(model) = self.models.get(pointer) else {
            return Ok(Rails { may: super::diagram::ALWAYS, ..Rails::NEVER });
        };
        // Of an argument that is missing, or of another kind than the operator reads, nothing is known.
        let (kind, holds) = match check {
            Check::Exists => return Ok(Rails::known(model.present)),
            Check::Among(words) => {
                let yes = if words & 2 != 0 { model.flag } else { super::diagram::NEVER };
                let not = space.diagram.not(model.flag)?;
                let no = if words & 1 != 0 { not } else { super::diagram::NEVER };
                (model.is_flag, space.diagram.or(yes, no)?)
            }
            Check::Text(texts) => {
                let mut any = Vec::new();
                for text in texts {
                    any.push(space.like(model.text, &Pattern::Exact(text.to_string()))?);
                }
                (model.is_text, space.diagram.any(any)?)
            }
            Check::Matches(glob) => {
                (model.is_text, space.like(model.text, &Pattern::Glob(glob.as_str().to_owned()))?)
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
            Check::Has(_) => (super::diagram::NEVER, super::diagram::NEVER),
        };
        let must = space.diagram.and(kind, holds)?;
        let may = space.diagram.choose(kind, holds, super::diagram::ALWAYS)?;
        Ok(Rails { may, must })
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

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}
