//! What a call names and runs on this machine: paths, absolute and with their links followed, and SQL. The one step of the
//! road that looks at files. It tells whether an act stays here, and whether what is read is the user's own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use highwater_core::action::ActionKind;
use highwater_core::annotation::{Authority, Claim, Claims};
use highwater_core::profile::{LocalAct, Named, Profile};
use highwater_mcp::text::{elements, is_array, is_object, member, members, unquote};
use highwater_profile::never_free::{is_inside, lexical};
use highwater_profile::path_source::{is_of_packages, lists_others, others_wrote};
use highwater_profile::{Engine, NamedThings, Places, ToolShape, Walk, sql};

use super::files::Files;
use super::proposed::Proposed;

/// How many values a call may name before it is taken for one that cannot be told.
const MOST_NAMED: usize = 256;

/// What the arguments of a call do on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LocalFacts {
    /// What they name.
    pub(super) named: Named,
    /// Whether what the call changes stays on this machine and can be undone.
    pub(super) act: LocalAct,
    /// Whether they hold an SQL text, to be run, that certainly only reads.
    pub(super) reads_by_sql: bool,
    /// What the reply is known to come from, by the paths that they name.
    pub(super) read_from: ReadFrom,
}

// === impl LocalFacts ===

impl LocalFacts {
    /// A call with what its paths tell of it, under its contract for these arguments.
    pub(super) fn found(proposed: Proposed, places: &Places) -> Proposed {
        let known = Arc::clone(proposed.known());
        let (shape, home) = (&known.shape, places.home.as_deref());
        let is_call = proposed.action.kind() == ActionKind::CallTool;
        // Who changes nothing elsewhere may name anything.
        let matters =
            known.profile == Profile::Local || proposed.contract.acts() || shape.uses_files().is_some();
        let named = match is_call && matters {
            true => named(shape, proposed.arguments(), home),
            false => NamedThings::default(),
        };
        let files = Files::of(&proposed, &named, places);
        let from = read_from(&proposed, &named, places);
        let proposed = Proposed { files, ..proposed.reading_from(from) };
        if !is_call || !proposed.contract.acts() {
            return proposed;
        }
        let named = named.judged(shape, places);
        let act = LocalAct::judge(known.profile, shape.acts(), &proposed.contract, named);
        let local = Self { named, act, ..proposed.local };
        Proposed { local, ..proposed }
    }
}

/// Whether a call runs an SQL text that certainly only reads.
pub(super) fn reads_by_sql(proposed: &Proposed) -> bool {
    let Some(Engine::Sql { argument }) = proposed.known().shape.runs() else { return false };
    let mut texts = values(proposed.arguments(), argument);
    texts.len() == 1 && texts.pop().is_some_and(|text| sql::reads_only(&text))
}

/// What a reply is known to come from by the paths that its call names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReadFrom {
    /// From files of the user's own, or nothing is known by paths.
    #[default]
    Own,
    /// From what others wrote.
    Others,
    /// From what lies below a folder of the user's own: its reply tells the places.
    Below {
        /// Whether folders of downloads count.
        downloads: bool,
    },
}

/// Where a call of a server of this machine reads. What somebody says of the tool's source counts before that.
fn read_from(proposed: &Proposed, named: &NamedThings, places: &Places) -> ReadFrom {
    let known = proposed.known();
    if known.profile != Profile::Local || proposed.contract.names_source() {
        return ReadFrom::Own;
    }
    let (home, projects) = (places.home.as_deref(), &places.projects);
    let is_others = |path: &str| others_wrote(path, work_tree(Path::new(path)).as_deref(), projects);
    match proposed.action.kind() {
        ActionKind::CallTool => {}
        ActionKind::ReadResource => {
            let file = proposed.action.target().strip_prefix("file://");
            let path = file.and_then(|path| lexical(path, None, home));
            let path = path.and_then(|path| followed(Path::new(&path)));
            let others = match (path, file) {
                (Some(path), _) => is_others(&path),
                (None, file) => file.is_some_and(is_of_packages),
            };
            return if others { ReadFrom::Others } else { ReadFrom::Own };
        }
        _ => return ReadFrom::Own,
    }
    let (shape, arguments) = (&known.shape, proposed.arguments());
    let mut written = shape.objects().iter().flat_map(|pointer| values(arguments, pointer));
    if named.paths.iter().any(|path| is_others(path)) || written.any(|value| is_of_packages(&value)) {
        return ReadFrom::Others;
    }
    match shape.walks() {
        None => ReadFrom::Own,
        // Clones and downloads may lie below a folder that is in no project.
        Some(Walk::Searches)
            if !projects.is_empty() && !named.paths.iter().all(|path| is_inside(path, projects)) =>
        {
            ReadFrom::Others
        }
        // Of what is no folder there is nothing below.
        Some(Walk::Lists | Walk::Searches) if shape.paths().is_empty() && named.paths.is_empty() => {
            ReadFrom::Own
        }
        Some(Walk::Lists | Walk::Searches) => ReadFrom::Below { downloads: projects.is_empty() },
    }
}

