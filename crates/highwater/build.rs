//! Lays what every call runs side by side in the program; `road.ld` says what that is.

#![expect(clippy::disallowed_methods, reason = "cargo says in the environment what is built, and how")]

use std::path::Path;
use std::process::Command;

/// Set where the program is built to be looked at: callgrind knows no function outside of `.text`.
const UNLAID: &str = "HIGHWATER_UNLAID";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=road.ld");
    println!("cargo::rerun-if-env-changed={UNLAID}");
    let said = |name: &str| std::env::var(name).unwrap_or_default();
    let script = Path::new(&said("CARGO_MANIFEST_DIR")).join("road.ld");
    let argument = format!("-Wl,-T,{}", script.display());
    let worth_it = said("PROFILE") == "release" && said("CARGO_CFG_TARGET_OS") == "linux";
    let wanted = worth_it && said(UNLAID).is_empty();
    if wanted && is_taken(&argument, &said) {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}

/// Whether the linker that will be used takes the argument. One that does not lays the program out as it likes.
fn is_taken(argument: &str, said: &impl Fn(&str) -> String) -> bool {
    let folder = said("OUT_DIR");
    let source = Path::new(&folder).join("probe.rs");
    if std::fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut rustc = Command::new(said("RUSTC"));
    rustc.arg(&source).args(["--edition", "2024", "--target", &said("TARGET"), "--out-dir", &folder]);
    let linker = said("RUSTC_LINKER");
    if !linker.is_empty() {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.args(said("CARGO_ENCODED_RUSTFLAGS").split('\x1f').filter(|flag| !flag.is_empty()));
    rustc.arg(format!("-Clink-arg={argument}"));
    rustc.output().is_ok_and(|output| output.status.success())
}
