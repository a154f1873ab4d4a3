//! Who wrote what lies at a path. A server of this machine answers for the user's own files, and not for what was
//! downloaded, installed or cloned: those are strangers' words on the user's disk.
//!
//! Nothing here touches a disk. Whoever asks has followed the links and has looked for the work tree.

use super::never_free::{comparable_names, is_inside};
use super::word_list::WordList;

/// Folders of packages, wherever they stand.
const PACKAGES: WordList = WordList(
    "node_modules bower_components jspm_packages .pnpm-store .npm site-packages dist-packages .venv venv
    .virtualenvs .tox .nox __pypackages__ vendor third_party third-party pods carthage",
);

/// Folders of packages that are told by the folder they lie in.
const PACKAGE_FOLDERS: &[&[&str]] = &[
    &[".cargo", "registry"],
    &[".cargo", "git"],
    &["go", "pkg", "mod"],
    &[".m2", "repository"],
    &[".gradle", "caches"],
    &[".nuget", "packages"],
    &[".yarn", "cache"],
    &[".cache", "pip"],
    &[".cache", "uv"],
    &[".bun", "install"],
];

/// What browsers call the folder that they save to, in the languages of most people. It counts outside of projects: inside
/// one it is as much the user's as every other folder.
const DOWNLOADS: WordList = WordList(
    "download downloads téléchargements descargas scaricati transferências загрузки pobrane hämtningar
    nedlastinger ladattavat letöltések stažené indirilenler ダウンロード 下载 下載 다운로드",
);

/// Whether others wrote what lies at an absolute path whose links were followed. `work_tree` is the root of the git work
/// tree that it lies in, in the same form.
///
/// Inside a project only what lies below its root counts. Outside of all of them a work tree is somebody else's clone, if
/// the operator has named any project: else nothing tells it from the user's own.
pub fn others_wrote(path: &str, work_tree: Option<&str>, projects: &[String]) -> bool {
    let inside = |root: &&String| is_inside(path, std::slice::from_ref(*root));
    match projects.iter().filter(inside).max_by_key(|root| root.len()) {
        Some(root) => is_of_packages(path.get(root.len()..).unwrap_or(path)),
        None => {
            let names = comparable_names(path);
            let downloaded = names.iter().any(|name| DOWNLOADS.contains(name));
            downloaded || is_of_packages(path) || (work_tree.is_some() && !projects.is_empty())
        }
    }
}

/// Whether a path leads through a folder of packages, as far as its names tell. For paths that are not known whole.
pub fn is_of_packages(path: &str) -> bool {
    let names = comparable_names(path);
    names.iter().any(|name| PACKAGES.contains(name))
        || PACKAGE_FOLDERS.iter().any(|run| names.windows(run.len()).any(|of| of == *run))
}

/// Whether a list of places, as JSON text, names something below a folder of packages, or of downloads where those count.
/// The folder alone is named by whoever made it.
pub fn lists_others(text: &str, downloads: bool) -> bool {
    let text = text.to_lowercase();
    let single = PACKAGES.iter().chain(DOWNLOADS.iter().filter(|_| downloads));
    single.map(|name| [name].to_vec()).chain(PACKAGE_FOLDERS.iter().map(|run| run.to_vec())).any(|run| {
        let Some((first, rest)) = run.split_first() else { return false };
        text.match_indices(first).any(|(at, _)| {
            begins_name(text.get(..at).unwrap_or_default()) && leads_below(text.get(at + first.len()..), rest)
        })
    })
}

/// Whether a name may begin behind this text: behind a separator of paths, of fields or of lines.
fn begins_name(before: &str) -> bool {
    let escape = ["\\n", "\\r", "\\t"].iter().any(|escape| before.ends_with(escape));
    escape || !before.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | '-' | '.' | '@'))
}

