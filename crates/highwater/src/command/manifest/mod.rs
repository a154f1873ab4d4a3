//! `highwater manifest`: signed word of what a server is and has, for publishers who give it and people who check it.

mod definitions;
mod key;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use clap::{Args, Subcommand};
use highwater_notation::{Timestamp, parse_time, write_time};
use highwater_pins::{ContentHash, Envelope, Manifest, ManifestKey, PinKey, SignedManifest};
use serde_json::json;

use self::definitions::Definitions;
use self::key::SigningKey;
use crate::command::print;
use crate::exit::Failure;
use crate::explain::plain;
use crate::place::DataPlace;

/// How long a manifest counts, in days, unless somebody says otherwise.
const DAYS: u64 = 90;

/// What `manifest` takes.
#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    #[command(subcommand)]
    command: ManifestCommand,
}

#[derive(Debug, Subcommand)]
enum ManifestCommand {
    /// Make a key to sign with. The file stays with you; the public key goes into configurations.
    Keygen {
        /// Where the key is written. The file must not exist.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,

        /// Print JSON in place of text.
        #[arg(long)]
        json: bool,
    },

    /// Sign what a server has: its tools, prompts, resource templates and instructions.
    Sign {
        #[command(flatten)]
        what: What,

        /// The key to sign with, as `keygen` wrote it.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,

        /// Who you are, for people.
        #[arg(long, value_name = "TEXT")]
        publisher: Option<String>,

        /// For how many days it counts.
        #[arg(long, value_name = "NUMBER", default_value_t = DAYS)]
        days: u64,

        /// Where it is written. Without it: standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },

    /// Check a manifest: who signed it, whether it counts now, and whether a server keeps to it.
    Verify {
        /// The manifest.
        #[arg(value_name = "FILE")]
        manifest: PathBuf,

        /// A public key that may have signed it; may be said several times.
        // Base64url may begin with a hyphen.
        #[arg(long = "key", value_name = "KEY", required = true, allow_hyphen_values = true)]
        keys: Vec<String>,

        #[command(flatten)]
        what: Against,

        /// As of this time, such as `2026-11-15T16:40:00Z`. Without it: now.
        #[arg(long, value_name = "TIME")]
        at: Option<String>,

        /// Print JSON in place of text.
        #[arg(long)]
        json: bool,
    },

    /// Show what a manifest says. Whether it is true is another question.
    Show {
        /// The manifest.
        #[arg(value_name = "FILE")]
        manifest: PathBuf,

        /// Print JSON in place of text.
        #[arg(long)]
        json: bool,
    },
}

/// What is signed.
#[derive(Debug, Args)]
struct What {
    /// A server of the running gateway, as the configuration names it.
    #[arg(value_name = "SERVER", required_unless_present = "definitions")]
    of: Option<String>,

    /// A file with the server's lists: `tools`, `prompts`, `resourceTemplates`, `instructions`.
    #[arg(long, value_name = "FILE", conflicts_with = "of")]
    definitions: Option<PathBuf>,

    /// Whose manifest it is: the server's URL, or the name it gives itself. Without it: as the gateway knows it.
    #[arg(long, value_name = "URL or NAME", required_unless_present = "of")]
    server: Option<String>,

    #[command(flatten)]
    data: DataPlace,
}

/// What a manifest is held against.
#[derive(Debug, Args)]
struct Against {
    /// A server of the running gateway that should keep to it.
    #[arg(long, value_name = "SERVER", conflicts_with = "definitions")]
    against: Option<String>,

    /// A file with the lists of a server that should keep to it.
    #[arg(long, value_name = "FILE")]
    definitions: Option<PathBuf>,

    /// Whose manifest it must be.
    #[arg(long, value_name = "URL or NAME")]
    server: Option<String>,

