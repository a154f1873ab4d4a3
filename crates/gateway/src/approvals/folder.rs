//! The folder that an answer about files may cover: everything below it, but never what something runs or loads unasked, nor
//! a folder so wide that it holds more than anybody meant.

use highwater_profile::Places;
use highwater_profile::never_free::{PathJudgement, is_inside, judge};
use serde::{Deserialize, Serialize};

/// How many names the path of a folder has at least: what lies directly below the root holds whole systems.
const LEAST_NAMES: usize = 2;

/// How an answer about a folder begins as it is kept. Neither a digest of arguments nor a host begins so.
const KEPT: &str = "folder ";

/// Files below one folder, changed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Folder {
    path: String,
    /// The digest of every argument that is neither a path nor text put into a file.
    others: String,
}

// === impl Folder ===

impl Folder {
    /// `others` is the digest of every argument that is neither a path nor text put into a file.
    pub(crate) fn new(path: &str, others: String) -> Self {
        Self { path: path.to_owned(), others }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// How an answer about it is kept.
    pub(crate) fn kept(&self) -> String {
        format!("{KEPT}{} {}", self.others, self.path)
    }

    /// Whether what was kept covers a call that names these files, with this digest of the rest.
    pub(crate) fn covers(kept: &str, others: &str, paths: &[String]) -> bool {
        let Some((digest, folder)) = kept.strip_prefix(KEPT).and_then(|kept| kept.split_once(' ')) else {
            return false;
        };
        let roots = [folder.to_owned()];
        let is_below = |path: &String| is_inside(path, &roots) && path.trim_end_matches('/') != folder;
        digest == others && !paths.is_empty() && paths.iter().all(is_below)
    }
}

/// The folder that a yes to a call may cover that names these files, absolute and with their links followed. `home` is the
/// home directory in the same form.
pub(crate) fn common_folder(paths: &[String], places: &Places, home: Option<&str>) -> Option<String> {
    let mut names: Option<Vec<&str>> = None;
    for path in paths {
        let (parent, _) = path.strip_prefix('/')?.trim_end_matches('/').rsplit_once('/')?;
        let along: Vec<&str> = parent.split('/').collect();
        let shared =
            |names: &Vec<&str>| names.iter().zip(&along).take_while(|(one, other)| one == other).count();
        let count = names.as_ref().map_or(along.len(), shared);
        names = Some(along.into_iter().take(count).collect());
    }
    let names = names.filter(|names| names.len() >= LEAST_NAMES)?;
    let folder = format!("/{}", names.join("/"));
    let is_within = [folder.clone()];
    let holds = |place: &str| is_inside(place, &is_within);
    let is_wide = home.is_some_and(holds)
        || places.home.as_deref().is_some_and(holds)
        || places.ours.iter().any(|ours| holds(ours))
        || places.projects.iter().any(|project| holds(project) && project.trim_end_matches('/') != folder);
    (!is_wide && judge(&folder, &places.ours) == PathJudgement::Ordinary).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(paths: &[&str]) -> Option<String> {
        let places = Places {
            projects: vec!["/home/ada/src/app".to_owned()],
            ours: vec!["/srv/data/highwater".to_owned()],
            home: Some("/home/ada".to_owned()),
        };
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        common_folder(&paths, &places, Some("/mnt/homes/ada"))
    }

    #[test]
    fn a_folder_is_where_all_files_lie() {
        let found = |paths: &[&str]| folder(paths).unwrap();
        assert_eq!(found(&["/home/ada/letters/a.txt"]), "/home/ada/letters");
        assert_eq!(found(&["/home/ada/letters/a.txt", "/home/ada/letters/2026/b.txt"]), "/home/ada/letters");
        assert_eq!(found(&["/home/ada/src/app/a.rs"]), "/home/ada/src/app");
    }

    #[test]
    fn a_folder_that_holds_more_than_anybody_meant_is_none() {
        for paths in [
            &["/home/ada/a.txt"][..],
            &["/home/ada/letters/a.txt", "/home/ada/plans/b.txt"],
            &["/a.txt"],
            &["/srv/a.txt"],
            &["/mnt/homes/a.txt"],
            &["/mnt/homes/ada/a.txt"],
            &["/home/ada/src/a.txt"],
            &["/srv/data/a.txt"],
            &["/home/ada/letters/.git/config"],
            &["/home/ada/.ssh/config"],
            &["/etc/cron.d/x"],
            &["letters/a.txt"],
            &[],
        ] {
            assert_eq!(folder(paths), None, "{paths:?}");
        }
    }

    #[test]
    fn what_is_below_is_covered_and_nothing_beside_it() {
        let kept = Folder::new("/home/ada/my letters", "digest".to_owned()).kept();
        let covers = |others: &str, paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            Folder::covers(&kept, others, &paths)
        };
        assert!(covers("digest", &["/home/ada/my letters/a", "/home/ada/my letters/b/c"]));
        assert!(!covers("other", &["/home/ada/my letters/a"]));
        for paths in [
            &["/home/ada/my letters"][..],
            &["/home/ada/my letters2/a"],
            &["/home/ada/my letters/a", "/home/ada/plans/b"],
            &["/home/ada/my letters/../b"],
            &[],
        ] {
            assert!(!covers("digest", paths), "{paths:?}");
        }
        assert!(!Folder::covers("digest", "digest", &["/home/ada/my letters/a".to_owned()]));
    }
}
