//! What a request denies: "send it to Ann, not to Bob". Neither values nor verbs of it are anybody's wish.

use crate::language::{Language, Spoken, WordsOf};
use crate::normal::{is_unspaced, lower, tokens};

/// The text without what is denied in it. What was cut out leaves a line end, so that no words meet over it.
pub(crate) fn affirmed(text: &str, spoken: &Spoken) -> String {
    let lists: Vec<&WordsOf> = if spoken.is_foreign {
        Language::all().filter_map(Language::words).collect()
    } else {
        spoken.languages().filter_map(Language::words).collect()
    };
    let mut kept = String::with_capacity(text.len());
    for clause in clauses(text, &lists) {
        match denied_from(clause, &lists) {
            None => kept.push_str(clause),
            Some(start) => {
                kept.push_str(clause.get(..start).unwrap_or_default());
                kept.push('\n');
            }
        }
    }
    kept
}

/// The clauses of a text, each with what ends it.
fn clauses<'a>(text: &'a str, lists: &[&WordsOf]) -> Vec<&'a str> {
    let mut borders = Vec::new();
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        let is_spaced = next
            .is_none_or(|next| next.is_whitespace() || is_unspaced(next) || matches!(next, '"' | '\'' | ')'));
        if letter == '\n' || matches!(letter, '.' | ',' | ';' | ':' | '!' | '?') && is_spaced {
            borders.push(at + letter.len_utf8());
        }
    }
    let words = tokens(text);
    for (at, word) in &words {
        let word = lower(word);
        let begins = |list: &&WordsOf| list.but.split_ascii_whitespace().any(|but| but == word);
        if lists.iter().any(begins) && !word.chars().any(is_unspaced) {
            borders.push(*at);
        }
    }
    borders.sort_unstable();
    let mut found = Vec::new();
    let mut start = 0;
    for border in borders.into_iter().chain([text.len()]) {
        if border > start {
            found.extend(text.get(start..border));
            start = border;
        }
    }
    found
}

/// Where in a clause what is denied begins.
fn denied_from(clause: &str, lists: &[&WordsOf]) -> Option<usize> {
    let lowered: Vec<(usize, String)> =
        tokens(clause).into_iter().map(|(at, word)| (at, lower(word))).collect();
    let stands = |phrase: &str, at: usize| {
        phrase
            .split('_')
            .enumerate()
            .all(|(step, part)| lowered.get(at + step).is_some_and(|(_, word)| word == part))
    };
    let length = |phrase: &str| phrase.split('_').count();
    let mut first: Option<usize> = None;
    for list in lists {
        for (phrases, is_all) in [(list.denies, false), (list.denies_all, true)] {
            for phrase in phrases.split_ascii_whitespace() {
                let denial = (0..lowered.len()).find(|at| {
                    let after = at + length(phrase);
                    let is_harmless = list.harmless.split_ascii_whitespace().any(|word| stands(word, after));
                    stands(phrase, *at) && !is_harmless
                });
                let place = match denial {
                    Some(_) if is_all => Some(0),
                    Some(at) => lowered.get(at).map(|(start, _)| *start),
                    None => None,
                };
                first = match (first, place) {
                    (Some(first), Some(place)) => Some(first.min(place)),
                    (first, place) => first.or(place),
                };
            }
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> String {
        let text = crate::normal::composed(text);
        affirmed(&text, &Spoken::of(&text))
    }

    #[test]
    fn what_is_denied_is_cut_to_the_end_of_its_clause() {
        for (text, gone, stays) in [
            ("Send the report to ann@a.example, not to bob@b.example.", "bob@b.example", "ann@a.example"),
            ("Never delete notes.txt but read the plan.txt", "delete", "plan.txt"),
            ("Don't share the file with Bob. Send it to Ann", "share", "Ann"),
            ("Don’t share the file with Bob: send it to Ann", "Bob", "Ann"),
            ("Clean up the list except a.txt\nthen the b.txt", "a.txt", "b.txt"),
            ("Lösche die Datei a.txt nicht, aber lies die b.txt", "a.txt", "b.txt"),
            ("N'efface pas le fichier a.txt, mais lis le b.txt", "a.txt", "b.txt"),
            ("No borres el archivo a.txt, pero lee el b.txt", "a.txt", "b.txt"),
            ("Не удаляй файл a.txt, но прочитай b.txt", "a.txt", "b.txt"),
            ("请不要删除报告，把计划发给我", "删除", "计划"),
        ] {
            let kept = kept(text);
            assert!(!kept.contains(gone), "{text}: {kept}");
            assert!(kept.contains(stays), "{text}: {kept}");
        }
    }

    #[test]
    fn a_no_that_denies_nothing_cuts_nothing() {
        for text in [
            "Don't forget to mail the report to Ann",
            "I am not sure, ask the Ann",
            "Not only mail the Ann",
            "Don't hesitate to mail Ann",
        ] {
            assert_eq!(kept(text), text);
        }
    }
}
