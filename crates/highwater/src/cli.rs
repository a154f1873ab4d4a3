//! The command line.

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::command::{
    approvals, backup, check, completions, connect, disconnect, docs, doctor, example_server, explain, hook,
    logs, manifest, marks, receipts, report, schema, serve, servers, session, status, stdio, stdio_gateway,
    test, token, version,
};
use crate::command::{
    approvals::ApprovalsArgs, backup::BackupArgs, backup::RestoreArgs, check::CheckArgs,
    completions::CompletionsArgs, connect::ConnectArgs, disconnect::DisconnectArgs, docs::DocsArgs,
    doctor::DoctorArgs, example_server::ExampleServerArgs, explain::ExplainArgs, hook::HookArgs,
    logs::LogsArgs, manifest::ManifestArgs, marks::MarksArgs, receipts::ReceiptsArgs, report::ReportArgs,
    serve::ServeArgs, servers::ServersArgs, session::SessionArgs, status::StatusArgs, stdio::StdioArgs,
    stdio_gateway::StdioGatewayArgs, test::TestArgs, token::TokenArgs, version::VersionArgs,
};
use crate::deferred::Deferred;
use crate::exit::Failure;
use crate::log::{LogOptions, LogTo};
use crate::memory;
use crate::scenario::scripted::{self, ScriptedServerArgs};
use crate::terminal::ColorChoice;

/// What every help text ends with.
const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 failure, 2 wrong usage or invalid configuration, 3 refused, 4 not verified.";

/// No line of help is longer, however wide the terminal is.
const WIDEST_HELP: usize = 100;

