//! What a check found, in words: what is proven and, in the same breath, what is not.

use std::fmt::Write as _;

use highwater_receipts::{Guarded, Opened, Outcome, Part, Receipt};

use super::verify::{Checked, Verification};
use crate::explain::plain;

/// What was found, as text: whether it holds, then each receipt in a few lines, then what that shows and what it does not.
pub(super) fn tell(verification: &Verification) -> String {
    let mut text = summary(verification);
    if verification.receipts.len() > 1 {
        let hold = verification.receipts.iter().filter(|checked| checked.fault().is_none()).count();
        text.push_str(&format!("{hold} of {} receipts hold.\n", verification.receipts.len()));
    }
    for checked in &verification.receipts {
        text.push('\n');
        // Writing to a text does not fail.
        one(&mut text, checked).unwrap_or_default();
    }
    if let Some(faults) = &verification.chain {
        text.push('\n');
        match faults.as_slice() {
            [] => text.push_str("chain      held: each is the next of the one before\n"),
            faults => faults.iter().for_each(|fault| text.push_str(&format!("chain      FAILED: {fault}\n"))),
        }
    }
    worth(&mut text, &verification.receipts).unwrap_or_default();
    text
}

/// What some receipts show, and what they do not.
struct Worth<'a> {
    proven: Vec<&'a str>,
    not_proven: Vec<&'a str>,
    places: Vec<String>,
}

/// What receipts show whoever was not there, and what they do not, said once for all of which it is the same.
fn worth(text: &mut String, receipts: &[Checked]) -> std::fmt::Result {
    let mut all: Vec<Worth<'_>> = Vec::new();
    for checked in receipts {
        let (proven, not_proven, place) = (proven(checked), not_proven(checked), plain(&checked.place));
        match all.iter_mut().find(|it| it.proven == proven && it.not_proven == not_proven) {
            Some(known) => known.places.push(place),
            None => all.push(Worth { proven, not_proven, places: vec![place] }),
        }
    }
    for Worth { proven, not_proven, places } in &all {
        let of = if all.len() == 1 { String::new() } else { format!(" of {}", places.join(", ")) };
        for (heading, lines) in [("Proven", proven), ("Not proven", not_proven)] {
            if !lines.is_empty() {
                writeln!(text, "\n{heading}{of}:")?;
                lines.iter().try_for_each(|line| writeln!(text, "- {line}"))?;
            }
        }
    }
    Ok(())
}

/// One line: what was done, so that nobody takes one thing for another.
fn summary(verification: &Verification) -> String {
    if verification.fault().is_some() {
        return "Not verified. Take nothing of it for proven.\n".to_owned();
    }
    let tied = match (verification.asked.enrollments, verification.asked.gateway) {
        (true, true) => "by keys that were enrolled, as this gateway recorded it",
        (true, false) => "by keys that were enrolled; that the gateway recorded it was not asked",
        (false, true) => "as this gateway recorded it; whose keys they are was not asked",
        (false, false) => {
            return "Signed by the keys in the receipts themselves, which anybody can make. Nothing ties them to a \
                    person or to a gateway: ask with --enrollments or --gateway-key.\n"
                .to_owned();
        }
    };
    format!("Verified: signed {tied}.\n")
}

fn one(text: &mut String, checked: &Checked) -> std::fmt::Result {
    match &checked.receipt {
        None => writeln!(text, "{}", plain(&checked.place))?,
        Some(signed) => {
            let receipt = signed.receipt();
            writeln!(text, "receipt    {} in {}", plain(&receipt.id), plain(&checked.place))?;
            describe(text, receipt, checked.opened.as_ref())?;
        }
    }
    for together in [Outcome::Held, Outcome::NotAsked] {
        let parts = checked.parts().filter(|(_, result)| **result == together);
        let parts: Vec<&str> = parts.map(|(part, _)| part).collect();
        if !parts.is_empty() {
            writeln!(text, "{:<10} {}", outcome(&together).0, parts.join(", "))?;
        }
    }
    for (part, result) in checked.parts() {
        if let (word, Some(why)) = outcome(result) {
            let word = if word == "failed" { "FAILED" } else { word };
            writeln!(text, "{word:<10} {part}  {}", plain(&why))?;
        }
    }
    if let Some(enrolled) = &checked.enrolled {
        let (user, by) = (plain(&enrolled.user_ref), plain(&enrolled.authorized_by));
        writeln!(text, "The key was enrolled for `{user}`, authorized by `{by}`.")?;
    }
    Ok(())
}

