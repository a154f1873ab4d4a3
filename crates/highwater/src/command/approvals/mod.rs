//! `highwater approvals`: what waits for a person, and the passkeys that people answer with.
//!
//! Nothing here says yes. An agent with a shell could say it, so the page does that, and this opens the page.

pub(crate) mod browser;
mod words;

pub(crate) use words::alone;

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use highwater_config::OWNER;
use highwater_gateway::{ApprovalState, CredentialView, MandateView, RequestView, ResetView, WindowOpened};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::command::{Common, named, print};
use crate::exit::Failure;
use crate::local::hello::{ApprovalQuery, Ask, Hello};
use crate::local::visit::{Visit, visit_for};

/// How long a gateway may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often `approve --wait` looks.
const LOOK: Duration = Duration::from_millis(500);

/// What `approvals` takes.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: Option<ApprovalsCommand>,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    /// List the calls that wait for a person.
    List {
        /// Also those that were answered or have ended.
        #[arg(long)]
        all: bool,

        #[command(flatten)]
        common: Common,
    },

    /// Show one of them: what would be done, why it is asked, and what the agent has read.
    Show {
        /// The request, as `highwater approvals list` names it.
        #[arg(value_name = "ID", allow_hyphen_values = true)]
        id: String,

        #[command(flatten)]
        common: Common,
    },

    /// Open the page on which one of them is approved.
    ///
    /// There is no yes in a terminal: an agent with a shell could give it. The URL is printed, for a browser elsewhere.
    Approve {
        /// The request, as `highwater approvals list` names it.
        #[arg(value_name = "ID", allow_hyphen_values = true)]
        id: String,

        /// Print the URL and open nothing.
        #[arg(long)]
        no_open: bool,

        /// Wait until somebody has answered. Ends with 3 if they said no.
        #[arg(long)]
        wait: bool,

        #[command(flatten)]
        common: Common,
    },

    /// Open the page of approvals, signed in.
    ///
    /// The browser that this command opens is let in: nothing has to be typed. That works on the machine of the gateway, for
    /// the user who runs it; elsewhere the page asks for a passkey or for the operator token.
    Open {
        /// Print the URL and open nothing.
        #[arg(long)]
        no_open: bool,

        #[command(flatten)]
        common: Common,
    },

    /// Say no to one of them. The agent is told not to try again.
    Deny {
        /// The request, as `highwater approvals list` names it.
        #[arg(value_name = "ID", allow_hyphen_values = true)]
        id: String,

        #[command(flatten)]
        by: By,
    },

    /// Open an enrollment: for ten minutes a passkey can be added for one user.
    ///
    /// The first passkey of a user is confirmed with the code that is printed here, every further one with a passkey
    /// that the user has already. In the browser that this command opens the code is filled in. Enroll a second one when you
    /// can: with one alone, losing it means to start over.
    Enroll {
        /// The user.
        #[arg(value_name = "USER", default_value = OWNER)]
        user: String,

        /// Print the URL and open nothing.
        #[arg(long)]
        no_open: bool,

        #[command(flatten)]
        by: By,
    },

    /// List passkeys, name one, or take one back.
    Credentials {
        /// The passkey to name.
        // Ids may begin with a hyphen.
        #[arg(
            long,
            value_name = "ID",
            allow_hyphen_values = true,
            requires = "name",
            conflicts_with = "revoke"
        )]
        rename: Option<String>,

        /// What it is to be called.
        #[arg(long, value_name = "NAME", requires = "rename")]
        name: Option<String>,

        /// The passkey to take back. It approves nothing from then on.
        // Ids may begin with a hyphen.
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        revoke: Option<String>,

        /// Why. It goes on record.
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,

        #[command(flatten)]
        by: By,
    },

    /// List mandates, end one, or open the page on which one is signed.
    ///
    /// A mandate is what a person signs for an agent that works while nobody is there: which tools, with which
    /// arguments, how often, until when.
    Mandate {
        /// Open the page on which a mandate is signed.
        #[arg(long, conflicts_with = "revoke")]
        new: bool,

        /// The mandate to end.
        // Ids may begin with a hyphen.
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        revoke: Option<String>,

        /// With `--new`: print the URL and open nothing.
        #[arg(long)]
        no_open: bool,

        #[command(flatten)]
        by: By,
    },

    /// Start over for a user who has lost all passkeys.
    ///
    /// It takes effect after a day, unless the configuration says otherwise, and everybody sees it until then. Any old
    /// passkey stops it. Nothing that needs this user is approved meanwhile.
    Reset {
        /// The user.
        #[arg(value_name = "USER", default_value = OWNER)]
        user: String,

        /// Finish one that is due: all old passkeys are taken back, and an enrollment is opened.
        #[arg(long)]
        complete: bool,

        #[command(flatten)]
        by: By,
    },
}

