//! Boolean functions as reduced ordered binary decision diagrams: equal functions are equal numbers, so every
//! question about a rule set is a comparison.
//!
//! The number of nodes is bounded. Whoever goes over the bound gets [`TooLarge`] and gives up; nothing that runs
//! waits for an analysis.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A Boolean function of one [`Diagram`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Function(u32);

/// A variable. The smaller number is asked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Variable(pub(crate) u32);

/// The diagram would need more nodes than it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Never true.
pub(crate) const NEVER: Function = Function(0);
/// Always true.
pub(crate) const ALWAYS: Function = Function(1);

/// All functions over one order of variables.
#[derive(Debug)]
pub(crate) struct Diagram {
    nodes: Vec<Node>,
    /// Each node once: what makes equal functions equal numbers.
    known: HashMap<Node, Function, BuildHasherDefault<Mixing>>,
    /// Results of [`Diagram::choose`].
    chosen: HashMap<(Function, Function, Function), Function, BuildHasherDefault<Mixing>>,
    most_nodes: usize,
}

/// Ask the variable, and go on with `low` if it is false, with `high` if it is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    variable: Variable,
    low: Function,
    high: Function,
}

/// Nobody outside chooses these keys, and there are very many of them.
#[derive(Debug, Default)]
struct Mixing(u64);

/// Asked after every other; what the two constants ask.
const LAST: Variable = Variable(u32::MAX);

// === impl Diagram ===

impl Diagram {
    /// An empty diagram that may grow to so many nodes.
    pub(crate) fn new(most_nodes: usize) -> Self {
        let constant = |function| Node { variable: LAST, low: function, high: function };
        Self {
            nodes: vec![constant(NEVER), constant(ALWAYS)],
            known: HashMap::default(),
            chosen: HashMap::default(),
            most_nodes,
        }
    }

    /// The function that is true exactly when the variable is.
    pub(crate) fn variable(&mut self, variable: Variable) -> Result<Function, TooLarge> {
        self.node(variable, NEVER, ALWAYS)
    }

    /// If `condition` then `yes` else `no`. Every other operation is this one.
    pub(crate) fn choose(
        &mut self,
        condition: Function,
        yes: Function,
        no: Function,
    ) -> Result<Function, TooLarge> {
        match (condition, yes, no) {
            (ALWAYS, yes, _) => return Ok(yes),
            (NEVER, _, no) => return Ok(no),
            (_, yes, no) if yes == no => return Ok(yes),
            (condition, ALWAYS, NEVER) => return Ok(condition),
            _ => {}
        }
        if let Some(&found) = self.chosen.get(&(condition, yes, no)) {
            return Ok(found);
        }
        let first = [condition, yes, no].into_iter().map(|f| self.asks(f)).min().unwrap_or(LAST);
        let (condition_low, condition_high) = self.split(condition, first);
        let (yes_low, yes_high) = self.split(yes, first);
        let (no_low, no_high) = self.split(no, first);
        let low = self.choose(condition_low, yes_low, no_low)?;
        let high = self.choose(condition_high, yes_high, no_high)?;
        let found = self.node(first, low, high)?;
        self.chosen.insert((condition, yes, no), found);
        Ok(found)
    }

    /// The opposite.
    pub(crate) fn not(&mut self, function: Function) -> Result<Function, TooLarge> {
        self.choose(function, NEVER, ALWAYS)
    }

    /// Both.
    pub(crate) fn and(&mut self, left: Function, right: Function) -> Result<Function, TooLarge> {
        self.choose(left, right, NEVER)
    }

    /// One or both.
    pub(crate) fn or(&mut self, left: Function, right: Function) -> Result<Function, TooLarge> {
        self.choose(left, ALWAYS, right)
    }

    /// The first without the second.
    pub(crate) fn minus(&mut self, left: Function, right: Function) -> Result<Function, TooLarge> {
        self.choose(right, NEVER, left)
    }

    /// If the first then the second.
    pub(crate) fn implies(&mut self, left: Function, right: Function) -> Result<Function, TooLarge> {
        self.choose(left, right, ALWAYS)
    }

    /// Both or neither.
    pub(crate) fn same(&mut self, left: Function, right: Function) -> Result<Function, TooLarge> {
        let not_right = self.not(right)?;
        self.choose(left, right, not_right)
    }

    /// All of them; true of none.
    pub(crate) fn all(
        &mut self,
        functions: impl IntoIterator<Item = Function>,
    ) -> Result<Function, TooLarge> {
        self.folded(functions.into_iter().collect(), ALWAYS, Self::and)
    }

    /// One of them; false of none.
    pub(crate) fn any(
        &mut self,
        functions: impl IntoIterator<Item = Function>,
    ) -> Result<Function, TooLarge> {
        self.folded(functions.into_iter().collect(), NEVER, Self::or)
    }

    /// Joins neighbours, then their joins: functions of near variables meet while they are small.
    fn folded(
        &mut self,
        mut functions: Vec<Function>,
        empty: Function,
        join: fn(&mut Self, Function, Function) -> Result<Function, TooLarge>,
    ) -> Result<Function, TooLarge> {
        while functions.len() > 1 {
            let mut joined = Vec::with_capacity(functions.len().div_ceil(2));
            for pair in functions.chunks(2) {
                joined.push(match pair {
                    [left, right] => join(self, *left, *right)?,
                    [alone] => *alone,
                    _ => empty,
                });
            }
            functions = joined;
        }
        Ok(functions.first().copied().unwrap_or(empty))
    }

