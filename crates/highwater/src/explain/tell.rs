//! The account of a decision as text: the answer first, then what led to it, then the way out.

use std::fmt::Write;

use highwater_audit::{Outcome, Record, Recorded, RecordedOutcome, Ruling};
use highwater_core::annotation::Axis;
use highwater_core::decide::{AskKind, Effect, Finding, FlowMode, PerMode};
use highwater_notation::Timestamp;

use super::account::Account;
use super::advice::Advice;
use super::chronicle::Chronicle;
use super::phrase::{self, listed, plain, spoken};
use super::values;
use super::when::{clock, date, moment};
use crate::reevaluate::Trials;

/// The whole account.
pub(crate) fn text(account: &Account, trials: Option<&Trials>) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    tell(&mut text, account, trials).unwrap_or_default();
    text
}

fn tell(text: &mut String, account: &Account, trials: Option<&Trials>) -> std::fmt::Result {
    head(text, account)?;
    values(text, account)?;
    findings(text, account)?;
    session(text, account)?;
    contract(text, account)?;
    course(text, account)?;
    advice(text, account, trials)
}

// === the parts ===

fn head(text: &mut String, account: &Account) -> std::fmt::Result {
    let decision = &account.decision;
    let word = match (decision.ruling, account.outcome().map(|outcome| outcome.outcome)) {
        (_, Some(Outcome::Withheld)) => "reply withheld",
        (Ruling::Allowed, _) => "allowed",
        (Ruling::Approved, _) => "allowed by a person",
        (Ruling::Asked, _) => "waiting for a person",
        (Ruling::Blocked, _) => "refused",
        (Ruling::Unavailable, _) => "not sent, because the session store was away",
    };
    let label = decision.provenance.trust.as_ref().and_then(|trust| trust.label.as_deref());
    let label = label.map(|label| format!(" ({})", plain(label))).unwrap_or_default();
    writeln!(text, "{word}: `{}` of server `{}`{label}", plain(account.what()), decision.upstream)?;
    writeln!(text, "  --> {}, {}", account.id, moment(account.time))?;
    writeln!(
        text,
        "   = asked by `{}` in session `{}`{}",
        plain(decision.principal.as_str()),
        plain(decision.session.as_str()),
        if decision.epoch > 0 { format!(", epoch {}", decision.epoch) } else { String::new() }
    )?;
    writeln!(
        text,
        "   = as `{}`, through virtual server `{}`, whose flow mode is `{}`",
        plain(&decision.method),
        decision.virtual_server,
        decision.mode
    )?;
    for round in &account.rounds {
        writeln!(text, "   = the same question to a person is part of {round}")?;
    }
    Ok(())
}

/// Which values the request does not say, and where each came from.
fn values(text: &mut String, account: &Account) -> std::fmt::Result {
    let (sentences, rows) = (values::sentences(account), values::rows(account));
    if !sentences.is_empty() {
        writeln!(text)?;
    }
    for sentence in sentences {
        writeln!(text, "{}", plain(&sentence))?;
    }
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(text, "\nwhere its values came from")?;
    table(text, "  ", &rows)
}

fn findings(text: &mut String, account: &Account) -> std::fmt::Result {
    let decision = &account.decision;
    if decision.findings.is_empty() {
        let_in(text, account)?;
        return writeln!(text, "\nNo gate and no rule had anything against it.");
    }
    let mut findings: Vec<&Finding> = decision.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse((finding.effect, weight(finding))));
    for finding in findings {
        self::finding(text, account, finding)?;
    }
    let_in(text, account)?;
    writeln!(text, "\nNo other gate and no other rule had anything against it.")?;
    if decision.mode == FlowMode::Observe
        && let Some(would) = decision.would
    {
        writeln!(text)?;
        per_mode(text, would)?;
    }
    Ok(())
}

/// The flow rules that are broken and of which nothing follows in this mode.
fn let_in(text: &mut String, account: &Account) -> std::fmt::Result {
    let decision = &account.decision;
    let silent = |rule: &&String| decision.findings.iter().all(|finding| finding.id.to_string() != **rule);
    for rule in decision.violations.iter().filter(silent) {
        writeln!(text, "\n{}", phrase::let_in(rule, decision))?;
    }
    Ok(())
}

fn per_mode(text: &mut String, would: PerMode) -> std::fmt::Result {
    writeln!(
        text,
        "Flow mode `observe` only records what the flow rules find. Elsewhere it would have been"
    )?;
    for mode in FlowMode::ENFORCING {
        writeln!(text, "  {:<10}{}", mode.as_str(), would.get(mode).as_str())?;
    }
    Ok(())
}

