//! Accounts, phone numbers and keys in a text.

use super::Carrier;

/// The fewest digits that make a number lead somewhere, once what separates them is gone.
const FEWEST_DIGITS: usize = 8;

/// The fewest letters and digits, mixed and unbroken, that make a key.
const SHORTEST_KEY: usize = 20;

/// The lengths of an international account number.
const ACCOUNT_LENGTHS: std::ops::RangeInclusive<usize> = 15..=34;

/// A run of letters and digits.
#[derive(Clone, Copy)]
struct Run<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

/// Adds every account, phone number and key of a text.
pub(super) fn codes(text: &str, found: &mut Vec<Carrier>) {
    let runs = runs(text);
    let mut at = 0;
    while let Some(run) = runs.get(at) {
        let rest = runs.get(at..).unwrap_or_default();
        let taken = dates(text, rest);
        if taken > 0 {
            at += taken;
            continue;
        }
        let (code, taken) =
            account(text, rest).or_else(|| number(text, rest)).unwrap_or_else(|| (run.text.to_owned(), 1));
        let digits = code.chars().filter(char::is_ascii_digit).count();
        let letters = code.chars().count() - digits;
        if digits >= FEWEST_DIGITS || digits > 0 && letters > 0 && code.chars().count() >= SHORTEST_KEY {
            found.push(Carrier::Code(code.to_lowercase()));
        }
        at += taken;
    }
}

fn runs(text: &str) -> Vec<Run<'_>> {
    let mut runs = Vec::new();
    let mut start = None;
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        match (letter.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                if let Some(run) = text.get(from..at) {
                    runs.push(Run { text: run, start: from, end: at });
                }
                start = None;
            }
            _ => {}
        }
    }
    runs
}

/// What stands between this run and the next.
fn gap<'a>(text: &'a str, from: Run<'_>, to: Run<'_>) -> &'a str {
    text.get(from.end..to.start).unwrap_or_default()
}

