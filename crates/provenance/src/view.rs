//! The evidence as one call sees it: what of it is looked up once and asked often.

use std::cell::OnceCell;
use std::sync::Arc;

use highwater_core::id::DecisionId;
use highwater_core::provenance::People;

use crate::act::Act;
use crate::argument::Leaf;
use crate::carrier::{Carrier, mail};
use crate::directory::AddressBook;
use crate::kept::Kept;
use crate::record::Record;
use crate::text::Text;
use crate::value::Value;
use crate::{Call, Evidence};

/// So many pages of one host that a search listed may be opened.
const SEARCH_HITS: usize = 3;

/// The evidence, for one call.
pub(crate) struct View<'a> {
    pub(crate) evidence: &'a Evidence,
    pub(crate) call: &'a Call<'a>,
    pub(crate) act: Act,
    /// The words of the open request.
    pub(crate) request: Vec<&'a Text>,
    /// Whether the conversation holds something that may not go to `public`.
    pub(crate) holds_private: bool,
    records: OnceCell<Vec<Listed<'a>>>,
    trusted: OnceCell<Vec<(&'a Kept, &'a Text)>>,
    looked_up: OnceCell<Vec<(String, DecisionId)>>,
    /// Everybody of the directory and of the records.
    attested: OnceCell<AddressBook>,
}

/// A record, and the reply that listed it.
#[derive(Clone, Copy)]
pub(crate) struct Listed<'a> {
    pub(crate) record: &'a Record,
    pub(crate) reply: &'a Kept,
    /// Whether everything of its kind that was listed is known.
    pub(crate) is_complete: bool,
}

// === impl View ===

impl<'a> View<'a> {
    pub(crate) fn new(evidence: &'a Evidence, call: &'a Call<'a>, holds_private: bool) -> Self {
        Self {
            evidence,
            call,
            act: Act::of(call),
            request: evidence.turns.texts(),
            holds_private,
            records: OnceCell::new(),
            trusted: OnceCell::new(),
            looked_up: OnceCell::new(),
            attested: OnceCell::new(),
        }
    }

    /// Everything that was listed.
    pub(crate) fn records(&self) -> &[Listed<'a>] {
        self.records.get_or_init(|| {
            let mut kinds: Vec<(&Kept, bool)> = Vec::new();
            let mut found = Vec::new();
            for reply in self.evidence.replies() {
                if reply.listing().records.is_empty() {
                    continue;
                }
                let known = kinds
                    .iter()
                    .find(|(kept, _)| is_same_kind(kept, reply))
                    .map(|(_, is_complete)| *is_complete);
                let is_complete = known.unwrap_or_else(|| {
                    let is_complete = self.evidence.is_complete(&reply.server, &reply.kind);
                    kinds.push((reply, is_complete));
                    is_complete
                });
                found.extend(reply.listing().records.iter().map(|record| Listed {
                    record,
                    reply,
                    is_complete,
                }));
            }
            found
        })
    }

    /// What replies say that no stranger could write.
    pub(crate) fn trusted(&self) -> &[(&'a Kept, &'a Text)] {
        self.trusted.get_or_init(|| {
            self.evidence.replies().filter_map(|reply| Some((reply, reply.text()?))).collect()
        })
    }

    /// The first trusted reply of which this is true, unless it only gives the value back.
    pub(crate) fn trusted_says(&self, normal: &str, is_said: impl Fn(&Text) -> bool) -> Option<DecisionId> {
        let found = self.trusted().iter().find(|(reply, text)| is_said(text) && !reply.echoes(normal));
        found.map(|(reply, _)| reply.decision.clone())
    }

    /// Whether the words of the request hold this word.
    pub(crate) fn request_has(&self, word: &str) -> bool {
        self.request.iter().any(|text| text.has_word(word))
    }

    /// Whether a trusted reply holds this word.
    pub(crate) fn trusted_has(&self, word: &str) -> bool {
        self.trusted().iter().any(|(_, text)| text.has_word(word))
    }

