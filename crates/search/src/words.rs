//! The words of a text, alike for tools and for queries: `getFileContents`, `get_file_contents` and "gets the file's
//! contents" have them in common.

/// How much of a word counts. Longer ones are keys and digests, which nobody looks for.
const LONGEST: usize = 48;

/// How much of a word is left when an ending goes.
const SHORTEST_STEM: usize = 3;

/// Words that say nothing about what a tool does.
const STOP_WORDS: [&str; 41] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "for", "from", "has", "have", "i", "if",
    "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "please", "should", "that", "the",
    "their", "this", "to", "use", "used", "want", "was", "when", "will", "with", "you",
];

/// Calls `each` for every word of the text, in order.
pub(super) fn words(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    let mut after_lower = false;
    for letter in text.chars() {
        if !letter.is_alphanumeric() {
            finish(&mut word, &mut each);
            after_lower = false;
        } else if stands_alone(letter) {
            finish(&mut word, &mut each);
            word.push(letter);
            finish(&mut word, &mut each);
            after_lower = false;
        } else {
            if after_lower && letter.is_uppercase() {
                finish(&mut word, &mut each);
            }
            after_lower = letter.is_lowercase();
            if word.len() < LONGEST {
                word.extend(letter.to_lowercase());
            }
        }
    }
    finish(&mut word, &mut each);
}

fn finish(word: &mut String, each: &mut impl FnMut(&str)) {
    if !word.is_empty() && !STOP_WORDS.contains(&word.as_str()) {
        stem(word);
        each(word);
    }
    word.clear();
}

/// Takes the commonest English endings off.
fn stem(word: &mut String) {
    let long = |word: &str, ending: &str| word.len() >= SHORTEST_STEM + ending.len();
    if word.ends_with("ies") && long(word, "ies") {
        word.truncate(word.len() - "ies".len());
        word.push('y');
    } else if word.ends_with('s')
        && !["ss", "us", "is"].iter().any(|end| word.ends_with(end))
        && long(word, "s")
    {
        word.pop();
    }
    for ending in ["ing", "ed", "e"] {
        if word.ends_with(ending) && long(word, ending) {
            word.truncate(word.len() - ending.len());
            break;
        }
    }
}

/// Whether a letter is a word of its own: scripts that put no spaces between words.
fn stands_alone(letter: char) -> bool {
    matches!(letter,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        words(text, |word| all.push(word.to_owned()));
        all
    }

    #[test]
    fn one_thing_has_the_same_words_however_it_is_written() {
        let expected = of("get file content");
        for text in ["getFileContents", "get_file_contents", "Gets the file contents.", "GET  FILES/content"]
        {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn endings_go_where_enough_of_the_word_stays() {
        assert_eq!(of("issues issue"), ["issu", "issu"]);
        assert_eq!(of("queries query"), ["query", "query"]);
        assert_eq!(of("create created creating creates"), ["creat", "creat", "creat", "creat"]);
        assert_eq!(of("access status bus see red"), ["access", "status", "bus", "see", "red"]);
    }

    #[test]
    fn letters_of_scripts_without_spaces_are_words() {
        assert_eq!(of("搜索file"), ["搜", "索", "fil"]);
        assert_eq!(of("Größe Über"), ["größ", "über"]);
    }

    #[test]
    fn a_word_without_end_is_cut() {
        assert_eq!(of(&"x".repeat(1000)).concat().len(), LONGEST);
    }
}
