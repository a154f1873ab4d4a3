//! The receipts that the running gateway has.

use std::path::Path;

use highwater_receipts::{Enrolled, SignedReceipt};
use serde_json::{Value, json};

use super::words;
use crate::command::approvals::{ask, read};
use crate::command::{Common, print};
use crate::exit::Failure;
use crate::explain::plain;
use crate::local::hello::ApprovalQuery;
use crate::place::DataPlace;
use crate::terminal::{Table, View};

/// How many receipts are asked for at once; a line on the socket has its bounds.
const PAGE: u32 = 100;

pub(super) fn list(from: u64, common: &Common) -> Result<(), Failure> {
    let receipts = all(&common.data, from)?;
    if common.json {
        print(&format!("{}\n", json!(receipts)));
        return Ok(());
    }
    if receipts.is_empty() {
        print("no receipts; there is one for each signature of a passkey\n");
        return Ok(());
    }
    let mut table = Table::new(["place", "signed", "by", "id", "call"]);
    for signed in &receipts {
        let receipt = signed.receipt();
        table.row([
            receipt.chain.seq.to_string(),
            plain(&receipt.signed_at),
            plain(&receipt.user_ref),
            plain(&receipt.id),
            plain(&receipt.tool_name),
        ]);
    }
    print(&table.text(View::stdout()));
    Ok(())
}

pub(super) fn show(id: &str, common: &Common) -> Result<(), Failure> {
    let answer = ask(&common.data.path()?, ApprovalQuery::Receipt { id: id.to_owned() })?;
    let signed: SignedReceipt = read(&answer)?;
    print(&match common.json {
        true => format!("{}\n", signed.to_text()),
        false => words::receipt(signed.receipt()),
    });
    Ok(())
}

pub(super) fn export(
    from: u64,
    enrollments: bool,
    out: Option<&Path>,
    data: &DataPlace,
) -> Result<(), Failure> {
    let (what, lines): (&str, Vec<String>) = if enrollments {
        let answer = ask(&data.path()?, ApprovalQuery::Enrollments)?;
        let enrolled: Vec<Enrolled> = read(&answer)?;
        ("enrollments", enrolled.iter().map(|enrolled| json!(enrolled).to_string()).collect())
    } else {
        ("receipts", all(data, from)?.iter().map(SignedReceipt::to_text).collect())
    };
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    match out {
        None => print(&text),
        Some(file) => {
            std::fs::write(file, text).map_err(|error| {
                Failure::failed(format_args!("cannot write `{}`: {error}", file.display()))
            })?;
            print(&format!("{} {what} in {}\n", lines.len(), file.display()));
        }
    }
    Ok(())
}

pub(super) fn key(common: &Common) -> Result<(), Failure> {
    let answer = ask(&common.data.path()?, ApprovalQuery::Page)?;
    let page: Value = read(&answer)?;
    let text = |key: &str| page.get(key).and_then(Value::as_str).unwrap_or_default();
    print(&match common.json {
        true => format!("{}\n", answer.get()),
        false => format!(
            "{}\n\nhelp: highwater receipts verify FILE --gateway-key {} --rp-id {} --origin {}\n",
            text("gatewayKey"),
            text("gatewayKey"),
            text("rpId"),
            text("origin"),
        ),
    });
    Ok(())
}

/// All receipts from a place of the chain on.
fn all(data: &DataPlace, from: u64) -> Result<Vec<SignedReceipt>, Failure> {
    let (data, mut next, mut receipts) = (data.path()?, from, Vec::new());
    loop {
        let answer = ask(&data, ApprovalQuery::Receipts { from: next, most: PAGE })?;
        let page: Vec<SignedReceipt> = read(&answer)?;
        let Some(last) = page.last() else { return Ok(receipts) };
        next = last.receipt().chain.seq.saturating_add(1);
        receipts.extend(page);
    }
}
