//! Random histories, side by side with the model.

use std::time::Duration;

use highwater_core::annotation::DataClass;
use highwater_core::label::{Label, TextSet};
use highwater_core::session::Doubt;
use highwater_core::trust::TrustLevel;
use highwater_marks::doubt_id;
use highwater_store::{Declassified, Memory, SessionState, StoreOptions};

use super::marks::{note, read, writer};
use super::{Backend, by_transport, context, silence};

const HISTORIES: u64 = 12;
const STEPS: u64 = 40;

/// Numbers that are the same in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn label(&mut self) -> Label {
        let mut label = Label::bottom();
        if self.below(2) == 0 {
            label = label.with_class(DataClass::ALL[self.below(8) as usize]);
        }
        if self.below(3) == 0 {
            label = label.with_integrity(TrustLevel::ALL[self.below(6) as usize]);
        }
        if self.below(8) == 0 {
            label = label.with_open_world();
        }
        if self.below(3) == 0 {
            label = label.with_scopes(&TextSet::of([format!("s{}", self.below(5))]));
        }
        if self.below(4) == 0 {
            label = label.with_names(&TextSet::of([format!("com.example.c{}", self.below(5))]));
        }
        if self.below(2) == 0 {
            label = label.with_origins(&TextSet::of([format!("o{}", self.below(50)), "o".to_owned()]));
        }
        label
    }
}

pub(crate) async fn random_histories_agree_with_the_model<B: Backend>() {
    for seed in 0..HISTORIES {
        let mut random = Random(seed);
        let place = B::new().await;
        let model = Memory::new(false).open(&StoreOptions::default()).await.unwrap();
        // On a shared store each step is taken by whichever replica.
        let stores = [place.open().await, place.open_beside().await];
        for step in 0..STEPS {
            let store = &stores[random.below(2) as usize];
            let name = ["a", "b", "c"][random.below(3) as usize];
            let (session, twin) = if random.below(2) == 0 {
                (context(store, name), context(&model, name))
            } else {
                let (session, twin) = (by_transport(store, name), by_transport(&model, name));
                // Now and then after a silence.
                let quiet = if random.below(4) == 0 { Duration::ZERO } else { Duration::from_secs(3600) };
                silence().await;
                session.begin(quiet).await.unwrap();
                twin.begin(quiet).await.unwrap();
                (session, twin)
            };
            let label = random.label();
            match random.below(24) {
                20..22 if session.way().is_some() => {
                    for session in [&session, &twin] {
                        let epoch = session.current().await.unwrap().epoch;
                        let done =
                            session.begin_anew(session.way(), epoch, &Label::bottom(), "ada", "").await;
                        assert!(
                            matches!(done, Ok(Declassified::Done(_))),
                            "seed {seed} step {step}: {done:?}"
                        );
                    }
                }
                22 => {
                    for session in [&session, &twin] {
                        let epoch = session.current().await.unwrap().epoch;
                        session.join_pending(epoch).await.unwrap();
                    }
                }
                0 => {
                    for session in [&session, &twin] {
                        let epoch = session.current().await.unwrap().epoch;
                        session.declassify(epoch, &label, "ada", "").await.unwrap();
                    }
                }
                1..5 => {
                    // Of some it turns out that nothing was written.
                    let by = writer(["one", "two"][random.below(2) as usize]);
                    let marked = store.leave(vec![note(name)], &label, &by).await.unwrap();
                    let twin = model.leave(vec![note(name)], &label, &by).await.unwrap();
                    if random.below(4) == 0 {
                        store.take_back(marked).await.unwrap();
                        model.take_back(twin).await.unwrap();
                    }
                }
                5 => {
                    let marks = model.all_marks().await.unwrap();
                    let some = marks.iter().filter(|_| random.below(2) == 0).map(|mark| mark.id.to_string());
                    let some: Vec<_> = some.collect();
                    let cleared = store.clear_marks(some.clone(), "ada", "why").await.unwrap();
                    assert_eq!(cleared.marks, model.clear_marks(some, "ada", "why").await.unwrap().marks);
                }
                6 => {
                    let marks = model.all_marks().await.unwrap();
                    let some = marks.iter().filter(|_| random.below(2) == 0);
                    let some: Vec<_> = some.map(|mark| Doubt { id: doubt_id(mark), name: None }).collect();
                    let cleared = store.clear_doubts(some.clone(), "ada", "why").await.unwrap();
                    assert_eq!(cleared.marks, model.clear_doubts(some, "ada", "why").await.unwrap().marks);
                }
                _ => {
                    let joined = session.join(&label).await.unwrap();
                    assert!(joined.covers(&label));
                    twin.join(&label).await.unwrap();
                }
            }
            let (found, expected) = (session.current().await.unwrap(), twin.current().await.unwrap());
            let pending = |state: &SessionState| state.pending.as_ref().map(|pending| pending.label.clone());
            // Where replicas share a conversation, lowering its label takes two epochs.
            let epochs = |state: &SessionState| if session.way().is_none() { state.epoch } else { 0 };
            assert_eq!(
                (epochs(&found), &found.label, pending(&found)),
                (epochs(&expected), &expected.label, pending(&expected)),
                "seed {seed} step {step}"
            );
            assert_eq!(
                store.all_marks().await.unwrap(),
                model.all_marks().await.unwrap(),
                "seed {seed} step {step}"
            );
            assert_eq!(read(store, name).await, read(&model, name).await, "seed {seed} step {step}");
        }
    }
}