    /// Whether a number stands in the request.
    pub(crate) fn request_counts(&self, number: f64) -> bool {
        self.request.iter().any(|text| text.numbers().contains(&number))
    }

    /// Whether a number stands in a trusted reply.
    pub(crate) fn trusted_counts(&self, number: f64) -> bool {
        self.trusted().iter().any(|(_, text)| text.numbers().contains(&number))
    }

    /// The value is that of a lookup by the user's own words.
    pub(crate) fn looked_up(&self, normal: &str) -> Option<DecisionId> {
        let found = self.looked_up.get_or_init(|| self.lookups());
        found.iter().find(|(value, _)| value == normal).map(|(_, decision)| decision.clone())
    }

    fn lookups(&self) -> Vec<(String, DecisionId)> {
        let open = self.evidence.turns.open_from();
        let mut found: Vec<(String, DecisionId)> = Vec::new();
        for reply in self.evidence.replies().filter(|reply| reply.trusted && reply.turn >= open) {
            let Some(given) = reply.given.as_ref().filter(|given| !given.is_empty()) else { continue };
            let is_number = |text: &String| {
                text.chars().all(|letter| letter.is_ascii_digit() || " .,:/-".contains(letter))
            };
            let is_open = |text: &String| {
                let value = Value::new(text);
                is_number(text)
                    || found.iter().any(|(known, _)| known == text)
                    || self
                        .request
                        .iter()
                        .any(|words| value.is_said(words, &["id".to_owned(), "number".to_owned()]))
            };
            if given.iter().all(is_open) {
                found.extend(reply.looked_up().into_iter().map(|value| (value, reply.decision.clone())));
            }
        }
        found
    }

    /// The page is one of the first of its host that a search listed.
    pub(crate) fn search_hit(&self, page: &Carrier) -> Option<DecisionId> {
        let host = crate::carrier::host_of(page);
        self.evidence.replies().find_map(|reply| {
            let hits = reply.hits().iter().filter(|hit| crate::carrier::host_of(hit) == host);
            hits.take(SEARCH_HITS).any(|hit| hit == page).then(|| reply.decision.clone())
        })
    }

    /// Whether the directory gives this address to exactly one person whom the request names.
    pub(crate) fn is_person_named(&self, address: &str) -> bool {
        let directory = self.evidence.directory();
        let people = match directory.people {
            People::Directory => directory.addresses(),
            People::Attested => self.attested.get_or_init(|| {
                let mut book = directory.addresses().clone();
                let attested = self.records().iter().flat_map(|listed| &listed.record.attested);
                attested.filter(|value| mail(value).is_some()).for_each(|address| book.add("", address));
                book
            }),
        };
        let is_named = |name: &str| match name.starts_with(' ') {
            true => name.trim().contains(' ') && self.request.iter().any(|text| text.has_words(name)),
            false => self.request.iter().any(|text| text.has_capital(name)),
        };
        people.names_of(address).any(is_named)
    }

    /// Whether the value, in its normal form, is the id of something that this server listed.
    pub(crate) fn listed(&self, normal: &str) -> Option<&Listed<'a>> {
        self.records()
            .iter()
            .find(|listed| listed.record.id == normal && listed.reply.server == *self.call.server)
    }

    /// Whether no other record of this kind begins with the same words.
    pub(crate) fn is_only(&self, listed: &Listed<'_>, words: &str) -> bool {
        !self.records().iter().any(|other| {
            is_same_kind(other.reply, listed.reply)
                && other.record.id != listed.record.id
                && other.record.names.iter().any(|name| name.spaced.starts_with(words))
        })
    }

    /// Whether a person approved this value of this argument in the open request.
    pub(crate) fn is_approved(&self, leaf: &Leaf, value: &Value) -> bool {
        self.evidence.approvals().any(|approved| approved.is_for(self.call, &leaf.key, &value.normal))
    }
}

fn is_same_kind(one: &Kept, other: &Kept) -> bool {
    one.server == other.server && Arc::as_ref(&one.kind) == Arc::as_ref(&other.kind)
}