/// Who does something.
#[derive(Debug, Args)]
struct By {
    /// Who you are, for the record. Without it: the name you are logged in with.
    #[arg(long, value_name = "NAME")]
    person: Option<String>,

    #[command(flatten)]
    common: Common,
}

/// Whether something was there to be changed.
#[derive(Debug, Deserialize)]
struct Changed {
    changed: bool,
}

pub(crate) fn run(args: &ApprovalsArgs) -> Result<(), Failure> {
    match &args.command {
        None => list(&args.common, false),
        Some(ApprovalsCommand::List { all, common }) => list(common, *all),
        Some(ApprovalsCommand::Show { id, common }) => {
            show(common, ApprovalQuery::Request { id: id.clone() }, |request: RequestView| {
                words::request(&request)
            })
        }
        Some(ApprovalsCommand::Approve { id, no_open, wait, common }) => approve(id, *no_open, *wait, common),
        Some(ApprovalsCommand::Open { no_open, common }) => page(common, "inbox", *no_open),
        Some(ApprovalsCommand::Deny { id, by }) => {
            let ask = ApprovalQuery::Deny { id: id.clone(), person: by.name() };
            change(by, ask, || format!("denied `{id}`"), || no_request(id))
        }
        Some(ApprovalsCommand::Enroll { user, no_open, by }) => {
            let ask = ApprovalQuery::Enroll { user: user.clone(), person: by.name() };
            opened(by, ask, *no_open)
        }
        Some(ApprovalsCommand::Credentials { rename: Some(id), name, by, .. }) => {
            let name = name.clone().unwrap_or_default();
            let ask =
                ApprovalQuery::RenameCredential { id: id.clone(), name: name.clone(), person: by.name() };
            let missing = || Failure::failed(format_args!("there is no passkey `{id}` that counts"));
            change(by, ask, || format!("passkey `{id}` is called `{name}`"), missing)
        }
        Some(ApprovalsCommand::Credentials { revoke: None, by, .. }) => {
            show(&by.common, ApprovalQuery::Credentials, |all: Vec<CredentialView>| words::credentials(&all))
        }
        Some(ApprovalsCommand::Credentials { revoke: Some(id), reason, by, .. }) => {
            let ask =
                ApprovalQuery::RevokeCredential { id: id.clone(), person: by.name(), reason: reason.clone() };
            let missing = || Failure::failed(format_args!("there is no passkey `{id}` that counts"));
            change(by, ask, || format!("took passkey `{id}` back"), missing)
        }
        Some(ApprovalsCommand::Mandate { new: true, no_open, by, .. }) => {
            page(&by.common, "mandate", *no_open)
        }
        Some(ApprovalsCommand::Mandate { revoke: Some(id), by, .. }) => {
            let ask = ApprovalQuery::RevokeMandate { id: id.clone(), person: by.name() };
            let missing = || Failure::failed(format_args!("there is no mandate `{id}` that counts"));
            change(by, ask, || format!("ended mandate `{id}`"), missing)
        }
        Some(ApprovalsCommand::Mandate { by, .. }) => {
            show(&by.common, ApprovalQuery::Mandates, |all: Vec<MandateView>| words::mandates(&all))
        }
        Some(ApprovalsCommand::Reset { user, complete: true, by }) => {
            let ask = ApprovalQuery::CompleteReset { user: user.clone(), person: by.name() };
            opened(by, ask, true)
        }
        Some(ApprovalsCommand::Reset { user, complete: false, by }) => {
            let ask = ApprovalQuery::BeginReset { user: user.clone(), person: by.name() };
            show(&by.common, ask, |reset: ResetView| words::reset(&reset))
        }
    }
}

fn list(common: &Common, all: bool) -> Result<(), Failure> {
    show(common, ApprovalQuery::Requests { all }, |requests: Vec<RequestView>| {
        words::requests(&requests, all)
    })
}

