//! The JSON shapes annotations are written in: flags, words, lists of either, and classes of data.
//!
//! A value of the wrong type is an unknown word, and an unknown word is the worst one (R6, R7). A scalar is a
//! list of one (R3), an empty list says nothing (R4).

use std::borrow::Cow;
use std::sync::Arc;

use highwater_core::annotation::{
    Axis, Claim, DataClass, Destination, NoticeKind, Outcome, Possible, Sensitivity, Severe, Source,
    class_name,
};
use highwater_core::label::TextSet;
use highwater_notation::{Words, same_word};

use super::heard::{Heard, origins};
use crate::text::{
    elements, is_array, is_false, is_object, is_true, member, members, string_member, unquote,
};

/// Elements of one list that are looked at. No vocabulary has so many words.
const ELEMENTS: usize = 4096;
/// Names kept of one list of capabilities or tokens.
const NAMES: usize = 256;
/// The longest of those names.
const NAME: usize = TextSet::LONGEST;

/// What a word means on an axis.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning<T> {
    /// It is one of the values the axis can have.
    Is(T),
    /// It only adds one.
    Adds(T),
}

/// What was said on one axis: values it can have, and values that are added to whatever it has.
pub(super) struct Said<T> {
    pub(super) set: Words<T>,
    pub(super) add: Words<T>,
}

/// Classes of data as they were said; `unknown` if a part of them was not understood.
#[derive(Default)]
pub(super) struct Classes {
    pub(super) known: Option<Sensitivity>,
    pub(super) unknown: bool,
    /// Those that look like classes of an operator's own.
    named: Option<Sensitivity>,
}

/// A list of names.
pub(super) enum Names {
    /// All of them.
    Listed(Vec<Arc<str>>),
    /// Not a list, or one with something else in it, or longer than is kept.
    Unreadable,
}

// === impl Heard ===

impl Heard {
    /// A flag; one of another type reads as `severe`.
    pub(super) fn flag(&mut self, raw: &str, severe: bool) -> bool {
        if is_true(raw) || is_false(raw) {
            return is_true(raw);
        }
        self.notice(NoticeKind::WrongType, None, self.key);
        severe
    }

