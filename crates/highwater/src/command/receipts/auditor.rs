//! The auditor's side: a key pair, and what it opens.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use aws_lc_rs::rand;
use highwater_receipts::{AuditorSecret, Opened, SignedReceipt};
use serde_json::json;

use super::verify::lines;
use crate::command::print;
use crate::exit::Failure;
use crate::explain::plain;

/// Makes a key pair.
pub(super) fn keygen(out: &Path, as_json: bool) -> Result<(), Failure> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).map_err(|_| Failure::failed("the system gives no random numbers"))?;
    let secret = AuditorSecret::new(bytes);
    let public = secret.public().ok_or_else(|| Failure::failed("this is no key"))?.to_string();
    write_new(out, &format!("{}\n", secret.to_text()))?;
    print(&match as_json {
        true => format!("{}\n", json!({ "key": public, "file": out })),
        false => format!(
            "public key  {public}\nfile        {}\n\nThe file opens what is sealed: keep it where the gateway is not. The public key goes into the\nconfiguration:\n\n  approvals: {{ auditor_key: {public} }}\n",
            out.display()
        ),
    });
    Ok(())
}

/// Writes what the key opens, for somebody who checks without it.
pub(super) fn open(files: &[PathBuf], key: &Path, out: Option<&Path>) -> Result<(), Failure> {
    let secret = secret(key)?;
    let (mut text, mut count) = (String::new(), 0_usize);
    for file in files {
        for (place, line) in lines(file)? {
            let Some(receipt) = SignedReceipt::parse(&line) else {
                let fault = format_args!("{}: this is not the text of a receipt", plain(&place)).to_string();
                return Err(Failure::unverified(fault));
            };
            let receipt = receipt.receipt();
            if receipt.is_sealed() == Some(false) {
                continue;
            }
            let opened = receipt.opened(&secret);
            if !is_whole(&opened, receipt.signed.is_some()) {
                let fault = format!("{}: the key does not open it", plain(&place));
                return Err(Failure::unverified(fault).help("it was sealed for another key, or changed"));
            }
            text.push_str(&format!("{}\n", json!(opened)));
            count += 1;
        }
    }
    match out {
        None => print(&text),
        Some(file) => {
            write_new(file, &text)?;
            print(&format!("{count} opened receipts in {}\n", file.display()));
        }
    }
    Ok(())
}

fn is_whole(opened: &Opened, signed: bool) -> bool {
    let texts = opened.canonical_arguments.is_some() && opened.display_text.is_some();
    texts && (!signed || (opened.nonce.is_some() && opened.client_data_json.is_some()))
}

/// The private key of a file.
pub(super) fn secret(file: &Path) -> Result<AuditorSecret, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format_args!("cannot read `{}`: {error}", file.display())))?;
    AuditorSecret::parse(&text).ok_or_else(|| {
        Failure::usage(format_args!("`{}` is no auditor's key", file.display()))
            .help("`highwater receipts keygen` makes one; it is the file, not the public key")
    })
}

/// What an auditor opened.
pub(super) fn opened(file: &Path) -> Result<Vec<Opened>, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format_args!("cannot read `{}`: {error}", file.display())))?;
    let read: Result<Vec<Opened>, _> =
        text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str).collect();
    read.map_err(|error| {
        Failure::usage(format_args!("`{}` holds no opened receipts: {error}", file.display()))
            .help("`highwater receipts open` writes them, one a line")
    })
}

/// Writes a file that does not exist yet and that nobody else reads.
fn write_new(file: &Path, text: &str) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    opened
        .and_then(|mut opened| opened.write_all(text.as_bytes()).and_then(|()| opened.sync_all()))
        .map_err(|error| Failure::failed(format_args!("cannot write `{}`: {error}", file.display())))
}
