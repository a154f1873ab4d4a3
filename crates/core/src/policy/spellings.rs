//! A test of a path, a URI or any other text that an agent spells and a server reads: asked of every spelling.
//!
//! Where one spelling passes and another does not, nobody knows what the server will make of it. The test is then
//! unknown: a rule fires, and a case or a waiver does not hold.

use std::fmt;

use highwater_notation::Glob;
use highwater_notation::spelling::{
    DECODED, Root, below_root, decoded, decoded_unless, is_plain, lower, resolved, root,
};

use super::condition::{Check, by_length, listed};
use super::kind::Truth;

/// Ends of an absolute pattern that are held against a relative text. A pattern with more is taken to meet it.
const ENDS: usize = 64;

/// What other spellings of a text are held against: the other spellings of what the test asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spellings {
    asked: Asked,
    /// Whether what is asked for is spelled in one way only, and from no root.
    plain: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    /// Texts: each in canonical form; and the same without case. In the order of [`by_length`].
    Texts { canonical: Box<[Box<str>]>, folded: Box<[Box<str>]> },
    /// A glob, likewise.
    Glob { canonical: Box<[Glob]>, folded: Box<[RootedGlob]> },
}

/// A glob in lower case, and how it meets texts that start from another root.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RootedGlob {
    glob: Glob,
    /// What it starts from; nothing where it starts with a wildcard and so meets every root by itself.
    root: Option<Root>,
    /// It stands somewhere below the text's root.
    below: Option<Glob>,
    /// The text stands somewhere below the glob's root: what is left of the glob there.
    ends: Box<[Glob]>,
    /// There are more such ends than are tried, or they are too long to be tried.
    crowded: bool,
}

/// A glob over URIs or paths that is asked of every spelling of a text.
#[derive(Clone, PartialEq, Eq)]
pub struct PathGlob {
    glob: Glob,
    spellings: Spellings,
}

/// What a canonical text is like where a test of it may hold: a pattern without case, behind what a glob says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Likeness {
    /// Whether this is only for texts that start from no root.
    pub relative: bool,
    /// A glob for what stands before it.
    pub before: &'static str,
    /// The pattern, in lower case.
    pub pattern: Box<str>,
    /// Whether the pattern is a text and no glob.
    pub literal: bool,
}

// === impl PathGlob ===

impl PathGlob {
    /// Checks the length; every text is a pattern.
    pub fn new(pattern: &str) -> Option<Self> {
        let glob = Glob::new(pattern)?;
        Some(Self { spellings: Spellings::of_glob(&glob), glob })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        self.glob.as_str()
    }

    /// Whether the text matches in every spelling, in none, or in some.
    pub fn truth(&self, text: &str) -> Truth {
        self.spellings.truth(self.glob.matches(text), text)
    }
}

impl fmt::Debug for PathGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PathGlob").field(&self.as_str()).finish()
    }
}

// === impl Spellings ===

impl Spellings {
    /// What a check of texts asks for; other checks have no spellings.
    pub(super) fn of(check: &Check) -> Option<Self> {
        match check {
            Check::Text(texts) => Some(Self::of_texts(texts)),
            Check::Matches(glob) => Some(Self::of_glob(glob)),
            Check::Among(_)
            | Check::Has(_)
            | Check::Above(_)
            | Check::Below(_)
            | Check::Number(_)
            | Check::Exists => None,
        }
    }

    fn of_texts(texts: &[Box<str>]) -> Self {
        let read = |text: &str| {
            [resolved(text).into_owned(), highwater_notation::spelling::canonical(text).into_owned()]
        };
        let canonical = ordered(texts.iter().flat_map(|text| read(text)));
        let folded =
            texts.iter().map(|text| text.to_string()).chain(texts.iter().flat_map(|text| read(text)));
        let folded = ordered(folded.map(|text| lower(&text).into_owned()));
        Self { plain: texts.iter().all(|text| is_plain(text)), asked: Asked::Texts { canonical, folded } }
    }

    fn of_glob(glob: &Glob) -> Self {
        let written = glob.as_str();
        let mut escaped = written.to_owned();
        for _ in 0..DECODED {
            // An escaped wildcard is a letter like others, and would not be one any more.
            let Some(next) = decoded_unless(&escaped, |byte| matches!(byte, b'*' | b'?')) else { break };
            escaped = next;
        }
        let read = distinct([written, &escaped].into_iter().flat_map(resolved_globs));
        let as_written = lower(written).into_owned();
        let folded = distinct(
            std::iter::once(as_written).chain(read.iter().map(|pattern| lower(pattern).into_owned())),
        );
        let plain = folded == [written] && is_unrooted(written);
        let canonical = read.iter().filter_map(|pattern| Glob::new(pattern)).collect();
        let folded = folded.iter().filter_map(|pattern| RootedGlob::new(pattern)).collect();
        Self { plain, asked: Asked::Glob { canonical, folded } }
    }

