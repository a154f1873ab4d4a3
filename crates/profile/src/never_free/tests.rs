//! The shipped list against real paths, in every spelling that means the same.

use proptest::prelude::*;

use super::*;

fn of(path: &str) -> PathJudgement {
    judge(path, &[])
}

fn is_loaded(path: &str) -> bool {
    matches!(of(path), PathJudgement::RunsOrLoads(_))
}

#[test]
fn what_runs_or_is_loaded_unasked_is_never_free() {
    for path in [
        "/home/kim/src/app/.git",
        "/home/kim/src/app/.git/hooks/pre-commit",
        "/home/kim/src/app/.git/config",
        "/srv/git/app.git/hooks/post-receive",
        "/home/kim/src/app/.gitattributes",
        "/home/kim/src/app/.gitmodules",
        "/home/kim/.gitconfig",
        "/home/kim/.config/git/config",
        "/home/kim/src/app/.husky/pre-push",
        "/home/kim/src/app/.pre-commit-config.yaml",
        "/home/kim/src/app/.lintstagedrc.json",
        "/home/kim/src/app/.claude/commands/x.md",
        "/home/kim/src/app/.codex/prompts/x.md",
        "/home/kim/src/app/.gemini/commands/x.toml",
        "/home/kim/src/app/.cursor/rules/a.mdc",
        "/home/kim/src/app/.vscode/tasks.json",
        "/home/kim/src/app/.mcp.json",
        "/home/kim/src/app/CLAUDE.md",
        "/home/kim/src/app/sub/AGENTS.md",
        "/home/kim/src/app/GEMINI.md",
        "/home/kim/src/app/.cursorrules",
        "/home/kim/src/app/.windsurfrules",
        "/home/kim/src/app/.github/copilot-instructions.md",
        "/home/kim/src/app/.github/workflows/ci.yml",
        "/home/kim/src/app/.gitlab-ci.yml",
        "/home/kim/src/app/.circleci/config.yml",
        "/home/kim/src/app/Jenkinsfile",
        "/home/kim/src/app/.envrc",
        "/home/kim/src/app/app.code-workspace",
        "/home/kim/src/app/.npmrc",
        "/home/kim/src/app/.cargo/config.toml",
        "/home/kim/src/app/.venv/lib/python3.12/site-packages/x.pth",
        "/home/kim/.bashrc",
        "/home/kim/.zshenv",
        "/home/kim/.profile",
        "/home/kim/.config/fish/config.fish",
        "/home/kim/.ssh/authorized_keys",
        "/home/kim/.config/autostart/x.desktop",
        "/home/kim/.config/systemd/user/x.service",
        "/home/kim/.local/bin/ls",
        "/Users/kim/Library/LaunchAgents/x.plist",
        "/Users/kim/Library/Application Support/Claude/claude_desktop_config.json",
        "/var/spool/cron/crontabs/kim",
        "/etc/passwd",
        "/",
    ] {
        assert!(is_loaded(path), "{path}");
    }
}

#[test]
fn ordinary_work_is_ordinary() {
    for path in [
        "/home/kim/src/app/src/main.rs",
        "/home/kim/src/app/README.md",
        "/home/kim/src/app/package.json",
        "/home/kim/src/app/.gitignore",
        "/home/kim/src/app/.env.example",
        "/home/kim/src/app/digit/git.md",
        "/home/kim/src/app/github/workflows.md",
        "/home/kim/src/app/etc/x.conf",
        "/home/kim/src/app/bin/x",
        "/home/kim/notes/claude.txt",
        "/home/kim/.config/highlight/x",
        "/Users/kim/src/library/x.py",
        "/tmp/x",
        "/private/tmp/x",
    ] {
        assert_eq!(of(path), PathJudgement::Ordinary, "{path}");
    }
}