/// The effect, or the strictest that any mode would have had. A dry run has none anywhere.
pub(super) fn weight(finding: &Finding) -> Effect {
    if finding.dry_run {
        return Effect::Allow;
    }
    let would = finding.would.map(|would| would.balanced.max(would.strict).max(would.samos));
    finding.effect.max(would.unwrap_or(Effect::Allow))
}

fn finding(text: &mut String, account: &Account, finding: &Finding) -> std::fmt::Result {
    let word = match finding.would {
        _ if finding.dry_run => "dry run",
        Some(_) if finding.effect == Effect::Allow => "recorded",
        Some(_) | None => finding.effect.as_str(),
    };
    writeln!(
        text,
        "\n{word}[{}]: {}",
        plain(&finding.id.to_string()),
        phrase::found(finding, &account.decision)
    )?;
    let rows: Vec<[String; 3]> = finding
        .saw
        .iter()
        .map(|seen| [plain(&seen.fact), phrase::value(&seen.value), phrase::asked(seen)])
        .collect();
    table(text, "   | ", &rows)?;
    if let Some(message) = &finding.message {
        writeln!(text, "   = {}", plain(message))?;
    }
    if let Some(would) = finding.would.filter(|_| finding.dry_run) {
        let effect = would.balanced.as_str();
        writeln!(text, "   = it is a dry run: without `dry_run` it would have been `{effect}`")?;
    }
    if let Some(because) = phrase::because_of_mode(finding, &account.decision) {
        writeln!(text, "   = {because}")?;
    }
    if let Some(waived) = &finding.waived {
        writeln!(
            text,
            "   = a waiver lowered it from `{}` until {}: {}",
            waived.instead_of.as_str(),
            // Until is the first moment at which it no longer holds.
            date(Timestamp(waived.until.0.saturating_sub(1))),
            plain(&waived.reason)
        )?;
    }
    Ok(())
}

fn session(text: &mut String, account: &Account) -> std::fmt::Result {
    let decision = &account.decision;
    writeln!(text, "\nwhat the session had taken in before")?;
    if decision.label.label.is_empty() {
        return writeln!(text, "  nothing");
    }
    let words: Vec<String> = decision.label.label.iter().map(|word| spoken(word)).collect();
    writeln!(text, "  {}", words.join(", "))?;
    if !decision.label.scopes.is_empty() {
        writeln!(text, "  regulated by {}", listed(&decision.label.scopes))?;
    }
    if !decision.label.origins.is_empty() {
        writeln!(text, "  from {}", listed(&decision.label.origins))?;
    }
    brought(text, &account.chronicle)
}

/// The calls that raised a label, as rows.
pub(crate) fn brought(text: &mut String, chronicle: &Chronicle) -> std::fmt::Result {
    if !chronicle.brought.is_empty() {
        writeln!(text, "it came with")?;
        let rows: Vec<[String; 4]> = chronicle
            .brought
            .iter()
            .map(|brought| {
                let mut words: Vec<String> = brought.added.iter().map(|word| spoken(word)).collect();
                if words.is_empty() {
                    words = brought.origins.iter().map(|origin| plain(origin)).collect();
                }
                if let Some(elsewhere) = &brought.elsewhere {
                    words.push(format!("in session {}", plain(elsewhere.as_str())));
                }
                [clock(brought.time), brought.id.to_string(), plain(&brought.what), words.join(", ")]
            })
            .collect();
        table(text, "  ", &rows)?;
        marks(text, chronicle)?;
    }
    if !chronicle.unaccounted.is_empty() {
        let words: Vec<String> = chronicle.unaccounted.iter().map(|word| spoken(word)).collect();
        writeln!(text, "not accounted for in this log: {}", words.join(", "))?;
        writeln!(
            text,
            "  (said by the client itself, taken in through another gateway, or before this log begins)"
        )?;
    }
    Ok(())
}

