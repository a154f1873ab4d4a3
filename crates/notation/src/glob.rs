//! Globs: `*` is any run of characters, `?` is one; the whole text must match, case counts.
//!
//! The time is linear in the text, whatever the pattern: a rule is matched against arguments that somebody else
//! chose. That is why there is no backtracking and no regular expression.

/// Characters of a pattern.
pub const LONGEST_GLOB: usize = 256;

/// A checked pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Glob {
    pattern: Box<str>,
    /// What stands before the first star, between stars and behind the last. One segment: there is no star.
    segments: Box<[Segment]>,
}

/// A run of the pattern without a star.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Segment {
    text: Box<str>,
    /// Where the segment has a `?`, what is needed to look for it anywhere.
    wild: Option<Box<ShiftAnd>>,
}

/// One bit for each position of a segment: which positions a character fits. Looking for the segment then is one
/// shift and one `and` per character of the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ShiftAnd {
    anything: Positions,
    /// The characters of the segment, sorted.
    exact: Box<[(char, Positions)]>,
    last: Positions,
}

const WORDS: usize = LONGEST_GLOB.div_ceil(64);
type Positions = [u64; WORDS];

// === impl Glob ===

impl Glob {
    /// Checks the length; every text is a pattern.
    pub fn new(pattern: &str) -> Option<Self> {
        if pattern.chars().count() > LONGEST_GLOB {
            return None;
        }
        Some(Self { pattern: pattern.into(), segments: pattern.split('*').map(Segment::new).collect() })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        match &*self.segments {
            [] => text.is_empty(),
            [only] => only.after_start(text).is_some_and(str::is_empty),
            [first, middle @ .., last] => {
                let Some(rest) = first.after_start(text) else { return false };
                let Some(mut rest) = last.before_end(rest) else { return false };
                for segment in middle {
                    // The leftmost place leaves the most room for what follows, so no other need be tried.
                    match segment.after_first(rest) {
                        Some(after) => rest = after,
                        None => return false,
                    }
                }
                true
            }
        }
    }
}

// === impl Segment ===

impl Segment {
    fn new(text: &str) -> Self {
        Self { text: text.into(), wild: text.contains('?').then(|| Box::new(ShiftAnd::new(text))) }
    }

    /// What follows the segment at the start of the text.
    fn after_start<'t>(&self, text: &'t str) -> Option<&'t str> {
        if self.text.is_empty() {
            return Some(text);
        }
        if self.wild.is_none() {
            return text.strip_prefix(&*self.text);
        }
        let mut rest = text.chars();
        self.text
            .chars()
            .all(|wanted| rest.next().is_some_and(|found| wanted == '?' || wanted == found))
            .then_some(rest.as_str())
    }

    /// What precedes the segment at the end of the text.
    fn before_end<'t>(&self, text: &'t str) -> Option<&'t str> {
        if self.text.is_empty() {
            return Some(text);
        }
        if self.wild.is_none() {
            return text.strip_suffix(&*self.text);
        }
        let mut rest = text.chars();
        let fits = |wanted: char| rest.next_back().is_some_and(|found| wanted == '?' || wanted == found);
        self.text.chars().rev().all(fits).then_some(rest.as_str())
    }

    /// What follows the first place of the segment in the text.
    fn after_first<'t>(&self, text: &'t str) -> Option<&'t str> {
        match &self.wild {
            None => find(&self.text, text).and_then(|at| text.get(at + self.text.len()..)),
            Some(shift_and) => shift_and.after_first(text),
        }
    }
}

// === impl ShiftAnd ===

impl ShiftAnd {
    fn new(segment: &str) -> Self {
        let mut anything = Positions::default();
        let mut last = Positions::default();
        let mut exact: Vec<(char, Positions)> = Vec::new();
        for (position, wanted) in segment.chars().enumerate() {
            last = Positions::default();
            set(&mut last, position);
            if wanted == '?' {
                set(&mut anything, position);
                continue;
            }
            let found = exact.binary_search_by_key(&wanted, |(character, _)| *character);
            let at = found.unwrap_or_else(|at| {
                exact.insert(at, (wanted, Positions::default()));
                at
            });
            if let Some((_, positions)) = exact.get_mut(at) {
                set(positions, position);
            }
        }
        Self { anything, exact: exact.into(), last }
    }

