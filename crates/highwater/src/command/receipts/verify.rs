//! Checking files of receipts, part by part.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use highwater_core::pin::PinDigest;
use highwater_mcp::annotations::pinned;
use highwater_notation::decode_base64url;
use highwater_pins::PinKind;
use highwater_receipts::{
    ChainFault, Enrolled, Expected, Opened, Outcome, Part, Report, SignedReceipt, check, check_chain,
    check_use,
};
use serde_json::{Value, json};

use super::VerifyArgs;
use super::{auditor, words};
use crate::exit::Failure;
use crate::explain::plain;

/// What came of checking.
#[derive(Debug)]
pub(super) struct Verification {
    pub(super) receipts: Vec<Checked>,
    /// What is wrong with their chain; nothing is said of a single one.
    pub(super) chain: Option<Vec<ChainFault>>,
    pub(super) asked: Asked,
}

/// What the one who checks asked for beyond the signature.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) enrollments: bool,
    pub(super) gateway: bool,
}

/// One receipt.
#[derive(Debug)]
pub(super) struct Checked {
    /// The file and the line.
    pub(super) place: String,
    /// None if it cannot be read as one.
    pub(super) receipt: Option<SignedReceipt>,
    report: Report,
    /// Whether the definition that was given is the one it names, if one was.
    definition: Option<Outcome>,
    /// Whose credential it is and who said so, if enrollments were given.
    pub(super) enrolled: Option<Enrolled>,
    /// What is in it, if it is sealed and that was opened.
    pub(super) opened: Option<Opened>,
}

/// The name of the part that is checked here and not in the core.
const DEFINITION: &str = "definition";

pub(super) fn verify(args: &VerifyArgs) -> Result<Verification, Failure> {
    let enrollments = args.enrollments.as_deref().map(enrollments).transpose()?;
    let gateway_key = args.gateway_key.as_deref().map(gateway_key).transpose()?;
    let definition = args.definition.as_deref().map(definition).transpose()?;
    let auditor = args.auditor_key.as_deref().map(auditor::secret).transpose()?;
    let opened = args.opened.as_deref().map(auditor::opened).transpose()?.unwrap_or_default();
    let origins: Vec<&str> = args.origins.iter().map(String::as_str).collect();
    let expected = Expected {
        rp_id: &args.rp_id,
        origins: &origins,
        gateway_key: gateway_key.as_ref(),
        enrollments: enrollments.as_deref(),
        auditor: auditor.as_ref(),
        opened: &opened,
    };
    let mut texts = Vec::new();
    for file in &args.files {
        texts.extend(lines(file)?);
    }
    Ok(check_all(&texts, &expected, definition))
}

/// Checks receipts, each with the place it stands at.
pub(super) fn check_all(
    texts: &[(String, String)],
    expected: &Expected<'_>,
    definition: Option<PinDigest>,
) -> Verification {
    let read: Vec<Option<SignedReceipt>> = texts.iter().map(|(_, text)| SignedReceipt::parse(text)).collect();
    let by_id: BTreeMap<&str, &str> = read
        .iter()
        .zip(texts)
        .filter_map(|(receipt, (_, text))| Some((receipt.as_ref()?.receipt().id.as_str(), text.as_str())))
        .collect();
    let mut chained: Vec<&SignedReceipt> = read.iter().flatten().collect();
    chained.sort_by_key(|receipt| (&receipt.receipt().chain.id, receipt.receipt().chain.seq));
    let chain = (texts.len() > 1).then(|| check_chain(chained));
    let receipts = read
        .iter()
        .zip(texts)
        .map(|(receipt, (place, text))| {
            let mandate = receipt.as_ref().and_then(|receipt| receipt.receipt().mandate.as_deref());
            let report = match mandate.and_then(|id| by_id.get(id)) {
                Some(mandate) => check_use(text, mandate, expected),
                None => check(text, expected),
            };
            Checked {
                place: place.clone(),
                definition: definition.map(|digest| same_definition(receipt.as_ref(), digest)),
                enrolled: receipt.as_ref().and_then(|receipt| enrolled(receipt, expected)),
                opened: receipt.as_ref().and_then(|receipt| what_is_in(receipt, expected)),
                receipt: receipt.clone(),
                report,
            }
        })
        .collect();
    let asked =
        Asked { enrollments: expected.enrollments.is_some(), gateway: expected.gateway_key.is_some() };
    Verification { receipts, chain, asked }
}

fn same_definition(receipt: Option<&SignedReceipt>, digest: PinDigest) -> Outcome {
    let named = receipt.and_then(|receipt| receipt.receipt().definition_hash.as_deref());
    match named {
        None => Outcome::Unchecked("it names no definition"),
        Some(named) if *named == digest.to_string() => Outcome::Held,
        Some(_) => Outcome::Failed("it was signed for another definition of the tool".to_owned()),
    }
}

fn enrolled(receipt: &SignedReceipt, expected: &Expected<'_>) -> Option<Enrolled> {
    let signed = receipt.receipt().signed.as_ref()?;
    expected.enrollments?.iter().find(|known| known.credential_id == signed.credential_id).cloned()
}

/// What is in a sealed receipt, as far as it was opened.
fn what_is_in(receipt: &SignedReceipt, expected: &Expected<'_>) -> Option<Opened> {
    let receipt = receipt.receipt();
    if receipt.is_sealed() == Some(false) {
        return None;
    }
    match expected.auditor {
        Some(auditor) => Some(receipt.opened(auditor)),
        None => expected.opened.iter().find(|opened| opened.id == receipt.id).cloned(),
    }
}