    /// What the test is worth for a text that, as it stands, passes or not.
    pub(super) fn truth(&self, passes: bool, text: &str) -> Truth {
        if self.plain && is_plain(text) {
            return passes.into();
        }
        let unsure = if passes { self.may_fail(text) } else { self.may_pass(text) };
        if unsure { Truth::Unknown } else { passes.into() }
    }

    /// Whether another spelling of a text that passes does not. A text that passes does so without case as well.
    fn may_fail(&self, text: &str) -> bool {
        any_reading(text, |reading| {
            let spelled = resolved(reading);
            *spelled != *text && !with_slash(reading, &spelled, |spelled| self.asked.has_canonical(spelled))
        })
    }

    /// Whether another spelling of a text that does not pass does.
    fn may_pass(&self, text: &str) -> bool {
        self.asked.has_folded(&lower(text))
            || any_reading(text, |reading| {
                with_slash(reading, &lower(&resolved(reading)), |spelled| self.asked.has_folded(spelled))
            })
    }

    /// What a text in canonical form is like where the test may hold, for each text or glob that is asked for. It
    /// certainly holds where the text passes.
    pub fn likenesses(&self) -> Vec<Vec<Likeness>> {
        match &self.asked {
            Asked::Texts { folded, .. } => folded.iter().map(|text| Likeness::of(text, true)).collect(),
            Asked::Glob { folded, .. } => {
                folded.iter().map(|rooted| Likeness::of(rooted.glob.as_str(), false)).collect()
            }
        }
    }
}

/// Asks something of the text, and of what is left of it each time its escapes are read. A text that has escapes even
/// then is nothing that anybody means: the answer is yes.
fn any_reading(text: &str, mut of: impl FnMut(&str) -> bool) -> bool {
    if of(text) {
        return true;
    }
    let Some(mut reading) = decoded(text) else { return false };
    for _ in 1..DECODED {
        if of(&reading) {
            return true;
        }
        match decoded(&reading) {
            Some(next) => reading = next,
            None => return false,
        }
    }
    of(&reading) || decoded(&reading).is_some()
}

/// Whether the spelling passes, with the slash at its end or without, if it was written with one.
fn with_slash(written: &str, spelled: &str, passes: impl Fn(&str) -> bool) -> bool {
    let had = written.trim_end().ends_with(['/', '\\']) && !spelled.is_empty() && !spelled.ends_with('/');
    passes(spelled) || (had && passes(&format!("{spelled}/")))
}

/// The spellings of a glob: one kind of slash, no empty steps, no `.`. What `..` goes up from may be a wildcard, so it
/// stays; blanks stay as well, since one may be all that a wildcard stands beside. The `//` of a scheme is no empty
/// step; where a wildcard stands before the scheme, it may be one.
fn resolved_globs(pattern: &str) -> Vec<String> {
    let slashed = pattern.replace('\\', "/");
    let behind =
        slashed.find("://").filter(|at| slashed.find('/') == Some(at + 1)).map(|at| at + "://".len());
    match behind {
        Some(behind) if slashed.starts_with('*') => vec![joined(&slashed, behind), joined(&slashed, 0)],
        Some(behind) if root(&slashed) == Root::Scheme => vec![joined(&slashed, behind)],
        _ => vec![joined(&slashed, 0)],
    }
}

/// The pattern with its steps as they should be, but for the part up to here and the authority that follows it.
fn joined(pattern: &str, kept: usize) -> String {
    let (scheme, after) = pattern.split_at_checked(kept).unwrap_or(("", pattern));
    let authority = if kept == 0 { 0 } else { after.find('/').unwrap_or(after.len()) };
    let (authority, path) = after.split_at_checked(authority).unwrap_or(("", after));
    let mut made = format!("{scheme}{authority}");
    let steps: Vec<&str> = path.split('/').filter(|step| !matches!(*step, "" | ".")).collect();
    if path.starts_with('/') && (made.is_empty() || !steps.is_empty()) {
        made.push('/');
    }
    made.push_str(&steps.join("/"));
    made
}

fn distinct(patterns: impl Iterator<Item = String>) -> Vec<String> {
    let mut patterns: Vec<String> = patterns.collect();
    patterns.sort_unstable();
    patterns.dedup();
    patterns
}

/// Whether a pattern in lower case starts from no root: it is relative, or starts with a wildcard.
fn is_unrooted(pattern: &str) -> bool {
    pattern.starts_with('*') || root(pattern) == Root::Relative
}

fn ordered(texts: impl Iterator<Item = String>) -> Box<[Box<str>]> {
    let mut texts: Vec<Box<str>> = texts.map(Into::into).collect();
    texts.sort_unstable_by(|a, b| by_length(a, b));
    texts.dedup();
    texts.into()
}

