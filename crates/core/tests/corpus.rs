//! Walks the fuzz corpus of approval with the same properties that the fuzz targets check.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test reads files and stops at the first surprise"
)]

mod invariants;

use std::path::Path;

fn walk(target: &str, holds: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut walked = 0;
    for entry in std::fs::read_dir(&folder).expect("the corpus is part of the repository") {
        let path = entry.expect("a readable folder").path();
        let data = std::fs::read(&path).expect("a readable file");
        if std::panic::catch_unwind(|| holds(&data)).is_err() {
            panic!("{} breaks a property", path.display());
        }
        // Neighbours of what is interesting are interesting.
        for at in 0..data.len() {
            let mut changed = data.clone();
            changed[at] ^= 1;
            if std::panic::catch_unwind(|| holds(&changed)).is_err() {
                panic!("{} with byte {at} changed breaks a property", path.display());
            }
        }
        walked += 1;
    }
    assert!(walked >= 9, "only {walked} inputs in {}", folder.display());
}

#[test]
fn every_registration_of_the_corpus_holds() {
    walk("registration", invariants::registration_holds);
}

#[test]
fn every_assertion_of_the_corpus_holds() {
    walk("assertion", invariants::assertion_holds);
}

#[test]
fn all_arguments_of_the_corpus_hold() {
    walk("arguments", invariants::arguments_hold);
}

#[test]
fn all_evidence_of_the_corpus_holds() {
    walk("evidence", invariants::evidence_holds);
}