    /// The texts of a scalar or a list, `None` for an element that is no text.
    fn texts<'a>(raw: &'a str) -> impl Iterator<Item = Option<Cow<'a, str>>> {
        items(raw).map(|item| item.and_then(unquote))
    }

    /// Words of an axis.
    pub(super) fn words<T: Severe>(
        &mut self,
        raw: &str,
        axis: Axis,
        meaning: impl Fn(&str) -> Option<Meaning<T>>,
    ) -> Said<T> {
        let mut said = Said { set: Words::EMPTY, add: Words::EMPTY };
        for text in Self::texts(raw) {
            match self.known(text.as_deref(), axis, &meaning) {
                Some(Meaning::Is(word)) => said.set = said.set.with(word),
                Some(Meaning::Adds(word)) => said.add = said.add.with(word),
                None => said.add = said.add.with(T::WORST),
            }
        }
        said
    }

    /// What a word means; a remark if it means nothing.
    pub(super) fn known<T>(
        &mut self,
        text: Option<&str>,
        axis: Axis,
        meaning: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let Some(text) = text else {
            self.notice(NoticeKind::WrongType, Some(axis), self.key);
            return None;
        };
        let known = meaning(text);
        if known.is_none() {
            self.notice(NoticeKind::UnknownWord, Some(axis), text);
        }
        known
    }

    /// Words that each mean something of their own; `None` stands for one that means nothing known.
    pub(super) fn each_word<T>(
        &mut self,
        raw: &str,
        axis: Axis,
        meaning: impl Fn(&str) -> Option<T>,
        mut take: impl FnMut(&mut Self, Option<T>),
    ) {
        for text in Self::texts(raw) {
            let known = self.known(text.as_deref(), axis, &meaning);
            take(self, known);
        }
    }

    pub(super) fn destination(&mut self, raw: &str, meaning: impl Fn(&str) -> Option<Meaning<Destination>>) {
        if self.of_data() {
            return;
        }
        let said = self.words(raw, Axis::Destination, meaning);
        if let Some(words) = Possible::of(said.set) {
            self.say(Claim::SetDestination(words));
        }
        if !said.add.is_empty() {
            self.say(Claim::AddDestination(said.add));
        }
    }

    pub(super) fn outcomes(&mut self, raw: &str, meaning: impl Fn(&str) -> Option<Meaning<Outcome>>) {
        if self.of_data() {
            return;
        }
        let said = self.words(raw, Axis::Outcomes, meaning);
        if let Some(words) = Possible::of(said.set) {
            self.say(Claim::SetOutcomes(words));
        }
        if !said.add.is_empty() {
            self.say(Claim::AddOutcomes(said.add));
        }
    }

    /// One thing said of outcomes, if it says anything.
    pub(super) fn outcome(&mut self, said: Option<Meaning<Outcome>>) {
        match said {
            Some(Meaning::Is(outcome)) => self.say(Claim::SetOutcomes(Possible::only(outcome))),
            Some(Meaning::Adds(outcome)) => self.say(Claim::AddOutcomes(Words::only(outcome))),
            None => {}
        }
    }

    pub(super) fn source(&mut self, raw: &str, meaning: impl Fn(&str) -> Option<Meaning<Source>>) {
        let said = self.words(raw, Axis::Source, meaning);
        let add = if self.of_data() { said.add.union(said.set) } else { said.add };
        match Possible::of(said.set) {
            Some(words) if !self.of_data() => self.say(Claim::SetSource(words)),
            Some(_) | None => {}
        }
        if !add.is_empty() {
            self.say(Claim::AddSource(add));
        }
    }

    /// The classes a tool is built to receive: a plain list, all of which it accepts.
    pub(super) fn accepts(&mut self, raw: &str, other_words: impl Fn(&str) -> Option<Sensitivity>) {
        if self.of_data() {
            return;
        }
        let classes = self.classes(raw, Axis::Accepts, other_words);
        match classes.known {
            Some(known) => self.say(Claim::SetAccepts(known)),
            // A class nobody knows is no licence for those we know.
            None if classes.unknown => self.say(Claim::SetAccepts(Sensitivity::none())),
            None => {}
        }
    }

    /// The classes of replies.
    pub(super) fn sensitivity(&mut self, raw: &str, other_words: impl Fn(&str) -> Option<Sensitivity>) {
        let classes = self.classes(raw, Axis::Returns, other_words);
        match classes.known {
            Some(known) if !self.of_data() => self.say(Claim::SetReturns(known)),
            Some(known) if !known.classes().is_empty() => self.say(Claim::AddReturns(known)),
            Some(_) | None => {}
        }
        if classes.unknown {
            self.returns([DataClass::Unclassified]);
        }
        // Whose class it is, its operator says; who else names it can only add it to what nobody knows.
        if let Some(named) = classes.named {
            self.say(Claim::AddReturns(named));
        }
    }

    /// Classes in the published spelling, or in words of a vocabulary's own.
    pub(super) fn classes(
        &mut self,
        raw: &str,
        axis: Axis,
        other_words: impl Fn(&str) -> Option<Sensitivity>,
    ) -> Classes {
        let mut classes = Classes::default();
        for item in items(raw) {
            let known = if let Some(raw) = item.filter(|raw| is_object(raw)) {
                let known = regulated(raw);
                if known.is_none() {
                    self.notice(NoticeKind::WrongType, Some(axis), self.key);
                }
                known
            } else {
                let text = item.and_then(unquote);
                if let Some(name) = text.as_deref().and_then(class_name) {
                    let (held, named) = (classes.named.take(), Sensitivity::named(&name));
                    classes.named = Some(held.map_or_else(|| named.clone(), |held| held.or(&named)));
                }
                self.known(text.as_deref(), axis, |word| other_words(word).or_else(|| class(word)))
            };
            match known {
                Some(more) => {
                    let held = classes.known.take();
                    classes.known = Some(held.map_or_else(|| more.clone(), |held| held.or(&more)));
                }
                None => classes.unknown = true,
            }
        }
        classes
    }

    /// Sources that contributed.
    pub(super) fn attribution(&mut self, raw: &str) {
        let mut wrong = false;
        let mut origins = origins(Self::texts(raw).inspect(|text| wrong |= text.is_none()).flatten());
        if wrong {
            self.notice(NoticeKind::WrongType, None, self.key);
            origins = origins.opened();
        } else if origins.is_open() {
            self.notice(NoticeKind::Truncated, None, self.key);
        }
        if !origins.is_empty() {
            self.say(Claim::AddOrigins(origins));
        }
    }

    /// A block of members; nothing and a remark if it is none.
    pub(super) fn block<'a>(&mut self, raw: &'a str) -> Option<&'a str> {
        if is_object(raw) {
            return Some(raw);
        }
        self.notice(NoticeKind::Malformed, None, self.key);
        None
    }
}

