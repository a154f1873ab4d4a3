//! Acts that stay on this machine and can be undone: no questions in `balanced`, whoever may have wanted them.

use highwater_notation::vocabulary;

use super::never_free::{PathJudgement, is_inside, judge};
use super::{Profile, ToolShape};
use crate::annotation::{Contract, Destination};

/// Whether what a call changes stays on this machine and can be undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalAct {
    /// It may leave, or cannot be undone, or nobody knows.
    #[default]
    No,
    /// It stays, and can be undone.
    Undoable,
    /// It would change Highwater's own files, or what makes a host ask it.
    OurFiles,
}

vocabulary! {
    /// What a call names, as far as it matters to whether its act is free. It is on record, so that the call can be judged
    /// once more without its arguments.
    #[derive(Default)]
    Named {
        /// Nothing that it acts on, or nobody looked.
        #[default]
        Nothing = "nothing",
        /// Something that is run or loaded unasked, or that cannot be told.
        Guarded = "guarded",
        /// Things of which none is guarded.
        Things = "things",
        /// Files of which each lies in a project.
        InProjects = "in_projects",
        /// A file of Highwater's own, or what makes a host ask it.
        Ours = "ours",
    }
}

/// What a call names, as far as that could be told.
#[derive(Clone, Debug, Default)]
pub struct NamedThings {
    /// Every path that it names, absolute, with its links followed.
    pub paths: Vec<String>,
    /// Whether a path could not be told, or might stand where nobody looked.
    pub has_unknown_path: bool,
    /// Whether it names at least one thing that it acts on, a path or another.
    pub names_object: bool,
}

/// The places that matter, absolute, with their links followed.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The folders that the operator calls projects.
    pub projects: Vec<String>,
    /// Highwater's own files.
    pub ours: Vec<String>,
    /// What `~` stands for.
    pub home: Option<String>,
}

// === impl NamedThings ===

impl NamedThings {
    /// What they are to a call of a tool of this shape.
    pub fn judged(&self, shape: &ToolShape, places: &Places) -> Named {
        let judged: Vec<PathJudgement> = self.paths.iter().map(|path| judge(path, &places.ours)).collect();
        if judged.contains(&PathJudgement::Ours) {
            return Named::Ours;
        }
        if self.has_unknown_path || judged.iter().any(|path| *path != PathJudgement::Ordinary) {
            return Named::Guarded;
        }
        let in_projects = !self.paths.is_empty()
            && !shape.is_open()
            && self.paths.iter().all(|path| is_inside(path, &places.projects));
        match (self.names_object, in_projects) {
            (false, _) => Named::Nothing,
            (true, false) => Named::Things,
            (true, true) => Named::InProjects,
        }
    }
}

// === impl LocalAct ===

impl LocalAct {
    /// Judges a call of a tool of this shape that names this, at a server of this profile, under its contract for these
    /// arguments.
    pub fn judge(profile: Profile, shape: &ToolShape, contract: &Contract, named: Named) -> Self {
        if !contract.acts() {
            return Self::No;
        }
        let can_be_undone = match named {
            Named::Ours => return Self::OurFiles,
            Named::Nothing | Named::Guarded => false,
            Named::Things => contract.is_known_to_be_undoable(),
            Named::InProjects => true,
        };
        let stays = profile == Profile::Local
            && contract.destination().is_only(Destination::User)
            && shape.sends().is_none()
            && shape.runs().is_none();
        if stays && can_be_undone { Self::Undoable } else { Self::No }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotation::{Authority, Claim, Claims, Hints};
    use crate::trust::ServerTrust;

    const FILE: &str = r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"additionalProperties":false}"#;

    fn named(path: &str) -> NamedThings {
        NamedThings { paths: vec![path.to_owned()], has_unknown_path: false, names_object: true }
    }

    fn places() -> Places {
        Places {
            projects: vec!["/home/ada/src".to_owned()],
            ours: vec!["/home/ada/.hw".to_owned()],
            home: None,
        }
    }

    fn judged(profile: Profile, tool: &str, destructive: Option<bool>, named: &NamedThings) -> LocalAct {
        let shape = ToolShape::read("files", tool, Some(FILE));
        let mut claims = Claims::new();
        if destructive.is_some() {
            let hints = Hints { destructive, open_world: Some(false), ..Hints::default() };
            claims.push(Claim::Hints(hints), Authority::DeclaredVerified, "core");
        }
        let trust = ServerTrust::default().with_profile(profile.replies()).believed_if(true);
        let (contract, _) = Contract::profiled(profile, &shape).weighed(&claims, &trust);
        LocalAct::judge(profile, &shape, &contract, named.judged(&shape, &places()))
    }

    #[test]
    fn inside_a_project_a_write_can_be_undone_even_if_it_destroys() {
        for destructive in [None, Some(true), Some(false)] {
            let act = judged(Profile::Local, "write_file", destructive, &named("/home/ada/src/a/b.rs"));
            assert_eq!(act, LocalAct::Undoable, "{destructive:?}");
        }
    }

    #[test]
    fn outside_of_every_project_only_what_is_known_to_destroy_nothing_is_free() {
        let elsewhere = named("/home/ada/letters/a.txt");
        assert_eq!(judged(Profile::Local, "write_file", Some(false), &elsewhere), LocalAct::Undoable);
        for destructive in [None, Some(true)] {
            assert_eq!(judged(Profile::Local, "write_file", destructive, &elsewhere), LocalAct::No);
        }
    }

    #[test]
    fn what_something_runs_or_loads_is_never_free() {
        for path in
            ["/home/ada/src/a/.git/hooks/pre-commit", "/home/ada/src/CLAUDE.md", "/home/ada/.ssh/config"]
        {
            assert_eq!(
                judged(Profile::Local, "write_file", Some(false), &named(path)),
                LocalAct::No,
                "{path}"
            );
        }
    }

    #[test]
    fn our_own_files_are_nobodys_to_write() {
        let ours = named("/home/ada/.hw/highwater.yaml");
        for profile in [Profile::Local, Profile::Private, Profile::Unknown] {
            assert_eq!(judged(profile, "write_file", None, &ours), LocalAct::OurFiles, "{profile}");
        }
    }

    #[test]
    fn what_names_nothing_or_cannot_be_told_is_asked() {
        let nothing = NamedThings::default();
        assert_eq!(judged(Profile::Local, "write_file", Some(false), &nothing), LocalAct::No);
        let doubtful = NamedThings { has_unknown_path: true, ..named("/home/ada/src/a") };
        for destructive in [None, Some(true), Some(false)] {
            assert_eq!(judged(Profile::Local, "write_file", destructive, &doubtful), LocalAct::No);
        }
    }

    #[test]
    fn no_other_profile_has_acts_that_stay_here() {
        let inside = named("/home/ada/src/a");
        for profile in [Profile::Private, Profile::Public, Profile::Unknown] {
            assert_eq!(judged(profile, "write_file", Some(false), &inside), LocalAct::No, "{profile}");
        }
    }
}
