//! `highwater check`: whether configuration files are right, and what can be said of them without running anything.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use highwater_config::{Change, Checked, Diagnostic, Leak, Unanswered};
use highwater_core::policy::Effect;
use highwater_notation::Timestamp;
use serde_json::{Value, json};

use crate::announce::count;
use crate::command::print;
use crate::command::status::{permit_json, permit_text};
use crate::configuration;
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

    /// Ask whether a call of which this holds can go ahead without anybody being asked. The condition is written as
    /// in a rule: `{session.private: true, tool.annotations.inputMetadata.destination: public}`. Ends with 1 if there
    /// is such a call, and shows one.
    #[arg(long, value_name = "CONDITION")]
    leak: Vec<String>,

    /// Show which kinds of call are treated differently than by this configuration, with an example for each.
    #[arg(long, value_name = "OLD")]
    against: Option<PathBuf>,

    /// End with 1 if there are warnings.
    #[arg(long)]
    strict: bool,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

/// What was found out about all files together.
#[derive(Default)]
struct Outcome {
    findings: Vec<Value>,
    text: String,
    wrong: Vec<String>,
    warnings: usize,
    leaks: usize,
}

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let mut files: Vec<PathBuf> = args.config.iter().chain(&args.files).cloned().collect();
    if files.is_empty() {
        files.extend(found_config());
    }
    if files.is_empty() {
        // Whoever reads JSON reads it where there is nothing as well.
        if args.json {
            print("[]\n");
        }
        return Err(
            Failure::usage("there is no configuration to check").help("name a file: `highwater check FILE`")
        );
    }
    let now = now();
    let old = args.against.as_deref().map(read).transpose()?;
    let mut outcome = Outcome::default();
    for file in files {
        let name = file.display().to_string();
        match configuration::check(&file)? {
            Ok(checked) => outcome.look(args, &name, &checked, old.as_ref(), now)?,
            Err(diagnostics) => {
                let list: Vec<Value> = diagnostics.iter().map(finding).collect();
                outcome.findings.push(json!({ "file": name, "ok": false, "diagnostics": list }));
                outcome.wrong.push(diagnostics.to_string());
            }
        }
    }
    match args.json {
        true => print(&format!("{}\n", Value::from(outcome.findings))),
        false => print(&outcome.text),
    }
    if !outcome.wrong.is_empty() {
        return Err(Failure::configuration(outcome.wrong.join("\n\n")));
    }
    if outcome.leaks > 0 {
        return Err(Failure::failed("a call that should be stopped can go ahead"));
    }
    if args.strict && outcome.warnings > 0 {
        return Err(Failure::failed(format_args!("there are warnings: {}", outcome.warnings)));
    }
    Ok(())
}

// === impl Outcome ===

impl Outcome {
    fn look(
        &mut self,
        args: &CheckArgs,
        name: &str,
        checked: &Checked,
        old: Option<&Checked>,
        now: Timestamp,
    ) -> Result<(), Failure> {
        writeln!(self.text, "ok: {}, {name}", count(&checked.settings)).unwrap_or_default();
        let permits = &checked.settings.permits;
        for permit in permits {
            writeln!(self.text, "   = permit {}", permit_text(permit, now)).unwrap_or_default();
        }
        let mut warnings = checked.warnings.clone();
        let mut gave_up = false;
        match checked.analyse(now) {
            Ok(found) => warnings.extend(found),
            Err(Unanswered::TooLarge) => gave_up = true,
            Err(Unanswered::Disagreement) => return Err(disagreement()),
        }
        for warning in &warnings {
            writeln!(self.text, "\n{}", warning.as_warning()).unwrap_or_default();
        }
        if gave_up {
            self.text.push_str(
                "\nthe rules are too many or too entangled to tell which never fire or never decide\n",
            );
        }
        self.warnings += warnings.len();
        let mut found = json!({
            "file": name,
            "ok": true,
            "servers": checked.settings.servers.len(),
            "rules": checked.settings.rules.set().rules().len(),
            "warnings": warnings.iter().map(finding).collect::<Vec<_>>(),
            "complete": !gave_up,
        });
        if !permits.is_empty() {
            put(&mut found, "permits", permits.iter().map(|permit| permit_json(permit, now)).collect());
        }
        let mut leaks = Vec::new();
        for condition in &args.leak {
            let answer =
                checked.leaks(condition, now).map_err(Failure::configuration)?.map_err(unanswered)?;
            self.leaks += answer.len();
            self.text.push_str(&leak_text(condition, &answer));
            leaks.push(leak_json(condition, &answer));
        }
        if !leaks.is_empty() {
            put(&mut found, "leaks", leaks.into());
        }
        if let (Some(old), Some(path)) = (old, &args.against) {
            let changes = checked.changes(old, now).map_err(unanswered)?;
            self.text.push_str(&changes_text(path, &changes));
            put(&mut found, "changes", changes.iter().map(change_json).collect());
        }
        self.findings.push(found);
        Ok(())
    }
}

