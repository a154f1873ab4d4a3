//! `highwater report`: what a time of observing shows, from the audit log.

use anyhow::Context;
use clap::Args;
use highwater_notation::Timestamp;

use crate::command::print;
use crate::exit::Failure;
use crate::explain::Log;
use crate::place::Places;
use crate::reevaluate::Trials;
use crate::report::{self, Period, Report};

/// What `report` takes.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Only what was decided since then: `7d`, `12h`, `2026-11-15` or `2026-11-15T09:00:00Z`. Without it: everything.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,

    /// Only what was decided before then; a date includes its day.
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,

    #[command(flatten)]
    places: Places,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    let data = args.places.data_dir()?;
    let log = Log::of(&data).context("there is no record to read")?;
    let trials = Trials::found(&args.places, &data)?;
    let period = args.period(Trials::clock())?;
    let report = Report::read(&log, &period)?;
    if !report.is_any {
        return Err(Failure::failed(format_args!("nothing is on record in `{}`", data.display()))
            .help("name the directory of the gateway with `--data-dir`"));
    }
    let tried = trials.as_ref().map(|trials| report::remedies(&report, trials));
    print(&match args.json {
        true => format!("{:#}\n", report::data(&report, tried.as_ref())),
        false => report::text(&report, tried.as_ref()),
    });
    Ok(())
}

// === impl ReportArgs ===

impl ReportArgs {
    fn period(&self, now: Timestamp) -> Result<Period, Failure> {
        let read = |option: &str, text: &Option<String>, parse: fn(&str, Timestamp) -> Option<Timestamp>| {
            let Some(text) = text else { return Ok(None) };
            parse(text, now).map(Some).ok_or_else(|| {
                Failure::usage(format_args!("`{option} {text}` is no time"))
                    .help("write `7d`, `12h`, `2026-11-15` or `2026-11-15T09:00:00Z`")
            })
        };
        let period = Period {
            since: read("--since", &self.since, Period::beginning)?,
            until: read("--until", &self.until, Period::end)?,
        };
        match (period.since, period.until) {
            (Some(since), Some(until)) if since >= until => {
                Err(Failure::usage("`--since` is not before `--until`"))
            }
            _ => Ok(period),
        }
    }
}
