//! A definition in one line: its name, the first sentence of what it says, what it claims of itself, and what would come of
//! believing that.

use highwater_pins::visible;
use serde_json::Value;

/// A sentence that is longer is cut.
const LONGEST: usize = 100;

/// The first sentence of a text, in one line.
pub(super) fn first_sentence(text: &str) -> String {
    let line: String = visible(text.trim()).split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.char_indices().find(|(at, c)| {
        let next = line.get(at + c.len_utf8()..).unwrap_or_default();
        matches!(c, '.' | '!' | '?' | '。') && (next.is_empty() || next.starts_with(' '))
    });
    let sentence = end.and_then(|(at, c)| line.get(..at + c.len_utf8())).unwrap_or(&line);
    match sentence.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", sentence.get(..at).unwrap_or_default()),
        None => sentence.to_owned(),
    }
}

/// What a tool claims of itself, in words: the hints of the protocol that it gives, and which other vocabularies it uses.
pub(super) fn claims(definition: &Value) -> Vec<String> {
    let hint = |name: &str| definition.pointer(&format!("/annotations/{name}")).and_then(Value::as_bool);
    let words = [
        (hint("readOnlyHint"), "only reads", "writes"),
        (hint("destructiveHint"), "destroys", "destroys nothing"),
        (hint("idempotentHint"), "may be repeated", "counts each time"),
        (hint("openWorldHint"), "reaches the open world", "reaches nothing outside"),
    ];
    let mut claims: Vec<String> = words
        .into_iter()
        .filter_map(|(said, yes, no)| Some(if said? { yes } else { no }.to_owned()))
        .collect();
    let known = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title"];
    let more = definition.get("annotations").and_then(Value::as_object);
    claims.extend(more.into_iter().flatten().filter(|(key, _)| !known.contains(&key.as_str())).map(
        |(key, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            first_sentence(&format!("{key}: {value}"))
        },
    ));
    claims
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_sentence_is_one_line_and_no_abbreviation_of_it() {
        assert_eq!(first_sentence("Reads a file.\nThen more."), "Reads a file.");
        assert_eq!(first_sentence("Reads v1.2 of\n  a file"), "Reads v1.2 of a file");
        assert_eq!(first_sentence("a\u{200b}b"), "a⟨U+200B⟩b");
        assert_eq!(first_sentence(&"x".repeat(200)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn what_is_claimed_is_said_in_words() {
        let tool =
            json!({ "annotations": { "readOnlyHint": true, "openWorldHint": false, "category": "files" } });
        assert_eq!(claims(&tool), ["only reads", "reaches nothing outside", "category: files"]);
        assert_eq!(claims(&json!({})), [""; 0]);
    }
}
