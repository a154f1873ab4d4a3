//! What kind of act a tool is, and whether a request asks for such an act.

mod table;

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use table::{ACTS, DESTROYS, EMPOWERS, Group, WIDENS};

use crate::Call;
use crate::normal::is_unspaced;
use crate::text::Text;

/// How many words of a description are looked through for its verb.
const DESCRIPTION_WORDS: usize = 8;

/// How many words may stand between the parts of a verb: "take the old one out".
const PARTED: usize = 6;

/// The shortest word of a tool that is in no group and still says what it does.
const SHORTEST_OWN: usize = 4;

/// So much of a word of a tool must be said; the rest is its ending.
const OWN_STEM: usize = 5;

/// Words of tools that say too little to be asked for.
const GENERIC: &str = "add set get create new send update change modify edit delete remove make user info place cancel book open record \
    reserve start stop press fill lock adjust activate post file data do run call tool api to from in on by for with of and or";

/// Verbs that say what is done, whatever it is done to.
const SPECIFIC_VERBS: &str = "append write insert echo save share invite grant reserve book pay buy purchase checkout withdraw deposit \
    reply forward publish notify submit tweet retweet respond announce reschedule move rename copy replace edit modify change close \
    resolve complete finish archive merge approve reject accept decline download clone pull push star upload visit navigate browse \
    login logout authenticate register subscribe enroll mkdir touch post comment mention delete remove erase drop purge trash wipe \
    clear discard rm rmdir unlink destroy del truncate uninstall cancel revoke unstar unsubscribe unfollow unshare abort terminate \
    transfer refund";

/// Words of tools that let somebody in or out: such an act closes no request.
const ENTRY: &str = "login logout authenticate signin signout verify verification token auth";

/// Words of tools that take a one-time code.
const CODES: &str = "otp code verify verification confirm confirmation pin 2fa mfa";

/// Words that say in which of two states something is put.
const STATES: &str = "on off start stop engage release open close lock unlock buy sell enable disable activate deactivate force overwrite \
    recursive recurring public private";

/// Words of tools by which somebody is paid or something is paid for.
const PAYS: &str = "money pay payment transaction checkout purchase buy refund invoice";

/// Words of arguments that take the names of people and places in a space that they share.
const SHARED_SPACE: &str = "channel user username member group room team handle chat nick";

/// The groups of a table by the words of tools in them, in the table's order.
type Groups = HashMap<&'static str, Vec<&'static Group>>;

static DESTROYING: LazyLock<Groups> = LazyLock::new(|| by_word(DESTROYS.iter()));
static EMPOWERING: LazyLock<Groups> = LazyLock::new(|| by_word(EMPOWERS.iter()));
static WIDENING: LazyLock<Groups> = LazyLock::new(|| by_word(WIDENS.iter()));
/// What destroys is asked for apart.
static ACTING: LazyLock<Groups> = LazyLock::new(|| by_word(ACTS.iter().chain(&DESTROYS)));
static SPECIFIC: LazyLock<HashSet<&str>> =
    LazyLock::new(|| SPECIFIC_VERBS.split_ascii_whitespace().collect());

/// The words of a tool: of its name, and the first verb of its description.
#[derive(Debug)]
pub(crate) struct Act {
    name: Vec<String>,
    verb: Option<String>,
    destroys: bool,
}

// === impl Act ===

impl Act {
    pub(crate) fn of(call: &Call<'_>) -> Self {
        let name = name_words(call.tool);
        let verb = call.description.and_then(described_verb);
        let destroys =
            call.destructive || verb.iter().chain(&name).any(|word| group_of(&DESTROYING, word).is_some());
        Self { name, verb, destroys }
    }

    fn words(&self) -> impl Iterator<Item = &String> {
        self.name.iter().chain(&self.verb)
    }

    fn is_any_of(&self, list: &str) -> bool {
        self.words().any(|word| is_in(list, word))
    }

    /// Whether it destroys, takes away or hands over.
    pub(crate) fn destroys(&self) -> bool {
        self.destroys
    }

    /// Whether it lets somebody in or out.
    pub(crate) fn is_entry(&self) -> bool {
        self.is_any_of(ENTRY)
    }

    /// Whether somebody is paid by it.
    pub(crate) fn pays(&self) -> bool {
        self.name.iter().any(|word| is_in(PAYS, word))
    }

    /// Whether it takes a one-time code.
    pub(crate) fn takes_code(&self) -> bool {
        self.is_any_of(CODES)
    }

    /// Whether the request asks for every destructive word of the tool, each in its own group. A tool that somebody
    /// says destroys, and whose words do not, must be asked for as any other.
    pub(crate) fn destruction_is_asked(&self, request: &[&Text]) -> bool {
        self.words().filter_map(|word| group_of(&DESTROYING, word)).all(|group| is_asked(group, request))
    }

    /// Whether the request asks for this kind of act.
    pub(crate) fn is_asked(&self, request: &[&Text]) -> bool {
        if let Some(group) = self.name.iter().find_map(|word| group_of(&EMPOWERING, word)) {
            return is_asked(group, request);
        }
        // `append_to_file` is asked for as an append is, and not as everything that is done to files.
        let has_verb = self.words().any(|word| SPECIFIC.contains(word.as_str()));
        let counts = |word: &&String| !has_verb || SPECIFIC.contains(word.as_str());
        let mut groups = self.words().filter(counts).flat_map(|word| groups_of(word)).peekable();
        if groups.peek().is_some() {
            groups.any(|group| is_asked(group, request))
        } else {
            self.words()
                .filter(|word| word.len() >= SHORTEST_OWN)
                .any(|word| says_stem(word, OWN_STEM, request))
        }
    }

