//! `highwater servers approve` and `reject`: what a person decides about what a server says of itself.

use std::io::IsTerminal;

use clap::Args;
use highwater_core::id::UpstreamId;
use highwater_core::pin::PinDigest;
use highwater_pins::{PinKey, PinKind, digest_of_all};
use serde::Deserialize;

use super::review::{Item, Review};
use super::{ask, describe, difference, read, reviewed};
use crate::command::{Common, named, print, tell_in_colour, yes};
use crate::exit::Failure;
use crate::local::hello::{Ask, Decide};

/// What `servers approve` takes.
#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    about: About,

    /// Believe what its tools claim of themselves, too: it may make decisions milder.
    #[arg(long)]
    believe: bool,

    /// Every server of which something waits for you, one after the other.
    #[arg(long, conflicts_with_all = ["server", "seen", "tools", "prompts", "templates", "instructions"])]
    all: bool,

    /// With `--all`: do not ask, approve what is shown.
    #[arg(long, requires = "all")]
    yes: bool,
}

/// What a decision is about.
#[derive(Debug, Args)]
pub(super) struct About {
    /// The server, as the configuration names it.
    #[arg(value_name = "SERVER")]
    server: Option<String>,

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

    /// Show definitions whole, their schemas and digests among them, in place of a line each.
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    common: Common,
}

/// What a person decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
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

/// A server as it is listed.
#[derive(Debug, Deserialize)]
struct Listed {
    name: String,
    approval: String,
    state: String,
}

pub(super) fn run(args: &ApproveArgs) -> Result<(), Failure> {
    let verdict = if args.believe { Verdict::Believe } else { Verdict::Approve };
    match args.all {
        false => decide(&args.about, verdict),
        true => approve_all(args, verdict),
    }
}

/// Approves what waits of every server, one question each.
fn approve_all(args: &ApproveArgs, verdict: Verdict) -> Result<(), Failure> {
    if !args.yes && !std::io::stdin().is_terminal() {
        return Err(Failure::usage("nobody can be asked here").help("say `--yes` to approve what is shown"));
    }
    let answer = ask(&args.about.common.data.path()?, Ask::Servers)?;
    let servers: Vec<Listed> = read(&answer)?;
    let (mut waiting, mut undecided) = (0, Vec::new());
    for server in servers {
        let waits = match server.approval.as_str() {
            "quarantined" | "held" | "drifted" => true,
            // Nobody has seen it: it is started now, and said if that fails.
            "unseen" => server.state != "disabled",
            _ => false,
        };
        if !waits {
            continue;
        }
        waiting += 1;
        if let Err(failure) = approve_one(args, &server.name, verdict) {
            print(&format!("{}\n\n", failure.words()));
            undecided.push(server.name);
        }
    }
    match (waiting, undecided.as_slice()) {
        (0, _) => print("nothing waits for an approval\n"),
        (_, []) => {}
        (_, undecided) => {
            let names: Vec<String> = undecided.iter().map(|name| format!("`{name}`")).collect();
            return Err(Failure::failed(format_args!("not approved: {}", names.join(", "))));
        }
    }
    Ok(())
}

fn approve_one(args: &ApproveArgs, server: &str, verdict: Verdict) -> Result<(), Failure> {
    let data = args.about.common.data.path()?;
    let (_, review) = reviewed(&data, server)?;
    review.seen()?;
    // Of a server that was seen only now it may turn out that nothing waits.
    match review.is_open() {
        true => decide_one(&args.about, server, verdict, args.yes),
        false => Ok(()),
    }
}

/// Does what a person decides about one server, if everything is as they saw it.
pub(super) fn decide(about: &About, verdict: Verdict) -> Result<(), Failure> {
    let server = about.server.as_deref().ok_or_else(|| Failure::usage("say which server"))?;
    decide_one(about, server, verdict, false)
}

/// `is_agreed`: whether what is shown is agreed to without a question.
fn decide_one(about: &About, name: &str, mut verdict: Verdict, is_agreed: bool) -> Result<(), Failure> {
    let data = about.common.data.path()?;
    let server = UpstreamId::new(name);
    let (_, review) = reviewed(&data, name)?;
    review.seen()?;
    let items = about.items(&review)?;
    let was_believed = review.is_believed_by_a_person(&items);
    let digest = match items.as_slice() {
        [] => review.digest,
        [(_, only)] => *only,
        some => digest_of_all(some.iter().map(|(key, digest)| (key, *digest))),
    };
    match &about.seen {
        Some(seen) => {
            let seen = PinDigest::parse(seen).ok_or_else(|| {
                Failure::usage("`--seen` is no digest")
                    .help("`highwater servers diff` prints it, 64 digits long")
            })?;
            if seen != digest {
                return Err(moved(name));
            }
        }
        None if is_agreed => show(&review, about.full),
        None => {
            confirm(&review, &items, digest, verdict, about.full)?;
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
        return Err(moved(name));
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
        print(&format!("{} definitions of server `{}` {word}\n", outcome.changed, name));
        if verdict != Verdict::Reject && review.is_undescribed() {
            if about.seen.is_none() && !is_agreed && std::io::stdin().is_terminal() {
                // Much of it will be asked about until somebody says it, so it is asked here, once.
                return describe::ask_and_say(&data, name, about.person.as_deref());
            }
            print(&format!(
                "nobody has said what it is, so much of it will be asked about; say it once with `highwater servers \
                 describe {name}`, or as `profile` of `{name}` in the configuration\n",
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
    full: bool,
) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("say what you saw, with `--seen`").help(format_args!(
            "`highwater servers diff {}` shows it and prints the digest",
            review.server
        )));
    }
    show(review, full);
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

/// Shows what is decided about.
fn show(review: &Review, full: bool) {
    tell_in_colour(&review.difference(full), difference::style);
}

fn moved(server: &str) -> Failure {
    Failure::failed(format_args!("server `{server}` is not as you saw it; nothing was decided"))
        .help(format_args!("look at it again with `highwater servers diff {server}`"))
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
                None => Err(Failure::failed(format_args!("server `{}` has no {key}", review.server))
                    .help("`highwater servers inspect` names what it has")),
            })
            .collect()
    }
}
