//! What vouches for one value of a call.

use highwater_core::annotation::{ArgumentRole, Destination};
use highwater_core::id::DecisionId;
use highwater_core::provenance::{Ground, Standing};

use crate::argument::{Leaf, Takes};
use crate::carrier::{Carrier, host_of};
use crate::normal::words;
use crate::record::Name;
use crate::significance::{is_significant, significant_count};
use crate::text::Text;
use crate::value::{Kind, Value, nouns};
use crate::view::{Listed, View};

/// The shortest word with a capital that names something.
const SHORTEST_NAME: usize = 4;

/// How far a value is vouched for, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vouched {
    pub(crate) standing: Standing,
    pub(crate) ground: Ground,
    pub(crate) source: Option<DecisionId>,
}

// === impl Vouched ===

impl Vouched {
    fn wanted(ground: Ground) -> Self {
        Self { standing: Standing::Wanted, ground, source: None }
    }

    fn by(standing: Standing, ground: Ground, source: DecisionId) -> Self {
        Self { standing, ground, source: Some(source) }
    }

    pub(crate) fn nothing() -> Self {
        Self { standing: Standing::Unfounded, ground: Ground::Nothing, source: None }
    }
}

// === impl View ===

impl View<'_> {
    /// How far a target or an object is vouched for.
    pub(crate) fn vouch(&self, leaf: &Leaf) -> Vouched {
        let value = Value::new(&leaf.given.written());
        if value.spaced.is_empty() || !value.fits(leaf.takes) {
            return Vouched::nothing();
        }
        self.wanted(leaf, &value).or_else(|| self.known(leaf, &value)).unwrap_or_else(Vouched::nothing)
    }

    fn wanted(&self, leaf: &Leaf, value: &Value) -> Option<Vouched> {
        if self.is_said(leaf, value) {
            return Some(Vouched::wanted(Ground::Words));
        }
        if self.is_own(value) {
            return Some(Vouched::wanted(Ground::Identity));
        }
        // What a person agreed to destroy is destroyed once.
        if !self.act.destroys() && (self.is_approved(leaf, value) || self.is_approved_elsewhere(leaf, value))
        {
            return Some(Vouched::wanted(Ground::Approved));
        }
        if self.is_person_named(&value.normal) {
            return Some(Vouched::wanted(Ground::Directory));
        }
        if leaf.role == ArgumentRole::Object
            && let Some(found) = self.own_act(leaf, value)
        {
            return Some(found);
        }
        if let Some(decision) = self.looked_up(&value.normal) {
            return Some(Vouched::by(Standing::Wanted, Ground::Lookup, decision));
        }
        let decision = self.designated(&self.request, value, leaf.role, &nouns(leaf))?;
        Some(Vouched::by(Standing::Wanted, Ground::Record, decision))
    }

    fn known(&self, leaf: &Leaf, value: &Value) -> Option<Vouched> {
        let nouns = nouns(leaf);
        let said = self.trusted_says(&value.normal, |text| value.is_said(text, &nouns));
        let found = said.or_else(|| {
            let texts: Vec<&Text> = self
                .trusted()
                .iter()
                .filter(|(reply, _)| !reply.echoes(&value.normal))
                .map(|(_, text)| *text)
                .collect();
            self.designated(&texts, value, leaf.role, &nouns)
        });
        if let Some(decision) = found {
            return Some(Vouched::by(Standing::Known, Ground::TrustedReply, decision));
        }
        if self.evidence.directory().addresses().has(&value.normal) {
            return Some(Vouched { standing: Standing::Known, ground: Ground::Directory, source: None });
        }
        if let Kind::Carrier(page) = &value.kind
            && let Some(decision) = self.search_hit(page)
        {
            return Some(Vouched::by(Standing::Listed, Ground::SearchHit, decision));
        }
        let listed = self.listed(&value.normal)?;
        Some(Vouched::by(Standing::Listed, Ground::Record, listed.reply.decision.clone()))
    }

    /// Whether the words of the request say a value where its argument may take it from there.
    fn is_said(&self, leaf: &Leaf, value: &Value) -> bool {
        let is_quoted = || self.request.iter().any(|text| text.quotes(&value.normal));
        match &value.kind {
            // A host where no page is taken is a name like any other.
            Kind::Carrier(Carrier::Page { .. })
                if leaf.role == ArgumentRole::Target
                    && leaf.takes != Takes::Page
                    && !value.normal.contains("://") =>
            {
                is_quoted()
            }
            Kind::Carrier(carrier) => self.says_carrier(carrier),
            Kind::Path(path) => {
                self.request.iter().flat_map(|text| text.paths()).any(|said| is_below(path, said))
            }
            Kind::Short => {
                let nouns = nouns(leaf);
                self.request.iter().any(|text| value.is_said(text, &nouns))
            }
            // Every word of a request would be a channel or a user.
            Kind::Words if leaf.role == ArgumentRole::Target && value.is_name() => {
                is_quoted()
                    || self.says_words(value) && (self.is_trusted_value(value) || self.is_payee(leaf, value))
            }
            Kind::Words if leaf.takes == Takes::Id && !value.spaced.contains(char::is_numeric) => {
                is_quoted() || self.says_words(value) && self.listed(&value.normal).is_some()
            }
            Kind::Words => is_quoted() || self.says_words(value),
        }
    }

    fn says_words(&self, value: &Value) -> bool {
        let means_something = significant_count(&value.spaced) > 0 || value.spaced.contains(char::is_numeric);
        means_something && self.request.iter().any(|text| text.has_words(&value.spaced))
    }

    /// Whom the user pays, by a name that they write with a capital. In a space that people share anybody takes a name.
    fn is_payee(&self, leaf: &Leaf, value: &Value) -> bool {
        let mut names = words(&value.spaced).filter(|word| is_significant(word));
        let is_written = |word: &str| self.request.iter().any(|text| text.has_capital(word));
        self.act.pays() && !crate::act::is_of_shared_space(&leaf.key) && names.all(is_written)
    }

    /// Whether a trusted reply has a value that is this one, whole.
    fn is_trusted_value(&self, value: &Value) -> bool {
        let mut values = self.evidence.replies().filter_map(|reply| Some((reply, reply.values()?)));
        values.any(|(reply, values)| values.contains(&value.normal) && !reply.echoes(&value.normal))
    }

    /// A page counts whole; its host alone only while there is nothing private that could be written into the rest.
    fn says_carrier(&self, carrier: &Carrier) -> bool {
        let is_host_named = |host: &str| self.request.iter().any(|text| text.names_host(host));
        self.request.iter().any(|text| text.carries(carrier))
            || !self.holds_private && host_of(carrier).is_some_and(is_host_named)
    }

    fn is_own(&self, value: &Value) -> bool {
        let code = match &value.kind {
            Kind::Carrier(Carrier::Code(code)) => Some(code),
            Kind::Carrier(_) | Kind::Path(_) | Kind::Short | Kind::Words => None,
        };
        let directory = self.evidence.directory();
        directory.is_own(&value.normal) || code.is_some_and(|code| directory.is_own(code))
    }

    /// Addresses and pages that a person approved hold for every tool, and whom they named for every one of that server.
    fn is_approved_elsewhere(&self, leaf: &Leaf, value: &Value) -> bool {
        self.evidence.approvals().any(|approved| match &value.kind {
            Kind::Carrier(carrier) => {
                let is_there = |host: &str| approved.names_host(host);
                approved.carries(carrier) || !self.holds_private && host_of(carrier).is_some_and(is_there)
            }
            Kind::Words if leaf.role == ArgumentRole::Target => {
                approved.is_target_of(self.call.server, &value.normal)
            }
            Kind::Words | Kind::Short | Kind::Path(_) => false,
        })
    }

    /// What acts of this conversation made or took.
    fn own_act(&self, leaf: &Leaf, value: &Value) -> Option<Vouched> {
        let server = self.call.server;
        let made = self.evidence.replies().filter(|reply| reply.server == *server).find(|reply| {
            let noun =
                leaf.key.strip_suffix("_id").or_else(|| leaf.key.strip_suffix("Id")).map(str::to_lowercase);
            let is_of = |noun: &String| crate::act::name_words(&reply.tool).contains(noun);
            reply.made().iter().any(|(field, id)| {
                *id == value.normal
                    && (*field == leaf.key
                        || field.trim_matches('_') == "id" && noun.as_ref().is_some_and(is_of))
            })
        });
        if let Some(reply) = made {
            return Some(Vouched::by(Standing::Wanted, Ground::OwnAct, reply.decision.clone()));
        }
        let stays = !self.act.destroys()
            && !matches!(self.call.destination, Destination::Public | Destination::Internal);
        let open = self.evidence.turns.open_from();
        let is_taken = self.evidence.taken().any(|taken| {
            let is_below_it = match (&value.kind, &taken.path) {
                (Kind::Path(path), Some(root)) => taken.turn >= open && is_below(path, root),
                _ => false,
            };
            taken.server == *server
                && (stays && *taken.key == *leaf.key && taken.normal == value.normal || is_below_it)
        });
        is_taken.then(|| Vouched::wanted(Ground::OwnAct))
    }

    /// The value belongs to the one record that these texts name: its id, or what the platform says of it. `nouns` are
    /// those of the argument.
    pub(crate) fn designated(
        &self,
        texts: &[&Text],
        value: &Value,
        role: ArgumentRole,
        nouns: &[String],
    ) -> Option<DecisionId> {
        let is_object = role == ArgumentRole::Object;
        let found = self.records().iter().filter(|listed| listed.is_complete).find(|listed| {
            let record = listed.record;
            let is_id = record.id == value.normal && listed.reply.server == *self.call.server;
            let is_attested = !is_object && record.attested.contains(&value.normal);
            let is_known = listed.reply.trusted
                || is_attested && self.evidence.directory().addresses().has(&value.normal);
            let things: Vec<String> = nouns.iter().cloned().chain(listed.reply.nouns()).collect();
            let is_named = |name: &Name| {
                let Some(part) = self.naming_part(texts, listed, name, &things) else { return false };
                let quotes =
                    || texts.iter().any(|text| text.quotes_thing(&name.normal, &listed.reply.nouns()));
                // Whom or where something goes is named by the thing's own name, or by the noun of the argument:
                // "the channel starting with External".
                let is_itself = || name.normal == record.id || crate::carrier::mail(&record.id).is_some();
                let is_called = || {
                    texts
                        .iter()
                        .any(|text| text.calls(part.trim(), nouns) && text.has_inner_capital(part.trim()))
                };
                is_attested && (is_known || quotes())
                    || is_id && (is_object || is_itself() && (is_known || is_called()))
            };
            (is_id || is_attested)
                && (record.names.iter().any(is_named)
                    || is_id && is_object && self.is_named_by_sum(texts, listed))
        });
        found.map(|listed| listed.reply.decision.clone())
    }

    /// Whether these texts speak of a record by one of its names, and of no other of its kind.
    pub(crate) fn names(&self, texts: &[&Text], listed: &Listed<'_>) -> bool {
        let nouns = listed.reply.nouns();
        listed.record.names.iter().any(|name| self.naming_part(texts, listed, name, &nouns).is_some())
    }

    /// The part of a name by which these texts speak of a record, and of no other of its kind.
    fn naming_part<'n>(
        &self,
        texts: &[&Text],
        listed: &Listed<'_>,
        name: &'n Name,
        nouns: &[String],
    ) -> Option<&'n str> {
        // What the user calls something new is no word for something that is there, and an address is somebody's, not a
        // thing's that a stranger called so.
        let is_address = || !listed.reply.trusted && crate::carrier::mail(&name.normal).is_some();
        if name.significant == 0 || is_address() {
            return None;
        }
        let texts: Vec<&Text> = texts.iter().copied().filter(|text| !text.gives_name(&name.normal)).collect();
        let says = |words: &str| texts.iter().any(|text| text.has_words(words));
        let is_whole = || {
            name.significant > 1 || listed.reply.trusted || texts.iter().any(|text| text.quotes(&name.normal))
        };
        let part = if says(&name.spaced) && is_whole() {
            Some(name.spaced.as_str())
        } else {
            leading_part(&texts, name, nouns)
        };
        part.filter(|part| self.is_only(listed, part))
    }

    /// An exact sum of money names the one record that has it.
    fn is_named_by_sum(&self, texts: &[&Text], listed: &Listed<'_>) -> bool {
        let says = |sum: &f64| texts.iter().any(|text| text.exact_sums().contains(sum));
        listed.record.amounts.iter().filter(|sum| says(sum)).any(|sum| {
            let has_it = |other: &&Listed<'_>| {
                other.reply.kind == listed.reply.kind
                    && other.reply.server == listed.reply.server
                    && other.record.amounts.contains(sum)
            };
            self.records().iter().filter(has_it).all(|other| other.record.id == listed.record.id)
        })
    }

    /// Whether something in a content leads only where the user, a trusted reply or a person wants it to lead.
    pub(crate) fn is_carrier_vouched(&self, carrier: &Carrier) -> bool {
        let written = match carrier {
            Carrier::Mail(mail) => mail.clone(),
            Carrier::Page { host, rest } => format!("{host}{rest}"),
            Carrier::Code(code) => code.clone(),
        };
        let value = Value {
            normal: written.clone(),
            spaced: crate::normal::spaced(&written),
            kind: Kind::Carrier(carrier.clone()),
        };
        let is_person = matches!(carrier, Carrier::Mail(address) if self.is_person_named(address));
        self.request.iter().any(|text| text.carries(carrier))
            || self.is_own(&value)
            || self.evidence.approvals().any(|approved| approved.carries(carrier))
            || is_person
            || self.trusted_says(&written, |text| text.carries(carrier)).is_some()
            || self.designated(&self.request, &value, ArgumentRole::Target, &[]).is_some()
    }
}

/// The longest beginning of a name that is said and names it: two words that mean something, or one with a capital beside
/// the noun of such things: "the Budget file".
fn leading_part<'n>(texts: &[&Text], name: &'n Name, nouns: &[String]) -> Option<&'n str> {
    let ends: Vec<usize> = name.spaced.match_indices(' ').map(|(at, _)| at + 1).skip(1).collect();
    ends.into_iter().rev().find_map(|end| {
        let part = name.spaced.get(..end)?;
        if !texts.iter().any(|text| text.has_words(part)) {
            return None;
        }
        let word = part.trim();
        let is_capital = || {
            !word.contains(' ')
                && word.chars().count() >= SHORTEST_NAME
                && texts.iter().any(|text| text.has_inner_capital(word) && text.names_beside(word, nouns))
        };
        (significant_count(part) > 1 || is_capital()).then_some(part)
    })
}

/// Whether a path is another or lies below it. Both are in the form that [`crate::text::path`] gives.
fn is_below(inner: &str, root: &str) -> bool {
    inner.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
