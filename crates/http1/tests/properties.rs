//! Properties over generated and mutated bodies; what they check is in [`invariants`].

#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod invariants;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

#[derive(Clone, Debug)]
enum Mutation {
    Overwrite(Index, u8),
    Insert(Index, u8),
    Delete(Index),
    Cut(Index),
    Double(Index, Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let byte = prop_oneof![any::<u8>(), select(&b"\r\n\0\t :;,0-.ef\x1f\x7f\xff"[..])];
    prop_oneof![
        (any::<Index>(), byte.clone()).prop_map(|(at, byte)| Mutation::Overwrite(at, byte)),
        (any::<Index>(), byte).prop_map(|(at, byte)| Mutation::Insert(at, byte)),
        any::<Index>().prop_map(Mutation::Delete),
        any::<Index>().prop_map(Mutation::Cut),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Mutation::Double(from, to)),
    ]
}

fn mutate(text: &str, mutations: &[Mutation]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for mutation in mutations {
        let length = bytes.len() + 1;
        match mutation {
            Mutation::Insert(at, byte) => bytes.insert(at.index(length), *byte),
            _ if bytes.is_empty() => {}
            Mutation::Overwrite(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Mutation::Delete(at) => {
                bytes.remove(at.index(bytes.len()));
            }
            Mutation::Cut(at) => bytes.truncate(at.index(length)),
            Mutation::Double(from, to) => {
                let (from, to) = (from.index(length), to.index(length));
                let piece = bytes[from.min(to)..from.max(to)].to_vec();
                bytes.splice(from..from, piece);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_body_ends_where_it_ends(text in "([0-3]?[0-9a-f](;x)?\r\n[a-z]{0,20}\r\n){0,4}(0\r\n(a: b\r\n)?\r\n)?.{0,3}", mutations in vec(mutation(), 0..2)) {
        invariants::framing_holds(&mutate(&text, &mutations));
    }

    #[test]
    fn a_body_ends_where_every_reader_sees_its_end(text in "([0-3][ \t\r]?(;a\r?b?)?\r?\n[a\r\n]{0,3}\r?\n){0,3}0\r?\n([a-b:]{0,2}\r?b?\r?\n){0,2}\r?\n.{0,3}") {
        invariants::framing_holds(text.as_bytes());
    }
}
