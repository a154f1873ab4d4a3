//! `highwater servers`: how the servers of the running gateway are, what they say of themselves, and whether they may.

mod describe;
mod difference;
mod list;
mod review;

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use highwater_core::id::UpstreamId;
use highwater_core::pin::{PinDigest, PinKey, PinKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::command::{Common, named, print, yes};
use crate::exit::Failure;
use crate::local::hello::{Ask, Decide, Hello};
use crate::local::visit::{Visit, visit_for};
use review::{Item, Review};

/// How long a gateway may take. A server that nobody has used yet is started first.
const PATIENCE: Duration = Duration::from_secs(60);

/// What `servers` takes.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServersArgs {
    #[command(subcommand)]
    command: Option<ServersCommand>,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Subcommand)]
enum ServersCommand {
    /// List the servers, how they are and what was approved of them.
    List {
        #[command(flatten)]
        common: Common,
    },

    /// Show everything a server says of itself, whether it may be used, and what was decided about it.
    Inspect {
        /// The server, as the configuration names it.
        #[arg(value_name = "SERVER")]
        server: String,

        #[command(flatten)]
        common: Common,
    },

    /// Show what of a server nobody has approved yet, or is not as it was approved.
    Diff {
        /// The server, as the configuration names it.
        #[arg(value_name = "SERVER")]
        server: String,

        #[command(flatten)]
        common: Common,
    },

    /// Approve what a server says of itself and its tools, exactly as you saw it.
    ///
    /// Without `--seen` you are shown what it is and asked. What a tool claims of itself makes decisions stricter at once, and
    /// milder only if you believe it, or vouch for its server. Approving again without `--believe` takes belief back.
    Approve {
        #[command(flatten)]
        about: About,

        /// Believe what its tools claim of themselves, too: it may make decisions milder.
        #[arg(long)]
        believe: bool,
    },

    /// Say what a server is, so that its tools are not taken for the worst.
    ///
    /// You are asked two plain questions, or say the word with `--profile`. It fills in what nobody said of its tools, as
    /// `profile` in the configuration does, which counts above it.
    Describe(describe::DescribeArgs),

    /// Refuse what a server says of itself, exactly as you saw it. It stays out of use until you approve it.
    Reject {
        #[command(flatten)]
        about: About,
    },
}

/// What a decision is about.
#[derive(Debug, Args)]
struct About {
    /// The server, as the configuration names it.
    #[arg(value_name = "SERVER")]
    server: String,

    /// Only this tool; may be said several times.
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,

    /// Only this prompt; may be said several times.
    #[arg(long = "prompt", value_name = "NAME")]
    prompts: Vec<String>,

    /// Only this resource template; may be said several times.
    #[arg(long = "template", value_name = "URI")]
    templates: Vec<String>,

    /// Only its instructions.
    #[arg(long)]
    instructions: bool,

    /// The digest of what you saw, as `highwater servers diff` prints it. If anything has changed since, nothing is done.
    #[arg(long, value_name = "DIGEST")]
    seen: Option<String>,

    /// Why. It goes on record.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,

    /// Who you are, for the record. Without it: the name you are logged in with.
    #[arg(long, value_name = "NAME")]
    person: Option<String>,

    #[command(flatten)]
    common: Common,
}

/// What a person decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Approve,
    /// Approve, and believe what is claimed.
    Believe,
    Reject,
}

/// What came of a decision.
#[derive(Debug, Deserialize)]
struct Outcome {
    done: bool,
    #[serde(default)]
    changed: u64,
}

pub(crate) fn run(args: &ServersArgs) -> Result<(), Failure> {
    match &args.command {
        None => list(&args.common),
        Some(ServersCommand::List { common }) => list(common),
        Some(ServersCommand::Inspect { server, common }) => show(server, common, Review::whole),
        Some(ServersCommand::Diff { server, common }) => show(server, common, Review::difference),
        Some(ServersCommand::Approve { about, believe }) => {
            decide(about, if *believe { Verdict::Believe } else { Verdict::Approve })
        }
        Some(ServersCommand::Describe(args)) => describe::run(args),
        Some(ServersCommand::Reject { about }) => decide(about, Verdict::Reject),
    }
}

fn list(common: &Common) -> Result<(), Failure> {
    let servers = ask(&common.data.path()?, Ask::Servers)?;
    match common.json {
        true => print(&format!("{}\n", servers.get())),
        false => print(&list::table(&servers)?),
    }
    Ok(())
}

fn show(server: &str, common: &Common, words: fn(&Review) -> String) -> Result<(), Failure> {
    let answer = ask(&common.data.path()?, Ask::Review { server: UpstreamId::new(server) })?;
    match common.json {
        true => print(&format!("{}\n", answer.get())),
        false => print(&words(&read(&answer)?)),
    }
    Ok(())
}