/// The marks that came with it, who left them, and the way to take them off.
fn marks(text: &mut String, chronicle: &Chronicle) -> std::fmt::Result {
    let mut told: Vec<&str> = Vec::new();
    for (brought, mark) in
        chronicle.brought.iter().flat_map(|brought| brought.marks.iter().map(move |mark| (brought, mark)))
    {
        if told.contains(&mark.id.as_str()) {
            continue;
        }
        let on = plain(&mark.on);
        writeln!(
            text,
            "`{}` met mark {} on {} `{on}` of server `{}`",
            plain(&brought.what),
            mark.id,
            mark.kind,
            mark.upstream
        )?;
        let (tool, agent) = (plain(&mark.tool), plain(mark.agent.as_str()));
        writeln!(text, "  left by `{tool}` of agent `{agent}`, {}", mark.decision)?;
        told.push(&mark.id);
    }
    if !told.is_empty() {
        let ids = told.join(" ");
        writeln!(text, "  if you know that it is harmless: highwater marks clear {ids} --reason TEXT")?;
    }
    Ok(())
}

fn contract(text: &mut String, account: &Account) -> std::fmt::Result {
    let decision = &account.decision;
    let contract = &decision.contract;
    let by = |axis: &str| contract.basis.get(axis).map(|by| phrase::authority(by)).unwrap_or_default();
    let row = |name: &str, value: String, axis: &str| [name.to_owned(), value, by(axis)];
    let several = |name: &str, words: Vec<&str>, axis: Axis| {
        // Of what nobody said, the worst counts, which is the last word.
        let words = match words.last() {
            Some(worst) if phrase::is_default(decision, axis) => (*worst).to_owned(),
            Some(_) => words.join(" or "),
            None => "nothing private".to_owned(),
        };
        row(name, words, axis.short())
    };
    let mut rows = vec![
        several(
            "arguments go to",
            contract.destination.iter().map(|word| word.as_str()).collect(),
            Axis::Destination,
        ),
        several("outcome", contract.outcomes.iter().map(|word| word.as_str()).collect(), Axis::Outcomes),
        several("replies are from", contract.source.iter().map(|word| word.as_str()).collect(), Axis::Source),
        several("replies hold", contract.returns.iter().map(|word| word.as_str()).collect(), Axis::Returns),
    ];
    if let Some(accepts) = &contract.accepts {
        rows.insert(1, row("built to receive", published(accepts), "accepts"));
    }
    if let Some(approval) = contract.approval.as_deref().filter(|approval| *approval != "none") {
        rows.push(row("wants", plain(approval), "approval"));
    }
    writeln!(text, "\nwhat is known of `{}`", plain(account.what()))?;
    table(text, "  ", &rows)
}

/// Classes in the published spelling.
pub(crate) fn published(classes: &serde_json::Value) -> String {
    match classes {
        serde_json::Value::String(word) => plain(word),
        serde_json::Value::Array(list) if list.is_empty() => "nothing private".to_owned(),
        serde_json::Value::Array(list) => list.iter().map(published).collect::<Vec<_>>().join(", "),
        other => plain(&other.to_string()),
    }
}

fn course(text: &mut String, account: &Account) -> std::fmt::Result {
    writeln!(text, "\nwhat happened")?;
    for record in &account.course {
        happened(text, account, record)?;
    }
    match (account.was_sent(), account.outcome()) {
        (true, None) => writeln!(text, "  it was sent; how it ended is not on record"),
        (false, _) if account.decision.ruling == Ruling::Asked => {
            writeln!(text, "  nothing was sent; it waits for the answer")
        }
        (false, _) => writeln!(text, "  nothing was sent to the server"),
        (true, Some(_)) => Ok(()),
    }
}

