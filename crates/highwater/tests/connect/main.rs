//! `highwater connect` and `disconnect` over the files of hosts, as the shipped program changes them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should say so and stop"
)]

mod doctor;
mod homes;
mod interrupted;
mod refused;
mod restored;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use homes::Home;

/// A home of its own, and the program in it.
struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    fn new(home: &Home) -> Self {
        let folder = tempfile::tempdir().unwrap();
        home.furnish(folder.path());
        Self { folder }
    }

    fn home(&self) -> &Path {
        self.folder.path()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
        command.args(arguments).current_dir(self.home()).env_clear();
        let path = format!("{}:{}", self.path("bin").display(), env!("PATH"));
        command.env("HOME", self.home()).env("PATH", path).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command says that does what it should.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// What a command says that ends with this code.
    fn fails(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stdout));
        text(&output.stderr)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
