//! The names by which a call tells which stored thing it means: canonical, and made so that two names that may stand for
//! one thing meet.
//!
//! Names form a tree, as paths do: who writes `notes/plan` has written into `notes`, and who reads `notes` may read the
//! plan. A thing is named by all the arguments that name something, together: `README.md` of one repository says nothing
//! of `README.md` of another.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_notation::spelling::{Root, below_root, canonical, lower, root, steps};

/// How deep a name is looked at. What lies deeper is taken for the whole of what it lies in.
const DEEPEST: usize = 32;

/// One canonical name. It begins with a slash where it is certain what it starts from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// All that a call names, by what kind of name each is: the path in the repository, the repository itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Named(BTreeMap<Arc<str>, Vec<Name>>);

// === impl Name ===

impl Name {
    /// One spelling for what a server may take for one name: escapes are read, letters are small, there is one kind of
    /// slash, no empty step and no `.`; `..` goes one step up. Two things under one name share a label, which only adds;
    /// one thing under two names would lose it.
    pub fn new(text: &str) -> Self {
        let text = canonical(text);
        let text = lower(&text);
        let rooted = matches!(root(&text), Root::Slash | Root::Drive | Root::Scheme);
        let steps = steps(below_root(&text).split('/').map(str::trim));
        let kept = steps.get(..DEEPEST).unwrap_or(&steps).join("/");
        Self(if rooted { format!("/{kept}").into() } else { kept.into() })
    }

    /// As it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The steps from the root down.
    pub(super) fn steps(&self) -> Vec<&str> {
        self.0.split('/').filter(|step| !step.is_empty()).collect()
    }

    fn is_rooted(&self) -> bool {
        self.0.starts_with('/')
    }

    /// Whether one of the two may be the other, or lie in it. A name that does not say where it starts may start
    /// anywhere: it meets a name that does where its steps are found in that one.
    pub fn meets(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.steps(), other.steps());
        if mine.is_empty() || theirs.is_empty() {
            return true;
        }
        match (self.is_rooted(), other.is_rooted()) {
            (true, true) | (false, false) => mine.starts_with(&theirs) || theirs.starts_with(&mine),
            (true, false) => is_found(&theirs, &mine),
            (false, true) => is_found(&mine, &theirs),
        }
    }
}

/// Whether a name without a root may be, or lie in, or hold, one with a root.
fn is_found(floating: &[&str], rooted: &[&str]) -> bool {
    let within = rooted.windows(floating.len()).any(|steps| steps == floating);
    let holds =
        || (1..floating.len()).any(|most| floating.get(..most).is_some_and(|first| rooted.ends_with(first)));
    within || holds()
}

// === impl Named ===

impl Named {
    /// The kind of name that a file has.
    pub const PATH: &str = "path";

    /// Adds what one argument names. `kind` tells which arguments of different tools say the same.
    pub fn add(&mut self, kind: &str, name: Name) {
        let names = self.0.entry(kind.into()).or_default();
        if let Err(at) = names.binary_search(&name) {
            names.insert(at, name);
        }
    }

    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether something is named by such a name.
    pub fn has_kind(&self, kind: &str) -> bool {
        self.0.contains_key(kind)
    }

