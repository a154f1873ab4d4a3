//! The texts and tool definitions that travel in a benchmark, made the same way on both ends, so that the load
//! generator knows the exact bytes an answer must hold.

use serde_json::json;

/// The tool that answers with a text of the size it is asked for.
pub const ECHO: &str = "echo";
/// The tool that takes a text and answers with its length.
pub const UPLOAD: &str = "upload";
/// The tool that keeps a text under a name and answers with its length.
pub const KEEP: &str = "keep";

/// Lines of ordinary prose. Quotes and line ends are here because real replies hold characters that JSON must
/// escape; nothing here looks like a secret, an address or an instruction.
const LINES: [&str; 6] = [
    "The tide table lists the height of the water at the pier for every hour of the day.",
    "A second table, called \"harbour times\", says when each boat is expected to leave.",
    "Between the two there is a short note on how the figures were rounded, and by whom.",
    "Readers who only want the next high water can look at the first row and stop there.",
    "The column marked \"range\" is the difference between the highest and the lowest row.",
    "Figures from before the new pier was built are kept, but they are printed in grey.",
];

/// Prose of exactly `size` bytes, all of them ASCII.
pub fn text(size: usize) -> String {
    let mut text = String::with_capacity(size + 128);
    let mut lines = LINES.iter().cycle();
    while text.len() < size {
        if let Some(line) = lines.next() {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.truncate(size);
    text
}

/// The same prose as it stands inside a JSON string, without the outer quotes.
pub fn escaped_text(size: usize) -> String {
    escape(&text(size))
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 16);
    for character in text.chars() {
        match character {
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The members of `tools` for a listing of `count` tools: `echo`, `upload`, `keep`, then others nobody calls.
pub fn tool_definitions(count: usize) -> Vec<String> {
    let mut tools = Vec::with_capacity(count);
    for index in 0..count {
        let (name, property) = match index {
            0 => (ECHO.to_owned(), "size"),
            1 => (UPLOAD.to_owned(), "text"),
            2 => {
                tools.push(keeping_definition());
                continue;
            }
            _ => (format!("table_{index:05}"), "row"),
        };
        tools.push(tool_definition(&name, property));
    }
    tools
}

/// One definition of about 600 bytes. It declares itself harmless in seed 000's words, so that a gateway with
/// its whole road on still lets every call of the benchmark through.
fn tool_definition(name: &str, property: &str) -> String {
    json!({
        "name": name,
        "title": "Tide table",
        "description": "Returns rows of a tide table as text. The answer is prose for a reader.",
        "inputSchema": {
            "type": "object",
            "properties": {
                property: { "description": "How much of the table to return." },
                "station": { "type": "string", "description": "The name of the pier." }
            },
            "required": [property]
        },
        "annotations": {
            "readOnlyHint": true,
            "destructiveHint": false,
            "idempotentHint": true,
            "openWorldHint": false,
            "inputMetadata": { "destination": "ephemeral", "sensitivity": ["none"], "outcomes": "benign" },
            "returnMetadata": { "source": "system", "sensitivity": "none" }
        }
    })
    .to_string()
}

/// The definition of the tool that keeps what it is given: what is written through it bears the session's label.
fn keeping_definition() -> String {
    json!({
        "name": KEEP,
        "title": "Keep a table",
        "description": "Keeps a tide table under a name, in place of what was kept under it before.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The name under which it is kept." },
                "text": { "type": "string", "description": "The rows of the table, as text." }
            },
            "required": ["path", "text"]
        },
        "annotations": {
            "readOnlyHint": false,
            "destructiveHint": false,
            "idempotentHint": true,
            "openWorldHint": false,
            "inputMetadata": { "destination": "user", "sensitivity": ["none"], "outcomes": "benign" },
            "returnMetadata": { "source": "system", "sensitivity": "none" }
        }
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_exactly_the_size_asked_for() {
        for size in [0, 1, 100, 10_240, 1_048_576] {
            assert_eq!(text(size).len(), size);
        }
    }

    #[test]
    fn the_escaped_text_reads_back_as_the_text() {
        let back: String = serde_json::from_str(&format!("\"{}\"", escaped_text(10_240))).unwrap();
        assert_eq!(back, text(10_240));
    }

    #[test]
    fn a_definition_is_about_600_bytes() {
        for definition in tool_definitions(4) {
            assert!((520..=680).contains(&definition.len()), "{} bytes: {definition}", definition.len());
        }
    }
}
