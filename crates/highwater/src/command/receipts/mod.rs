//! `highwater receipts`: what people signed, and whether that can be shown to somebody who was not there.

mod auditor;
mod kept;
mod verify;
mod words;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::command::{Common, print};
use crate::exit::Failure;
use crate::explain::plain;
use crate::place::DataPlace;

/// What `receipts` takes.
#[derive(Debug, Args)]
pub(crate) struct ReceiptsArgs {
    #[command(subcommand)]
    command: ReceiptsCommand,
}

#[derive(Debug, Subcommand)]
enum ReceiptsCommand {
    /// List the receipts of the running gateway, newest last.
    List {
        /// Only from this place of the chain on.
        #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true)]
        from: u64,

        #[command(flatten)]
        common: Common,
    },

    /// Show one receipt.
    Show {
        /// The receipt, as `highwater receipts list` names it.
        #[arg(value_name = "ID", allow_hyphen_values = true)]
        id: String,

        #[command(flatten)]
        common: Common,
    },

    /// Write receipts for somebody else, one a line, or what they are checked with.
    Export {
        /// Only from this place of the chain on.
        #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true)]
        from: u64,

        /// In place of receipts: which passkeys were enrolled for whom, and who authorized it.
        #[arg(long)]
        enrollments: bool,

        /// Where it is written. Without it: standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,

        #[command(flatten)]
        data: DataPlace,
    },

    /// Print the public key that this gateway signs receipts with. Give it to whoever checks them.
    Key {
        #[command(flatten)]
        common: Common,
    },

    /// Make the key pair of an auditor, for whom receipts of sensitive calls are sealed.
    ///
    /// The private key goes into a file that must not exist yet; the public key into `approvals.auditor_key`. The gateway
    /// never needs the file.
    Keygen {
        /// Where the private key is written. The file must not exist.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,

        /// Print JSON in place of text.
        #[arg(long)]
        json: bool,
    },

    /// Write what an auditor's key opens of sealed receipts, one a line, for `verify --opened`.
    Open {
        /// Files with receipts, one a line. Those that are not sealed are passed over.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,

        /// The auditor's private key, as `highwater receipts keygen` wrote it.
        #[arg(long, value_name = "FILE")]
        auditor_key: PathBuf,

        /// Where it is written. The file must not exist. Without it: standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },

    /// Check receipts with nothing but the files: no gateway, no store, no network.
    ///
    /// A receipt carries the key it is checked with, so by itself it shows that somebody signed, and not who. Only
    /// `--enrollments` ties it to a person and `--gateway-key` to a gateway. Of several receipts the chain is checked,
    /// too, and those that are missing are named.
    Verify(VerifyArgs),
}

/// What `verify` takes. All of it comes from the one who checks; nothing of it is taken from the receipt.
#[derive(Debug, Args)]
struct VerifyArgs {
    /// Files with receipts, one a line.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The name that the passkeys were made for.
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    rp_id: String,

    /// A page that may have asked, with its port; may be said several times.
    #[arg(long = "origin", value_name = "ORIGIN", default_value = "http://localhost:7412")]
    origins: Vec<String>,

    /// What was enrolled, as `highwater receipts export --enrollments` writes it.
    #[arg(long, value_name = "FILE")]
    enrollments: Option<PathBuf>,

    /// The public key of the gateway, as `highwater receipts key` prints it.
    // Base64url may begin with a hyphen.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    gateway_key: Option<String>,

    /// The definition of the tool that was called, as its server lists it.
    #[arg(long, value_name = "FILE")]
    definition: Option<PathBuf>,

    /// The auditor's private key, as `highwater receipts keygen` wrote it. Without it nothing of a sealed receipt is
    /// verified.
    #[arg(long, value_name = "FILE")]
    auditor_key: Option<PathBuf>,

    /// In place of the key: what an auditor opened with it, as `highwater receipts open` writes it.
    #[arg(long, value_name = "FILE", conflicts_with = "auditor_key")]
    opened: Option<PathBuf>,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ReceiptsArgs) -> Result<(), Failure> {
    match &args.command {
        ReceiptsCommand::List { from, common } => kept::list(*from, common),
        ReceiptsCommand::Show { id, common } => kept::show(id, common),
        ReceiptsCommand::Export { from, enrollments, out, data } => {
            kept::export(*from, *enrollments, out.as_deref(), data)
        }
        ReceiptsCommand::Key { common } => kept::key(common),
        ReceiptsCommand::Keygen { out, json } => auditor::keygen(out, *json),
        ReceiptsCommand::Open { files, auditor_key, out } => {
            auditor::open(files, auditor_key, out.as_deref())
        }
        ReceiptsCommand::Verify(args) => {
            let verification = verify::verify(args)?;
            print(&match args.json {
                true => format!("{}\n", verification.to_json()),
                false => words::tell(&verification),
            });
            match verification.fault() {
                None => Ok(()),
                Some(fault) if verification.is_shut() => Err(Failure::unverified(fault)
                    .help("open it with --auditor-key, or with --opened and what the auditor opened")),
                Some(fault) => Err(match verification.other_origin(&args.origins) {
                    Some(origin) => {
                        let (origin, expected) = (plain(origin), args.origins.join(", "));
                        Failure::unverified(fault).help(format_args!(
                            "it says that it was signed on {origin}, and {expected} was expected; if that is the page of \
                             your gateway, add `--origin {origin}`"
                        ))
                    }
                    None => Failure::unverified(fault),
                }),
            }
        }
    }
}