/// An international account number in groups, such as `GB29 NWBK 6016 1331 9268 19`, and how many runs it takes.
fn account(text: &str, runs: &[Run<'_>]) -> Option<(String, usize)> {
    let first = runs.first()?;
    let mut letters = first.text.bytes();
    let is_first = first.text.len() == 4
        && letters.by_ref().take(2).all(|byte| byte.is_ascii_alphabetic())
        && letters.all(|byte| byte.is_ascii_digit());
    if !is_first {
        return None;
    }
    let mut code = first.text.to_owned();
    let mut taken = 1;
    let mut last = *first;
    for run in runs.iter().skip(1) {
        let is_group = run.text.len() <= 4
            && matches!(gap(text, last, *run), " " | "-" | ".")
            && run.text.bytes().all(|byte| {
                byte.is_ascii_uppercase()
                    || byte.is_ascii_digit()
                    || byte.is_ascii_lowercase() && run.text.len() == 4
            });
        if !is_group || code.len() + run.text.len() > *ACCOUNT_LENGTHS.end() {
            break;
        }
        code.push_str(run.text);
        taken += 1;
        last = *run;
    }
    (code.len() >= *ACCOUNT_LENGTHS.start()).then_some((code, taken))
}

/// Digits with up to two separators between, such as `+1 (555) 010-2030`, and how many runs they take.
fn number(text: &str, runs: &[Run<'_>]) -> Option<(String, usize)> {
    let first = runs.first().filter(|run| is_digits(run))?;
    if is_amount(text, runs) {
        return Some((String::new(), 2));
    }
    let mut code = first.text.to_owned();
    let mut taken = 1;
    let mut last = *first;
    for (at, run) in runs.iter().enumerate().skip(1) {
        let gap = gap(text, last, *run);
        let rest = runs.get(at..).unwrap_or_default();
        let joins = gap.len() <= 2
            && gap.chars().all(|letter| matches!(letter, ' ' | '(' | ')' | '-' | '.' | '/' | '+'));
        let is_other = gap.contains(' ') && (dates(text, rest) > 0 || is_amount(text, rest));
        if !joins || !is_digits(run) || is_other {
            break;
        }
        code.push_str(run.text);
        taken += 1;
        last = *run;
    }
    Some((code, taken))
}

fn is_digits(run: &Run<'_>) -> bool {
    run.text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether these runs begin with a number that has one or two decimals, and no more parts.
fn is_amount(text: &str, runs: &[Run<'_>]) -> bool {
    let [whole, decimals, rest @ ..] = runs else { return false };
    let goes_on =
        rest.first().is_some_and(|next| matches!(gap(text, *decimals, *next), "." | "," | "-" | "/"));
    is_digits(whole)
        && is_digits(decimals)
        && matches!(gap(text, *whole, *decimals), "." | ",")
        && decimals.text.len() <= 2
        && whole.text.len() + decimals.text.len() < FEWEST_DIGITS
        && !goes_on
}

/// How many runs at the beginning are a date, a time or a span of years.
fn dates(text: &str, runs: &[Run<'_>]) -> usize {
    let number = |at: usize| runs.get(at).filter(|run| is_digits(run));
    let between = |from: usize| match (runs.get(from), runs.get(from + 1)) {
        (Some(from), Some(to)) => gap(text, *from, *to),
        _ => "",
    };
    let value = |run: Option<&Run<'_>>, within: std::ops::RangeInclusive<u32>, width: usize| {
        run.is_some_and(|run| {
            run.text.len() <= width && run.text.parse().is_ok_and(|value| within.contains(&value))
        })
    };
    let is_year = |run: Option<&Run<'_>>| value(run, 1900..=2199, 4);
    let is_day = |run: Option<&Run<'_>>| value(run, 1..=31, 2);
    let separated = |from: usize| matches!(between(from), "-" | "/" | "." | "–");
    let ends = |last: usize| !(separated(last) && number(last + 1).is_some());
    if separated(0) && separated(1) && between(0) == between(1) && ends(2) {
        // `2024-05-15T10` has its hour in the same run as its day.
        let day_and_hour = runs.get(2).and_then(|run| run.text.split_once(['T', 't']));
        let is_first = is_year(number(0)) && is_day(number(1));
        if is_first && (is_day(number(2)) || day_and_hour.is_some_and(|(day, _)| day.len() == 2)) {
            return 3 + if day_and_hour.is_some() {
                clock(text, runs.get(2..).unwrap_or_default()).saturating_sub(1)
            } else {
                0
            };
        }
        if is_day(number(0)) && is_day(number(1)) && (is_year(number(2)) || value(number(2), 0..=99, 2)) {
            return 3;
        }
    }
    if is_year(number(0)) && separated(0) && is_year(number(1)) && ends(1) {
        return 2;
    }
    let compact = number(0).filter(|run| run.text.len() == 8).is_some_and(|run| {
        let part = |from: usize, to: usize| {
            run.text.get(from..to).and_then(|part| part.parse::<u32>().ok()).unwrap_or(0)
        };
        (1900..2200).contains(&part(0, 4)) && (1..=12).contains(&part(4, 6)) && (1..=31).contains(&part(6, 8))
    });
    if compact && ends(0) {
        return 1;
    }
    clock(text, runs)
}

/// How many runs at the beginning are a time of day.
fn clock(text: &str, runs: &[Run<'_>]) -> usize {
    let [hour, minute, rest @ ..] = runs else { return 0 };
    let is_hour = hour.text.len() <= 2 || hour.text.contains(['T', 't']);
    if !is_hour || minute.text.len() < 2 || minute.text.len() > 4 || gap(text, *hour, *minute) != ":" {
        return 0;
    }
    match rest.first() {
        Some(second) if gap(text, *minute, *second) == ":" && second.text.len() >= 2 => 3,
        _ => 2,
    }
}
