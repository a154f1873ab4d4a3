//! JSON as it is pinned: read exactly, written in one way (RFC 8785).
//!
//! Two texts that differ in what they say have two canonical texts, whatever a number's size and however a character is
//! escaped: where the RFC would round a whole number, or refuse a number or half a surrogate pair, it stands as it was
//! written.

use std::fmt::Write;

/// The deepest nesting that is read. Messages are bounded far below it.
const DEEPEST: usize = 256;

/// A JSON value that loses nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, in its canonical spelling.
    Number(String),
    /// A text.
    Text(Text),
    /// A list.
    Array(Vec<Json>),
    /// Members, sorted by their keys. Of two with one key the last counts.
    Object(Vec<(Text, Json)>),
}

/// A text: as people read it, and in its canonical spelling with its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    plain: String,
    quoted: String,
    /// Whether half a surrogate pair is in it, which the plain text cannot show.
    halved: bool,
}

/// The canonical text of a JSON text; `None` if it is no JSON.
pub fn canonical(text: &str) -> Option<String> {
    Json::parse(text).map(|json| json.to_string())
}

// === impl Json ===

impl Json {
    /// Reads a whole text.
    pub fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.blanks();
        (reader.at == text.len()).then_some(value)
    }

    /// A text.
    pub fn text(plain: &str) -> Self {
        Self::Text(Text::new(plain))
    }

    /// The value of a member.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.iter().find(|(name, _)| name.plain == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.plain),
            _ => None,
        }
    }

    /// Shows every text in it, keys included.
    pub fn each_text(&self, look: &mut impl FnMut(&str)) {
        match self {
            Self::Text(text) => look(&text.plain),
            Self::Array(items) => items.iter().for_each(|item| item.each_text(look)),
            Self::Object(members) => {
                for (key, value) in members {
                    look(&key.plain);
                    value.each_text(look);
                }
            }
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
        }
    }

    /// An object of these members.
    pub fn object(members: impl IntoIterator<Item = (Text, Json)>) -> Self {
        let mut sorted: Vec<(Text, Json)> = Vec::new();
        for (key, value) in members {
            // By UTF-16 code units, which is not the order of the bytes beyond the basic plane.
            let place = sorted.binary_search_by(|(known, _)| known.order(&key));
            match place {
                Ok(same) => {
                    if let Some(slot) = sorted.get_mut(same) {
                        *slot = (key, value);
                    }
                }
                Err(place) => sorted.insert(place, (key, value)),
            }
        }
        Self::Object(sorted)
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(number) => f.write_str(number),
            Self::Text(text) => f.write_str(&text.quoted),
            Self::Array(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        f.write_char(',')?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_char(']')
            }
            Self::Object(members) => {
                f.write_char('{')?;
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        f.write_char(',')?;
                    }
                    write!(f, "{}:{value}", key.quoted)?;
                }
                f.write_char('}')
            }
        }
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        // It is JSON, so it reads.
        Self::parse(&value.to_string()).unwrap_or(Self::Null)
    }
}

// === impl Text ===

impl Text {
    /// A text that is whole.
    pub fn new(plain: &str) -> Self {
        let mut text = Self::open();
        plain.chars().for_each(|c| text.push(c));
        text.quoted.push('"');
        text
    }

    fn open() -> Self {
        Self { plain: String::new(), quoted: String::from("\""), halved: false }
    }

    /// A text that no other text has.
    pub fn exact(&self) -> &str {
        if self.halved { &self.quoted } else { &self.plain }
    }

    /// As people read it; half a surrogate pair is U+FFFD.
    pub fn plain(&self) -> &str {
        &self.plain
    }

    /// Half a pair is told apart by its spelling alone, so that comes second: what a key begins with stands before it.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let units = self.plain.encode_utf16().cmp(other.plain.encode_utf16());
        units.then_with(|| self.quoted.cmp(&other.quoted))
    }

    fn push(&mut self, c: char) {
        self.plain.push(c);
        match c {
            '"' => self.quoted.push_str("\\\""),
            '\\' => self.quoted.push_str("\\\\"),
            '\u{8}' => self.quoted.push_str("\\b"),
            '\t' => self.quoted.push_str("\\t"),
            '\n' => self.quoted.push_str("\\n"),
            '\u{c}' => self.quoted.push_str("\\f"),
            '\r' => self.quoted.push_str("\\r"),
            c if c < ' ' => write!(self.quoted, "\\u{:04x}", u32::from(c)).unwrap_or_default(),
            c => self.quoted.push(c),
        }
    }

    fn push_half(&mut self, unit: u32) {
        self.halved = true;
        self.plain.push('\u{fffd}');
        write!(self.quoted, "\\u{unit:04x}").unwrap_or_default();
    }
}