/// That strangers may have written what comes back, where it does come from them. `reply` is the result, once it is there.
pub(super) fn said_by_places(from: ReadFrom, reply: Option<&str>) -> Option<Claims> {
    let strangers = match (from, reply) {
        (ReadFrom::Others, _) => true,
        (ReadFrom::Below { downloads }, Some(reply)) => lists_others(reply, downloads),
        (ReadFrom::Own, _) | (ReadFrom::Below { .. }, None) => false,
    };
    strangers.then(|| {
        let mut said = Claims::new();
        said.push(Claim::Untrusted, Authority::Profile, "profile");
        said
    })
}

/// The root of the git work tree that a path lies in, if it lies in one.
pub(crate) fn work_tree(path: &Path) -> Option<String> {
    let root = path.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    root.to_str().map(str::to_owned)
}

/// The places that matter, with their links followed. What is not there yet is taken as it is written.
pub(crate) fn places(projects: &[PathBuf], ours: &[PathBuf], home: Option<&str>) -> Places {
    let all = |paths: &[PathBuf]| paths.iter().filter_map(|path| followed(path)).collect();
    Places { projects: all(projects), ours: all(ours), home: home.map(str::to_owned) }
}

fn named(shape: &ToolShape, arguments: &str, home: Option<&str>) -> NamedThings {
    let mut found = NamedThings::default();
    // A relative name lies in the folder that the call itself names, if it names one.
    let base = shape
        .paths()
        .iter()
        .filter(|pointer| !pointer.contains('*'))
        .flat_map(|pointer| values(arguments, pointer))
        .find_map(|value| lexical(&value, None, home));
    let mut count = 0;
    for pointer in shape.objects() {
        for value in values(arguments, pointer) {
            count += 1;
            found.names_object |= !value.is_empty();
            let is_path = shape.paths().contains(pointer);
            // What looks like a path may be one, whatever its argument is called; and a name with a slash in it need not.
            if !is_path && !value.contains(['/', '\\', '~']) {
                continue;
            }
            let base = base.as_deref().or((!is_path).then_some("/"));
            let path = lexical(&value, base, home);
            match path.and_then(|path| followed(Path::new(&path))) {
                Some(path) => found.paths.push(path),
                None => found.has_unknown_path = true,
            }
        }
    }
    found.has_unknown_path |= count > MOST_NAMED;
    found
}

/// The path with every link followed, as far as it exists.
pub(crate) fn followed(path: &Path) -> Option<String> {
    let mut missing = Vec::new();
    let mut at = path;
    loop {
        match at.canonicalize() {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return real.into_os_string().into_string().ok();
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // A link that leads nowhere may be led somewhere by whoever writes through it.
                if at.symlink_metadata().is_ok() {
                    return None;
                }
                missing.push(at.file_name()?);
                at = at.parent()?;
            }
            Err(_) => return None,
        }
    }
}

/// The texts at a pointer; `*` stands for every item of a list and every member of an object.
pub(super) fn values(arguments: &str, pointer: &str) -> Vec<String> {
    let mut at = vec![arguments];
    for step in pointer.split('/') {
        at = at
            .into_iter()
            .flat_map(|value| -> Vec<&str> {
                match step {
                    "*" if is_array(value) => elements(value).take(MOST_NAMED + 1).collect(),
                    "*" if is_object(value) => {
                        members(value).take(MOST_NAMED + 1).map(|(_, value)| value).collect()
                    }
                    "*" => Vec::new(),
                    name => {
                        let name = name.replace("~1", "/").replace("~0", "~");
                        member(value, &name).into_iter().collect()
                    }
                }
            })
            .collect();
    }
    at.into_iter().filter_map(unquote).map(std::borrow::Cow::into_owned).collect()
}
