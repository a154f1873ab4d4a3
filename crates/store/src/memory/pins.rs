//! What pins mean, in the plainest words.

use highwater_notation::Timestamp;
use highwater_pins::{Basis, PinKey, PinKind};

use super::Model;
use crate::operation::model::{DecidePins, Describe, KEPT_EVENTS, Observe, chosen, definition};
use crate::pins::{PinEvent, PinScope, PinVerdict, PinsDecided, StoredApproval, StoredPin, StoredText};

impl Model {
    pub(crate) fn pins_of(&self, server: &str) -> Vec<StoredPin> {
        let mut pins: Vec<_> =
            self.pins.iter().filter(|((of, _), _)| of == server).map(|(_, pin)| pin.clone()).collect();
        pins.sort_by_key(|pin| (pin.key.kind.as_str(), pin.key.name.clone()));
        pins
    }

    pub(crate) fn observe(&mut self, asked: &Observe) {
        let at = Timestamp(asked.now.unsigned_abs());
        for (number, it) in asked.seen.iter().enumerate() {
            let place = (asked.server.clone(), it.key.clone());
            let known = self.pins.contains_key(&place);
            match &it.seen {
                Some((digest, text)) => {
                    let pin = self.pins.entry(place).or_insert_with(|| StoredPin {
                        key: it.key.clone(),
                        seen: None,
                        pin: None,
                        rejected: None,
                    });
                    let seen = StoredText { digest: *digest, text: text.clone(), at };
                    pin.seen = Some(seen.clone());
                    let decided = pin.pin.as_ref().is_some_and(|pin| pin.basis == Basis::Person);
                    if let Some(basis) = it.approve
                        && !decided
                        && pin.rejected != Some(*digest)
                    {
                        pin.pin = Some(StoredApproval {
                            definition: seen,
                            basis,
                            believed: true,
                            person: String::new(),
                        });
                    }
                }
                None => {
                    if let Some(pin) = self.pins.get_mut(&place) {
                        pin.seen = None;
                        if pin.pin.is_none() && pin.rejected.is_none() {
                            self.pins.remove(&place);
                        }
                    }
                }
            }
            let event = PinEvent {
                at,
                key: it.key.clone(),
                what: it.word(known).to_owned(),
                digest: it.seen.as_ref().map(|(digest, _)| *digest),
                text: it.seen.as_ref().map(|(_, text)| text.clone()),
                person: String::new(),
                reason: String::new(),
            };
            self.pin_events.push((asked.server.clone(), false, format!("{}-{number}", asked.event), event));
        }
        self.prune_pin_events(&asked.server);
    }

    pub(crate) fn describe(&mut self, asked: &Describe) {
        let said = &asked.description;
        let at = Timestamp(asked.now.unsigned_abs());
        let key = PinKey::profile();
        let place = (said.server.clone(), key.clone());
        let word = said.profile.map(definition);
        match &word {
            Some(word) => {
                let definition = StoredText { digest: word.digest(), text: word.text().to_string(), at };
                let pin = Some(StoredApproval {
                    definition: definition.clone(),
                    basis: Basis::Person,
                    believed: false,
                    person: said.person.clone(),
                });
                let stored = StoredPin { key: key.clone(), seen: Some(definition), pin, rejected: None };
                self.pins.insert(place, stored);
            }
            None => {
                self.pins.remove(&place);
            }
        }
        let event = PinEvent {
            at,
            key,
            what: said.word().to_owned(),
            digest: word.as_ref().map(|word| word.digest()),
            text: word.map(|word| word.text().to_string()),
            person: said.person.clone(),
            reason: said.reason.clone(),
        };
        self.pin_events.push((said.server.clone(), true, asked.event.clone(), event));
    }

    fn prune_pin_events(&mut self, server: &str) {
        let mut own: Vec<_> = self
            .pin_events
            .iter()
            .filter(|(of, decided, _, _)| of == server && !decided)
            .map(|(_, _, id, event)| (event.at, id.clone()))
            .collect();
        own.sort();
        let excess = own.len().saturating_sub(usize::try_from(KEPT_EVENTS).unwrap_or(usize::MAX));
        let old: Vec<String> = own.into_iter().take(excess).map(|(_, id)| id).collect();
        self.pin_events.retain(|(_, _, id, _)| !old.contains(id));
    }

    pub(crate) fn decide_pins(&mut self, asked: &DecidePins) -> PinsDecided {
        let decision = &asked.decision;
        let pins = self.pins_of(&decision.server);
        let Some(mut keys) = chosen(decision, &pins) else { return PinsDecided::Moved };
        let whole =
            matches!((&decision.scope, decision.verdict), (PinScope::Server(_), PinVerdict::Approve { .. }));
        if whole {
            let free = |pin: &&StoredPin| {
                let seen = pin.seen.as_ref().map(|seen| seen.digest);
                if !pin.key.is_definition() {
                    return false;
                }
                pin.key.kind == PinKind::Identity || pin.rejected.is_none() || pin.rejected != seen
            };
            let seen =
                pins.iter().filter(free).filter_map(|pin| Some((pin.key.clone(), pin.seen.as_ref()?.digest)));
            keys = seen.collect();
        }
        let mut done = 0;
        for (number, (key, digest)) in keys.iter().enumerate() {
            let Some(pin) = self.pins.get_mut(&(decision.server.clone(), key.clone())) else { continue };
            let changed = match decision.verdict {
                PinVerdict::Approve { believed } => {
                    let Some(seen) = pin.seen.clone() else { continue };
                    let same = pin.pin.as_ref().is_some_and(|pin| {
                        pin.basis == Basis::Person
                            && pin.believed == believed
                            && pin.definition.digest == *digest
                    });
                    pin.pin = Some(StoredApproval {
                        definition: StoredText { at: Timestamp(asked.now.unsigned_abs()), ..seen },
                        basis: Basis::Person,
                        believed,
                        person: decision.person.clone(),
                    });
                    if !whole || key.kind == PinKind::Identity {
                        pin.rejected = None;
                    }
                    !(whole && same)
                }
                PinVerdict::Reject => {
                    pin.rejected = Some(*digest);
                    pin.pin = pin.pin.take().filter(|pin| pin.definition.digest != *digest);
                    true
                }
            };
            if changed {
                done += 1;
                self.note_decision(asked, key, *digest, number);
            }
        }
        PinsDecided::Done(done)
    }

    fn note_decision(
        &mut self,
        asked: &DecidePins,
        key: &PinKey,
        digest: highwater_core::pin::PinDigest,
        number: usize,
    ) {
        let decision = &asked.decision;
        let event = PinEvent {
            at: Timestamp(asked.now.unsigned_abs()),
            key: key.clone(),
            what: decision.verdict.word().to_owned(),
            digest: Some(digest),
            text: None,
            person: decision.person.clone(),
            reason: decision.reason.clone(),
        };
        self.pin_events.push((decision.server.clone(), true, format!("{}-{number}", asked.event), event));
    }

    pub(crate) fn pin_events(&self, server: &str, most: u32) -> Vec<PinEvent> {
        let mut events: Vec<_> = self.pin_events.iter().filter(|(of, _, _, _)| of == server).collect();
        events.sort_by_key(|(_, _, id, event)| std::cmp::Reverse((event.at, id.clone())));
        events.into_iter().take(most as usize).map(|(_, _, _, event)| event.clone()).collect()
    }
}
