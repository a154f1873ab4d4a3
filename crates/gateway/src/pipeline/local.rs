//! What a call names and runs on this machine: paths, absolute and with their links followed, and SQL. The one step of the
//! road that looks at files.

use std::path::{Path, PathBuf};

use highwater_core::action::ActionKind;
use highwater_core::profile::never_free::lexical;
use highwater_core::profile::{Engine, LocalAct, Named, NamedThings, Places, ToolShape, sql};
use highwater_mcp::text::{elements, is_array, is_object, member, members, unquote};

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
}

// === impl LocalFacts ===

impl LocalFacts {
    /// Those of a call under its contract for these arguments. Who changes nothing may name anything.
    pub(super) fn of(proposed: &Proposed, places: &Places) -> Self {
        if proposed.action.kind() != ActionKind::CallTool || !proposed.contract.acts() {
            return proposed.local;
        }
        let known = proposed.known();
        let shape = &known.shape;
        let named = named(shape, proposed.arguments(), places.home.as_deref()).judged(shape, places);
        let act = LocalAct::judge(known.profile, shape, &proposed.contract, named);
        Self { named, act, ..proposed.local }
    }
}

/// Whether a call runs an SQL text that certainly only reads.
pub(super) fn reads_by_sql(proposed: &Proposed) -> bool {
    let Some(Engine::Sql { argument }) = proposed.known().shape.runs() else { return false };
    let mut texts = values(proposed.arguments(), argument);
    texts.len() == 1 && texts.pop().is_some_and(|text| sql::reads_only(&text))
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
fn followed(path: &Path) -> Option<String> {
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
fn values(arguments: &str, pointer: &str) -> Vec<String> {
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
