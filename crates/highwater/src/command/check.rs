//! `highwater check`: whether configuration files are right, without running anything.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::announce::count;
use crate::command::print;
use crate::environment::variable;
use crate::exit::Failure;
use crate::place::found_config;

/// What `check` takes.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The files to check. Without any: the one that `serve` would find.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Another way to name a file, as for `serve`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let mut files: Vec<PathBuf> = args.config.iter().chain(&args.files).cloned().collect();
    if files.is_empty() {
        files.extend(found_config());
    }
    if files.is_empty() {
        return Err(
            Failure::usage("there is no configuration to check").help("name a file: `highwater check FILE`")
        );
    }
    let mut findings = Vec::new();
    let mut wrong = Vec::new();
    for file in files {
        let name = file.display().to_string();
        let content = std::fs::read_to_string(&file)
            .map_err(|error| Failure::usage(format_args!("cannot read `{name}`: {error}")))?;
        match highwater_config::load(&name, &content, &variable) {
            Ok(settings) => {
                findings.push(json!({ "file": name, "ok": true, "servers": settings.servers.len() }));
                if !args.json {
                    print(&format!("ok: {}, {name}\n", count(&settings)));
                }
            }
            Err(diagnostics) => {
                let list: Vec<Value> = diagnostics.iter().map(finding).collect();
                findings.push(json!({ "file": name, "ok": false, "diagnostics": list }));
                wrong.push(diagnostics.to_string());
            }
        }
    }
    if args.json {
        print(&format!("{}\n", Value::from(findings)));
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Failure::configuration(wrong.join("\n\n"))),
    }
}

fn finding(diagnostic: &highwater_config::Diagnostic) -> Value {
    json!({
        "message": diagnostic.message,
        "help": diagnostic.help,
        "line": diagnostic.place.as_ref().map(|place| place.line),
        "column": diagnostic.place.as_ref().map(|place| place.column),
    })
}
