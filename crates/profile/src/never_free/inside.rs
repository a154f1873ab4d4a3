//! Whether a path lies in one of some folders. Being inside loosens, so nothing is forgiven here.

/// Whether an absolute path, links followed, is one of the roots or lies below one. Case counts, and a path or root
/// that is not in its plain form is inside nothing.
pub fn is_inside(path: &str, roots: &[String]) -> bool {
    let Some(names) = plain_names(path) else { return false };
    roots.iter().any(|root| plain_names(root).is_some_and(|root| names.starts_with(&root)))
}

/// The names along a path; `None` where another reading of it could lead elsewhere.
fn plain_names(path: &str) -> Option<Vec<&str>> {
    let rest = path.strip_prefix('/')?;
    if path.contains(['\0', '\\']) {
        return None;
    }
    // One slash at the end is how people write folders.
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() {
        return (path == "/").then(Vec::new);
    }
    rest.split('/').map(|name| (!matches!(name, "" | "." | "..")).then_some(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(path: &str, root: &str) -> bool {
        is_inside(path, &[root.to_owned()])
    }

    #[test]
    fn a_root_holds_itself_and_what_is_below_it() {
        assert!(inside("/home/kim/src/app", "/home/kim/src"));
        assert!(inside("/home/kim/src", "/home/kim/src"));
        assert!(inside("/home/kim/src/", "/home/kim/src"));
        assert!(inside("/home/kim/src", "/home/kim/src/"));
        assert!(inside("/home/kim/src", "/"));
        assert!(is_inside("/b/x", &["/a".to_owned(), "/b".to_owned()]));
    }

    #[test]
    fn a_neighbour_with_a_longer_name_is_not_inside() {
        assert!(!inside("/home/kim/src-other/x", "/home/kim/src"));
        assert!(!inside("/home/kim", "/home/kim/src"));
        assert!(!inside("/home/kim/SRC/x", "/home/kim/src"));
        assert!(!is_inside("/home/kim", &[]));
    }

    #[test]
    fn what_may_lead_elsewhere_is_inside_nothing() {
        for path in [
            "",
            "src/x",
            "./src",
            "~/src/x",
            "/src/../etc/x",
            "/src/./x",
            "/src//x",
            "//src/x",
            "//",
            "/src/x\0",
            r"/src/..\..\etc",
        ] {
            assert!(!inside(path, "/src") && !inside(path, "/"), "{path}");
        }
        for root in ["", "src", "~/src", "/src/..", "//"] {
            assert!(!inside("/src/x", root) && !inside("/src", root), "{root}");
        }
    }
}
