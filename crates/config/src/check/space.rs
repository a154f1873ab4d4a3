//! The variables of an analysis, what is known to hold between them, and the search for examples.
//!
//! Texts are where diagrams know too little: to them the patterns `a*` and `b*` are two switches. Each example is
//! therefore spelled out, and one that cannot be spelled becomes something known, after which the search goes on.

use super::diagram::{ALWAYS, Diagram, Function, NEVER, TooLarge, Variable};
use super::texts::{Found, Pattern, conflict, find};

/// Why an analysis ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GaveUp {
    /// The diagram would have grown too large.
    TooLarge,
    /// Too many texts were tried.
    TooManyTexts,
}

/// When a test may hold, and when it certainly does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rails {
    pub(crate) may: Function,
    pub(crate) must: Function,
}

/// The variables and what holds between them.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) diagram: Diagram,
    variables: u32,
    /// Variables that an example has true where nothing speaks against it.
    usual: Vec<Variable>,
    /// What always holds, and what was said since that was last put together.
    valid: Function,
    said: Vec<Function>,
    /// The part of it that is about texts.
    said_of_texts: Vec<Function>,
    texts: Vec<TextSubject>,
}

/// Values for the variables of a space.
#[derive(Debug, Clone)]
pub(crate) struct Values(Vec<bool>);

/// A text, or the members of a set of texts, as far as patterns tell them apart.
#[derive(Debug, Clone)]
pub(crate) struct TextSubject {
    patterns: Vec<(Pattern, Variable)>,
    /// Of a set: whether it has a member that is like no pattern.
    other: Option<Variable>,
    /// What an example is spelled like where the patterns leave it open.
    usual: String,
}

/// The place of a text in its space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextId(usize);

/// How often an example may turn out to be one that cannot be spelled.
const MOST_TRIES: usize = 2_000;

/// With more patterns than this, what two of them have to do with each other is found out when it matters.
const MOST_PAIRED: usize = 32;

// === impl Rails ===

impl Rails {
    /// Something that is never unknown.
    pub(crate) fn known(function: Function) -> Self {
        Self { may: function, must: function }
    }

    pub(crate) const NEVER: Self = Self { may: NEVER, must: NEVER };
    pub(crate) const ALWAYS: Self = Self { may: ALWAYS, must: ALWAYS };
}

// === impl Space ===

