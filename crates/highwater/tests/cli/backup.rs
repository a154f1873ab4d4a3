//! `highwater backup` and `highwater restore`: a copy of a running gateway, checked, put back, and refused where it must be.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{Site, text};

/// Everything below a directory, with its mode.
fn modes(folder: &Path) -> BTreeMap<PathBuf, u32> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
        let about = fs::symlink_metadata(&entry).unwrap();
        found.insert(entry.clone(), about.permissions().mode() & 0o777);
        if about.is_dir() {
            found.extend(modes(&entry));
        }
    }
    found
}

fn run(site: &Site, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = site.run(arguments);
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn created(site: &Site, name: &str) {
    let (code, _, said) =
        run(site, &["token", "create", name, "--permission", "call_tool_read", "--server", "*"]);
    assert_eq!(code, Some(0), "{said}");
}

fn tokens(site: &Site, data: &Path) -> String {
    run(site, &["token", "list", "--json", "--data-dir", &data.to_string_lossy()]).1
}

#[test]
fn what_a_running_gateway_holds_is_copied_checked_and_put_back() {
    let site = Site::new();
    site.write("highwater.yaml", "servers: { a: { command: a } }\napprovals: { listen: none }\n");
    created(&site, "before");
    let serving = site.start(&["serve", "--listen", "127.0.0.1:0"]);
    serving.lines_until("endpoint");
    created(&site, "while-running");
    let to = site.home().join("copy");
    let (code, said, wrong) = run(&site, &["backup", "copy"]);
    assert_eq!(code, Some(0), "{wrong}");
    assert!(said.contains("with the session store") && said.contains("holds secrets"), "{said}");
    for (path, mode) in modes(&to) {
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o700);
    let manifest: Value = serde_json::from_slice(&fs::read(to.join("manifest.json")).unwrap()).unwrap();
    let names: Vec<&str> =
        manifest["files"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    for name in ["agent-token", "audit/000001.jsonl", "highwater.db", "operator-token", "seal-key"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    for name in ["lock", "gateway.json", "gateway.sock"] {
        assert!(!names.contains(&name), "{name}: {names:?}");
    }
    // A second copy into the same place, and one into the directory itself, are refused.
    assert_eq!(run(&site, &["backup", "copy"]).0, Some(1));
    assert_eq!(run(&site, &["backup", &site.data().join("copy").to_string_lossy()]).0, Some(2));
    // Nothing is put back where a gateway runs, by force or not.
    for arguments in [vec!["restore", "copy"], vec!["restore", "copy", "--force"]] {
        let (code, _, said) = run(&site, &arguments);
        assert_eq!(code, Some(1));
        assert!(said.contains("a gateway already runs"), "{said}");
    }
    drop(serving);

    let elsewhere = site.home().join("elsewhere");
    let data = elsewhere.to_string_lossy().into_owned();
    let (code, said, wrong) = run(&site, &["restore", "copy", "--data-dir", &data]);
    assert_eq!(code, Some(0), "{wrong}");
    assert!(said.contains("every session counts as having read"), "{said}");
    for (path, mode) in modes(&elsewhere) {
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
    let listed = tokens(&site, &elsewhere);
    assert!(listed.contains("before") && listed.contains("while-running"), "{listed}");
    for secret in ["agent-token", "operator-token", "seal-key"] {
        assert_eq!(
            fs::read(elsewhere.join(secret)).unwrap(),
            fs::read(site.data().join(secret)).unwrap(),
            "{secret}"
        );
    }
}

#[test]
fn a_directory_that_is_not_empty_is_moved_aside_and_only_by_force() {
    let site = Site::new();
    created(&site, "first");
    assert_eq!(run(&site, &["backup", "copy"]).0, Some(0));
    created(&site, "second");
    let (code, _, said) = run(&site, &["restore", "copy"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("is not empty") && said.contains("--force"), "{said}");
    assert!(tokens(&site, &site.data()).contains("second"), "nothing was touched");
    let (code, said, wrong) = run(&site, &["restore", "copy", "--force", "--json"]);
    assert_eq!(code, Some(0), "{wrong}");
    let said: Value = serde_json::from_str(&said).unwrap();
    let now = tokens(&site, &site.data());
    assert!(now.contains("first") && !now.contains("second"), "{now}");
    let aside = PathBuf::from(said["aside"].as_str().unwrap());
    assert!(tokens(&site, &aside).contains("second"), "what was there is kept");
}

#[test]
fn a_copy_that_was_changed_in_any_way_is_not_put_back() {
    let site = Site::new();
    created(&site, "first");
    assert_eq!(run(&site, &["backup", "copy"]).0, Some(0));
    let copy = site.home().join("copy");
    let manifest = fs::read_to_string(copy.join("manifest.json")).unwrap();
    let database = copy.join("data/highwater.db");
    let whole = fs::read(&database).unwrap();
    let refused = |why: &str, expected: i32| {
        let (code, _, said) = run(&site, &["restore", "copy", "--data-dir", "nowhere"]);
        assert_eq!(code, Some(expected), "{why}: {said}");
        assert!(!site.home().join("nowhere").exists(), "{why}");
        said
    };
    fs::write(&database, [&whole[..], b" "].concat()).unwrap();
    assert!(refused("a file is longer", 4).contains("is not as it was copied"));
    fs::remove_file(&database).unwrap();
    assert!(refused("a file is missing", 4).contains("is missing"));
    std::os::unix::fs::symlink("/etc/hostname", &database).unwrap();
    refused("a file is a link", 4);
    fs::remove_file(&database).unwrap();
    fs::write(&database, &whole).unwrap();
    fs::write(copy.join("manifest.json"), manifest.replace("\"highwater.db\"", "\"../../highwater.db\""))
        .unwrap();
    assert!(refused("a path leads out", 4).contains("leads out"));
    fs::write(copy.join("manifest.json"), manifest.get(..manifest.len() / 2).unwrap()).unwrap();
    refused("half a manifest", 4);
    fs::remove_file(copy.join("manifest.json")).unwrap();
    assert!(refused("a copy that was broken off", 1).contains("is no backup"));
}

#[test]
fn where_the_store_is_elsewhere_that_is_said() {
    let site = Site::new();
    fs::create_dir_all(site.data()).unwrap();
    fs::set_permissions(site.data(), fs::Permissions::from_mode(0o700)).unwrap();
    site.write(
        "highwater.yaml",
        "store: { postgres: \"postgres://localhost/highwater\" }\nservers: { a: { command: a } }\n",
    );
    let (code, said, wrong) = run(&site, &["backup", "copy"]);
    assert_eq!(code, Some(0), "{wrong}");
    assert!(said.contains("pg_dump") && said.contains("without a session store"), "{said}");
}
