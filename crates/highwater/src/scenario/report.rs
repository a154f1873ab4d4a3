//! How tellings are reported: a line for what went well, everything about what did not.

use serde_json::{Value, json};

use super::Told;
use super::run::Failure;

/// Longer texts are cut; the whole is in the JSON form.
const LONGEST: usize = 600;

/// One telling in words.
pub(crate) fn words(file: &str, told: &Told) -> String {
    let name = match told.telling.to_string() {
        telling if telling.is_empty() => file.to_owned(),
        telling => format!("{file} ({telling})"),
    };
    let Some(failure) = &told.failure else { return format!("ok      {name}\n") };
    let mut text = format!("failed  {name}\n");
    let place = match failure.line {
        Some(line) => format!("{file}:{line}: {}", failure.place),
        None => failure.place.clone(),
    };
    text.push_str(&format!("  {place}\n"));
    for mismatch in &failure.mismatches {
        text.push_str(&format!("    {}\n", mismatch.part));
        text.push_str(&format!("      expected  {}\n", indented(&mismatch.expected)));
        text.push_str(&format!("      seen      {}\n", indented(&mismatch.seen)));
    }
    if let Some(error) = &failure.error {
        text.push_str(&format!("    {}\n", error.replace('\n', "\n    ")));
    }
    text
}

/// One telling as data.
pub(crate) fn data(file: &str, about: Option<&str>, told: &Told) -> Value {
    let failure = told.failure.as_ref().map(|failure| {
        let Failure { line, place, mismatches, error } = failure;
        json!({ "line": line, "place": place, "mismatches": mismatches, "error": error })
    });
    json!({
        "file": file,
        "about": about,
        "telling": told.telling.to_string(),
        "ok": told.failure.is_none(),
        "millis": u64::try_from(told.took.as_millis()).unwrap_or(u64::MAX),
        "failure": failure,
    })
}

/// A text of several lines, or a long one, under the place where it begins.
fn indented(text: &str) -> String {
    let shown: String = text.chars().take(LONGEST).collect();
    let cut = if shown.len() < text.len() { " …" } else { "" };
    format!("{}{cut}", shown.replace('\n', "\n                "))
}
