//! The text that a person is shown of what they sign: made of the tool and the canonical arguments and of nothing else,
//! so that it can be made again from a receipt (G11).

use std::fmt::Write;

use serde_json::Value;

use super::arguments::CanonicalArguments;
use super::signed::ToolName;

/// Which rendering this is. Whoever changes a single character of what [`render`] makes raises it.
pub const RENDERER_VERSION: u32 = 1;

/// A text, and how many characters in it would not have been seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// How many characters were made visible.
    pub hidden: usize,
}

/// What will be done, with every argument in full, one per line.
pub fn render(tool: &ToolName, upstream: Option<&str>, arguments: &CanonicalArguments) -> Rendered {
    let mut rendered = Rendered { text: String::new(), hidden: 0 };
    rendered.push_plain("Call ");
    rendered.push(tool.as_str());
    if let Some(upstream) = upstream {
        rendered.push_plain(" on ");
        rendered.push(upstream);
    }
    match arguments.value() {
        Value::Object(members) if !members.is_empty() => {
            rendered.push_plain(" with");
            rendered.members(1, members);
        }
        _ => rendered.push_plain(" without arguments"),
    }
    rendered
}

/// A text with everything that people do not see made visible, as [`render`] does.
pub fn plain(text: &str) -> Rendered {
    let mut rendered = Rendered { text: String::new(), hidden: 0 };
    rendered.push(text);
    rendered
}

// === impl Rendered ===

impl Rendered {
    fn push_plain(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn push(&mut self, text: &str) {
        for c in text.chars() {
            if is_hidden(c) {
                self.hidden += 1;
                write!(self.text, "\u{27e6}U+{:04X}\u{27e7}", u32::from(c)).unwrap_or_default();
            } else {
                self.text.push(c);
            }
        }
    }

    fn line(&mut self, depth: usize) {
        self.text.push('\n');
        self.text.push_str(&"  ".repeat(depth));
    }

    fn members(&mut self, depth: usize, members: serde_json::Map<String, Value>) {
        let mut sorted: Vec<(String, Value)> = members.into_iter().collect();
        sorted.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
        for (key, member) in sorted {
            self.line(depth);
            self.quoted(&key);
            self.push_plain(":");
            self.value(depth, member);
        }
    }

    /// In quotes, so that no text can pass for a line of its own or for another value.
    fn quoted(&mut self, text: &str) {
        self.text.push('"');
        for (index, piece) in text.split('"').enumerate() {
            if index > 0 {
                self.push_plain("\\\"");
            }
            self.push(&piece.replace('\\', "\\\\"));
        }
        self.text.push('"');
    }

    /// Behind a blank where it stands on the same line, below where it has parts.
    fn value(&mut self, depth: usize, value: Value) {
        match value {
            Value::String(text) => {
                self.push_plain(" ");
                self.quoted(&text);
            }
            Value::Array(items) if items.is_empty() => self.push_plain(" []"),
            Value::Object(members) if members.is_empty() => self.push_plain(" {}"),
            Value::Array(items) => {
                for item in items {
                    self.line(depth + 1);
                    self.push_plain("-");
                    self.value(depth + 1, item);
                }
            }
            Value::Object(members) => self.members(depth + 1, members),
            scalar @ (Value::Null | Value::Bool(_) | Value::Number(_)) => {
                self.push_plain(" ");
                self.push_plain(&crate::pin::Json::from(scalar).to_string());
            }
        }
    }
}

/// What people do not see, or see in another order than it is written. The table is fixed: a rendering must be the same
/// whatever a later Unicode assigns.
fn is_hidden(c: char) -> bool {
    let code = u32::from(c);
    // The last two of every plane are no characters.
    code & 0xfffe == 0xfffe
        || matches!(
            code,
            0x00..=0x1f
                | 0x7f..=0x9f
                | 0xad
                | 0x34f
                | 0x61c
                | 0x115f..=0x1160
                | 0x17b4..=0x17b5
                | 0x180b..=0x180f
                | 0x200b..=0x200f
                | 0x2028..=0x202e
                | 0x2060..=0x206f
                | 0x2800
                | 0x3164
                | 0xe000..=0xf8ff
                | 0xfdd0..=0xfdef
                | 0xfe00..=0xfe0f
                | 0xfeff
                | 0xffa0
                | 0xfff0..=0xfffb
                | 0x1d173..=0x1d17a
                // Planes that nobody has assigned, tags and variation selectors, private use.
                | 0x4_0000..
        )
        // Blanks that look like the blank and are not it.
        || matches!(code, 0xa0 | 0x1680 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(tool: &str, text: &str) -> Rendered {
        let arguments = CanonicalArguments::read(Some(text)).unwrap();
        render(&ToolName::exposed(tool).unwrap(), Some("files"), &arguments)
    }

    #[test]
    fn s34_every_argument_is_shown_in_full() {
        assert_eq!(
            rendered("delete", r#"{"b":{"y":[1,{"z":null}],"x":[]},"a":"two\nlines \"x\" \\","c":{}}"#).text,
            concat!(
                "Call delete on files with\n",
                "  \"a\": \"two\u{27e6}U+000A\u{27e7}lines \\\"x\\\" \\\\\"\n",
                "  \"b\":\n",
                "    \"x\": []\n",
                "    \"y\":\n",
                "      - 1\n",
                "      -\n",
                "        \"z\": null\n",
                "  \"c\": {}"
            )
        );
        assert_eq!(rendered("delete", "{}").text, "Call delete on files without arguments");
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(60_000));
        assert!(rendered("delete", &long).text.len() > 60_000);
    }

    #[test]
    fn g11_what_people_do_not_see_is_made_visible_and_counted() {
        let seen = rendered("t", "{\"a\":\"x\u{202e}y\u{200b}z\u{e0041}\u{feff}\u{e000}\u{ad}\"}");
        assert_eq!(seen.hidden, 6);
        assert!(seen.text.contains("x⟦U+202E⟧y⟦U+200B⟧z⟦U+E0041⟧⟦U+FEFF⟧⟦U+E000⟧⟦U+00AD⟧"), "{}", seen.text);
        assert_eq!(rendered("t", "{\"a\":\"naïve 日本 e\u{301}\"}").hidden, 0);
    }

    #[test]
    fn a_key_that_the_json_library_treats_specially_is_shown_as_a_key() {
        let text = rendered("t", r#"{"$serde_json::private::RawValue":"{\"path\":\"harmless\"}"}"#).text;
        assert!(text.contains(r#""$serde_json::private::RawValue": "{\"path\"#), "{text}");
    }

    #[test]
    fn g11_the_same_arguments_have_the_same_text() {
        assert_eq!(rendered("t", r#"{"a":1.0,"b":2}"#), rendered("t", r#"{ "b":2, "a":1 }"#));
        assert_ne!(rendered("t", r#"{"a":"1"}"#), rendered("t", r#"{"a":1}"#));
        assert_ne!(rendered("t", r#"{"a":"x\",\"b"}"#), rendered("t", r#"{"a":"x","b":""}"#));
    }
}
