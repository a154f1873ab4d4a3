//! Walks the fuzz corpus with the same properties that the fuzz targets check, so that every input that
//! was ever interesting is tried on every run.

#![expect(clippy::expect_used, clippy::panic, reason = "a test stops at the first surprise")]

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
        walked += 1;
    }
    assert!(walked >= 10, "only {walked} inputs in {}", folder.display());
}

#[test]
fn every_framing_of_the_corpus_holds() {
    walk("framing", invariants::framing_holds);
}