    /// The values that make the function true, as far as they matter; `None` if nothing does. Where a variable can
    /// be either, `prefer` is asked.
    pub(crate) fn example(
        &self,
        function: Function,
        prefer: &mut dyn FnMut(Variable) -> bool,
    ) -> Option<Vec<(Variable, bool)>> {
        let mut path = Vec::new();
        let mut at = function;
        while at != ALWAYS {
            let node = self.read(at);
            // A function that is not `NEVER` has a way to `ALWAYS` behind each child that is not.
            let value = match (node.low, node.high) {
                (NEVER, NEVER) => return None,
                (NEVER, _) => true,
                (_, NEVER) => false,
                _ => prefer(node.variable),
            };
            path.push((node.variable, value));
            at = if value { node.high } else { node.low };
        }
        Some(path)
    }

    /// The value of the function under values for all variables.
    pub(crate) fn value(&self, function: Function, values: &dyn Fn(Variable) -> bool) -> bool {
        let mut at = function;
        while at != ALWAYS && at != NEVER {
            let node = self.read(at);
            at = if values(node.variable) { node.high } else { node.low };
        }
        at == ALWAYS
    }

    fn read(&self, function: Function) -> Node {
        let constant = Node { variable: LAST, low: NEVER, high: NEVER };
        usize::try_from(function.0).ok().and_then(|index| self.nodes.get(index)).copied().unwrap_or(constant)
    }

    fn asks(&self, function: Function) -> Variable {
        self.read(function).variable
    }

    /// What is left of a function when the variable is false and when it is true.
    fn split(&self, function: Function, variable: Variable) -> (Function, Function) {
        let node = self.read(function);
        if node.variable == variable { (node.low, node.high) } else { (function, function) }
    }

    fn node(&mut self, variable: Variable, low: Function, high: Function) -> Result<Function, TooLarge> {
        if low == high {
            return Ok(low);
        }
        let node = Node { variable, low, high };
        if let Some(&found) = self.known.get(&node) {
            return Ok(found);
        }
        if self.nodes.len() >= self.most_nodes {
            return Err(TooLarge);
        }
        let function = Function(u32::try_from(self.nodes.len()).map_err(|_| TooLarge)?);
        self.nodes.push(node);
        self.known.insert(node, function);
        Ok(function)
    }
}

// === impl Mixing ===

impl Hasher for Mixing {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32((*byte).into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(number)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A formula over eight variables.
    #[derive(Debug, Clone)]
    enum Formula {
        Variable(u32),
        Not(Box<Formula>),
        And(Box<Formula>, Box<Formula>),
        Or(Box<Formula>, Box<Formula>),
    }

    impl Formula {
        fn value(&self, bits: u32) -> bool {
            match self {
                Formula::Variable(n) => bits >> n & 1 == 1,
                Formula::Not(of) => !of.value(bits),
                Formula::And(left, right) => left.value(bits) && right.value(bits),
                Formula::Or(left, right) => left.value(bits) || right.value(bits),
            }
        }

        fn function(&self, diagram: &mut Diagram) -> Result<Function, TooLarge> {
            match self {
                Formula::Variable(n) => diagram.variable(Variable(*n)),
                Formula::Not(of) => {
                    let of = of.function(diagram)?;
                    diagram.not(of)
                }
                Formula::And(left, right) => {
                    let (left, right) = (left.function(diagram)?, right.function(diagram)?);
                    diagram.and(left, right)
                }
                Formula::Or(left, right) => {
                    let (left, right) = (left.function(diagram)?, right.function(diagram)?);
                    diagram.or(left, right)
                }
            }
        }
    }

    fn formula() -> impl Strategy<Value = Formula> {
        (0u32..8).prop_map(Formula::Variable).prop_recursive(6, 40, 2, |inner| {
            prop_oneof![
                inner.clone().prop_map(|of| Formula::Not(Box::new(of))),
                (inner.clone(), inner.clone()).prop_map(|(l, r)| Formula::And(Box::new(l), Box::new(r))),
                (inner.clone(), inner).prop_map(|(l, r)| Formula::Or(Box::new(l), Box::new(r))),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_diagram_says_what_its_formula_says(one in formula(), other in formula()) {
            let mut diagram = Diagram::new(100_000);
            let (f, g) = (one.function(&mut diagram).unwrap(), other.function(&mut diagram).unwrap());
            let mut alike = true;
            for bits in 0..256u32 {
                let values = |Variable(n): Variable| bits >> n & 1 == 1;
                prop_assert_eq!(diagram.value(f, &values), one.value(bits));
                alike &= one.value(bits) == other.value(bits);
            }
            prop_assert_eq!(f == g, alike);
            match diagram.example(f, &mut |_| false) {
                None => prop_assert_eq!(f, NEVER),
                Some(path) => {
                    let values = |v: Variable| path.iter().any(|(n, value)| *n == v && *value);
                    prop_assert!(diagram.value(f, &values));
                }
            }
        }
    }

    #[test]
    fn a_diagram_over_its_bound_gives_up() {
        // The middle bit of a product in a bad order of variables needs very many nodes.
        let mut diagram = Diagram::new(50);
        let pairs: Result<Vec<_>, _> = (0..20)
            .map(|n| {
                let (left, right) = (diagram.variable(Variable(n))?, diagram.variable(Variable(20 + n))?);
                diagram.and(left, right)
            })
            .collect();
        let all = pairs.and_then(|pairs| diagram.any(pairs));
        assert_eq!(all, Err(TooLarge));
    }
}
