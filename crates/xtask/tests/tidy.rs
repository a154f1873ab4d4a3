//! `cargo xtask tidy` as a test, so that plain `cargo test` finds what it finds.

use std::process::Command;

#[test]
fn the_repository_is_tidy() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("tidy").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
