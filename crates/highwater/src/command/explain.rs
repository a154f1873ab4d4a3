//! `highwater explain`: why a call went as it did, from the audit log.

use anyhow::Context;
use clap::Args;
use highwater_core::id::DecisionId;
use serde_json::Value;

use crate::command::print;
use crate::exit::Failure;
use crate::explain::{self, Account, List, Log};
use crate::place::Places;
use crate::reevaluate::Trials;

/// How many decisions are listed when none is named.
const LISTED: usize = 20;

/// What `explain` takes.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The decision, such as `hwd_MjMdbA00001`. Refusals name it, and so does the audit log. Without it: a list of
    /// the latest decisions.
    #[arg(value_name = "ID", conflicts_with = "last")]
    id: Option<String>,

    /// The latest decision.
    #[arg(long)]
    last: bool,

    /// How many decisions are listed.
    #[arg(long, value_name = "NUMBER", default_value_t = LISTED, conflicts_with_all = ["id", "last"])]
    limit: usize,

    #[command(flatten)]
    places: Places,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let data = args.places.data_dir()?;
    let log = Log::of(&data).context("there is no record to read")?;
    let nothing = || {
        Failure::failed(format_args!("nothing is on record in `{}`", data.display()))
            .help("name the directory of the gateway with `--data-dir`")
    };
    let id = match (&args.id, args.last) {
        (Some(id), _) => DecisionId::new(id.as_str()),
        (None, true) => explain::last(&log)?.ok_or_else(nothing)?,
        (None, false) => {
            let latest = explain::latest(&log, args.limit)?;
            log.say_what_was_read();
            return list(args, &latest).ok_or_else(nothing);
        }
    };
    let account = Account::of(&log, &id)?.ok_or_else(|| {
        Failure::failed(format_args!(
            "no decision `{}` is on record in `{}`",
            explain::plain(id.as_str()),
            data.display()
        ))
        .help("`highwater explain` lists the latest; another gateway has another `--data-dir`")
    })?;
    log.say_what_was_read();
    let trials = Trials::found(&args.places, &data)?;
    print(&match args.json {
        true => format!("{:#}\n", explain::data(&account, trials.as_ref())),
        false => explain::text(&account, trials.as_ref()),
    });
    Ok(())
}

/// The latest decisions, one a line; nothing if there are none.
fn list(args: &ExplainArgs, found: &List) -> Option<()> {
    if args.json {
        let all: Vec<Value> = found.decisions.iter().map(explain::summary).collect();
        print(&format!("{:#}\n", Value::from(all)));
        return Some(());
    }
    if found.decisions.is_empty() {
        return None;
    }
    print(&explain::list(found));
    Some(())
}
