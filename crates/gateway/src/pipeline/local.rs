//! What a call names on this machine: paths, absolute and with their links followed. The one step of the road that looks
//! at files.

use std::path::{Path, PathBuf};

use highwater_core::action::ActionKind;
use highwater_core::profile::never_free::lexical;
use highwater_core::profile::{LocalAct, NamedThings, Places, Profile, ToolShape};
use highwater_mcp::text::{elements, is_array, is_object, member, members, unquote};

use super::proposed::Proposed;

/// How many values a call may name before it is taken for one that cannot be told.
const MOST_NAMED: usize = 256;

/// Whether what a call changes stays on this machine and can be undone.
pub(super) fn local_act(proposed: &Proposed, places: &Places) -> LocalAct {
    let known = proposed.known();
    let (shape, profile) = (&known.shape, known.profile);
    let concerns = profile == Profile::Local || !shape.paths().is_empty();
    if proposed.action.kind() != ActionKind::CallTool || !concerns || !proposed.contract.acts() {
        return LocalAct::No;
    }
    let named = named(shape, proposed.arguments(), places.home.as_deref());
    LocalAct::judge(profile, shape, &proposed.contract, &named, places)
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
            // What looks like a path may be one, whatever its argument is called.
            if !shape.paths().contains(pointer) && !value.contains(['/', '\\', '~']) {
                continue;
            }
            let path = lexical(&value, base.as_deref(), home);
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

/// The one text at a pointer.
pub(super) fn text_at(arguments: &str, pointer: &str) -> Option<String> {
    let mut found = values(arguments, pointer);
    if found.len() == 1 { found.pop() } else { None }
}
