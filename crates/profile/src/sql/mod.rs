//! Whether an SQL text certainly only reads.
//!
//! Nobody says which dialect will run the text, so it is accepted only where all of them agree: on where strings and
//! comments end, that there is one statement, and that nothing in it writes. This is no parser of SQL. What it does not
//! know it refuses, and a refusal costs a question.
//!
//! What it cannot see: views, operators and functions that the database's owner made under the names of harmless ones.

mod tokens;
mod words;

use super::word_list::WordList;
use tokens::{Token, tokens};
use words::{
    ACTING, BEFORE_PARENTHESIS, BEFORE_TEXT, BEGIN_OF_FROM, END_OF_FROM, PRAGMAS, PRAGMAS_WITH_ARGUMENT,
};

/// The longest text that is looked at. Statements that people and models write are far shorter.
const LONGEST: usize = 64 * 1024;

/// The deepest nesting of parentheses.
const DEEPEST: usize = 64;

/// Whether the text is exactly one statement, in every dialect we know, and certainly only reads: SELECT, VALUES, SHOW,
/// DESCRIBE, EXPLAIN without ANALYZE, WITH … SELECT, or a PRAGMA of SQLite that only tells.
pub fn reads_only(text: &str) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    let Some(tokens) = tokens(text) else { return false };
    let statement = match tokens.as_slice() {
        [statement @ .., Token::Symbol(b';')] => statement,
        statement => statement,
    };
    let Some((Token::Word(first), rest)) = statement.split_first() else { return false };
    let acts = |token: &Token<'_>| match token {
        Token::Word(word) => is_one_of(word, ACTING),
        // In some dialects this is no name but a list of expressions, or a statement of its own.
        Token::Bracketed(inside) => inside.split([' ', '-']).any(|word| is_one_of(word, ACTING)),
        Token::Symbol(symbol) => *symbol == b';',
        Token::Quoted | Token::Text(_) | Token::Number => false,
    };
    if statement.iter().any(acts) {
        return false;
    }
    match first.to_ascii_uppercase().as_str() {
        "PRAGMA" => is_telling_pragma(rest),
        "SELECT" | "VALUES" | "SHOW" | "EXPLAIN" | "DESCRIBE" | "DESC" => calls_nothing_unknown(statement),
        "WITH" => calls_nothing_unknown(statement) && rest.iter().any(|token| token.is_word("SELECT")),
        _ => false,
    }
}

/// Which clause is being read, as far as it matters for texts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clause {
    /// Tables are being named: a text would be a file or an address.
    Tables,
    /// The condition of a join, which ends at the next comma.
    Join,
    /// Anything else.
    Values,
}

/// Whether every parenthesis follows something that is no call or a harmless one, and no text stands where a dialect
/// would take it for a file or a program.
fn calls_nothing_unknown(statement: &[Token<'_>]) -> bool {
    // One for each open parenthesis, and one for the statement.
    let mut clauses = vec![Clause::Values];
    let mut previous: [Option<&Token<'_>>; 2] = [None, None];
    for token in statement {
        let Some(clause) = clauses.last_mut() else { return false };
        match token {
            Token::Word(word) if is_one_of(word, BEGIN_OF_FROM) => *clause = Clause::Tables,
            Token::Word(word) if is_one_of(word, END_OF_FROM) => *clause = Clause::Values,
            Token::Word(word) if word.eq_ignore_ascii_case("ON") && *clause == Clause::Tables => {
                *clause = Clause::Join
            }
            Token::Symbol(b',') if *clause == Clause::Join => *clause = Clause::Tables,
            Token::Symbol(b'(') => {
                let inside = if *clause == Clause::Tables { Clause::Tables } else { Clause::Values };
                if clauses.len() > DEEPEST || !may_open(previous) {
                    return false;
                }
                clauses.push(inside);
            }
            Token::Symbol(b')') => {
                clauses.pop();
            }
            Token::Text(_) if *clause == Clause::Tables || !may_precede_text(previous[1]) => return false,
            Token::Word(_)
            | Token::Symbol(_)
            | Token::Text(_)
            | Token::Quoted
            | Token::Bracketed(_)
            | Token::Number => {}
        }
        previous = [previous[1], Some(token)];
    }
    clauses.len() == 1
}

/// Whether a parenthesis may open after these two tokens.
fn may_open([before, last]: [Option<&Token<'_>>; 2]) -> bool {
    match last {
        // A name with a dot before it is a function of somebody's schema, whatever it is called.
        Some(Token::Word(_)) if matches!(before, Some(Token::Symbol(b'.'))) => false,
        // The columns of a common table expression.
        Some(Token::Word(_))
            if before.is_some_and(|token| token.is_word("WITH") || token.is_word("RECURSIVE")) =>
        {
            true
        }
        Some(Token::Word(word)) => is_one_of(word, BEFORE_PARENTHESIS),
        Some(Token::Symbol(symbol)) => !matches!(symbol, b')' | b'.' | b':'),
        None | Some(Token::Quoted | Token::Bracketed(_) | Token::Text(_) | Token::Number) => false,
    }
}

/// Whether a text after this token is a value.
fn may_precede_text(last: Option<&Token<'_>>) -> bool {
    match last {
        Some(Token::Word(word)) => is_one_of(word, BEFORE_TEXT),
        Some(Token::Symbol(symbol)) => !matches!(symbol, b')' | b'.' | b':'),
        None | Some(Token::Quoted | Token::Bracketed(_) | Token::Text(_) | Token::Number) => false,
    }
}

/// Whether what follows PRAGMA is the name of one that tells, alone or with the name of what it should tell of.
fn is_telling_pragma(rest: &[Token<'_>]) -> bool {
    let rest = match rest {
        [Token::Word(_) | Token::Quoted, Token::Symbol(b'.'), rest @ ..] => rest,
        rest => rest,
    };
    match rest {
        [Token::Word(name)] => is_one_of(name, PRAGMAS) || is_one_of(name, PRAGMAS_WITH_ARGUMENT),
        [Token::Word(name), Token::Symbol(b'('), argument, Token::Symbol(b')')] => {
            let is_name = match argument {
                Token::Word(_) | Token::Quoted => true,
                Token::Text(text) => text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
                Token::Symbol(_) | Token::Bracketed(_) | Token::Number => false,
            };
            is_name && is_one_of(name, PRAGMAS_WITH_ARGUMENT)
        }
        _ => false,
    }
}

/// Whether the word is listed, whatever the case of its letters. The lists are in upper case.
fn is_one_of(word: &str, list: WordList) -> bool {
    list.iter().any(|listed| word.eq_ignore_ascii_case(listed))
}

#[cfg(test)]
mod tests;