/// One receipt, without a word on whether it holds.
pub(super) fn receipt(receipt: &Receipt) -> String {
    let mut text = format!("receipt    {}\n", plain(&receipt.id));
    describe(&mut text, receipt, None).unwrap_or_default();
    if let Some(shown) = receipt.display_text.clear() {
        text.push_str(&format!("\n{}\n", shown.lines().map(plain).collect::<Vec<_>>().join("\n")));
    }
    if receipt.is_sealed() != Some(false) {
        text.push_str("\nWhat it was given is sealed. Whoever has the auditor's key reads it: `highwater receipts open`.\n");
    }
    text.push_str("\nWhether it holds: `highwater receipts export` and `highwater receipts verify` tell.\n");
    text
}

fn describe(text: &mut String, receipt: &Receipt, opened: Option<&Opened>) -> std::fmt::Result {
    let server = receipt.upstream.as_deref().map(|server| format!(" at `{}`", plain(server)));
    writeln!(text, "tool       {}{}", plain(&receipt.tool_name), server.unwrap_or_default())?;
    let opened = opened.and_then(|opened| opened.canonical_arguments.as_deref());
    match (&receipt.canonical_arguments, opened) {
        (Guarded::Clear(arguments), _) => writeln!(text, "arguments  {}", plain(arguments))?,
        (Guarded::Sealed { .. }, Some(arguments)) => {
            writeln!(text, "arguments  {} (sealed for the auditor)", plain(arguments))?;
        }
        (Guarded::Sealed { .. }, None) => writeln!(text, "arguments  sealed for the auditor")?,
    }
    let (user, agent) = (plain(&receipt.user_ref), plain(&receipt.principal));
    writeln!(text, "signed     {} for `{user}`, whose agent `{agent}` asked", plain(&receipt.signed_at))?;
    let chain = &receipt.chain;
    writeln!(text, "place      {} of chain {}", chain.seq, plain(&chain.id))
}

/// The word for what came of a part, and why.
pub(super) fn outcome(outcome: &Outcome) -> (&'static str, Option<String>) {
    match outcome {
        Outcome::Held => ("held", None),
        Outcome::Failed(why) => ("failed", Some(why.clone())),
        Outcome::Unchecked(why) => ("unchecked", Some((*why).to_owned())),
        Outcome::NotAsked => ("not asked", None),
    }
}

/// What a receipt shows whoever was not there. A receipt of which a part fails shows nothing.
pub(super) fn proven(checked: &Checked) -> Vec<&'static str> {
    let mut lines = Vec::new();
    if checked.fault().is_some() {
        return lines;
    }
    if checked.held(Part::Signature) {
        lines.push(
            "the holder of this key signed exactly this tool name with exactly these arguments for this gateway",
        );
        lines.push("the authenticator says that a person was present and verified for this signature");
        lines.push("the ceremony ran on this page, according to the browser");
        lines.push("the signature was made for this one challenge");
    }
    if checked.held(Part::Mandate) {
        lines.push(
            "the holder of a key signed a mandate, and this call keeps within its tools, arguments and time",
        );
    }
    if checked.held(Part::DisplayText) {
        lines.push("the text in the receipt is what this call should have been shown as");
    }
    if checked.held(Part::Enrollment) {
        lines.push("the key was enrolled and counted at that time, according to the enrollments you gave");
    }
    if checked.held(Part::GatewaySignature) {
        lines.push(
            "this gateway accepted the signature once and recorded it with everything else in the receipt",
        );
    }
    lines
}

/// What it does not show, and why not.
pub(super) fn not_proven(checked: &Checked) -> Vec<&'static str> {
    if checked.fault().is_some() {
        return vec!["anything: a part of it does not hold"];
    }
    let mut lines = Vec::new();
    if !checked.held(Part::Enrollment) {
        lines.push(
            "whose key it is: a receipt carries its own key, and anybody can make one like it (ask with --enrollments)",
        );
    }
    if !checked.held(Part::GatewaySignature) {
        lines
            .push("that this gateway ever accepted it, and who asked, when and why (ask with --gateway-key)");
    }
    lines.extend([
        "who the person is: a key was enrolled, and the enrollment says who authorized it",
        "that the key lives in hardware: a software key that somebody confirmed looks the same",
        "what the screen showed: the text is not signed, and a compromised display can lie",
        "on which device or by which way it was signed: passkeys do not say",
        "the time: it is the gateway's clock",
        "that no copy of the key exists, where its counter stays at zero",
        "what the server did: the arguments were sent as signed, and what it makes of them is its own",
        "that the person was not deceived",
        "anything the gateway says, against somebody who holds its key, beyond the last copy kept elsewhere",
    ]);
    if checked.held(Part::Mandate) {
        lines.push("that the session held no more data than the mandate allows: that is the gateway's word");
    }
    lines
}