/// A security gateway for the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "highwater", version, after_help = EXIT_CODES, max_term_width = WIDEST_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    log: LogOptions,

    /// When to colour what is printed for people: `auto`, `always` or `never`. `auto` is where a terminal is, and does what
    /// `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` say.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        display_order = 902,
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true
    )]
    color: ColorChoice,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the gateway, over HTTP and for everyone who joins with `highwater stdio`.
    Serve(Deferred<ServeArgs>),

    /// Connect one client over standard input and output.
    ///
    /// Joins the gateway that runs on the data directory. If there is none, one is started in the background; it
    /// serves everyone who joins, and ends when the last has left.
    ///
    /// The client may do everything, unless the variable `HIGHWATER_TOKEN` holds the secret of a token.
    Stdio(Deferred<StdioArgs>),

    /// Connect an agent host: our server, hooks that tell of its conversations, and a token of its own.
    ///
    /// Shows what becomes of the host's files and asks before anything is changed. `highwater disconnect` takes it back.
    Connect(Deferred<ConnectArgs>),

    /// Take an agent host's connection back.
    ///
    /// Files that nobody has touched since are restored byte for byte. From others our entries are taken out, and the rest
    /// stays.
    Disconnect(Deferred<DisconnectArgs>),

    /// Find out whether everything that an agent host tells arrives, and say what is missing.
    ///
    /// Starts our server and fires every hook once, by the very lines in the host's files. Without a host: each that is
    /// connected.
    Doctor(Deferred<DoctorArgs>),

    /// Show how the servers of the running gateway are and what they say of themselves; approve or refuse it.
    ///
    /// What a server says of itself and its tools is held until a person has approved it, and again when it changes.
    /// Talks to the gateway that runs on the data directory.
    Servers(Deferred<ServersArgs>),

    /// Tell why a call went as it did.
    ///
    /// Reads the audit log of the data directory, whether a gateway runs or not.
    Explain(Deferred<ExplainArgs>),

    /// Tell what `balanced` would have asked or refused, and which labels would remove most of it.
    ///
    /// For a time of observing (`flow: observe`). Reads the audit log of the data directory, whether a gateway runs or
    /// not, and tries each label on it before it names it.
    Report(Deferred<ReportArgs>),

    /// Show whether a gateway runs, by which configuration, and what agents may do that nobody watches.
    Status(Deferred<StatusArgs>),

    /// Tell the gateway of an event of an agent host, and print the answer. Hosts run it as a hook.
    ///
    /// Reads the host's JSON on standard input and prints one JSON object. Talks to the gateway that runs on the data
    /// directory; where that does not answer, tools are refused (exit code 2) and everything else passes.
    Hook(Deferred<HookArgs>),

    /// Show agent sessions and their labels, take a label down, make a context.
    ///
    /// Talks to the gateway that runs on the data directory.
    Session(Deferred<SessionArgs>),

    /// Show the marks on what agents wrote, and take them off.
    ///
    /// What an agent writes keeps the label of its session: on the thing that it named, or on the text where it named none.
    /// Whoever reads that takes the label over. Talks to the gateway that runs on the data directory.
    Marks(Deferred<MarksArgs>),

    /// Make, list, revoke and rotate the tokens of agents.
    ///
    /// Talks to the gateway that runs on the data directory. If there is none, it works on the directory itself.
    Token(Deferred<TokenArgs>),

    /// Show what waits for a person, open the page on which it is approved, or deny it; passkeys, mandates, resets.
    ///
    /// Talks to the gateway that runs on the data directory.
    Approvals(Deferred<ApprovalsArgs>),

    /// Show, export and check receipts: what people signed, for somebody who was not there.
    Receipts(Deferred<ReceiptsArgs>),

    /// Sign and check manifests: a publisher's signed word of what a server is and has.
    Manifest(Deferred<ManifestArgs>),

    /// Copy the data directory: session store, secrets and audit log, while the gateway runs or not.
    ///
    /// The copy is of one moment, private, and has a manifest with the digest of every file. Where the session store is in
    /// PostgreSQL it is not in the copy: `pg_dump` is for that.
    Backup(Deferred<BackupArgs>),

    /// Put a backup into a data directory on which no gateway runs.
    ///
    /// Every file is held against the manifest first. What agents have read since the backup was made is not in it, so every
    /// session counts as having read everything.
    Restore(Deferred<RestoreArgs>),

    /// Check configuration files.
    Check(Deferred<CheckArgs>),

    /// Tell scenarios and compare what happens with what they expect.
    ///
    /// Each telling starts a gateway and servers of its own, and leaves nothing behind.
    Test(Deferred<TestArgs>),

    /// Print the JSON schema of the configuration.
    Schema,

    /// Show what the gateway of the data directory logs, while it runs and afterwards.
    Logs(Deferred<LogsArgs>),

    /// Tell which version this is, which protocol versions it speaks, and which layout of data it keeps.
    Version(Deferred<VersionArgs>),

    /// Print what a shell needs to complete our command line.
    ///
    /// For Bash: `highwater completions bash > ~/.local/share/bash-completion/completions/highwater`. For Zsh, into a file
    /// `_highwater` in a directory of `$fpath`; for Fish, into `~/.config/fish/completions/highwater.fish`.
    Completions(Deferred<CompletionsArgs>),

    /// Run one of the built-in example servers on standard input and output.
    ExampleServer(Deferred<ExampleServerArgs>),

    /// Run the gateway behind `highwater stdio`.
    #[command(hide = true)]
    StdioGateway(Deferred<StdioGatewayArgs>),

    /// Play a server of a scenario on standard input and output.
    #[command(hide = true)]
    ScriptedServer(Deferred<ScriptedServerArgs>),

    /// Print a page of the reference.
    #[command(hide = true)]
    Docs(Deferred<DocsArgs>),
}

// === impl Cli ===

impl Cli {
    /// What the process was told to do. Wrong usage ends it.
    pub(crate) fn of_process() -> Self {
        let color = ColorChoice::of_arguments(std::env::args_os().filter_map(|word| word.into_string().ok()));
        let matches = Self::command().color(color.into()).get_matches();
        match Self::from_arg_matches(&matches) {
            Ok(cli) => cli,
            Err(error) => error.format(&mut Self::command()).exit(),
        }
    }