    fn after_first<'t>(&self, text: &'t str) -> Option<&'t str> {
        let mut state = Positions::default();
        let mut rest = text.chars();
        while let Some(character) = rest.next() {
            let exact = self
                .exact
                .binary_search_by_key(&character, |(wanted, _)| *wanted)
                .ok()
                .and_then(|at| self.exact.get(at))
                .map_or(Positions::default(), |(_, positions)| *positions);
            // A match may begin at every character, so a one is shifted in.
            let mut carry = 1;
            let mut complete = 0;
            for (((word, anything), exact), last) in
                state.iter_mut().zip(self.anything).zip(exact).zip(self.last)
            {
                let shifted = *word << 1 | carry;
                carry = *word >> 63;
                *word = shifted & (anything | exact);
                complete |= *word & last;
            }
            if complete != 0 {
                return Some(rest.as_str());
            }
        }
        None
    }
}

/// Up to this length of a text the simple search is quicker than the preparation of a linear one.
const SHORT: usize = 128;

/// Where the segment first stands in the text. Of a short text the product of both lengths is a small constant.
fn find(segment: &str, text: &str) -> Option<usize> {
    if text.len() > SHORT {
        return text.find(segment);
    }
    let (Some((first, rest)), mut left) = (segment.as_bytes().split_first(), text.as_bytes()) else {
        return Some(0);
    };
    // The first byte alone rules out most places, and costs no call.
    while let Some(at) = left.iter().position(|byte| byte == first) {
        left = left.get(at + 1..)?;
        if left.starts_with(rest) {
            return Some(text.len() - left.len() - 1);
        }
    }
    None
}

fn set(positions: &mut Positions, position: usize) {
    if let Some(word) = positions.get_mut(position / 64) {
        *word |= 1 << (position % 64);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::new(pattern).unwrap().matches(text)
    }

    #[test]
    fn the_whole_text_must_match() {
        assert!(matches("send_*", "send_mail"));
        assert!(!matches("send_*", "resend_mail"));
        assert!(!matches("send", "sender"));
        assert!(matches("*@auditor.example", "kim@auditor.example"));
        assert!(!matches("*@auditor.example", "kim@auditor.example.evil"));
        assert!(!matches("ab*ba", "aba"));
        assert!(matches("", ""));
        assert!(matches("*", ""));
        assert!(matches("**", "x"));
    }

    #[test]
    fn a_question_mark_is_one_character_not_one_byte() {
        assert!(matches("?", "ü"));
        assert!(!matches("?", ""));
        assert!(matches("a*?b*c", "axxübc"));
    }

    #[test]
    fn case_counts() {
        assert!(!matches("Send*", "send"));
    }

    #[test]
    fn a_long_segment_crosses_words() {
        let segment = "ab?".repeat(60);
        let text = format!("x{}y", "abc".repeat(60));
        assert!(matches(&format!("*{segment}*"), &text));
        assert!(!matches(&format!("*{segment}d*"), &text));
        assert_eq!(Glob::new(&"x".repeat(LONGEST_GLOB + 1)), None);
    }

    /// The obvious, exponential reading.
    fn model(pattern: &[char], text: &[char]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (None, Some(_)) => false,
            (Some(('*', rest)), _) => (0..=text.len()).any(|from| model(rest, &text[from..])),
            (Some((wanted, pattern)), Some((found, text))) => {
                (*wanted == '?' || wanted == found) && model(pattern, text)
            }
            (Some(_), None) => false,
        }
    }

    proptest! {
        #[test]
        fn a_glob_means_what_the_obvious_reading_says(pattern in "[ab?*ü]{0,9}", text in "[abü]{0,12}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&pattern, &text), model(&chars(&pattern), &chars(&text)));
        }
    }
}