// === what is given ===

/// The receipts of a file, with the place of each.
pub(super) fn lines(file: &Path) -> Result<Vec<(String, String)>, Failure> {
    let text = std::fs::read(file)
        .map_err(|error| Failure::usage(format_args!("cannot read `{}`: {error}", file.display())))?;
    // Bytes that are no text cannot be part of a receipt; what they become is no receipt either.
    let text = String::from_utf8_lossy(&text);
    let found: Vec<(String, String)> = text
        .split_inclusive('\n')
        .enumerate()
        .map(|(at, line)| (format!("{}:{}", file.display(), at + 1), line.to_owned()))
        .collect();
    if found.is_empty() {
        return Err(Failure::unverified(format_args!("`{}` is empty", file.display())));
    }
    Ok(found)
}

fn enrollments(file: &Path) -> Result<Vec<Enrolled>, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format_args!("cannot read `{}`: {error}", file.display())))?;
    let read: Result<Vec<Enrolled>, _> =
        text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str).collect();
    read.map_err(|error| {
        Failure::usage(format_args!("`{}` holds no enrollments: {error}", file.display()))
            .help("`highwater receipts export --enrollments` writes them, one a line")
    })
}

fn gateway_key(text: &str) -> Result<[u8; 32], Failure> {
    decode_base64url(text).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
        Failure::usage(format_args!("`{}` is no public key", plain(text)))
            .help("it is 43 characters long, in base64url")
    })
}

fn definition(file: &Path) -> Result<PinDigest, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format_args!("cannot read `{}`: {error}", file.display())))?;
    let definition = pinned::read_back(PinKind::Tool, text.trim())
        .with_context(|| format!("`{}` holds no definition of a tool", file.display()));
    definition.map(|definition| definition.digest()).map_err(|error| {
        Failure::usage(error)
            .help("it is an item of `tools/list`, such as `highwater servers inspect --json` prints")
    })
}

// === impl Verification ===

impl Verification {
    /// The first part that does not hold, in words; nothing if everything that was asked for does.
    pub(super) fn fault(&self) -> Option<String> {
        let of_receipts = self.receipts.iter().find_map(|checked| {
            let (part, why) = checked.fault()?;
            Some(format!("{}: {part}: {why}", plain(&checked.place)))
        });
        of_receipts
            .or_else(|| Some(format!("chain: {}", self.chain.as_ref()?.first()?)))
            .or_else(|| self.receipts.is_empty().then(|| "there are no receipts".to_owned()))
    }

    /// The page on which a receipt that does not hold was signed, if that is none of those that were expected.
    pub(super) fn other_origin(&self, expected: &[String]) -> Option<&str> {
        let failed = self.receipts.iter().find(|checked| checked.fault().is_some())?;
        let origin = failed.receipt.as_ref()?.receipt().signed.as_ref()?.origin.as_str();
        (!expected.iter().any(|known| known == origin)).then_some(origin)
    }

    /// Whether a receipt is sealed and nobody opened it.
    pub(super) fn is_shut(&self) -> bool {
        self.receipts.iter().any(|checked| {
            let sealed = checked.receipt.as_ref().and_then(|receipt| receipt.receipt().is_sealed());
            sealed == Some(true) && checked.opened.is_none()
        })
    }

    pub(super) fn to_json(&self) -> Value {
        let receipts: Vec<Value> = self.receipts.iter().map(Checked::to_json).collect();
        let chain: Option<Vec<String>> =
            self.chain.as_ref().map(|faults| faults.iter().map(ToString::to_string).collect());
        json!({
            "holds": self.fault().is_none(),
            "fault": self.fault(),
            "receipts": receipts,
            "chain": chain.map(|faults| json!({ "holds": faults.is_empty(), "faults": faults })),
        })
    }
}

// === impl Checked ===

impl Checked {
    /// Every part with what came of it, by name.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&'static str, &Outcome)> {
        let core = self.report.parts().iter().map(|(part, outcome)| (part.as_str(), outcome));
        core.chain(self.definition.iter().map(|outcome| (DEFINITION, outcome)))
    }

    /// Whether this part was asked for and holds.
    pub(super) fn held(&self, part: Part) -> bool {
        self.report.parts().iter().any(|(known, outcome)| *known == part && *outcome == Outcome::Held)
    }

    /// The first part that does not hold, and why.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        self.parts().find_map(|(part, outcome)| match outcome {
            Outcome::Failed(why) => Some((part, why.clone())),
            Outcome::Unchecked(why) => Some((part, format!("not checked: {why}"))),
            Outcome::Held | Outcome::NotAsked => None,
        })
    }

    fn to_json(&self) -> Value {
        let parts: Vec<Value> = self
            .parts()
            .map(|(part, outcome)| {
                let (word, why) = words::outcome(outcome);
                json!({ "part": part, "outcome": word, "why": why })
            })
            .collect();
        json!({
            "place": self.place,
            "holds": self.fault().is_none(),
            "receipt": self.receipt.as_ref().map(|receipt| receipt.receipt()),
            "parts": parts,
            "opened": self.opened,
            "enrolled": self.enrolled,
            "proven": words::proven(self),
            "notProven": words::not_proven(self),
        })
    }
}