/// Whether what follows the name of a folder are these names, and then something that lies below them.
fn leads_below(after: Option<&str>, names: &[&str]) -> bool {
    let separated = |text: &str| -> Option<String> {
        ["/", "\\/", "\\\\"].iter().find_map(|separator| text.strip_prefix(separator)).map(str::to_owned)
    };
    let Some(mut rest) = after.and_then(separated) else { return false };
    for name in names {
        let Some(next) = rest.strip_prefix(name).and_then(separated) else { return false };
        rest = next;
    }
    rest.starts_with(|next: char| {
        !next.is_whitespace() && !matches!(next, '"' | '\'' | '`' | '\\' | ',' | ')')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn projects() -> Vec<String> {
        vec!["/home/ada/src".to_owned(), "/home/ada/vendor/shop".to_owned()]
    }

    #[test]
    fn what_was_installed_is_somebody_elses_even_inside_a_project() {
        for path in [
            "/home/ada/src/app/node_modules/left-pad/README.md",
            "/home/ada/src/app/Node_Modules/left-pad",
            "/home/ada/src/app/node_modules",
            "/home/ada/src/app/.venv/lib/python3.12/site-packages/requests/api.py",
            "/home/ada/src/app/vendor/golang.org/x/net/http2/README",
            "/home/ada/.cargo/registry/src/index.crates.io/serde-1/README.md",
            "/home/ada/go/pkg/mod/golang.org/x/net/README",
            "/usr/lib/python3/dist-packages/apt.py",
        ] {
            assert!(others_wrote(path, None, &projects()), "{path}");
            assert!(others_wrote(path, None, &[]), "{path}");
        }
    }

    #[test]
    fn what_the_user_writes_is_the_users() {
        for path in [
            "/home/ada/src/app/README.md",
            "/home/ada/src/app/package.json",
            "/home/ada/src/app/vendors.csv",
            "/home/ada/src/app/downloads/page.html",
            "/home/ada/letters/a.txt",
            "/home/ada",
        ] {
            assert!(!others_wrote(path, None, &projects()), "{path}");
        }
        let work_tree = Some("/home/ada/src/app");
        assert!(!others_wrote("/home/ada/src/app/README.md", work_tree, &projects()));
        // What the operator calls a project is one, wherever it lies.
        assert!(!others_wrote("/home/ada/vendor/shop/README.md", None, &projects()));
        assert!(others_wrote("/home/ada/vendor/shop/vendor/a.go", None, &projects()));
        assert!(others_wrote("/home/ada/vendor/other/README.md", None, &projects()));
    }

    #[test]
    fn a_download_and_a_clone_outside_of_all_projects_are_strangers() {
        for path in
            ["/home/ada/Downloads/offer.txt", "/home/ada/Téléchargements/a", "/mnt/c/Users/Ada/Downloads/a"]
        {
            assert!(others_wrote(path, None, &projects()), "{path}");
            assert!(others_wrote(path, None, &[]), "{path}");
        }
        let clone = Some("/home/ada/tmp/clone");
        assert!(others_wrote("/home/ada/tmp/clone/README.md", clone, &projects()));
        assert!(
            !others_wrote("/home/ada/tmp/clone/README.md", clone, &[]),
            "nobody said which are the user's"
        );
    }

    #[test]
    fn a_list_that_leads_below_such_a_folder_names_strangers_files() {
        for text in [
            r#"{"content":[{"type":"text","text":"src/a.js\nnode_modules/evil/README.md"}]}"#,
            r#""/home/ada/src/app/node_modules/evil""#,
            r#""C:\\app\\node_modules\\evil""#,
            r#""app\/node_modules\/evil""#,
            r#""./vendor/evil.go:3: text""#,
            r#""/home/ada/.cargo/registry/src/x""#,
        ] {
            assert!(lists_others(text, false), "{text}");
        }
        for text in [
            r#"{"text":"[DIR] node_modules\n[FILE] package.json"}"#,
            r#""node_modules/\nsrc/""#,
            r#""node_modules/""#,
            r#""my_vendor/a.csv""#,
            r#""src/vendors/a.csv""#,
            r#""Downloads/a.pdf""#,
            r#""~/.cargo/config.toml""#,
        ] {
            assert!(!lists_others(text, false), "{text}");
        }
        assert!(lists_others(r#""/home/ada/Downloads/a.pdf""#, true));
    }
}
