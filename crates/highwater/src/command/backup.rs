//! `highwater backup` and `highwater restore`.

use std::path::PathBuf;

use clap::Args;
use highwater_config::StoreSettings;
use serde_json::json;

use crate::command::print;
use crate::copies::{Manifest, make, restore};
use crate::exit::Failure;
use crate::place::{ConfigSource, DataPlace, Places, absolute};
use crate::reevaluate::Trials;
use crate::wire;

/// What is said where labels, tokens and approvals are in a database of its own.
const POSTGRES: &str = "The session store is in PostgreSQL and not in this backup: labels, tokens, pins, passkeys and receipts are\n\
     copied with `pg_dump`, from the database that `store.postgres` names. Keep both copies together.";

/// What `backup` takes.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// A directory that is not there yet, or is empty.
    #[arg(value_name = "TO")]
    to: PathBuf,

    #[command(flatten)]
    places: Places,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

/// What `restore` takes.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// A directory that `highwater backup` made.
    #[arg(value_name = "FROM")]
    from: PathBuf,

    #[command(flatten)]
    data: DataPlace,

    /// Replace a data directory that is not empty. What is in it is moved aside, to a directory beside it.
    #[arg(long)]
    force: bool,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &BackupArgs) -> Result<(), Failure> {
    let (data, to) = (args.places.data_dir()?, absolute(&args.to)?);
    let manifest = make(&data, &to, Trials::clock())?.manifest;
    let elsewhere = match args.places.config() {
        ConfigSource::File(file) => {
            wire::read(&file).is_ok_and(|settings| matches!(settings.store, StoreSettings::Postgres { .. }))
        }
        ConfigSource::Example => false,
    };
    if args.json {
        let shown = json!({
            "backup": to, "files": manifest.files.len(), "bytes": manifest.bytes(), "store": manifest.has_store,
        });
        print(&format!("{shown}\n"));
        return Ok(());
    }
    print(&format!("backup of `{}` in `{}`: {}\n", data.display(), to.display(), said(&manifest)));
    if elsewhere {
        print(&format!("\n{POSTGRES}\n"));
    }
    print(
        "\nIt holds secrets: whoever has it can do what this gateway can. Put it back with `highwater restore`.\n",
    );
    Ok(())
}

pub(crate) fn run_restore(args: &RestoreArgs) -> Result<(), Failure> {
    let (data, from) = (args.data.path()?, absolute(&args.from)?);
    let restored = restore(&from, &data, args.force, Trials::clock())?;
    if args.json {
        let shown = json!({
            "dataDir": data, "aside": restored.aside, "files": restored.manifest.files.len(),
            "bytes": restored.manifest.bytes(), "store": restored.manifest.has_store,
        });
        print(&format!("{shown}\n"));
        return Ok(());
    }
    print(&format!("restored into `{}`: {}\n", data.display(), said(&restored.manifest)));
    if let Some(aside) = &restored.aside {
        print(&format!("what was there before is in `{}`\n", aside.display()));
    }
    print(match restored.manifest.has_store {
        true => {
            "\nNobody knows what agents have read since the backup was made, so every session counts as having read\n\
             everything until a person says otherwise (`highwater session`), and what waited for a person is void.\n"
        }
        false => {
            "\nThere was no session store in the backup. If it is in PostgreSQL, restore that with `pg_restore` and start\n\
             the gateway once with `--restored`.\n"
        }
    });
    Ok(())
}

fn said(manifest: &Manifest) -> String {
    let store = if manifest.has_store { "with the session store" } else { "without a session store" };
    format!(
        "{} files, {} bytes, {store}, every digest in `manifest.json`",
        manifest.files.len(),
        manifest.bytes()
    )
}