/// Whether a pattern says anything but that something is there.
fn has_letters(pattern: &str) -> bool {
    pattern.contains(|c| !matches!(c, '*' | '?' | '/'))
}

// === impl Asked ===

impl Asked {
    fn has_canonical(&self, text: &str) -> bool {
        match self {
            Self::Texts { canonical, .. } => listed(canonical, text),
            Self::Glob { canonical, .. } => canonical.iter().any(|glob| glob.matches(text)),
        }
    }

    /// Whether a text in lower case is asked for, or would be if it started where the pattern does.
    fn has_folded(&self, text: &str) -> bool {
        match self {
            Self::Texts { folded, .. } => {
                listed(folded, text) || folded.iter().any(|other| meet(other, text))
            }
            Self::Glob { folded, .. } => folded.iter().any(|glob| glob.meets(text)),
        }
    }
}

/// Whether two texts that start from different roots may be one: one ends with all the other says behind its root.
fn meet(one: &str, other: &str) -> bool {
    let (from, to) = (root(one), root(other));
    from != to
        && ((to != Root::Relative && ends_at_step(other, below_root(one)))
            || (from != Root::Relative && ends_at_step(one, below_root(other))))
}

fn ends_at_step(text: &str, end: &str) -> bool {
    !end.is_empty() && text.strip_suffix(end).is_some_and(|before| before.ends_with('/'))
}

// === impl RootedGlob ===

impl RootedGlob {
    fn new(pattern: &str) -> Option<Self> {
        let glob = Glob::new(pattern)?;
        let alone = Self { glob, root: None, below: None, ends: Box::default(), crowded: false };
        if pattern.starts_with('*') {
            return Some(alone);
        }
        let (root, inside) = (root(pattern), below_root(pattern));
        let below = Glob::new(&format!("*/{inside}"));
        let mut ends = if root == Root::Relative { Vec::new() } else { ends(inside) };
        let crowded = below.is_none() || ends.len() > ENDS;
        ends.truncate(ENDS);
        Some(Self {
            root: Some(root),
            below: below.filter(|_| has_letters(inside)),
            ends: ends.into_iter().filter_map(Glob::new).collect(),
            crowded,
            ..alone
        })
    }

    fn meets(&self, text: &str) -> bool {
        if self.glob.matches(text) {
            return true;
        }
        let (Some(from), to) = (self.root, root(text)) else { return false };
        if from == to {
            return false;
        }
        let below = to != Root::Relative && self.below.as_ref().is_some_and(|glob| glob.matches(text));
        below || self.crowded || {
            let inside = below_root(text);
            self.ends.iter().any(|end| end.matches(inside))
        }
    }
}

/// Each end of a pattern that begins at a step and says something.
fn ends(inside: &str) -> Vec<&str> {
    let starts = std::iter::once(0).chain(inside.match_indices('/').map(|(at, _)| at + 1));
    starts.filter_map(|start| inside.get(start..)).filter(|end| has_letters(end)).collect()
}

// === impl Likeness ===

impl Likeness {
    /// What a text may be like to be taken for this one, or to match it.
    fn of(pattern: &str, literal: bool) -> Vec<Self> {
        let like = |before, pattern: &str| Self { relative: false, before, pattern: pattern.into(), literal };
        let mut all = vec![like("", pattern)];
        if !literal && pattern.starts_with('*') {
            return all;
        }
        let (root, inside) = (root(pattern), below_root(pattern));
        if !inside.is_empty() && (literal || has_letters(inside)) {
            let before = BEFORE.iter().filter(|(of, _)| *of != root);
            all.extend(before.map(|(_, before)| like(before, inside)));
        }
        if root != Root::Relative {
            for end in ends(inside) {
                all.push(Self { relative: true, ..like("", end) });
                let before = AT_ROOT.iter().filter(|(of, _)| *of != root);
                all.extend(before.map(|(_, before)| like(before, end)));
            }
        }
        all
    }
}

impl Likeness {
    /// The globs of canonical texts that start from a root. Only a scheme has `//` there.
    pub const ROOTED: [&'static str; 5] = ["/*", "~*", "?:", "?:/*", "*//*"];
}

/// What may stand before something that lies anywhere below each root.
const BEFORE: [(Root, &str); 7] = [
    (Root::Slash, "/"),
    (Root::Slash, "/*/"),
    (Root::Home, "~*/"),
    (Root::Drive, "?:/"),
    (Root::Drive, "?:/*/"),
    (Root::Scheme, "*//"),
    (Root::Scheme, "*//*/"),
];

/// What may stand before something that lies directly below each root.
const AT_ROOT: [(Root, &str); 5] = [
    (Root::Slash, "/"),
    (Root::Home, "~/"),
    (Root::Drive, "?:/"),
    (Root::Scheme, "*//"),
    (Root::Scheme, "*///"),
];
