//! The standing of a call: what its arguments need, by their roles, and what they have.

use highwater_core::annotation::{ArgumentRole, Destination, Outcome};
use highwater_core::provenance::{ArgumentStanding, CallProvenance, Carries, Ground, Lack, Need, Standing};

use crate::act;
use crate::argument::{Given, Leaf, leaves};
use crate::carrier::{Carrier, carriers};
use crate::normal::{composed, spaced, words};
use crate::significance::is_significant;
use crate::value::{Kind, Value};
use crate::view::View;
use crate::vouch::Vouched;
use crate::{Call, Evidence};

/// Finds out where everything in a call comes from. `holds_private` says whether the conversation holds anything that
/// may not go to `public`.
pub fn stand(evidence: &Evidence, call: &Call<'_>, holds_private: bool) -> CallProvenance {
    let mut found = CallProvenance {
        has_words: evidence.has_words(),
        arguments: Vec::new(),
        lacks: Vec::new(),
        lacks_strictly: Vec::new(),
        audience_wanted: false,
        carries: Carries::Anything,
    };
    let Some(leaves) = leaves(call) else {
        lack(&mut found, Need::Value, None);
        return found;
    };
    let view = View::new(evidence, call, holds_private);
    let judged = Judged { view: &view, leaves: &leaves };
    let has_proof_alone = judged.is_proof_alone();
    judged.values(&mut found);
    if judged.is_judged() && !has_proof_alone {
        judged.secrets(&mut found);
        judged.act(&mut found);
        judged.scalars(&mut found);
        judged.contents(&mut found);
        judged.names(&mut found);
    }
    if evidence.has_words() {
        found.audience_wanted = judged.is_audience_wanted(&found);
        found.carries = view.carries(&leaves);
    }
    found
}

/// A call on its way through the table of needs.
struct Judged<'a> {
    view: &'a View<'a>,
    leaves: &'a [Leaf],
}

fn lack(found: &mut CallProvenance, need: Need, leaf: Option<&Leaf>) {
    let lack = Lack { need, pointer: leaf.map(|leaf| leaf.pointer.as_str().into()) };
    found.lacks.push(lack.clone());
    found.lacks_strictly.push(lack);
}

// === impl Judged ===