fn read(file: &Path) -> Result<Checked, Failure> {
    configuration::check(file)?.map_err(Failure::configuration)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn unanswered(why: Unanswered) -> Failure {
    match why {
        Unanswered::TooLarge => Failure::failed("the rules are too many or too entangled to tell"),
        Unanswered::Disagreement => disagreement(),
    }
}

fn disagreement() -> Failure {
    Failure::failed("the analysis and the gates disagree about an example")
        .help("this is a defect of Highwater; please report it with the configuration")
}

fn put(into: &mut Value, key: &str, value: Value) {
    if let Value::Object(members) = into {
        members.insert(key.to_owned(), value);
    }
}

// === the words ===

fn leak_text(condition: &str, leaks: &[Leak]) -> String {
    let mut text = String::new();
    let mut say = |line: std::fmt::Arguments<'_>| text.write_fmt(line).unwrap_or_default();
    for leak in leaks {
        let certainty = if leak.certain { "holds" } else { "may hold" };
        let where_to = listed("virtual server", &leak.virtual_servers);
        say(format_args!(
            "\nleak: through {where_to} a call goes ahead of which this {certainty}: {condition}\n"
        ));
        if leak.observed {
            say(format_args!("its flow mode is `observe`: only your own rules stop a call there\n"));
        }
        if leak.effect == Effect::Redact {
            say(format_args!("its reply is edited, and nobody is asked\n"));
        }
        say(format_args!("for example:\n\n{}\n", leak.witness));
    }
    if leaks.is_empty() {
        say(format_args!("\nno path allows it: {condition}\n"));
    }
    text
}

fn leak_json(condition: &str, leaks: &[Leak]) -> Value {
    let leaks: Vec<Value> = leaks
        .iter()
        .map(|leak| {
            json!({
                "virtualServers": leak.virtual_servers,
                "observed": leak.observed,
                "certain": leak.certain,
                "effect": leak.effect,
                "witness": leak.witness.to_json(),
            })
        })
        .collect();
    json!({ "condition": condition, "leaks": leaks })
}

fn changes_text(old: &Path, changes: &[Change]) -> String {
    let old = old.display();
    if changes.is_empty() {
        return format!("\nno kind of call is treated differently than by {old}\n");
    }
    let mut text = format!("\ntreated differently than by {old}:\n");
    let mut say = |line: std::fmt::Arguments<'_>| text.write_fmt(line).unwrap_or_default();
    for change in changes {
        let direction = if change.after < change.before { "milder" } else { "stricter" };
        let where_to = listed("virtual server", &change.virtual_servers);
        let (before, after) = (change.before.as_str(), change.after.as_str());
        say(format_args!("\n{direction}: {before} becomes {after}, through {where_to}\n"));
        say(format_args!("  before  {}\n", found(&change.found_before)));
        say(format_args!("  after   {}\n", found(&change.found_after)));
        say(format_args!("for example:\n\n{}\n", change.witness));
    }
    text
}

fn change_json(change: &Change) -> Value {
    let found = |found: &[(String, Effect)]| -> Vec<Value> {
        found.iter().map(|(name, effect)| json!({ "finding": name, "effect": effect })).collect()
    };
    json!({
        "virtualServers": change.virtual_servers,
        "before": { "effect": change.before, "findings": found(&change.found_before) },
        "after": { "effect": change.after, "findings": found(&change.found_after) },
        "witness": change.witness.to_json(),
    })
}

fn found(findings: &[(String, Effect)]) -> String {
    match findings {
        [] => "nothing is found".to_owned(),
        findings => {
            let each = findings.iter().map(|(name, effect)| format!("{name} ({})", effect.as_str()));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}

fn listed(what: &str, names: &[String]) -> String {
    let plural = if names.len() == 1 { "" } else { "s" };
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("{what}{plural} {}", names.join(", "))
}

fn finding(diagnostic: &Diagnostic) -> Value {
    json!({
        "code": diagnostic.code,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "file": diagnostic.place.as_ref().map(|place| &place.file),
        "line": diagnostic.place.as_ref().map(|place| place.line),
        "column": diagnostic.place.as_ref().map(|place| place.column),
    })
}
