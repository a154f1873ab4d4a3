//! Files that cannot be changed, or should not be: said with the place, and nothing is touched.

use std::os::unix::fs::PermissionsExt;

use crate::homes::{Home, everything};
use crate::{Site, text};

fn site(files: &'static [(&'static str, &'static str)]) -> Site {
    Site::new(&Home { name: "", host: "", files })
}

/// Tries to connect and says what came of it. Nothing may have changed, and no token may be left.
fn refused(site: &Site, host: &str, code: i32) -> String {
    let before = everything(site.home());
    let said = site.fails(&["connect", host, "--yes"], code);
    assert_eq!(everything(site.home()), before, "{said}");
    assert!(!site.path(".local").exists(), "{said}");
    said
}

#[test]
fn a_file_that_does_not_parse_is_named_with_its_line() {
    let broken = site(&[(".claude.json", "{}"), (".claude/settings.json", "{\n  \"a\": 1\n  \"b\": 2\n}\n")]);
    let said = refused(&broken, "claude-code", 1);
    assert!(said.starts_with("error: ~/.claude/settings.json, line 3, column 3: a comma"), "{said}");
    assert!(said.contains("help: correct the file and try again; nothing was changed"), "{said}");
    let broken = site(&[(".codex/config.toml", "a = 1\nb = = 2\n")]);
    assert!(refused(&broken, "codex", 1).starts_with("error: ~/.codex/config.toml, line 2, column 5: "));
    let list = site(&[(".codex/hooks.json", "{\"hooks\":\n {\"PreToolUse\": {}}}")]);
    assert!(
        refused(&list, "codex", 1)
            .starts_with("error: ~/.codex/hooks.json, line 2: `hooks.PreToolUse` is not a list")
    );
    let bytes = site(&[(".claude.json", "{}\n")]);
    std::fs::write(bytes.path(".claude.json"), b"{\n\"a\": \"\xff\"}").unwrap();
    assert!(
        refused(&bytes, "claude-code", 1).starts_with("error: ~/.claude.json, line 2: the file is not UTF-8")
    );
}

#[test]
fn a_file_that_something_else_looks_after_is_left_to_it() {
    let linked = site(&[("dotfiles/settings.json", "{}")]);
    std::fs::create_dir(linked.path(".claude")).unwrap();
    std::os::unix::fs::symlink("../dotfiles/settings.json", linked.path(".claude/settings.json")).unwrap();
    let said = refused(&linked, "claude-code", 3);
    let expected =
        "refused: `~/.claude/settings.json` is a link to `../dotfiles/settings.json`, so something else";
    assert!(said.starts_with(expected), "{said}");
    assert!(said.contains("help: `--dry-run` shows"), "{said}");

    let read_only = site(&[(".claude.json", "{}")]);
    std::fs::set_permissions(read_only.path(".claude.json"), std::fs::Permissions::from_mode(0o444)).unwrap();
    assert!(refused(&read_only, "claude-code", 3).starts_with("refused: `~/.claude.json` is read-only"));

    let managed = site(&[(".codex/config.toml", "# Managed by chezmoi, do not edit\nmodel = \"x\"\n")]);
    let said = refused(&managed, "codex", 3);
    assert!(said.starts_with("refused: ~/.codex/config.toml, line 1: `# Managed by chezmoi"), "{said}");
}

#[test]
fn a_folder_in_the_place_of_a_file_is_no_file() {
    let folder = site(&[(".claude.json/x", "")]);
    assert!(refused(&folder, "claude-code", 1).starts_with("error: `~/.claude.json` is no file"));
    let file = site(&[(".codex", "")]);
    let said = refused(&file, "codex", 1);
    assert!(said.starts_with("error: cannot"), "{said}");
}

#[test]
fn a_directory_with_something_else_in_it_is_no_plugin() {
    let taken = site(&[("mine/README.md", "")]);
    let before = everything(taken.home());
    let said = taken.fails(&["connect", "claude-code", "--plugin", "mine", "--yes"], 3);
    assert!(said.starts_with("refused: `~/mine` holds `README.md`, which is not ours"), "{said}");
    assert_eq!(everything(taken.home()), before);
    assert!(
        taken
            .fails(&["connect", "codex", "--plugin", "x", "--yes"], 2)
            .contains("only Claude Code takes plugins")
    );
}

#[test]
fn nothing_is_changed_where_nobody_can_be_asked() {
    let site = site(&[]);
    for command in [["connect", "codex"], ["connect", "claude-code"]] {
        let said = site.fails(&command, 2);
        assert!(said.contains("help: `--dry-run` shows what would be changed, `--yes` does it"), "{said}");
    }
    assert!(site.fails(&["connect", "emacs", "--yes"], 2).contains("it is one of claude-code, codex"));
    assert!(everything(site.home()).is_empty());
}

#[test]
fn a_person_who_says_no_changes_nothing() {
    let site = site(&[(".claude/settings.json", "{}")]);
    let before = everything(site.home());
    // `script` gives the program a terminal.
    let program = env!("CARGO_BIN_EXE_highwater");
    let line = format!("{program} connect claude-code");
    let run = |answer: &str| {
        let mut script = std::process::Command::new("script");
        script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(site.home());
        script.env_clear().env("HOME", site.home()).env("PATH", env!("PATH")).env("TERM", "dumb");
        script.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = script.spawn().unwrap();
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), answer.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let no = run("n\n");
    assert!(text(&no.stdout).contains("Connect Claude Code? [y/N]"), "{}", text(&no.stdout));
    assert_eq!(no.status.code(), Some(3), "{}", text(&no.stdout));
    assert_eq!(everything(site.home()), before);
    let yes = run("y\n");
    assert_eq!(yes.status.code(), Some(0), "{}", text(&yes.stdout));
    assert_ne!(everything(site.home()), before);
}
