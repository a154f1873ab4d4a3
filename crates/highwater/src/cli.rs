//! The command line.

use clap::{Parser, Subcommand};

use crate::command::{
    approvals, check, docs, example_server, explain, hook, manifest, marks, receipts, report, schema, serve,
    servers, session, status, stdio, stdio_gateway, test, token,
};
use crate::command::{
    approvals::ApprovalsArgs, check::CheckArgs, docs::DocsArgs, example_server::ExampleServerArgs,
    explain::ExplainArgs, hook::HookArgs, manifest::ManifestArgs, marks::MarksArgs, receipts::ReceiptsArgs,
    report::ReportArgs, serve::ServeArgs, servers::ServersArgs, session::SessionArgs, status::StatusArgs,
    stdio::StdioArgs, stdio_gateway::StdioGatewayArgs, test::TestArgs, token::TokenArgs,
};
use crate::exit::Failure;
use crate::log::LogOptions;
use crate::memory;
use crate::scenario::scripted::{self, ScriptedServerArgs};

/// What every help text ends with.
const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 failure, 2 wrong usage or invalid configuration, 3 refused, 4 not verified.";

/// A security gateway for the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "highwater", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    log: LogOptions,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the gateway, over HTTP and for everyone who joins with `highwater stdio`.
    Serve(ServeArgs),

    /// Connect one client over standard input and output.
    ///
    /// Joins the gateway that runs on the data directory. If there is none, one is started in the background; it
    /// serves everyone who joins, and ends when the last has left.
    ///
    /// The client may do everything, unless the variable `HIGHWATER_TOKEN` holds the secret of a token.
    Stdio(StdioArgs),

    /// Show how the servers of the running gateway are and what they say of themselves; approve or refuse it.
    ///
    /// What a server says of itself and its tools is held until a person has approved it, and again when it changes.
    /// Talks to the gateway that runs on the data directory.
    Servers(ServersArgs),

    /// Tell why a call went as it did.
    ///
    /// Reads the audit log of the data directory, whether a gateway runs or not.
    Explain(ExplainArgs),

    /// Tell what `balanced` would have asked or refused, and which labels would remove most of it.
    ///
    /// For a time of observing (`flow: observe`). Reads the audit log of the data directory, whether a gateway runs or
    /// not, and tries each label on it before it names it.
    Report(ReportArgs),

    /// Show whether a gateway runs, by which configuration, and what agents may do that nobody watches.
    Status(StatusArgs),

    /// Tell the gateway of an event of an agent host, and print the answer. Hosts run it as a hook.
    ///
    /// Reads the host's JSON on standard input and prints one JSON object. Talks to the gateway that runs on the data
    /// directory; where that does not answer, tools are refused (exit code 2) and everything else passes.
    Hook(HookArgs),

    /// Show agent sessions and their labels, take a label down, make a context.
    ///
    /// Talks to the gateway that runs on the data directory.
    Session(SessionArgs),

    /// Show the marks on what agents wrote, and take them off.
    ///
    /// What an agent writes keeps the label of its session: on the thing that it named, or on the text where it named none.
    /// Whoever reads that takes the label over. Talks to the gateway that runs on the data directory.
    Marks(MarksArgs),

    /// Make, list, revoke and rotate the tokens of agents.
    ///
    /// Talks to the gateway that runs on the data directory. If there is none, it works on the directory itself.
    Token(TokenArgs),

    /// Show what waits for a person, open the page on which it is approved, or deny it; passkeys, mandates, resets.
    ///
    /// Talks to the gateway that runs on the data directory.
    Approvals(ApprovalsArgs),

    /// Show, export and check receipts: what people signed, for somebody who was not there.
    Receipts(ReceiptsArgs),

    /// Sign and check manifests: a publisher's signed word of what a server is and has.
    Manifest(ManifestArgs),

    /// Check configuration files.
    Check(CheckArgs),

    /// Tell scenarios and compare what happens with what they expect.
    ///
    /// Each telling starts a gateway and servers of its own, and leaves nothing behind.
    Test(TestArgs),

    /// Print the JSON schema of the configuration.
    Schema,

    /// Run one of the built-in example servers on standard input and output.
    ExampleServer(ExampleServerArgs),

    /// Run the gateway behind `highwater stdio`.
    #[command(hide = true)]
    StdioGateway(StdioGatewayArgs),

    /// Play a server of a scenario on standard input and output.
    #[command(hide = true)]
    ScriptedServer(ScriptedServerArgs),

    /// Print a page of the reference.
    #[command(hide = true)]
    Docs(DocsArgs),
}

// === impl Cli ===

impl Cli {
    /// Does what the command line says.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.command.holds_secrets() {
            memory::protect()?;
        }
        // Hosts read what a hook writes: it logs nothing, and no setting of logs can make it fail.
        if !matches!(self.command, Command::Hook(_)) {
            self.log.start(self.command.usual_log_level())?;
        }
        match &self.command {
            Command::Serve(args) => serve::run(args, &self.log),
            Command::Stdio(args) => stdio::run(args, &self.log),
            Command::Servers(args) => servers::run(args),
            Command::Explain(args) => explain::run(args),
            Command::Report(args) => report::run(args),
            Command::Status(args) => status::run(args),
            Command::Hook(args) => hook::run(args, &self.log),
            Command::Session(args) => session::run(args),
            Command::Marks(args) => marks::run(args),
            Command::Token(args) => token::run(args),
            Command::Approvals(args) => approvals::run(args),
            Command::Receipts(args) => receipts::run(args),
            Command::Manifest(args) => manifest::run(args),
            Command::Check(args) => check::run(args),
            Command::Test(args) => test::run(args),
            Command::Schema => schema::run(),
            Command::ExampleServer(args) => example_server::run(args),
            Command::StdioGateway(args) => stdio_gateway::run(args, &self.log),
            Command::ScriptedServer(args) => Ok(scripted::run(args)?),
            Command::Docs(args) => {
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

    fn usual_log_level(&self) -> &'static str {
        match self {
            Self::Serve(_) | Self::StdioGateway(_) => "info",
            Self::Stdio(_)
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
            | Self::Check(_)
            | Self::Schema
            | Self::ExampleServer(_)
            | Self::ScriptedServer(_)
            | Self::Docs(_) => "warn",
            Self::Hook(_) => "off",
            // What a gateway has to say about a refusal is part of the story, not of the report.
            Self::Test(_) => "error",
        }
    }
}
