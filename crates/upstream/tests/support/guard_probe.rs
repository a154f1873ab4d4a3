//! Stands in for the shipped binary where a test needs its hidden `guard` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(command) if command == "guard" => highwater_sandbox::guard::run(arguments),
        _ => ExitCode::from(2),
    }
}
