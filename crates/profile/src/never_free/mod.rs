//! Paths that are never free to write: what something runs or loads without being asked, and our own files.
//!
//! Nothing here touches a disk. Whoever asks has followed the links, of the folder where the file itself does not
//! exist yet. A path that cannot be told is never an ordinary one.

mod inside;
mod lexical;
mod list;

pub use inside::is_inside;
pub use lexical::lexical;

use list::{HOOK_FOLDERS, HOOK_SETTINGS, NAMED_FOLDERS, NAMES, PREFIXES, SUFFIXES, SYSTEM_FOLDERS};

/// What a path is, to somebody who wants to write, move or delete what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathJudgement {
    /// Nothing runs or loads it before somebody says so.
    Ordinary,
    /// Something runs or loads it unasked. The text completes "this is …".
    RunsOrLoads(&'static str),
    /// One of the files that the caller named as ours, or what says which hooks of an agent's host run.
    Ours,
}

/// Judges an absolute, `/`-separated path whose links were followed. `ours` are files and folders in the same form:
/// the data directory and the configuration. A folder that merely contains one of them is
/// not ours; ask [`is_inside`] the other way round before a folder is moved or deleted.
///
/// Names are compared as the most forgiving file system does: without letter case, without characters that have no
/// width, without dots and blanks at the end. Some ordinary file is taken for more than it is that way; no other is
/// taken for less.
pub fn judge(path: &str, ours: &[String]) -> PathJudgement {
    let Some(names) = names(path) else { return PathJudgement::RunsOrLoads(list::CANNOT_BE_TOLD) };
    let is_ours = |of: &String| self::names(of).is_some_and(|of| !of.is_empty() && names.starts_with(&of));
    if sets_hooks(&names) || ours.iter().any(is_ours) {
        return PathJudgement::Ours;
    }
    match reason(&names) {
        Some(what) => PathJudgement::RunsOrLoads(what),
        None => PathJudgement::Ordinary,
    }
}

/// Whether it says which hooks of an agent's host run.
fn sets_hooks(names: &[String]) -> bool {
    let is_at_end = |tail: &&[&str]| {
        let ends = names.iter().rev().zip(tail.iter().rev()).all(|(name, end)| name == end);
        names.len() >= tail.len() && ends
    };
    let is_inside = |run: &&[&str]| names.windows(run.len()).any(|of| *of == **run);
    HOOK_SETTINGS.iter().any(is_at_end) || HOOK_FOLDERS.iter().any(is_inside)
}

/// Why something is run or loaded unasked, if it is.
fn reason(names: &[String]) -> Option<&'static str> {
    if names.is_empty() {
        return Some(list::SYSTEM);
    }
    // The first in the order of the list is told, which is not always the first in the path.
    let any = |holds: &dyn Fn(&str) -> bool| names.iter().any(|name| holds(name));
    let found = |(what, holds): (&'static str, bool)| holds.then_some(what);
    let by_name = NAMES.iter().map(|(what, all)| (*what, any(&|name| all.contains(name))));
    let by_prefix = PREFIXES.iter().map(|(what, prefix)| (*what, any(&|name| name.starts_with(prefix))));
    let by_suffix = SUFFIXES.iter().map(|(what, suffix)| (*what, any(&|name| name.ends_with(suffix))));
    let by_folder =
        NAMED_FOLDERS.iter().map(|(what, run)| (*what, names.windows(run.len()).any(|of| of == *run)));
    let by_system =
        SYSTEM_FOLDERS.iter().map(|(what, run)| (*what, names.get(..run.len()).is_some_and(|of| of == *run)));
    by_name.chain(by_prefix).chain(by_suffix).chain(by_folder).chain(by_system).find_map(found)
}

/// The names along a path, each in the form in which it is compared, whatever kind of path it is.
pub(super) fn comparable_names(path: &str) -> Vec<String> {
    path.split(['/', '\\', ':']).filter(|name| !name.is_empty()).map(comparable).collect()
}

/// The names along a path, each in the form in which it is compared; `None` if the path is not an absolute one that
/// was resolved.
fn names(path: &str) -> Option<Vec<String>> {
    let rest = path.strip_prefix('/')?;
    if path.contains('\0') {
        return None;
    }
    // Where a backslash separates too, it does; behind a colon NTFS names a stream of the same file. Elsewhere a
    // strange name is split for nothing.
    let parts = rest.split(['/', '\\', ':']).filter(|name| !name.is_empty());
    parts.map(|name| (!matches!(name, "." | "..")).then(|| comparable(name))).collect()
}

/// A name as the most forgiving file system compares it.
fn comparable(name: &str) -> String {
    let seen = name.chars().filter(|letter| !has_no_width(*letter));
    // Upper case first: the long s and the dotless i have no lower case that would make them equal to theirs.
    let folded: String = seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    folded.trim_end_matches(['.', ' ']).to_owned()
}

/// The characters that HFS+ leaves out when it compares names, and their relatives.
fn has_no_width(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}')
}

#[cfg(test)]
mod tests;