    /// The words of the name that say what it is about.
    fn nouns(&self) -> impl Iterator<Item = &String> {
        self.name.iter().filter(|word| word.len() > 2 && !is_in(GENERIC, word))
    }

    /// Whether the request speaks of what the tool is about.
    pub(crate) fn noun_is_said(&self, request: &[&Text]) -> bool {
        const STEM: usize = 7;
        let mut nouns = self.nouns().peekable();
        if nouns.peek().is_none() {
            return self.is_asked(request);
        }
        nouns.any(|noun| says_stem(singular(noun), STEM, request))
            || self.is_entry() && self.is_asked(request)
    }
}

/// The words of a name: `read_file`, `readFile` and `read-file` have the same.
pub(crate) fn name_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    let mut before = ' ';
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if !letter.is_alphanumeric() {
            is_open = false;
        } else {
            let next_is_lower = letters.peek().is_some_and(|next| next.is_lowercase());
            let is_hump = letter.is_uppercase() && (!before.is_uppercase() || next_is_lower);
            match words.last_mut().filter(|_| is_open && !is_hump) {
                Some(word) => word.extend(letter.to_lowercase()),
                None => words.push(letter.to_lowercase().collect()),
            }
            is_open = true;
        }
        before = letter;
    }
    words
}

/// Whether an argument takes a name that anybody in a shared space can have.
pub(crate) fn is_of_shared_space(key: &str) -> bool {
    name_words(key).iter().any(|word| is_in(SHARED_SPACE, singular(word)))
}

/// Whether a word among the arguments says in which state something is put.
pub(crate) fn is_state(word: &str) -> bool {
    is_in(STATES, word)
}

/// Whether the request says a word of a state.
pub(crate) fn says_state(word: &str, request: &[&Text]) -> bool {
    const STEM: usize = 6;
    says_stem(word, STEM, request)
}

/// Whether a flag or a choice widens what is done without being asked for.
pub(crate) fn widens_unasked(word: &str, request: &[&Text]) -> bool {
    name_words(word)
        .iter()
        .filter_map(|word| group_of(&WIDENING, word))
        .any(|group| !is_asked(group, request))
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

fn by_word(groups: impl Iterator<Item = &'static Group>) -> Groups {
    let mut found = Groups::new();
    for group in groups {
        for word in group.tools.split_ascii_whitespace() {
            found.entry(word).or_default().push(group);
        }
    }
    found
}

fn group_of(groups: &Groups, word: &str) -> Option<&'static Group> {
    groups.get(word)?.first().copied()
}

/// The groups of a word.
fn groups_of(word: &str) -> impl Iterator<Item = &'static Group> {
    ACTING.get(word).into_iter().flatten().copied()
}

/// The first verb of a description.
fn described_verb(description: &str) -> Option<String> {
    let mut words = description.split(|letter: char| !letter.is_alphabetic()).filter(|word| !word.is_empty());
    words.by_ref().take(DESCRIPTION_WORDS).find_map(|word| {
        let word = word.to_lowercase();
        let stems = ["", "s", "es", "ed", "ing"].into_iter().filter_map(|ending| word.strip_suffix(ending));
        let forms =
            stems.filter(|stem| stem.len() > 2).flat_map(|stem| [stem.to_owned(), format!("{stem}e")]);
        forms.into_iter().find(|form| groups_of(form).next().is_some())
    })
}

fn singular(noun: &str) -> &str {
    noun.strip_suffix('s').filter(|stem| stem.len() > 3).unwrap_or(noun)
}

/// Whether a word of the request begins with so many letters of this one.
fn says_stem(word: &str, letters: usize, request: &[&Text]) -> bool {
    let stem: String = word.chars().take(letters).collect();
    request.iter().any(|text| text.words().any(|said| said.starts_with(&stem)))
}

fn is_asked(group: &Group, request: &[&Text]) -> bool {
    request.iter().any(|text| {
        let rows = text.spoken().languages().filter_map(|language| group.asked.get(language.row()));
        rows.into_iter().flat_map(|row| row.split_ascii_whitespace()).any(|wanted| says(text, wanted))
    })
}

/// Whether a text says what a row of the table wants.
fn says(text: &Text, wanted: &str) -> bool {
    if wanted.chars().any(is_unspaced) {
        return text.has_letters(wanted);
    }
    let is_word = |said: &str, wanted: &str| match wanted.strip_suffix('.') {
        Some(whole) => said == whole,
        None => said.starts_with(wanted),
    };
    if let Some((first, second)) = wanted.split_once('~') {
        let words: Vec<&str> = text.words().collect();
        return words.iter().enumerate().any(|(at, said)| {
            is_word(said, first) && words.iter().skip(at + 1).take(PARTED + 1).any(|said| *said == second)
        });
    }
    if wanted.contains('_') {
        let parts: Vec<&str> = wanted.split('_').collect();
        let words: Vec<&str> = text.words().collect();
        return words
            .windows(parts.len())
            .any(|said| said.iter().zip(&parts).all(|(said, part)| is_word(said, part)));
    }
    text.words().any(|said| is_word(said, wanted))
}

#[cfg(test)]
mod tests;
