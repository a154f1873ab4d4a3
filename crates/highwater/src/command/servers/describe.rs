//! `highwater servers describe`: what a server is, in the operator's one word, said by answering two plain questions.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use clap::Args;
use highwater_core::id::UpstreamId;
use highwater_core::profile::Profile;
use highwater_pins::visible;
use serde::Deserialize;

use super::{ask, read};
use crate::command::{Common, named, print};
use crate::exit::Failure;
use crate::local::hello::Ask;

/// What `servers describe` takes.
#[derive(Debug, Args)]
pub(super) struct DescribeArgs {
    /// The server, as the configuration names it.
    #[arg(value_name = "SERVER")]
    server: String,

    /// What it is, without being asked: `local` (things of this machine), `private` (an account of yours, where others may
    /// write too) or `public` (the web).
    #[arg(long, value_name = "WORD", value_parser = word, conflicts_with = "undo")]
    profile: Option<Profile>,

    /// Take back what was said.
    #[arg(long)]
    undo: bool,

    /// Why. It goes on record.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,

    /// Who you are, for the record. Without it: the name you are logged in with.
    #[arg(long, value_name = "NAME")]
    person: Option<String>,

    #[command(flatten)]
    common: Common,
}

/// What the gateway says of a server.
#[derive(Debug, Deserialize)]
struct ServerView {
    #[serde(default)]
    by_file: bool,
    #[serde(default)]
    profile: Option<Profile>,
    #[serde(default)]
    not_local: Option<String>,
}

pub(super) fn run(args: &DescribeArgs) -> Result<(), Failure> {
    let data = args.common.data.path()?;
    let server = UpstreamId::new(args.server.as_str());
    let profile = match (args.profile, args.undo) {
        (Some(profile), _) => Some(profile),
        (None, true) => None,
        (None, false) => {
            let answer = ask(&data, Ask::Review { server: server.clone() })?;
            Some(asked(&args.server, &read(&answer)?)?)
        }
    };
    let (person, reason) = (named(args.person.as_deref()), args.reason.clone());
    let answer = ask(&data, Ask::Describe { server, profile, person, reason })?;
    match (args.common.json, profile) {
        (true, _) => print(&format!("{}\n", answer.get())),
        (false, Some(profile)) => say(&args.server, profile),
        (false, None) => print(&format!("what was said of server `{}` is taken back\n", args.server)),
    }
    Ok(())
}

/// Asks the two questions about a server that was just approved, and keeps what is answered. Whoever does not answer has
/// approved it all the same.
pub(super) fn ask_and_say(data: &Path, server: &str, person: Option<&str>) -> Result<(), Failure> {
    let id = UpstreamId::new(server);
    let answer = ask(data, Ask::Review { server: id.clone() })?;
    let profile = match asked(server, &read(&answer)?) {
        Ok(profile) => profile,
        Err(failure) => {
            print(&format!(
                "{}\nsay what it is with `highwater servers describe {server}`\n",
                failure.words()
            ));
            return Ok(());
        }
    };
    let (person, reason) = (named(person), String::new());
    ask(data, Ask::Describe { server: id, profile: Some(profile), person, reason })?;
    say(server, profile);
    Ok(())
}

fn say(server: &str, profile: Profile) {
    print(&format!(
        "server `{server}` is `{profile}` from now on; `highwater servers describe {server} --undo` takes it back\n"
    ));
}

/// Asks the two questions, where there is somebody to ask.
fn asked(server: &str, known: &ServerView) -> Result<Profile, Failure> {
    if let (true, Some(profile)) = (known.by_file, known.profile) {
        let words = format_args!(
            "the configuration says `profile: {profile}` of server `{server}`, and the file counts"
        );
        return Err(Failure::failed(words).help("change it there"));
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("say what it is, with `--profile local`, `private` or `public`"));
    }
    print(&format!("Two questions about server `{server}`. What you say holds for all of its tools.\n\n"));
    let strangers = yes("Can anybody but you put text there, as into a mailbox, a tracker or the web?")?;
    let sends = yes("Can it send anything off this machine: a message, an upload, a web request?")?;
    let profile = Profile::of_answers(strangers, sends);
    if let (Profile::Local, Some(why)) = (profile, &known.not_local) {
        let words = format_args!("it is not taken for local: {}", visible(why));
        return Err(Failure::failed(words)
            .help("if it is all the same, write `profile: local` into the configuration"));
    }
    Ok(profile)
}

/// A question that is asked until it is answered.
fn yes(question: &str) -> Result<bool, Failure> {
    loop {
        print(&format!("{question} [y/n] "));
        std::io::stdout().flush().context("cannot ask")?;
        let mut said = String::new();
        if std::io::stdin().lock().read_line(&mut said).context("cannot hear the answer")? == 0 {
            return Err(Failure::failed("nothing was decided"));
        }
        match said.trim() {
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}

fn word(text: &str) -> Result<Profile, String> {
    match text {
        "local" => Ok(Profile::Local),
        "private" => Ok(Profile::Private),
        "public" => Ok(Profile::Public),
        _ => Err("it is `local`, `private` or `public`".to_owned()),
    }
}