/// Does what a person decides, if everything is as they saw it.
fn decide(about: &About, mut verdict: Verdict) -> Result<(), Failure> {
    let data = about.common.data.path()?;
    let server = UpstreamId::new(about.server.as_str());
    let answer = ask(&data, Ask::Review { server: server.clone() })?;
    let review: Review = read(&answer)?;
    let items = about.items(&review)?;
    let was_believed = review.is_believed_by_a_person(&items);
    let digest = match items.as_slice() {
        [] => review.digest,
        [(_, only)] => *only,
        some => PinDigest::of_all(some.iter().map(|(key, digest)| (key, *digest))),
    };
    match &about.seen {
        Some(seen) => {
            let seen = PinDigest::parse(seen).ok_or_else(|| {
                Failure::usage("`--seen` is no digest")
                    .help("`highwater servers diff` prints it, 64 digits long")
            })?;
            if seen != digest {
                return Err(moved(&about.server));
            }
        }
        None => {
            confirm(&review, &items, digest, verdict)?;
            // Seeing what it says and believing it are two things, and asked as two.
            if verdict == Verdict::Approve && !was_believed && review.claims_more_than_unbelieved(&items) {
                let words = "Believe what its tools claim of themselves, too? It may make decisions milder.";
                verdict = if yes(words)? { Verdict::Believe } else { verdict };
            }
        }
    }
    let decision = Decide {
        server,
        approve: verdict != Verdict::Reject,
        believe: verdict == Verdict::Believe,
        digest: items.is_empty().then_some(digest),
        items,
        person: named(about.person.as_deref()),
        reason: about.reason.clone(),
    };
    let answer = ask(&data, Ask::Decide(decision))?;
    let outcome: Outcome = read(&answer)?;
    if !outcome.done {
        return Err(moved(&about.server));
    }
    if about.common.json {
        print(&format!("{}\n", answer.get()));
    } else {
        let word = match verdict {
            Verdict::Approve if was_believed => "approved, and no longer believed",
            Verdict::Approve => "approved",
            Verdict::Believe => "approved and believed",
            Verdict::Reject => "refused",
        };
        print(&format!("{} definitions of server `{}` {word}\n", outcome.changed, about.server));
        if verdict != Verdict::Reject && review.is_undescribed() {
            print(&format!(
                "nobody has said what it is, so much of it will be asked about; say it once with `highwater servers \
                 describe {0}`, or as `profile` of `{0}` in the configuration\n",
                about.server
            ));
        }
    }
    Ok(())
}

/// Shows what is decided about and asks, where there is somebody to ask.
fn confirm(
    review: &Review,
    items: &[(PinKey, PinDigest)],
    digest: PinDigest,
    verdict: Verdict,
) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("say what you saw, with `--seen`").help(format_args!(
            "`highwater servers diff {}` shows it and prints the digest",
            review.server
        )));
    }
    print(&review.difference());
    let what = match items.len() {
        0 => "everything of it".to_owned(),
        count => format!("{count} of it"),
    };
    let question = match verdict {
        Verdict::Approve if review.is_believed_by_a_person(items) => {
            format!("Approve {what}, {digest}, and no longer believe what it claims")
        }
        Verdict::Approve => format!("Approve {what}, {digest}"),
        Verdict::Believe => format!("Approve {what}, {digest}, and believe what it claims"),
        Verdict::Reject => format!("Refuse {what}, {digest}"),
    };
    match yes(&format!("\n{question}?"))? {
        true => Ok(()),
        false => Err(Failure::failed("nothing was decided")),
    }
}

fn moved(server: &str) -> Failure {
    Failure::failed(format_args!("server `{server}` is not as you saw it; nothing was decided"))
        .help(format_args!("look at it again with `highwater servers diff {server}`"))
}

/// Asks the gateway of a data directory.
fn ask(data: &Path, ask: Ask) -> Result<Box<RawValue>, Failure> {
    match visit_for(data, &Hello::ask(ask), PATIENCE).context("cannot reach the gateway")? {
        Visit::Welcome { welcome, .. } => {
            Ok(welcome.answer.context("the gateway does not answer that; is it of another version?")?)
        }
        Visit::Refused(why) => Err(Failure::failed(why)),
        Visit::Absent => Err(Failure::failed(format_args!("no gateway runs on `{}`", data.display()))
            .help("start one with `highwater serve`, or name its directory with `--data-dir`")),
    }
}

fn read<'a, T: Deserialize<'a>>(answer: &'a RawValue) -> Result<T, Failure> {
    Ok(serde_json::from_str(answer.get()).context("the gateway speaks another language")?)
}

// === impl About ===

impl About {
    /// The definitions that are named, as they are seen now; nothing for the whole server.
    fn items(&self, review: &Review) -> Result<Vec<(PinKey, PinDigest)>, Failure> {
        let named = |kind: PinKind, names: &[String]| {
            names.iter().map(|name| PinKey::new(kind, name.as_str())).collect::<Vec<_>>()
        };
        let mut keys = named(PinKind::Tool, &self.tools);
        keys.extend(named(PinKind::Prompt, &self.prompts));
        keys.extend(named(PinKind::Template, &self.templates));
        keys.extend(self.instructions.then(PinKey::instructions));
        keys.into_iter()
            .map(|key| match review.items.iter().find(|item| item.key() == key) {
                Some(Item { digest, .. }) => Ok((key, *digest)),
                None => Err(Failure::failed(format_args!("server `{}` has no {key}", self.server))
                    .help("`highwater servers inspect` names what it has")),
            })
            .collect()
    }
}