#[test]
fn a_file_system_that_forgives_is_forgiven() {
    for path in [
        "/src/.GIT/config",
        "/src/.Git",
        "/src/.git./config",
        "/src/.git /config",
        "/src/.git::$INDEX_ALLOCATION/config",
        "/src/.git:x",
        "/src/a:b.git/hooks/x",
        "/src/GIT~1/config",
        "/src/.g\u{200c}it/config",
        "/src/.gi\u{feff}t/hooks/x",
        "/src/claude.MD",
        "/home/kim/.\u{17f}sh/config",
        "/src/.git\\hooks\\pre-commit",
        "/src//.git",
        "/src/.git/",
    ] {
        assert!(is_loaded(path), "{path:?}");
    }
}

#[test]
fn a_path_that_cannot_be_told_is_not_ordinary() {
    for path in ["", "x", "./x", "~/x", "/src/../x", "/src/./x", "/src/x\0", "C:/x"] {
        assert!(is_loaded(path), "{path:?}");
    }
}

#[test]
fn ours_are_the_named_files_and_what_is_in_the_named_folders() {
    let ours =
        ["/home/kim/.highwater/", "/home/kim/src/app/.claude/commands/x.md", "", "x"].map(str::to_owned);
    for path in [
        "/home/kim/.highwater",
        "/home/kim/.highwater/store.db",
        "/home/kim/.Highwater/store.db",
        "/home/kim/src/app/.claude/commands/x.md",
        "/home/kim/src/app/.claude/SETTINGS.json",
    ] {
        assert_eq!(judge(path, &ours), PathJudgement::Ours, "{path}");
    }
    assert_eq!(judge("/home/kim/.highwater-notes", &ours), PathJudgement::Ordinary);
    assert_eq!(judge("/home/kim", &ours), PathJudgement::Ordinary);
    assert!(matches!(judge("/home/kim/src/app/.claude/x", &ours), PathJudgement::RunsOrLoads(_)));
}

#[test]
fn what_says_which_hooks_run_is_ours_wherever_it_stands() {
    for path in [
        "/home/kim/src/app/.claude/settings.json",
        "/home/kim/.Claude/settings.local.json",
        "/home/kim/src/app/.codex/hooks.json",
        "/home/kim/.gemini/settings.json",
        "/home/kim/.cursor/hooks.json",
        "/home/kim/src/app/.github/hooks/first.json",
        "/home/kim/.config/opencode/plugin/first.js",
        "/home/kim/src/plugin/hooks/hooks.json",
    ] {
        assert_eq!(judge(path, &[]), PathJudgement::Ours, "{path}");
    }
    // What stands beside it is loaded, and asked about.
    for path in [
        "/home/kim/.claude/commands/x.md",
        "/home/kim/src/app/highwater.yaml",
        "/srv/app/.vscode/settings.json",
    ] {
        assert!(is_loaded(path), "{path}");
    }
    assert_eq!(judge("/home/kim/src/app/settings.json", &[]), PathJudgement::Ordinary);
}

#[test]
fn the_list_is_in_the_form_in_which_it_is_compared() {
    let names = NAMES.iter().flat_map(|(_, names)| names.iter());
    let runs = NAMED_FOLDERS.iter().chain(SYSTEM_FOLDERS).flat_map(|(_, run)| run.iter().copied());
    for name in names.chain(runs) {
        assert_eq!(comparable(name), name);
    }
    for (_, part) in PREFIXES.iter().chain(SUFFIXES) {
        assert_eq!(part.to_lowercase(), *part);
    }
}

proptest! {
    #[test]
    fn whatever_lies_in_a_listed_folder_is_as_little_free(below in "[a-z.]{1,4}(/[a-z]{1,4}){0,3}") {
        prop_assume!(!below.split('/').any(|name| matches!(name, "." | "..")));
        let below = format!("/src/.git/{below}");
        prop_assert!(is_loaded(&below));
    }

    #[test]
    fn text_never_panics(path in any::<String>(), ours in any::<String>()) {
        judge(&path, &[ours]);
    }
}
