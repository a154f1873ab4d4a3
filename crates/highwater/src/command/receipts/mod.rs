//! `highwater receipts`: what people signed, and whether that can be shown to somebody who was not there.

mod kept;
mod verify;
mod words;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::command::{Common, print};
use crate::exit::Failure;
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
        ReceiptsCommand::Verify(args) => {
            let verification = verify::verify(args)?;
            print(&match args.json {
                true => format!("{}\n", verification.to_json()),
                false => words::tell(&verification),
            });
            match verification.fault() {
                None => Ok(()),
                Some(fault) => Err(Failure::unverified(fault)),
            }
        }
    }
}