impl<'a> Judged<'a> {
    fn of(&self, role: ArgumentRole) -> impl Iterator<Item = &'a Leaf> {
        self.leaves.iter().filter(move |leaf| leaf.role == role)
    }

    fn is_public(&self) -> bool {
        self.view.call.destination == Destination::Public
    }

    fn is_benign(&self) -> bool {
        self.view.call.outcome == Outcome::Benign
    }

    /// A call that does nothing and tells nobody anything needs nothing.
    fn is_judged(&self) -> bool {
        !self.is_benign() || self.is_public()
    }

    fn decides(leaf: &Leaf) -> bool {
        matches!(leaf.role, ArgumentRole::Target | ArgumentRole::Object)
    }

    fn has_prime(&self) -> bool {
        self.leaves.iter().any(Self::decides)
    }

    /// Free text that somebody will read: contents and names, and what a stranger's server is asked.
    fn texts(&self) -> impl Iterator<Item = &'a Leaf> {
        let is_public = self.is_public();
        self.leaves.iter().filter(move |leaf| match leaf.role {
            ArgumentRole::Content | ArgumentRole::Name => true,
            ArgumentRole::Query => is_public,
            _ => false,
        })
    }

    /// A one-time code that completes an act which was judged by itself.
    fn is_proof_alone(&self) -> bool {
        let is_proof = |leaf: &Leaf| matches!(leaf.role, ArgumentRole::Proof | ArgumentRole::Session);
        self.of(ArgumentRole::Proof).next().is_some()
            && self.leaves.iter().all(is_proof)
            && self.is_code_free()
            && !self.view.act.destroys()
    }

    fn is_code_free(&self) -> bool {
        self.view.act.takes_code() && self.view.evidence.has_acted()
    }

    /// Targets and objects.
    fn values(&self, found: &mut CallProvenance) {
        for leaf in self.leaves.iter().filter(|leaf| Self::decides(leaf)) {
            let vouched = self.view.vouch(leaf);
            if self.is_judged() && vouched.standing != Standing::Wanted {
                let lack = Lack { need: Need::Value, pointer: Some(leaf.pointer.as_str().into()) };
                if !self.suffices(leaf, &vouched) {
                    found.lacks.push(lack.clone());
                }
                found.lacks_strictly.push(lack);
            }
            found.arguments.push(ArgumentStanding {
                pointer: leaf.pointer.as_str().into(),
                role: leaf.role,
                standing: vouched.standing,
                ground: vouched.ground,
                source: vouched.source,
            });
        }
    }

    /// Whether something is good enough for this call although nobody asked for it by name.
    fn suffices(&self, leaf: &Leaf, vouched: &Vouched) -> bool {
        if self.is_benign() {
            let is_page =
                matches!(Value::new(&leaf.given.written()).kind, Kind::Carrier(Carrier::Page { .. }));
            return is_page && (vouched.standing == Standing::Known || vouched.ground == Ground::SearchHit);
        }
        let stays = !self.is_public() && !self.view.act.destroys();
        match vouched.standing {
            Standing::Wanted => true,
            Standing::Known => {
                stays && (self.view.call.outcome == Outcome::Consequential || self.says_only_words())
            }
            Standing::Listed => stays && vouched.ground == Ground::Record && self.says_only_words(),
            Standing::Unfounded => false,
        }
    }

    /// Whether there is content, and all of it is the user's own words.
    fn says_only_words(&self) -> bool {
        let contents: Vec<String> =
            self.of(ArgumentRole::Content).map(|leaf| spaced(&leaf.given.written())).collect();
        let mut significant =
            contents.iter().flat_map(|content| words(content)).filter(|word| is_significant(word)).peekable();
        significant.peek().is_some() && significant.all(|word| self.view.request_has(word))
    }

    fn secrets(&self, found: &mut CallProvenance) {
        let mut nouns: Vec<String> =
            ["password", "passphrase", "key", "token", "secret", "pin", "cvv", "code"]
                .map(str::to_owned)
                .into();
        for leaf in self.of(ArgumentRole::Secret).chain(self.of(ArgumentRole::Proof)) {
            if leaf.role == ArgumentRole::Proof && self.is_code_free() {
                continue;
            }
            nouns.extend(act::name_words(&leaf.key));
            let written = composed(&leaf.given.written());
            let is_given = self.view.request.iter().any(|text| text.gives(written.trim(), &nouns))
                || self.view.is_approved(leaf, &Value::new(&written));
            if !is_given {
                lack(
                    found,
                    if leaf.role == ArgumentRole::Proof { Need::Proof } else { Need::Secret },
                    Some(leaf),
                );
            }
        }
    }

    /// The kind of act, and calls that have nothing else.
    fn act(&self, found: &mut CallProvenance) {
        let (act, request) = (&self.view.act, &self.view.request);
        if self.is_benign() {
            return;
        }
        if act.destroys() && !act.destruction_is_asked(request) {
            lack(found, Need::Destroys, None);
        }
        let has_secret = self.of(ArgumentRole::Secret).next().is_some();
        if !self.has_prime() && self.texts().next().is_none() && !has_secret {
            return self.bare(found);
        }
        // What is written into something that is there must be asked for by its verb.
        let writes_into =
            self.of(ArgumentRole::Object).next().is_some() && self.of(ArgumentRole::Content).next().is_some();
        let is_own_and_undone = !writes_into
            && self.view.call.destination == Destination::User
            && self.view.call.outcome == Outcome::Consequential;
        let is_asked = act.is_asked(request)
            || is_own_and_undone && act.noun_is_said(request)
            || self.is_foreign_and_named(found);
        if !is_asked {
            lack(found, Need::Act, None);
        }
    }

    /// In a language without lists a call that can be undone and stays here is taken for asked where the user writes
    /// out what it is aimed at.
    fn is_foreign_and_named(&self, found: &CallProvenance) -> bool {
        let is_foreign = self.view.request.iter().any(|text| text.spoken().is_foreign);
        let is_mild = self.view.call.outcome == Outcome::Consequential
            && !self.is_public()
            && !self.view.act.destroys();
        is_foreign
            && is_mild
            && !found.arguments.is_empty()
            && found.arguments.iter().all(|argument| argument.ground == Ground::Words)
    }

    /// A call of flags, numbers and choices: whether, which way and how much.
    fn bare(&self, found: &mut CallProvenance) {
        let request = &self.view.request;
        if !self.view.act.noun_is_said(request) {
            lack(found, Need::Bare, None);
        }
        let leaves_or_stays = self.view.call.outcome == Outcome::Irreversible
            || matches!(self.view.call.destination, Destination::Public | Destination::Internal);
        for leaf in self.leaves.iter().filter(|leaf| leaf.role != ArgumentRole::Session) {
            let is_unasked = match &leaf.given {
                Given::Flag(true) => {
                    act::is_state(&leaf.key.to_lowercase())
                        && !act::says_state(&leaf.key.to_lowercase(), request)
                }
                Given::Flag(false) => false,
                Given::Text(text) => {
                    act::is_state(&text.to_lowercase()) && !act::says_state(&text.to_lowercase(), request)
                }
                Given::Number(number) => {
                    leaves_or_stays
                        && !self.view.request_counts(*number)
                        && !self.view.trusted_counts(*number)
                }
            };
            if is_unasked {
                lack(found, Need::Bare, Some(leaf));
            }
        }
    }

    /// Flags that widen, and amounts.
    fn scalars(&self, found: &mut CallProvenance) {
        if self.is_benign() {
            return;
        }
        for leaf in self.of(ArgumentRole::Scalar) {
            let word = match &leaf.given {
                Given::Flag(true) => leaf.key.as_str(),
                Given::Text(text) if text.split_whitespace().count() == 1 => text.as_str(),
                Given::Flag(false) | Given::Number(_) | Given::Text(_) => "",
            };
            if act::widens_unasked(word, &self.view.request) {
                lack(found, Need::Widens, Some(leaf));
            }
            let number = match &leaf.given {
                Given::Number(number) => Some(*number),
                Given::Text(text) => {
                    crate::number::value(text.trim_matches(|letter: char| !letter.is_ascii_digit()))
                        .map(|(number, _)| number)
                }
                Given::Flag(_) => None,
            };
            if number.is_some_and(|number| !self.is_amount_free(leaf, number)) {
                lack(found, Need::Amount, Some(leaf));
            }
        }
    }

    fn is_amount_free(&self, leaf: &Leaf, number: f64) -> bool {
        let place = leaf.pointer.trim_start_matches('/');
        let cap = self.view.call.caps.iter().find(|(pointer, _)| pointer.trim_start_matches('/') == place);
        let is_within = cap.is_none_or(|(_, most)| number <= *most) || self.view.request_counts(number);
        is_within && (!crate::record::is_amount_name(&leaf.key) || self.is_amount_said(number))
    }

    /// An amount stands in the request, a trusted reply or a named record, or is no larger than a sum that bounds it.
    fn is_amount_said(&self, amount: f64) -> bool {
        let view = self.view;
        if view.request_counts(amount) || view.trusted_counts(amount) {
            return true;
        }
        if amount <= 0.0 {
            return false;
        }
        let in_request = view.request.iter().flat_map(|text| text.sums()).any(|sum| amount <= *sum);
        in_request
            || view
                .records()
                .iter()
                .filter(|listed| listed.record.amounts.iter().any(|sum| amount <= *sum))
                .any(|listed| {
                    listed.is_complete && (view.names(&view.request, listed) || self.concerns_target(listed))
                })
    }

    /// Whether a record is about whom the call is aimed at.
    fn concerns_target(&self, listed: &crate::view::Listed<'_>) -> bool {
        self.of(ArgumentRole::Target).map(|leaf| Value::new(&leaf.given.written())).any(|target| {
            listed.record.attested.contains(&target.normal)
                || listed
                    .record
                    .names
                    .iter()
                    .any(|name| !target.spaced.is_empty() && name.spaced.contains(&target.spaced))
        })
    }

    /// What contents lead to, and what a stranger's server is asked.
    fn contents(&self, found: &mut CallProvenance) {
        for leaf in self.texts() {
            let written = leaf.given.written();
            if !carriers(&composed(&written)).iter().all(|carrier| self.view.is_carrier_vouched(carrier)) {
                lack(found, Need::Carrier, Some(leaf));
            }
            if leaf.role == ArgumentRole::Query && self.view.holds_private {
                let query = spaced(&written);
                if !words(&query).filter(|word| is_significant(word)).all(|word| self.view.request_has(word))
                {
                    lack(found, Need::Name, Some(leaf));
                }
            }
        }
    }

    /// What something new is called, where the call is aimed at nobody.
    fn names(&self, found: &mut CallProvenance) {
        if self.is_benign() || self.of(ArgumentRole::Target).next().is_some() {
            return;
        }
        let named: Vec<&Leaf> = self.of(ArgumentRole::Name).collect();
        let first = self.texts().next().filter(|_| named.is_empty() && !self.has_prime());
        for leaf in named.into_iter().chain(first) {
            let name = spaced(&leaf.given.written());
            let is_known = |word: &str| self.view.request_has(word) || self.view.trusted_has(word);
            let is_made_of_words = words(&name).filter(|word| is_significant(word)).all(is_known);
            let means_something = |word: &&str| is_significant(word) || word.contains(char::is_numeric);
            if !is_made_of_words
                || !words(&name).filter(means_something).any(|word| self.view.request_has(word))
            {
                lack(found, Need::Name, Some(leaf));
            }
        }
    }

    fn is_audience_wanted(&self, found: &CallProvenance) -> bool {
        let mut targets =
            found.arguments.iter().filter(|argument| argument.role == ArgumentRole::Target).peekable();
        targets.peek().is_some() && targets.all(|target| target.standing == Standing::Wanted)
    }
}