/// The elements of a list, or a scalar as the only one. What lies beyond the bound is one that cannot be read.
fn items(raw: &str) -> impl Iterator<Item = Option<&str>> {
    let (list, scalar) = if is_array(raw) { (raw, None) } else { ("", Some(raw)) };
    let listed = elements(list).take(ELEMENTS + 1).enumerate();
    listed.map(|(place, item)| (place < ELEMENTS).then_some(item)).chain(scalar.map(Some))
}

/// The names of a list.
pub(super) fn names(raw: &str) -> Names {
    if !is_array(raw) {
        return Names::Unreadable;
    }
    let mut names = Vec::new();
    for element in elements(raw) {
        match unquote(element) {
            Some(name) if names.len() < NAMES && name.len() <= NAME => names.push(name.into()),
            _ => return Names::Unreadable,
        }
    }
    Names::Listed(names)
}

/// The members of a block whose key is this one, in camel case or in Pascal case.
pub(super) fn either<'a>(block: &'a str, camel: &str, pascal: &str) -> impl Iterator<Item = &'a str> {
    member(block, camel).into_iter().chain(member(block, pascal))
}

/// What a word means by a table.
pub(super) fn look_up<T: Copy>(table: &[(&str, T)]) -> impl Fn(&str) -> Option<T> {
    move |word| table.iter().find(|(known, _)| same_word(word, known)).map(|(_, meaning)| *meaning)
}

/// A class in the published spelling. The two of our own are no words of theirs.
fn class(word: &str) -> Option<Sensitivity> {
    if same_word(word, "none") {
        return Some(Sensitivity::none());
    }
    match DataClass::parse(word)? {
        DataClass::Confidential | DataClass::Unclassified | DataClass::Named => None,
        class @ (DataClass::User
        | DataClass::Pii
        | DataClass::Financial
        | DataClass::Credentials
        | DataClass::Regulated) => Some(Sensitivity::of([class])),
    }
}

/// `{"regulated":{"scopes":[…]}}`. Scopes that cannot be read are every scope.
fn regulated(raw: &str) -> Option<Sensitivity> {
    let block = either(raw, "regulated", "Regulated").next()?;
    let every = || Sensitivity::of([DataClass::Regulated]);
    let Some(scopes) = either(block, "scopes", "Scopes").next() else { return Some(every()) };
    Some(scopes_of(scopes).unwrap_or_else(every))
}

/// Regulated data of the listed scopes; nothing if there is something else among them.
pub(super) fn scopes_of(raw: &str) -> Option<Sensitivity> {
    let listed: Vec<Cow<'_, str>> = Heard::texts(raw).collect::<Option<_>>()?;
    Some(Sensitivity::regulated(listed.iter().map(AsRef::as_ref)))
}

/// Whether a member holds this word.
pub(super) fn says(block: &str, key: &str, word: &str) -> bool {
    string_member(block, key).is_some_and(|text| same_word(&text, word))
}

/// Whether an object has no members.
pub(super) fn is_empty_object(raw: &str) -> bool {
    is_object(raw) && members(raw).next().is_none()
}