fn happened(text: &mut String, account: &Account, record: &Record) -> std::fmt::Result {
    let at = clock(record.time);
    match &record.happened {
        Recorded::Decision(earlier) => {
            let ruling = match earlier.ruling {
                Ruling::Asked => "it was decided to ask a person",
                Ruling::Allowed | Ruling::Approved => "it was allowed",
                Ruling::Blocked => "it was refused",
                Ruling::Unavailable => "it was not sent, because the session store was away",
            };
            writeln!(text, "  {at}  {ruling}")
        }
        Recorded::Asked { how, .. } => writeln!(text, "  {at}  a person was asked ({})", plain(how)),
        Recorded::Answered { answer, by, .. } => {
            let said = match answer.as_str() {
                "approve" => "the answer was yes",
                "decline" => "the answer was no",
                "cancel" => "the question was closed without an answer",
                "silence" => "nobody answered",
                other => other,
            };
            writeln!(text, "  {at}  {} ({})", plain(said), plain(by))
        }
        Recorded::Question(question) => {
            let what = match question.kind {
                AskKind::Sample => "asked for a completion by the model",
                AskKind::ElicitForm => "asked the user to fill in a form",
                AskKind::ElicitUrl => "asked the user to open an address",
                AskKind::Roots => "asked for the client's folders",
            };
            let put = match question.effect {
                Effect::Allow => "it was put to the client",
                _ => "it was refused",
            };
            writeln!(text, "  {at}  server `{}` {what}; {put}", question.upstream)?;
            for finding in &question.findings {
                self::finding(text, account, finding)?;
            }
            Ok(())
        }
        Recorded::Outcome(outcome) => ended(text, account, &at, outcome),
        Recorded::Retried { attempt, why, sent } => {
            let reached = if *sent { "it may have arrived" } else { "it had not left" };
            writeln!(text, "  {at}  sent again, attempt {attempt}: the server {}; {reached}", plain(why))
        }
        Recorded::Remark { detail, .. } => writeln!(text, "  {at}  {}", plain(detail)),
        Recorded::Approval { act, by, request, receipt, .. } => {
            write!(text, "  {at}  {} by {}", plain(act), plain(by))?;
            if let Some(request) = request {
                write!(text, ", request {}", plain(request))?;
            }
            if let Some(receipt) = receipt {
                write!(text, ", receipt {}", plain(receipt))?;
            }
            writeln!(text)
        }
        Recorded::Waived { .. }
        | Recorded::Notice { .. }
        | Recorded::Declassification { .. }
        | Recorded::MarksCleared { .. }
        | Recorded::Token { .. }
        | Recorded::Review { .. }
        | Recorded::Access { .. }
        | Recorded::Log { .. }
        | Recorded::Unknown => Ok(()),
    }
}

fn ended(text: &mut String, account: &Account, at: &str, outcome: &RecordedOutcome) -> std::fmt::Result {
    let after = format!("after {} ms", outcome.millis);
    let how = match outcome.outcome {
        Outcome::Delivered => format!("the reply of {} bytes was delivered {after}", outcome.bytes),
        Outcome::UpstreamError => format!("the server answered with an error {after}, which was delivered"),
        Outcome::Failed => format!("the server failed {after}; the call may have had its effect"),
        Outcome::TimedOut => format!("the server did not answer in time; {after} it was given up"),
        Outcome::Cancelled => format!("the client gave up {after}; the call may have had its effect"),
        Outcome::Withheld => format!("the call ran, and its reply was withheld {after}"),
    };
    writeln!(text, "  {at}  {how}")?;
    if let Some(detail) = &outcome.detail {
        writeln!(text, "            {}", plain(detail))?;
    }
    if outcome.outcome != Outcome::Withheld && !outcome.label.label.is_empty() {
        let words: Vec<String> = outcome.label.label.iter().map(|word| spoken(word)).collect();
        let rose = if outcome.raised { "the session's label rose" } else { "the session had that already" };
        writeln!(text, "            it brought {}; {rose}", words.join(", "))?;
    }
    for finding in &outcome.findings {
        self::finding(text, account, finding)?;
    }
    match outcome.would {
        Some(would) => {
            writeln!(text)?;
            per_mode(text, would)
        }
        None => Ok(()),
    }
}

fn advice(text: &mut String, account: &Account, trials: Option<&Trials>) -> std::fmt::Result {
    let advice = Advice::on(account, trials);
    if !advice.changes.is_empty() {
        writeln!(text, "\nwhat would have changed it")?;
        for change in &advice.changes {
            writeln!(text, "  - {change}")?;
        }
    }
    if !advice.steps.is_empty() || advice.note.is_some() {
        writeln!(text, "\nwhat you can do")?;
        for step in &advice.steps {
            let then = step.then.map(|then| format!(" (then: `{}`)", then.as_str())).unwrap_or_default();
            writeln!(text, "  - {}{then}", step.what)?;
            for line in step.how.iter().flat_map(|how| how.lines()) {
                writeln!(text, "      {line}")?;
            }
        }
        if let Some(note) = &advice.note {
            writeln!(text, "  {note}")?;
        }
    }
    Ok(())
}

/// Rows whose columns line up.
pub(crate) fn table<const N: usize>(
    text: &mut String,
    before: &str,
    rows: &[[String; N]],
) -> std::fmt::Result {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in rows {
        let mut line = String::from(before);
        for (cell, width) in row.iter().zip(widths) {
            write!(line, "{cell:width$}  ")?;
        }
        writeln!(text, "{}", line.trim_end())?;
    }
    Ok(())
}