/// Reads JSON text from front to back.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

// === impl Reader ===

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Option<Json> {
        self.text.get(self.at..)?.starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEEPEST {
            return None;
        }
        self.blanks();
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(Json::Text),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        let mut members = Vec::new();
        self.blanks();
        if !self.take(b'}') {
            loop {
                self.blanks();
                let key = self.string()?;
                self.blanks();
                self.take(b':').then_some(())?;
                members.push((key, self.value(depth + 1)?));
                self.blanks();
                if self.take(b'}') {
                    break;
                }
                self.take(b',').then_some(())?;
            }
        }
        Some(Json::object(members))
    }

    fn array(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if !self.take(b']') {
            loop {
                items.push(self.value(depth + 1)?);
                self.blanks();
                if self.take(b']') {
                    break;
                }
                self.take(b',').then_some(())?;
            }
        }
        Some(Json::Array(items))
    }

    fn string(&mut self) -> Option<Text> {
        self.take(b'"').then_some(())?;
        let mut text = Text::open();
        loop {
            let c = self.text.get(self.at..)?.chars().next()?;
            self.at += c.len_utf8();
            match c {
                '"' => break,
                '\\' => self.escape(&mut text)?,
                c if c < ' ' => return None,
                c => text.push(c),
            }
        }
        text.quoted.push('"');
        Some(text)
    }

    fn escape(&mut self, text: &mut Text) -> Option<()> {
        let escape = self.peek()?;
        self.at += 1;
        let c = match escape {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unit(text),
            _ => return None,
        };
        text.push(c);
        Some(())
    }

    /// A character by its number, or half of one.
    fn unit(&mut self, text: &mut Text) -> Option<()> {
        let unit = self.hex()?;
        if let 0xd800..=0xdbff = unit {
            let before = self.at;
            if self.take(b'\\')
                && self.take(b'u')
                && let low @ 0xdc00..=0xdfff = self.hex()?
            {
                text.push(char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))?);
                return Some(());
            }
            self.at = before;
        }
        match char::from_u32(unit) {
            Some(c) => text.push(c),
            None => text.push_half(unit),
        }
        Some(())
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.at;
        self.take(b'-');
        let digits = |reader: &mut Self| {
            let first = reader.at;
            while reader.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                reader.at += 1;
            }
            reader.at - first
        };
        let leads_with_zero = self.peek() == Some(b'0');
        let count = digits(self);
        (count > 0 && !(leads_with_zero && count > 1)).then_some(())?;
        let mut is_whole = true;
        if self.take(b'.') {
            is_whole = false;
            (digits(self) > 0).then_some(())?;
        }
        if self.take(b'e') || self.take(b'E') {
            is_whole = false;
            if !self.take(b'+') {
                self.take(b'-');
            }
            (digits(self) > 0).then_some(())?;
        }
        let written = self.text.get(start..self.at)?;
        Some(Json::Number(match (is_whole, written.parse::<f64>()) {
            (true, _) if written == "-0" => "0".to_owned(),
            (true, _) => written.to_owned(),
            (false, Ok(float)) if float.is_finite() => float_text(float),
            (false, _) => written.to_ascii_lowercase(),
        }))
    }
}

/// As ECMAScript writes it: the shortest digits that read back, and an exponent only for the very large and small.
fn float_text(float: f64) -> String {
    if float == 0.0 {
        return "0".to_owned();
    }
    let minus = if float < 0.0 { "-" } else { "" };
    // Not as the standard library writes it: where two shortest texts are equally near it takes the greater, and
    // ECMAScript the even.
    let shortest = serde_json::Number::from_f64(float.abs()).map(|number| number.to_string());
    let shortest = shortest.unwrap_or_default();
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let padded = format!("{whole}{fraction}");
    let leading = padded.len() - padded.trim_start_matches('0').len();
    let digits = padded.trim_matches('0');
    let length = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let count = length(digits.len());
    // Where the decimal point stands, counted from the first digit.
    let point = exponent.parse::<i32>().unwrap_or(0) + length(whole.len()) - length(leading);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let split = |at: usize| digits.split_at_checked(at).unwrap_or((digits, ""));
    match point {
        1..=21 if count <= point => format!("{minus}{digits}{}", zeros(point - count)),
        1..=21 => {
            let (whole, rest) = split(usize::try_from(point).unwrap_or(0));
            format!("{minus}{whole}.{rest}")
        }
        -5..=0 => format!("{minus}0.{}{digits}", zeros(-point)),
        _ => {
            let (first, rest) = split(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let sign = if point > 0 { "+" } else { "-" };
            format!("{minus}{first}{dot}{rest}e{sign}{}", (point - 1).unsigned_abs())
        }
    }
}

#[cfg(test)]
mod tests;