impl Space {
    /// No variables yet.
    pub(crate) fn new(most_nodes: usize) -> Self {
        Self {
            diagram: Diagram::new(most_nodes),
            variables: 0,
            usual: Vec::new(),
            valid: ALWAYS,
            said: Vec::new(),
            said_of_texts: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// A new variable, asked after all others.
    pub(crate) fn fresh(&mut self) -> Variable {
        let variable = Variable(self.variables);
        self.variables += 1;
        variable
    }

    /// A new variable as a function.
    pub(crate) fn switch(&mut self) -> Result<Function, GaveUp> {
        let variable = self.fresh();
        Ok(self.diagram.variable(variable)?)
    }

    /// Several of them.
    pub(crate) fn switches(&mut self, count: usize) -> Result<Vec<Function>, GaveUp> {
        (0..count).map(|_| self.switch()).collect()
    }

    /// Several that are true in an example if nothing speaks against it.
    pub(crate) fn usual_switches(&mut self, count: usize) -> Result<Vec<Function>, GaveUp> {
        self.usual.extend((self.variables..).take(count).map(Variable));
        self.switches(count)
    }

    /// One of several values: exactly one of the functions is true. In an example the first, if nothing speaks
    /// against it.
    pub(crate) fn choice(&mut self, count: usize) -> Result<Vec<Function>, GaveUp> {
        self.usual.push(Variable(self.variables));
        self.last_choice(count)
    }

    /// The same; in an example the last, if nothing speaks against it.
    pub(crate) fn last_choice(&mut self, count: usize) -> Result<Vec<Function>, GaveUp> {
        let options = self.switches(count)?;
        self.at_most_one(&options)?;
        let any = self.diagram.any(options.iter().copied())?;
        self.require(any)?;
        Ok(options)
    }

    /// A part of several values that is not empty. In an example the first alone, if nothing speaks against it.
    pub(crate) fn part(&mut self, count: usize) -> Result<Vec<Function>, GaveUp> {
        // What must be there is what is asked last.
        let mut members = self.switches(count)?;
        members.reverse();
        let any = self.diagram.any(members.iter().copied())?;
        self.require(any)?;
        Ok(members)
    }

    /// Says that no two of these are true together.
    fn at_most_one(&mut self, options: &[Function]) -> Result<(), GaveUp> {
        // From the last to the first, so that the diagram grows by two nodes for each.
        let (mut none, mut one) = (ALWAYS, ALWAYS);
        for &option in options.iter().rev() {
            one = self.diagram.choose(option, none, one)?;
            none = self.diagram.choose(option, NEVER, none)?;
        }
        self.require(one)
    }

    /// Says that this always holds.
    pub(crate) fn require(&mut self, known: Function) -> Result<(), GaveUp> {
        self.said.push(known);
        Ok(())
    }

    /// Everything that always holds. What was said last is about the variables that are asked last, so it is put
    /// together from the end: each step then touches only what it adds.
    fn valid(&mut self) -> Result<Function, GaveUp> {
        let mut joined = ALWAYS;
        for known in std::mem::take(&mut self.said).into_iter().rev() {
            joined = self.diagram.and(known, joined)?;
        }
        self.valid = self.diagram.and(self.valid, joined)?;
        Ok(self.valid)
    }

    /// Says that the second holds where the first does.
    pub(crate) fn require_if(&mut self, condition: Function, known: Function) -> Result<(), GaveUp> {
        let implied = self.diagram.implies(condition, known)?;
        self.require(implied)
    }

    /// Says that the two are the same.
    pub(crate) fn require_same(&mut self, left: Function, right: Function) -> Result<(), GaveUp> {
        let same = self.diagram.same(left, right)?;
        self.require(same)
    }

    /// What is left of a function where texts are what texts can be: patterns that exclude each other do not meet.
    /// Without this, joining many functions of patterns needs a node for every combination of them.
    pub(crate) fn spellable(&mut self, function: Function) -> Result<Function, GaveUp> {
        let mut joined = ALWAYS;
        for known in std::mem::take(&mut self.said_of_texts).into_iter().rev() {
            joined = self.diagram.and(known, joined)?;
        }
        if joined != ALWAYS {
            self.said_of_texts.push(joined);
        }
        Ok(self.diagram.and(function, joined)?)
    }

    /// A text that is compared with these patterns.
    pub(crate) fn text(&mut self, patterns: Vec<Pattern>, usual: &str) -> Result<TextId, GaveUp> {
        let said = self.said.len();
        let id = self.subject(patterns, usual);
        let exact: Vec<Variable> = match self.texts.get(id.0) {
            Some(text) => text.exact().map(|(_, variable)| variable).collect(),
            None => Vec::new(),
        };
        let exact = exact.into_iter().map(|variable| self.diagram.variable(variable));
        let exact = exact.collect::<Result<Vec<_>, _>>()?;
        self.at_most_one(&exact)?;
        self.relate_exact(id, true)?;
        self.relate_globs(id)?;
        self.said_of_texts.extend_from_slice(self.said.get(said..).unwrap_or_default());
        Ok(id)
    }

    /// A set of texts whose members are compared with these patterns.
    pub(crate) fn text_set(&mut self, patterns: Vec<Pattern>, usual: &str) -> Result<TextId, GaveUp> {
        let id = self.subject(patterns, usual);
        let other = self.fresh();
        if let Some(text) = self.texts.get_mut(id.0) {
            text.other = Some(other);
        }
        self.relate_exact(id, false)?;
        Ok(id)
    }

    fn subject(&mut self, mut patterns: Vec<Pattern>, usual: &str) -> TextId {
        patterns.sort();
        patterns.dedup();
        let patterns = patterns.into_iter().map(|pattern| (pattern, self.fresh())).collect();
        self.texts.push(TextSubject { patterns, other: None, usual: usual.to_owned() });
        TextId(self.texts.len() - 1)
    }

    /// A text that is the exact one matches exactly the globs that one matches.
    fn relate_exact(&mut self, id: TextId, only_member: bool) -> Result<(), GaveUp> {
        let Some(text) = self.texts.get(id.0).cloned() else { return Ok(()) };
        for (exact, variable) in text.exact() {
            let is = self.diagram.variable(variable)?;
            for (glob, other) in text.globs() {
                let matches = self.diagram.variable(other)?;
                if find(&[exact, glob], &[]) != Found::Nothing {
                    self.require_if(is, matches)?;
                } else if only_member {
                    let not = self.diagram.not(matches)?;
                    self.require_if(is, not)?;
                }
            }
        }
        Ok(())
    }

    /// What globs have to do with each other, two by two.
    fn relate_globs(&mut self, id: TextId) -> Result<(), GaveUp> {
        let Some(text) = self.texts.get(id.0).cloned() else { return Ok(()) };
        let globs: Vec<(&Pattern, Variable)> = text.globs().collect();
        if globs.len() > MOST_PAIRED {
            return Ok(());
        }
        for (index, (glob, variable)) in globs.iter().enumerate() {
            let one = self.diagram.variable(*variable)?;
            if find(&[], &[glob]) == Found::Nothing {
                self.require(one)?;
            }
            for (other, other_variable) in globs.iter().skip(index + 1) {
                let two = self.diagram.variable(*other_variable)?;
                if find(&[glob, other], &[]) == Found::Nothing {
                    let not = self.diagram.not(two)?;
                    self.require_if(one, not)?;
                }
                if find(&[glob], &[other]) == Found::Nothing {
                    self.require_if(one, two)?;
                }
                if find(&[other], &[glob]) == Found::Nothing {
                    self.require_if(two, one)?;
                }
            }
        }
        Ok(())
    }

    /// The function that is true when the text, or a member of the set, is like this.
    pub(crate) fn like(&mut self, id: TextId, pattern: &Pattern) -> Result<Function, GaveUp> {
        let found = self.texts.get(id.0).and_then(|text| text.patterns.iter().find(|(p, _)| p == pattern));
        match found.map(|(_, variable)| *variable) {
            Some(variable) => Ok(self.diagram.variable(variable)?),
            None => Ok(NEVER),
        }
    }

    /// The function that is true when the set has a member.
    pub(crate) fn has_member(&mut self, id: TextId) -> Result<Function, GaveUp> {
        let variables: Vec<Variable> = match self.texts.get(id.0) {
            Some(text) => text.patterns.iter().map(|(_, variable)| *variable).chain(text.other).collect(),
            None => Vec::new(),
        };
        let functions = variables.into_iter().map(|variable| self.diagram.variable(variable));
        let functions = functions.collect::<Result<Vec<_>, _>>()?;
        Ok(self.diagram.any(functions)?)
    }

    /// Values under which the function holds, and which can be spelled; `None` if there are none.
    pub(crate) fn example(&mut self, function: Function) -> Result<Option<Values>, GaveUp> {
        // An example should hold nothing that need not be there.
        let usual = self.usual.clone();
        self.example_like(function, &mut |variable| usual.contains(&variable))
    }

    /// The same; `prefer` is asked for every variable that can be either.
    pub(crate) fn example_like(
        &mut self,
        function: Function,
        prefer: &mut dyn FnMut(Variable) -> bool,
    ) -> Result<Option<Values>, GaveUp> {
        for _ in 0..MOST_TRIES {
            let valid = self.valid()?;
            let possible = self.diagram.and(function, valid)?;
            let Some(path) = self.diagram.example(possible, prefer) else { return Ok(None) };
            let mut values = Values((0..self.variables).map(|variable| prefer(Variable(variable))).collect());
            for (variable, value) in path {
                values.set(variable, value);
            }
            match self.unspellable(&values)? {
                None => return Ok(Some(values)),
                Some(learned) => self.require(learned)?,
            }
        }
        Err(GaveUp::TooManyTexts)
    }

    /// Whether the function can hold at all.
    pub(crate) fn possible(&mut self, function: Function) -> Result<bool, GaveUp> {
        Ok(self.example(function)?.is_some())
    }

    /// The value of a function.
    pub(crate) fn value(&self, function: Function, values: &Values) -> bool {
        self.diagram.value(function, &|variable| values.get(variable))
    }

    /// What is wrong with the texts of an example, as something that always holds.
    fn unspellable(&mut self, values: &Values) -> Result<Option<Function>, GaveUp> {
        for index in 0..self.texts.len() {
            let Some(text) = self.texts.get(index).cloned() else { continue };
            let (like, unlike) = text.wanted(values);
            let unlike = text.plainly(&like, unlike);
            if let Some(other) = text.other.filter(|other| values.get(*other))
                && text.another().is_none()
            {
                let function = self.diagram.variable(other)?;
                return Ok(Some(self.diagram.not(function)?));
            }
            let impossible = match text.other {
                Some(_) => like.iter().find_map(|one| match text.spell(&[one], &unlike) {
                    Spelling::Nothing => Some(conflict(&[one], &unlike)),
                    Spelling::Text(_) | Spelling::GaveUp => None,
                }),
                None => match text.spell(&like, &unlike) {
                    Spelling::Nothing => Some(conflict(&like, &unlike)),
                    Spelling::Text(_) | Spelling::GaveUp => None,
                },
            };
            let Some((like, unlike)) = impossible else { continue };
            let mut clause = Vec::new();
            for (pattern, variable) in &text.patterns {
                let function = self.diagram.variable(*variable)?;
                if like.contains(&pattern) {
                    clause.push(self.diagram.not(function)?);
                } else if unlike.contains(&pattern) {
                    clause.push(function);
                }
            }
            return Ok(Some(self.diagram.any(clause)?));
        }
        Ok(None)
    }

    /// The text, spelled out.
    pub(crate) fn spelled(&self, id: TextId, values: &Values) -> Option<String> {
        let text = self.texts.get(id.0)?;
        let (like, unlike) = text.wanted(values);
        match text.spell(&like, &text.plainly(&like, unlike)) {
            Spelling::Text(spelled) => Some(spelled),
            Spelling::Nothing | Spelling::GaveUp => None,
        }
    }

    /// The members of the set, spelled out: one for each pattern that some member is like.
    pub(crate) fn members(&self, id: TextId, values: &Values) -> Vec<String> {
        let Some(text) = self.texts.get(id.0) else { return Vec::new() };
        let (like, unlike) = text.wanted(values);
        let mut members: Vec<String> = Vec::new();
        for pattern in like {
            let spelled = text.spell(&[pattern], &unlike);
            if let Spelling::Text(spelled) = spelled
                && !members.contains(&spelled)
            {
                members.push(spelled);
            }
        }
        if text.other.is_some_and(|other| values.get(other)) {
            members.extend(text.another());
        }
        members
    }
}

enum Spelling {
    Text(String),
    Nothing,
    GaveUp,
}

// === impl TextSubject ===

impl TextSubject {
    fn exact(&self) -> impl Iterator<Item = (&Pattern, Variable)> {
        let exact = self.patterns.iter().filter(|(pattern, _)| matches!(pattern, Pattern::Exact(_)));
        exact.map(|(pattern, variable)| (pattern, *variable))
    }

    fn globs(&self) -> impl Iterator<Item = (&Pattern, Variable)> {
        let globs = self.patterns.iter().filter(|(pattern, _)| matches!(pattern, Pattern::Glob(_)));
        globs.map(|(pattern, variable)| (pattern, *variable))
    }

    fn wanted(&self, values: &Values) -> (Vec<&Pattern>, Vec<&Pattern>) {
        let (mut like, mut unlike) = (Vec::new(), Vec::new());
        for (pattern, variable) in &self.patterns {
            if values.get(*variable) { like.push(pattern) } else { unlike.push(pattern) }
        }
        (like, unlike)
    }

    /// What a text must be unlike if it is read in every spelling: of those, examples are plain ones, except where what
    /// they are to match is no plain one.
    fn plainly<'t>(&self, like: &[&Pattern], mut unlike: Vec<&'t Pattern>) -> Vec<&'t Pattern> {
        let is_alike = |pattern: &Pattern| matches!(pattern, Pattern::Alike(_));
        if self.patterns.iter().any(|(pattern, _)| is_alike(pattern)) {
            let written: Vec<&Pattern> = like.iter().copied().filter(|pattern| !is_alike(pattern)).collect();
            if find(&written, &[&Pattern::Odd]) != Found::Nothing {
                unlike.push(&Pattern::Odd);
            }
        }
        unlike
    }

