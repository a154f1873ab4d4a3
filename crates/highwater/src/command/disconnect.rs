//! `highwater disconnect`: takes the connection of an agent host back.

use clap::Args;
use highwater_hosts::connect::preview;
use highwater_hosts::host::Host;
use highwater_store::DataDir;
use serde_json::{Value, json};

use super::connect::{Consent, host};
use crate::command::print;
use crate::connection::{Connection, Location, Records, Restoration, restorations, restore, withdraw};
use crate::exit::Failure;
use crate::place::Places;

const EXAMPLES: &str = "\
Examples:
  highwater disconnect claude-code
  highwater disconnect codex --yes --json";

/// What `disconnect` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DisconnectArgs {
    /// The host: `claude-code` or `codex`.
    #[arg(value_name = "HOST", value_parser = host)]
    host: Host,

    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    places: Places,
}

pub(crate) fn run(args: &DisconnectArgs) -> Result<(), Failure> {
    let data = args.places.data_dir()?;
    let connection = Records::look(&data, args.host)?;
    let location = location(args.host, connection.as_ref())?;
    let restored = restorations(args.host, &location, connection.as_ref())?;
    if connection.is_none() && !restored.iter().any(Restoration::is_change) {
        return report(args, &[], &[], false);
    }
    let secret = connection.as_ref().map(|connection| connection.token.secret.clone()).unwrap_or_default();
    let (diff, files) = shown(&restored, &secret);
    if args.consent.dry_run {
        if !args.consent.json {
            print(&format!("{diff}\nnothing was changed; this is what would be\n"));
            return Ok(());
        }
        return report(args, &files, &[], false);
    }
    args.consent.agree(&diff, &format!("Disconnect {}?", args.host.title()))?;
    let left = carry_out(args, &location)?;
    report(args, &files, &left, true)
}

fn location(host: Host, connection: Option<&Connection>) -> Result<Location, Failure> {
    Location::of(host, connection.and_then(|connection| connection.plugin.clone()))
}

/// The change of each file, for people and for programs.
fn shown(restored: &[Restoration], secret: &str) -> (String, Vec<Value>) {
    let mut all = String::new();
    let files = restored.iter().map(|file| {
        let diff = preview(&file.before.shown, file.before.text(), file.after.as_deref(), &[secret]);
        all.push_str(&diff);
        json!({ "path": file.before.shown, "is_removed": file.after.is_none(), "diff": diff })
    });
    let files = files.collect();
    (all, files)
}

/// Files first, then the token, then the record: whatever is interrupted can be done again.
fn carry_out(args: &DisconnectArgs, location: &Location) -> Result<Vec<String>, Failure> {
    let data = args.places.data_dir()?;
    DataDir::open(&data).map_err(Failure::failed)?;
    let records = Records::open(&data)?;
    let connection = records.load(args.host)?;
    let restored = restorations(args.host, location, connection.as_ref())?;
    let left = restore(restored, location, connection.as_ref())?;
    if let Some(connection) = &connection {
        withdraw(&args.places, &connection.token)?;
    }
    records.forget(args.host, left.is_empty())?;
    Ok(left)
}

fn report(args: &DisconnectArgs, files: &[Value], left: &[String], changed: bool) -> Result<(), Failure> {
    let title = args.host.title();
    if args.consent.json {
        let answer = json!({ "host": args.host.name(), "changed": changed, "files": files, "left": left });
        print(&format!("{answer:#}\n"));
        return Ok(());
    }
    if !changed {
        print(&format!("{title} is not connected; nothing was changed\n"));
        return Ok(());
    }
    let mut text = format!("{title} is disconnected, and its token opens nothing any more\n");
    for place in left {
        text.push_str(&format!("  left     {place}: somebody has changed it since; take it out by hand\n"));
    }
    if !left.is_empty() {
        let backups = args.places.data_dir()?.join("connections").join(args.host.name());
        text.push_str(&format!("  copies   {}: the files as they were before\n", backups.display()));
    }
    print(&text);
    Ok(())
}
