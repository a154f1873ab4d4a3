//! `highwater test`: tells scenario files and compares what happens with what they expect.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::command::print;
use crate::exit::Failure;
use crate::life::runtime;
use crate::scenario::{self, Scenario, Told, report, tell};

/// How deep folders are followed.
const DEEPEST: usize = 16;

/// What `test` takes.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Scenario files, or folders of them.
    #[arg(value_name = "FILE|DIR", required = true)]
    paths: Vec<PathBuf>,

    /// Only scenarios whose path or way of telling has this text in it.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// How many tellings run at once. Without it: as many as there are processors.
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<usize>,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,

    /// Name every telling, not only those that failed.
    #[arg(long)]
    verbose: bool,
}

/// A file that was read.
struct Story {
    file: String,
    scenario: Scenario,
}

pub(crate) fn run(args: &TestArgs) -> Result<(), Failure> {
    let stories = read(&files(&args.paths)?)?;
    let began = Instant::now();
    let told = runtime()?.block_on(tell_all(args, stories))?;
    let failed = told.iter().filter(|(_, _, told)| told.failure.is_some()).count();
    if args.json {
        let list: Vec<Value> =
            told.iter().map(|(file, about, told)| report::data(file, about.as_deref(), told)).collect();
        let data = json!({ "passed": told.len() - failed, "failed": failed, "scenarios": list });
        print(&format!("{data}\n"));
    } else {
        let counted =
            format!("{} passed, {failed} failed, in {}", told.len() - failed, shown(began.elapsed()));
        print(&format!("{counted}\n"));
    }
    match (failed, told.len()) {
        (_, 0) => {
            Err(Failure::usage("there is nothing to test").help("leave `--filter` out, or name other files"))
        }
        (0, _) => Ok(()),
        (1, _) => Err(Failure::failed("one scenario did not go as expected")),
        _ => Err(Failure::failed(format_args!("{failed} scenarios did not go as expected"))),
    }
}

/// Tells every telling that is wanted, several at once, and gives them back in their order.
async fn tell_all(
    args: &TestArgs,
    stories: Vec<Story>,
) -> Result<Vec<(String, Option<String>, Told)>, Failure> {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let places = Arc::new(Semaphore::new(args.jobs.unwrap_or(processors).max(1)));
    let mut telling = JoinSet::new();
    let mut order = 0;
    for story in stories {
        let story = Arc::new(story);
        for one in story.scenario.tellings.clone() {
            let name = format!("{} ({one})", story.file);
            if args.filter.as_ref().is_some_and(|filter| !name.contains(filter)) {
                continue;
            }
            let (story, places) = (Arc::clone(&story), Arc::clone(&places));
            order += 1;
            telling.spawn(async move {
                let place = places.acquire_owned().await;
                let told = tell(&story.scenario, one).await;
                drop(place);
                (order, story, told)
            });
        }
    }
    let mut all = Vec::new();
    while let Some(told) = telling.join_next().await {
        let (order, story, told) =
            told.map_err(|error| Failure::failed(format_args!("a telling broke: {error}")))?;
        if !args.json && (args.verbose || told.failure.is_some()) {
            print(&report::words(&story.file, &told));
        }
        all.push((order, story, told));
    }
    all.sort_by_key(|(order, ..)| *order);
    Ok(all
        .into_iter()
        .map(|(_, story, told)| (story.file.clone(), story.scenario.about.clone(), told))
        .collect())
}

/// Reads all files, or says everything that is wrong with them.
fn read(files: &[PathBuf]) -> Result<Vec<Story>, Failure> {
    let (mut stories, mut wrong) = (Vec::new(), Vec::new());
    for file in files {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format_args!("cannot read `{name}`: {error}")))?;
        match scenario::read(&name, &text) {
            Ok(scenario) => stories.push(Story { file: name, scenario }),
            Err(diagnostics) => wrong.push(diagnostics.to_string()),
        }
    }
    match wrong.is_empty() {
        true => Ok(stories),
        false => Err(Failure::configuration(wrong.join("\n\n"))),
    }
}

/// The files that were named, and those in the folders that were.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = files.len();
            collect(path, 0, &mut files)?;
            if files.len() == before {
                return Err(Failure::usage(format_args!("there is no scenario in `{}`", path.display()))
                    .help("scenarios are files that end in `.yaml`, `.yml` or `.json`"));
            }
        } else {
            files.push(path.clone());
        }
    }
    files.dedup();
    Ok(files)
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |error| Failure::usage(format_args!("cannot read `{}`: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    paths.sort();
    for path in paths {
        let is_scenario = path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
        if path.is_dir() && depth < DEEPEST {
            collect(&path, depth + 1, files)?;
        } else if is_scenario {
            files.push(path);
        }
    }
    Ok(())
}

fn shown(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
