//! Finds the program a command means, so that a missing one is named before anything is started.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Where programs are looked for when the environment has no `PATH`, as the C library does it.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Why a command leads to no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// There is no such file, in any directory of the path.
    Absent,
    /// There is a file, but it may not be executed.
    NotExecutable,
}

/// Finds what `command` would start: by the search path, or, where it holds a slash, from `cwd`.
pub(crate) fn resolve(command: &str, path: Option<&str>, cwd: Option<&Path>) -> Result<PathBuf, Missing> {
    if command.contains('/') {
        let file = cwd.unwrap_or(Path::new("")).join(command);
        return executable(&file).map(|()| file);
    }
    let mut missing = Missing::Absent;
    for directory in path.unwrap_or(DEFAULT_PATH).split(':') {
        // An empty entry means the current directory, by an old rule that `execvp` still keeps.
        let directory =
            if directory.is_empty() { cwd.unwrap_or(Path::new(".")) } else { Path::new(directory) };
        let file = cwd.unwrap_or(Path::new("")).join(directory).join(command);
        match executable(&file) {
            Ok(()) => return Ok(file),
            Err(Missing::NotExecutable) => missing = Missing::NotExecutable,
            Err(Missing::Absent) => {}
        }
    }
    Err(missing)
}

/// Where the common launchers come from, for people who paste a configuration and lack one.
pub(crate) fn hint(command: &str) -> &'static str {
    match command.rsplit('/').next().unwrap_or(command) {
        "npx" | "node" | "npm" => "; it comes with Node.js",
        "uvx" | "uv" => "; it comes with uv, the Python package manager",
        "python" => "; many systems call it `python3`",
        "docker" => "; it comes with Docker",
        "podman" => "; it comes with Podman",
        "bunx" | "bun" => "; it comes with Bun",
        "deno" => "; it comes with Deno",
        "dnx" | "dotnet" => "; it comes with .NET",
        _ => "",
    }
}

fn executable(file: &Path) -> Result<(), Missing> {
    if !std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file()) {
        return Err(Missing::Absent);
    }
    access(file, Access::EXEC_OK).map_err(|_| Missing::NotExecutable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_looked_for_on_the_path() {
        assert_eq!(resolve("sh", Some("/nonexistent:/bin"), None), Ok(PathBuf::from("/bin/sh")));
        assert_eq!(resolve("sh", None, None), Ok(PathBuf::from("/bin/sh")));
        assert_eq!(resolve("sh", Some("/nonexistent"), None), Err(Missing::Absent));
        assert_eq!(resolve("", Some("/bin"), None), Err(Missing::Absent));
    }

    #[test]
    fn a_name_with_a_slash_starts_from_the_working_directory() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("plain"), "text").unwrap();
        std::os::unix::fs::symlink("/bin/sh", directory.path().join("shell")).unwrap();
        let from = Some(directory.path());
        assert!(resolve("./shell", None, from).is_ok());
        assert_eq!(resolve("./plain", None, from), Err(Missing::NotExecutable));
        assert_eq!(resolve("./absent", None, from), Err(Missing::Absent));
        assert_eq!(resolve("/bin", None, None), Err(Missing::Absent));
    }
}
