//! The words of a name: `read_file`, `readFile` and `READ-FILE` have the same.

/// The words, split at everything that is no letter or digit and at the humps of camel case, in lower case. Digits at
/// the end of a word are left out: `python3` is `python`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for piece in pieces(name) {
        let letters: Vec<char> = piece.chars().collect();
        let mut word = String::new();
        for (at, letter) in letters.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| letters.get(before));
            if before
                .is_some_and(|before| is_hump(*before, *letter, letters.get(at + 1..).unwrap_or_default()))
            {
                push(&mut words, &word);
                word.clear();
            }
            word.push(*letter);
        }
        push(&mut words, &word);
    }
    words
}

/// The same, split at everything that is no letter or digit alone: humps that are none, such as those of `BigQuery`,
/// hide no word here.
pub(super) fn uncut_words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for piece in pieces(name) {
        push(&mut words, piece);
    }
    words
}

fn pieces(name: &str) -> impl Iterator<Item = &str> {
    name.split(|letter: char| !letter.is_alphanumeric()).filter(|piece| !piece.is_empty())
}

/// Whether a new word begins with this letter.
fn is_hump(before: char, letter: char, after: &[char]) -> bool {
    if !letter.is_uppercase() {
        return false;
    }
    // `IDs` and `URLs` are the plural of one word, and not the begin of another.
    let is_plural =
        matches!(after, ['s'] | ['s', ..]) && after.get(1).is_none_or(|next| !next.is_lowercase());
    !before.is_uppercase() || after.first().is_some_and(|next| next.is_lowercase()) && !is_plural
}

fn push(words: &mut Vec<String>, word: &str) {
    let without_digits = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let word = if without_digits.is_empty() { word } else { without_digits };
    words.push(word.to_lowercase());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_same_words_however_it_is_written() {
        for name in
            ["read_file", "readFile", "ReadFile", "READ-FILE", "read.file", "read/file2", "__read__FILE"]
        {
            assert_eq!(words(name), ["read", "file"], "{name}");
        }
    }

    #[test]
    fn capitals_in_a_row_are_one_word() {
        assert_eq!(words("getHTTPUrl"), ["get", "http", "url"]);
        assert_eq!(words("imageURLs"), ["image", "urls"]);
        assert_eq!(words("listIDsOfUser"), ["list", "ids", "of", "user"]);
        assert_eq!(words("runSQLQuery"), ["run", "sql", "query"]);
        assert_eq!(words("neo4j_python3_42"), ["neo4j", "python", "42"]);
        assert_eq!(uncut_words("BigQuery-tool"), ["bigquery", "tool"]);
        assert!(words("-_").is_empty());
    }
}
