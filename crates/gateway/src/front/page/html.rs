//! Makes documents. Markup is text of this program, by its type; everything else is escaped, so nothing from outside can
//! become markup.

use std::fmt::{self, Write};

/// A document in the making.
#[derive(Default)]
pub(super) struct Html(String);

/// Escapes what is written through it.
struct Escaping<'a>(&'a mut String);

// === impl Html ===

impl Html {
    /// Markup. Only what is compiled in can be given here.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text from anywhere, as the content of an element or inside a quoted attribute.
    pub(super) fn text(&mut self, text: impl fmt::Display) -> &mut Self {
        // A string takes whatever is written to it.
        write!(Escaping(&mut self.0), "{text}").unwrap_or_default();
        self
    }

    /// A sentence of ours, in which names stand between backticks.
    pub(super) fn prose(&mut self, sentence: &str) -> &mut Self {
        let parts: Vec<&str> = sentence.split('`').collect();
        // One without its partner is no name.
        if parts.len().is_multiple_of(2) {
            return self.text(sentence);
        }
        for (at, part) in parts.into_iter().enumerate() {
            match at % 2 {
                0 => self.text(part),
                _ => self.around("<code>", part, "</code>"),
            };
        }
        self
    }

    /// A part that another function makes.
    pub(super) fn part(&mut self, part: impl FnOnce(&mut Self)) -> &mut Self {
        part(self);
        self
    }

    /// One element around some text.
    pub(super) fn around(
        &mut self,
        before: &'static str,
        text: impl fmt::Display,
        after: &'static str,
    ) -> &mut Self {
        self.raw(before).text(text).raw(after)
    }

    /// The document.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

// === impl Escaping ===

impl fmt::Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // The parser would make another character of it; what is shown has been made visible before.
                '\0' | '\r' => self.0.push('\u{fffd}'),
                other => self.0.push(other),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_sentence_are_set_apart() {
        let written = |text: &str| {
            let mut html = Html::default();
            html.prose(text);
            html.finish()
        };
        assert_eq!(written("of `a<b>` and `c`"), "of <code>a&lt;b&gt;</code> and <code>c</code>");
        assert_eq!(written("one ` alone"), "one ` alone");
    }

    #[test]
    fn text_from_outside_never_becomes_markup() {
        let mut html = Html::default();
        html.around("<a title=\"", r#""'><script>alert(1)</script>&amp;"#, "\">").raw("</a>");
        assert_eq!(
            html.finish(),
            "<a title=\"&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;\"></a>"
        );
    }
}