    /// Which kinds of name there are.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|kind| &**kind)
    }

    /// The names of one kind.
    pub(super) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Name> {
        self.0.get(kind).into_iter().flatten()
    }

    /// Every name in it.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.0.values().flatten()
    }

    /// Whether what one of the two names may be what the other names, or lie in it. What only one of them says leaves
    /// the other open; where they say nothing alike, any name in common will do.
    pub fn meets(&self, other: &Self) -> bool {
        let mut shared = false;
        for (kind, names) in &self.0 {
            let Some(others) = other.0.get(kind) else { continue };
            shared = true;
            if !names.iter().any(|name| others.iter().any(|other| name.meets(other))) {
                return false;
            }
        }
        shared || self.names().any(|name| other.names().any(|other| name.meets(other)))
    }

    /// Whether a resource may be what is named here: each part of it stands in the URI.
    pub(super) fn meets_resource(&self, uri: &Name) -> bool {
        self.0.values().all(|names| names.iter().any(|name| name.meets(uri)))
    }

    /// As it is stored: pairs of kind and names.
    pub fn to_text(&self) -> String {
        let pairs: Vec<(&str, Vec<&str>)> =
            self.0.iter().map(|(kind, names)| (&**kind, names.iter().map(Name::as_str).collect())).collect();
        serde_json::to_string(&pairs).unwrap_or_default()
    }

    /// What was stored. What cannot be read names nothing.
    pub fn from_text(text: &str) -> Self {
        let pairs: Vec<(String, Vec<String>)> = serde_json::from_str(text).unwrap_or_default();
        let mut named = Self::default();
        for (kind, names) in pairs {
            names.iter().for_each(|name| named.add(&kind, Name::new(name)));
        }
        named
    }

    /// For people: every name, with its kind where that is no path.
    pub fn words(&self) -> String {
        let word = |(kind, names): (&Arc<str>, &Vec<Name>)| {
            let names: Vec<&str> = names.iter().map(Name::as_str).collect();
            if &**kind == Self::PATH { names.join(", ") } else { format!("{kind} {}", names.join(", ")) }
        };
        self.0.iter().map(word).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meets(one: &str, other: &str) -> bool {
        let (one, other) = (Name::new(one), Name::new(other));
        assert_eq!(one.meets(&other), other.meets(&one), "{one:?} {other:?}");
        one.meets(&other)
    }

    fn named(pairs: &[(&str, &str)]) -> Named {
        let mut named = Named::default();
        pairs.iter().for_each(|(kind, name)| named.add(kind, Name::new(name)));
        named
    }

    #[test]
    fn every_spelling_of_a_name_meets_every_other() {
        for spelling in [
            "notes/plan",
            "./notes/plan",
            "notes//plan/",
            "Notes/PLAN",
            r"notes\plan",
            "notes/x/../plan",
            " notes/plan ",
            "notes%2Fplan",
        ] {
            assert!(meets("notes/plan", spelling), "{spelling}");
        }
    }

    #[test]
    fn a_folder_holds_what_is_in_it_and_nothing_else() {
        assert!(meets("notes/2027/plan", "notes"));
        assert!(!meets("notes/2027/plan", "notes/2026"));
        assert!(!meets("notes", "notebook"));
        assert!(meets("/srv/notes/plan", "/srv"));
        assert!(!meets("/srv/notes/plan", "/var"));
    }

    #[test]
    fn absolute_and_relative_names_meet() {
        assert!(meets("team/a.txt", "/srv/files/team/a.txt"));
        assert!(meets("a.txt", "/srv/files/team/a.txt"));
        assert!(meets("team", "/srv/files/team/a.txt"));
        assert!(meets("team/a.txt", "/srv/files/team"));
        assert!(meets("team/a.txt", "file:///srv/files/team/a.txt"));
        assert!(meets("team/a.txt", r"C:\files\team\a.txt"));
        assert!(!meets("team/a.txt", "/srv/files/other/a.txt"));
        assert!(!meets("team/a.txt", "/srv/files/team/b.txt"));
        assert!(meets("~/src/a.rs", "/home/ada/src/a.rs"));
    }

    #[test]
    fn a_name_that_names_nothing_meets_everything() {
        for nothing in ["", ".", "/", "../.."] {
            assert!(meets(nothing, "notes/plan"), "{nothing}");
            assert!(meets(nothing, "/notes/plan"), "{nothing}");
        }
        let deep = "a/".repeat(100);
        assert!(meets(&deep, &"a/".repeat(DEEPEST)));
    }

    #[test]
    fn a_file_of_one_repository_says_nothing_of_the_same_file_of_another() {
        let written = named(&[("repo", "website"), ("path", "README.md")]);
        assert!(written.meets(&named(&[("repo", "website"), ("path", "readme.md")])));
        assert!(!written.meets(&named(&[("repo", "diary"), ("path", "README.md")])));
        assert!(!written.meets(&named(&[("repo", "website"), ("path", "LICENSE")])));
        assert!(written.meets(&named(&[("repo", "website")])), "who lists it may list this");
        assert!(!written.meets(&named(&[("repo", "diary")])));
    }

    #[test]
    fn where_two_tools_say_nothing_alike_a_common_name_will_do() {
        let note = named(&[("note", "42")]);
        assert!(note.meets(&named(&[("id", "42")])));
        assert!(!note.meets(&named(&[("id", "43")])));
    }

    #[test]
    fn a_resource_is_met_by_what_stands_in_its_uri() {
        let written = named(&[("repo", "website"), ("path", "README.md")]);
        assert!(written.meets_resource(&Name::new("repo://website/README.md")));
        assert!(!written.meets_resource(&Name::new("repo://diary/README.md")));
        assert!(named(&[("path", "a")]).meets_resource(&Name::new("file:///a")));
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let written = named(&[("repo", "website"), ("path", "/srv/a b"), ("path", "x")]);
        assert_eq!(Named::from_text(&written.to_text()), written);
        assert_eq!(written.words(), "/srv/a b, x; repo website");
        assert!(Named::from_text("nonsense").is_empty());
    }
}
