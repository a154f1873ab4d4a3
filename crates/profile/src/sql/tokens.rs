//! An SQL text as words, names, strings and signs, where all dialects agree about them.

/// A piece of an SQL text. Blanks and comments are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A word without quotes.
    Word(&'a str),
    /// A name in double quotes or backticks. It holds letters, digits, blanks, underscores and hyphens alone, so
    /// that a dialect that reads it as a string, a file or an expression finds nothing in it.
    Quoted,
    /// The same in brackets, which are the index of a list elsewhere.
    Bracketed(&'a str),
    /// A string, as it was written between its quotes.
    Text(&'a str),
    /// A number.
    Number,
    /// A sign. Of a pair such as `||` or `::` the first.
    Symbol(u8),
}

/// Cuts a text into tokens; `None` where dialects would cut it differently.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut reader = Reader { text, at: 0 };
    let mut tokens = Vec::new();
    while let Some(byte) = reader.peek(0) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => reader.at += 1,
            b'-' if reader.peek(1) == Some(b'-') => reader.line_comment()?,
            b'/' if reader.peek(1) == Some(b'*') => reader.block_comment()?,
            b'\'' => tokens.push(Token::Text(reader.string()?)),
            b'"' | b'`' => {
                reader.name(byte)?;
                tokens.push(Token::Quoted);
            }
            b'[' => tokens.push(Token::Bracketed(reader.name(b']')?)),
            b'0'..=b'9' => {
                reader.number()?;
                tokens.push(Token::Number);
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => tokens.push(Token::Word(reader.word()?)),
            byte => tokens.push(Token::Symbol(reader.symbol(byte)?)),
        }
    }
    Some(tokens)
}

/// Where the reading is. `at` is always the start of a character.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

// === impl Token ===

impl Token<'_> {
    /// Whether it is this word, in upper case here.
    pub(super) fn is_word(&self, wanted: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(wanted))
    }
}

// === impl Reader ===

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn rest(&self) -> Option<&'a str> {
        self.text.get(self.at..)
    }

    /// Takes this many bytes.
    fn take(&mut self, length: usize) -> Option<&'a str> {
        let taken = self.rest()?.get(..length)?;
        self.at += length;
        Some(taken)
    }

    /// `-- …` to the end of the line.
    fn line_comment(&mut self) -> Option<()> {
        // MySQL: two hyphens begin a comment only if a blank follows; elsewhere they are two signs.
        if !matches!(self.peek(2), None | Some(b' ' | b'\t' | b'\n')) {
            return None;
        }
        let rest = self.rest()?;
        let comment = rest.split_once('\n').map_or(rest, |(line, _)| line);
        // A return alone ends the line in some dialects and not in others.
        let line = comment.strip_suffix('\r').unwrap_or(comment);
        is_plain(line).then_some(())?;
        self.take(comment.len()).map(|_| ())
    }

    /// `/* … */`.
    fn block_comment(&mut self) -> Option<()> {
        let (inside, _) = self.rest()?.get(2..)?.split_once("*/")?;
        // MySQL and its relatives run `/*! … */` and `/*M! … */`, and obey `/*+ … */`. Some dialects nest comments.
        let obeyed = inside.bytes().take(3).any(|byte| matches!(byte, b'!' | b'+'));
        if obeyed || inside.contains("/*") || !is_plain(&inside.replace(['\n', '\r'], " ")) {
            return None;
        }
        self.take(2 + inside.len() + 2).map(|_| ())
    }

    /// `'…'`, in which a quote is written twice.
    fn string(&mut self) -> Option<&'a str> {
        let mut end = 0;
        let inside = self.rest()?.get(1..)?;
        loop {
            end += inside.get(end..)?.find('\'')?;
            if inside.as_bytes().get(end + 1) != Some(&b'\'') {
                break;
            }
            end += 2;
        }
        let inside = inside.get(..end)?;
        // A backslash before a quote ends the string in some dialects and not in others.
        if inside.contains(['\\', '\0']) {
            return None;
        }
        self.take(end + 2)?;
        Some(inside)
    }

    /// A name between quotes of some kind.
    fn name(&mut self, close: u8) -> Option<&'a str> {
        let (inside, _) = self.rest()?.get(1..)?.split_once(char::from(close))?;
        let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ' ' | '-');
        if inside.is_empty() || !inside.chars().all(plain) || inside.contains("--") {
            return None;
        }
        self.take(inside.len() + 2)?;
        Some(inside)
    }

    /// Digits with a fraction and an exponent. Nothing may touch it: `1into` is one word to some dialects and two to
    /// others.
    fn number(&mut self) -> Option<()> {
        self.digits();
        if self.peek(0) == Some(b'.') {
            self.at += 1;
            self.digits();
        }
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(0), Some(b'+' | b'-')) {
                self.at += 1;
            }
            matches!(self.peek(0), Some(b'0'..=b'9')).then_some(())?;
            self.digits();
        }
        self.is_at_an_end().then_some(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(0), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    /// Letters, digits and underscores. A string may not touch it: it would be a string of another kind.
    fn word(&mut self) -> Option<&'a str> {
        let inside = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = self.rest()?.bytes().take_while(inside).count();
        let word = self.take(length)?;
        (!matches!(self.peek(0), Some(b'\'' | b'"' | b'`'))).then_some(word)
    }

    /// Whether what comes next can be no part of what came before.
    fn is_at_an_end(&self) -> bool {
        match self.peek(0) {
            None => true,
            Some(byte) => byte.is_ascii_whitespace() || b"(),;*+-/%<>=!|:".contains(&byte),
        }
    }

    /// A sign, or a pair of signs that means something only as a pair.
    fn symbol(&mut self, byte: u8) -> Option<u8> {
        let length = match (byte, self.peek(1)) {
            (b'!', Some(b'=')) | (b'|', Some(b'|')) | (b':', Some(b':')) => 2,
            (b'(' | b')' | b',' | b'.' | b';' | b'*' | b'+' | b'-' | b'/' | b'%' | b'<' | b'>' | b'=', _) => {
                1
            }
            _ => return None,
        };
        self.take(length)?;
        Some(byte)
    }
}

/// Whether a comment holds nothing that could end it early.
fn is_plain(comment: &str) -> bool {
    comment.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
}