    /// Does what the command line says.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.color.keep();
        if self.command.holds_secrets() {
            memory::protect()?;
        }
        // Hosts read what a hook writes: it logs nothing, and no setting of logs can make it fail.
        if !matches!(self.command, Command::Hook(_)) {
            self.log.start(self.command.usual_log_level(), self.command.log_to())?;
        }
        match &self.command {
            Command::Serve(Deferred(args)) => serve::run(args, &self.log),
            Command::Stdio(Deferred(args)) => stdio::run(args, &self.log),
            Command::Connect(Deferred(args)) => connect::run(args),
            Command::Disconnect(Deferred(args)) => disconnect::run(args),
            Command::Doctor(Deferred(args)) => doctor::run(args),
            Command::Servers(Deferred(args)) => servers::run(args),
            Command::Explain(Deferred(args)) => explain::run(args),
            Command::Report(Deferred(args)) => report::run(args),
            Command::Status(Deferred(args)) => status::run(args),
            Command::Hook(Deferred(args)) => hook::run(args, &self.log),
            Command::Session(Deferred(args)) => session::run(args),
            Command::Marks(Deferred(args)) => marks::run(args),
            Command::Token(Deferred(args)) => token::run(args),
            Command::Approvals(Deferred(args)) => approvals::run(args),
            Command::Receipts(Deferred(args)) => receipts::run(args),
            Command::Manifest(Deferred(args)) => manifest::run(args),
            Command::Backup(Deferred(args)) => backup::run(args),
            Command::Restore(Deferred(args)) => backup::run_restore(args),
            Command::Check(Deferred(args)) => check::run(args),
            Command::Test(Deferred(args)) => test::run(args),
            Command::Schema => schema::run(),
            Command::Logs(Deferred(args)) => logs::run(args),
            Command::Version(Deferred(args)) => {
                version::run(args);
                Ok(())
            }
            Command::Completions(Deferred(args)) => {
                completions::run(args);
                Ok(())
            }
            Command::ExampleServer(Deferred(args)) => example_server::run(args),
            Command::StdioGateway(Deferred(args)) => stdio_gateway::run(args, &self.log),
            Command::ScriptedServer(Deferred(args)) => Ok(scripted::run(args)?),
            Command::Docs(Deferred(args)) => {
                docs::run(args);
                Ok(())
            }
        }
    }
}

impl Command {
    /// Whether the process lives on with secrets in its memory.
    fn holds_secrets(&self) -> bool {
        matches!(self, Self::Serve(_) | Self::Stdio(_) | Self::StdioGateway(_))
    }

    /// A gateway's log is for `highwater logs` as well. That behind `stdio` has nobody who watches it.
    fn log_to(&self) -> LogTo {
        match self {
            Self::Serve(_) => LogTo::Both,
            Self::StdioGateway(Deferred(StdioGatewayArgs { second: true, .. })) => LogTo::File,
            _ => LogTo::Stderr,
        }
    }

    fn usual_log_level(&self) -> &'static str {
        match self {
            Self::Serve(_) | Self::StdioGateway(_) => "info",
            Self::Stdio(_)
            | Self::Connect(_)
            | Self::Disconnect(_)
            | Self::Doctor(_)
            | Self::Servers(_)
            | Self::Explain(_)
            | Self::Report(_)
            | Self::Status(_)
            | Self::Session(_)
            | Self::Marks(_)
            | Self::Token(_)
            | Self::Approvals(_)
            | Self::Receipts(_)
            | Self::Manifest(_)
            | Self::Backup(_)
            | Self::Restore(_)
            | Self::Check(_)
            | Self::Schema
            | Self::Logs(_)
            | Self::Version(_)
            | Self::Completions(_)
            | Self::ExampleServer(_)
            | Self::ScriptedServer(_)
            | Self::Docs(_) => "warn",
            Self::Hook(_) => "off",
            // What a gateway has to say about a refusal is part of the story, not of the report.
            Self::Test(_) => "error",
        }
    }
}