/// Opens the page of a request, and waits for an answer if asked to.
fn approve(id: &str, no_open: bool, wait: bool, common: &Common) -> Result<(), Failure> {
    let data = common.data.path()?;
    let look = || -> Result<(Box<RawValue>, RequestView), Failure> {
        let answer = ask(&data, ApprovalQuery::Request { id: id.to_owned() })?;
        let request = read(&answer)?;
        Ok((answer, request))
    };
    let (mut answer, mut request) = look()?;
    if request.state == ApprovalState::Pending {
        let opened = !no_open && open(&data, &request.url)?;
        if !common.json {
            print(&words::page(&request.url, opened));
        }
        while wait && request.state == ApprovalState::Pending {
            std::thread::sleep(LOOK);
            (answer, request) = look()?;
        }
    }
    if common.json {
        print(&format!("{}\n", answer.get()));
    }
    match request.state {
        ApprovalState::Pending => Ok(()),
        ApprovalState::Approved | ApprovalState::Consumed => {
            if !common.json {
                print(&format!("approved by {}\n", words::who(&request)));
            }
            Ok(())
        }
        ApprovalState::Declined => {
            Err(Failure::refused(format_args!("`{id}` was declined by {}", words::who(&request))))
        }
        ApprovalState::Expired => Err(Failure::failed(format_args!("the time of `{id}` is over"))
            .help("its agent can call again with the same arguments")),
    }
}

fn opened(by: &By, what: ApprovalQuery, no_open: bool) -> Result<(), Failure> {
    let answer = ask(&by.common.data.path()?, what)?;
    let window: WindowOpened = read(&answer)?;
    let shown = !no_open && browser::open(window.opens.as_deref().unwrap_or(&window.url));
    print(&match by.common.json {
        true => format!("{}\n", answer.get()),
        false => words::window(&window, shown),
    });
    Ok(())
}

/// Opens a page of the gateway.
fn page(common: &Common, name: &str, no_open: bool) -> Result<(), Failure> {
    let data = common.data.path()?;
    let answer = ask(&data, ApprovalQuery::Page)?;
    let page: Value = read(&answer)?;
    let origin = page.get("origin").and_then(Value::as_str).context("the gateway speaks another language")?;
    let url = format!("{origin}/{name}");
    let opened = !no_open && open(&data, &url)?;
    print(&match common.json {
        true => format!("{}\n", json!({ "url": url })),
        false => words::page(&url, opened),
    });
    Ok(())
}

/// Shows a page to whoever sits here, who is let in without typing anything.
fn open(data: &Path, url: &str) -> Result<bool, Failure> {
    if !browser::is_there() {
        return Ok(false);
    }
    let answer = ask(data, ApprovalQuery::SignedIn { url: url.to_owned() })?;
    Ok(browser::open(&read::<String>(&answer)?))
}

/// Asks, and prints the answer as it is or in words.
fn show<T: for<'a> Deserialize<'a>>(
    common: &Common,
    what: ApprovalQuery,
    words: impl FnOnce(T) -> String,
) -> Result<(), Failure> {
    let answer = ask(&common.data.path()?, what)?;
    print(&match common.json {
        true => format!("{}\n", answer.get()),
        false => words(read(&answer)?),
    });
    Ok(())
}

fn change(
    by: &By,
    what: ApprovalQuery,
    done: impl FnOnce() -> String,
    missing: impl FnOnce() -> Failure,
) -> Result<(), Failure> {
    let answer = ask(&by.common.data.path()?, what)?;
    let outcome: Changed = read(&answer)?;
    if by.common.json {
        print(&format!("{}\n", answer.get()));
    }
    match (outcome.changed, by.common.json) {
        (false, _) => Err(missing()),
        (true, true) => Ok(()),
        (true, false) => {
            print(&format!("{}\n", done()));
            Ok(())
        }
    }
}

fn no_request(id: &str) -> Failure {
    Failure::failed(format_args!("no request `{id}` waits for an answer"))
        .help("`highwater approvals list` names those that do")
}

/// Asks the approval service of the gateway that runs on a data directory.
pub(super) fn ask(data: &Path, what: ApprovalQuery) -> Result<Box<RawValue>, Failure> {
    let hello = Hello::ask(Ask::Approvals(what));
    match visit_for(data, &hello, PATIENCE).context("cannot reach the gateway")? {
        Visit::Welcome { welcome, .. } => {
            Ok(welcome.answer.context("the gateway does not answer that; is it of another version?")?)
        }
        Visit::Refused(why) => Err(Failure::failed(why)),
        Visit::Absent => Err(Failure::failed(format_args!("no gateway runs on `{}`", data.display()))
            .help("start one with `highwater serve`, or name its directory with `--data-dir`")),
    }
}

pub(super) fn read<'a, T: Deserialize<'a>>(answer: &'a RawValue) -> Result<T, Failure> {
    Ok(serde_json::from_str(answer.get()).context("the gateway speaks another language")?)
}

// === impl By ===

impl By {
    fn name(&self) -> String {
        named(self.person.as_deref())
    }
}
