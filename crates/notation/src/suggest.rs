//! The way out of a word that nobody knows: the one that was probably meant, or all that are.

/// The candidate that was probably meant. Case, `_`, `-` and `.` are not counted as differences, because everybody
/// spells in another style.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let plain = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
    };
    let wanted = plain(word);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= 1.max(candidate.len().min(word.len()) / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The help line for a word that is not among the candidates.
pub fn choose(word: &str, candidates: &[&str]) -> String {
    match nearest(word, candidates.iter().copied()) {
        Some(found) => format!("did you mean `{found}`?"),
        None if candidates.len() == 1 => format!("use {}", listed(candidates)),
        None => format!("use one of {}", listed(candidates)),
    }
}

/// The words, quoted.
pub fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
