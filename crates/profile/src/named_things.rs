//! What a call names, judged by what is never free and by what the operator calls projects.

use highwater_core::profile::Named;

use super::ToolShape;
use super::never_free::{PathJudgement, is_inside, judge};

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

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_core::annotation::{Authority, Claim, Claims, Contract, Hints};
    use highwater_core::profile::{LocalAct, Profile};
    use highwater_core::trust::ServerTrust;

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
        let (contract, _) = Contract::profiled(profile, shape.acts()).weighed(&claims, &trust);
        LocalAct::judge(profile, shape.acts(), &contract, named.judged(&shape, &places()))
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