    /// A text that is like no pattern.
    fn another(&self) -> Option<String> {
        let all: Vec<&Pattern> = self.patterns.iter().map(|(pattern, _)| pattern).collect();
        match self.spell(&[], &all) {
            Spelling::Text(text) => Some(text),
            Spelling::Nothing | Spelling::GaveUp => None,
        }
    }

    /// A text like these and unlike those; the usual one if it will do.
    fn spell(&self, like: &[&Pattern], unlike: &[&Pattern]) -> Spelling {
        let usual = Pattern::Exact(self.usual.clone());
        let mut with_usual = like.to_vec();
        with_usual.push(&usual);
        if let Found::Text(text) = find(&with_usual, unlike) {
            return Spelling::Text(text);
        }
        // An exact text needs no search.
        if let Some(Pattern::Exact(text)) = like.iter().find(|pattern| matches!(pattern, Pattern::Exact(_))) {
            let only = Pattern::Exact(text.clone());
            let fits = find(&[&only], &[]) != Found::Nothing
                && like.iter().all(|pattern| find(&[&only, pattern], &[]) != Found::Nothing)
                && unlike.iter().all(|pattern| find(&[&only], &[pattern]) != Found::Nothing);
            return if fits { Spelling::Text(text.clone()) } else { Spelling::Nothing };
        }
        match find(like, unlike) {
            Found::Text(text) => Spelling::Text(text),
            Found::Nothing => Spelling::Nothing,
            Found::GaveUp => Spelling::GaveUp,
        }
    }
}

// === impl Values ===

impl Values {
    /// The value of a variable.
    pub(crate) fn get(&self, Variable(index): Variable) -> bool {
        usize::try_from(index).ok().and_then(|index| self.0.get(index)).copied().unwrap_or(false)
    }

    fn set(&mut self, Variable(index): Variable, value: bool) {
        if let Some(place) = usize::try_from(index).ok().and_then(|index| self.0.get_mut(index)) {
            *place = value;
        }
    }
}

impl From<TooLarge> for GaveUp {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}