    #[command(flatten)]
    data: DataPlace,
}

pub(crate) fn run(args: &ManifestArgs) -> Result<(), Failure> {
    match &args.command {
        ManifestCommand::Keygen { out, json } => keygen(out, *json),
        ManifestCommand::Sign { what, key, publisher, days, out } => {
            sign(what, key, publisher.clone(), *days, out.as_deref())
        }
        ManifestCommand::Verify { manifest, keys, what, at, json } => {
            verify(manifest, keys, what, at.as_deref(), *json)
        }
        ManifestCommand::Show { manifest, json } => show(manifest, *json),
    }
}

fn keygen(out: &Path, as_json: bool) -> Result<(), Failure> {
    let key = SigningKey::generate()?;
    key.write(out)?;
    let (public, id) = (key.public().as_text(), key.public().id());
    print(&match as_json {
        true => format!("{}\n", json!({ "key": public, "id": id, "file": out })),
        false => format!(
            "public key  {public}\nid          {id}\nfile        {}\n\nKeep the file to yourself. The public key goes into configurations:\n\n  manifest: {{ keys: [{public}] }}\n",
            out.display()
        ),
    });
    Ok(())
}

fn sign(
    what: &What,
    key: &Path,
    publisher: Option<String>,
    days: u64,
    out: Option<&Path>,
) -> Result<(), Failure> {
    let key = SigningKey::read(key)?;
    let definitions = match (&what.of, &what.definitions) {
        (Some(server), _) => Definitions::of_server(&what.data.path()?, server)?,
        (None, Some(file)) => Definitions::of_file(file)?,
        (None, None) => return Err(Failure::usage("say what is to be signed")),
    };
    let server =
        what.server.clone().or_else(|| definitions.server.clone()).ok_or_else(|| {
            Failure::usage("the server does not say who it is").help("name it with `--server`")
        })?;
    let issued = now()?;
    let manifest = Manifest {
        server,
        publisher,
        issued,
        expires: Timestamp(issued.0.saturating_add(days.saturating_mul(24 * 60 * 60 * 1000))),
        nonce: key::nonce()?,
        hashes: definitions.hashes()?,
    };
    let signed = format!("{}\n", key.sign(&manifest));
    match out {
        None => print(&signed),
        Some(file) => {
            std::fs::write(file, signed).map_err(|error| {
                Failure::failed(format_args!("cannot write `{}`: {error}", file.display()))
            })?;
            print(&format!(
                "{} definitions of `{}` signed in {}, until {}\n",
                manifest.hashes.len(),
                plain(&manifest.server),
                file.display(),
                write_time(manifest.expires)
            ));
        }
    }
    Ok(())
}

fn verify(
    file: &Path,
    keys: &[String],
    what: &Against,
    at: Option<&str>,
    as_json: bool,
) -> Result<(), Failure> {
    let keys = keys
        .iter()
        .map(|key| {
            ManifestKey::parse(key).ok_or_else(|| {
                Failure::usage(format_args!("`{}` is no public key", plain(key)))
                    .help("it is what `highwater manifest keygen` prints, 43 characters long")
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let at = match at {
        None => now()?,
        Some(text) => parse_time(text).ok_or_else(|| {
            Failure::usage("`--at` is no time").help("write it such as `2026-11-15T16:40:00Z`")
        })?,
    };
    let definitions = match (&what.against, &what.definitions) {
        (Some(server), _) => Some(Definitions::of_server(&what.data.path()?, server)?),
        (None, Some(file)) => Some(Definitions::of_file(file)?),
        (None, None) => None,
    };
    let signed = Envelope::parse(&read(file)?).and_then(|envelope| envelope.signed_by(&keys));
    let signed = signed.map_err(Failure::unverified)?;
    let known = definitions.as_ref().and_then(|definitions| definitions.server.clone());
    let meant = what.server.clone().or(known).unwrap_or_else(|| signed.manifest.server.clone());
    signed.counts(&[&meant], at, None).map_err(Failure::unverified)?;
    let other =
        definitions.map(|definitions| differing(&signed, &definitions)).transpose()?.unwrap_or_default();
    if !other.is_empty() {
        let names: Vec<String> = other.iter().map(|key| format!("`{}`", plain(&key.to_string()))).collect();
        return Err(Failure::unverified(format_args!(
            "the server does not keep to it: {}",
            names.join(", ")
        )));
    }
    let Manifest { server, publisher, expires, hashes, .. } = &signed.manifest;
    print(&match as_json {
        true => format!(
            "{}\n",
            json!({ "verified": true, "server": server, "publisher": publisher, "expires": write_time(*expires), "definitions": hashes.len() })
        ),
        false => format!(
            "verified: {} definitions of `{}`, until {}\n",
            hashes.len(),
            plain(server),
            write_time(*expires)
        ),
    });
    Ok(())
}

/// What a server has and a manifest does not sign as it is.
fn differing(signed: &SignedManifest, definitions: &Definitions) -> Result<Vec<PinKey>, Failure> {
    let found = definitions.hashes()?;
    let hashes = &signed.manifest.hashes;
    let other = found.into_iter().filter(|(key, hash)| match hashes.get(key) {
        Some(said) => said != hash,
        None => *key != PinKey::instructions(),
    });
    Ok(other.map(|(key, _)| key).collect())
}

fn show(file: &Path, as_json: bool) -> Result<(), Failure> {
    let manifest = Envelope::parse(&read(file)?).and_then(|envelope| envelope.unverified());
    let manifest =
        manifest.map_err(|fault| Failure::failed(format_args!("`{}`: {fault}", file.display())))?;
    if as_json {
        print(&format!("{}\n", manifest.to_json()));
        return Ok(());
    }
    let mut text = String::new();
    write_manifest(&mut text, &manifest).unwrap_or_default();
    print(&text);
    Ok(())
}

fn write_manifest(text: &mut String, manifest: &Manifest) -> std::fmt::Result {
    writeln!(text, "manifest of `{}`", plain(&manifest.server))?;
    if let Some(publisher) = &manifest.publisher {
        writeln!(text, "   = by `{}`, in their own words", plain(publisher))?;
    }
    let (from, to) = (write_time(manifest.issued), write_time(manifest.expires));
    writeln!(text, "   = from {from} to {to}")?;
    writeln!(text, "   = whoever signed it: that is for `highwater manifest verify`\n")?;
    manifest.hashes.iter().try_for_each(|(key, hash): (&PinKey, &ContentHash)| {
        writeln!(text, "{}  {}", hash.as_str(), plain(&key.to_string()))
    })
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format_args!("cannot read `{}`: {error}", file.display())))
}

fn now() -> Result<Timestamp, Failure> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    // To the second, which is what a manifest can say.
    let millis = u64::try_from(since.as_millis()).context("the clock is beyond all bounds")?;
    Ok(Timestamp(millis - millis % 1000))
}
