//! The folders that the operator works in.

use std::path::PathBuf;

use super::Lowering;
use crate::file::ConfigFile;

impl Lowering<'_> {
    /// Absolute paths, with the home directory put in for `~`.
    pub(super) fn projects(&self, file: &ConfigFile) -> Vec<PathBuf> {
        let written = file.projects.value().into_iter().flatten();
        written
            .filter_map(|project| {
                let text = self.text("`projects`", project)?;
                let path = match text.strip_prefix('~') {
                    Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                        (self.environment)("HOME").map(|home| format!("{home}{rest}"))
                    }
                    Some(_) => None,
                    None => Some(text.clone()),
                };
                let path = path.map(PathBuf::from).filter(|path| path.is_absolute());
                // The whole disk is no project: everything would lie in it.
                let names_folder = |path: &PathBuf| path.parent().is_some();
                if path.as_ref().is_some_and(names_folder) {
                    return path;
                }
                self.report(
                    project.span,
                    format!("`projects` has `{text}`, which is no absolute path of a folder"),
                    "write a path such as `/home/ada/src/website` or `~/src/website`",
                );
                None
            })
            .collect()
    }
}
