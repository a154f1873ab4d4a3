//! The shipped list: names of files and folders that something runs or loads without being asked.
//!
//! Everything is in lower case. What is only run or loaded by an act that is itself judged, such as a build script or
//! a test, does not belong here; what takes effect when a folder is opened, entered, fetched or started does.

use super::super::word_list::WordList;

pub(super) const CANNOT_BE_TOLD: &str = "a path that cannot be told";
pub(super) const SYSTEM: &str = "a folder of the operating system";
const GIT: &str = "what git runs or loads";
const HOOK: &str = "a hook that runs when something is committed";
const GATEWAY: &str = "the configuration of a gateway like this one";
const HOST: &str = "settings of an agent's host or an editor";
const INSTRUCTIONS: &str = "instructions that an agent's host loads";
const WORKFLOW: &str = "a workflow that runs when something is pushed";
const SHELL: &str = "a file that a shell runs or loads";
const KEYS: &str = "keys, or settings of a program that logs in with them";
const PROGRAM: &str = "settings that a program loads when it starts";
const PACKAGES: &str = "settings of a package manager";
const AUTOSTART: &str = "a program that is started by itself";
const ON_PATH: &str = "a folder whose programs are found by their names";

/// Where agents' hosts say which hooks run, by the names at the end of a path. Whoever changes them switches off what
/// judges the host's own tools.
pub(super) const HOOK_SETTINGS: &[&[&str]] = &[
    &[".claude", "settings.json"],
    &[".claude", "settings.local.json"],
    &[".claude", "managed-settings.json"],
    &[".codex", "hooks.json"],
    &[".codex", "config.toml"],
    &[".gemini", "settings.json"],
    &[".qwen", "settings.json"],
    &[".cursor", "hooks.json"],
    &[".windsurf", "hooks.json"],
    &["windsurf", "hooks.json"],
    &[".openhands", "hooks.json"],
    &["hooks", "hooks.json"],
];

/// Folders of the same kind, wherever they stand in a path.
pub(super) const HOOK_FOLDERS: &[&[&str]] = &[
    &[".claude", "hooks"],
    &[".codex", "hooks"],
    &[".copilot", "hooks"],
    &[".github", "hooks"],
    &[".opencode", "plugin"],
    &[".opencode", "plugins"],
    &["opencode", "plugin"],
    &["opencode", "plugins"],
];

/// Names that count wherever they stand in a path: of the thing itself, or of a folder it lies in.
pub(super) const NAMES: &[(&str, WordList)] = &[
    (
        GIT,
        WordList(".git git~1 .gitattributes .gitconfig .gitmodules .git-credentials .hg .hgrc .jj .svn .bzr"),
    ),
    (
        HOOK,
        WordList(
            ".githooks .git-hooks .husky .huskyrc .lefthook .lefthook.yml .lefthook.yaml .lefthook.toml
            lefthook.yml lefthook.yaml lefthook.toml .overcommit.yml .pre-commit-config.yaml
            .pre-commit-config.yml .pre-commit-hooks.yaml lint-staged.config.js lint-staged.config.cjs
            lint-staged.config.mjs",
        ),
    ),
    (
        INSTRUCTIONS,
        WordList(
            "claude.md claude.local.md agents.md agents.override.md agents.local.md agent.md gemini.md
            qwen.md codex.md crush.md warp.md replit.md skill.md copilot.md copilot-instructions.md
            .cursorrules .windsurfrules .clinerules .roorules .rules .goosehints .cursorignore
            .aiexclude",
        ),
    ),
    (GATEWAY, WordList("highwater.yaml highwater.yml highwater.json .highwater")),
    (
        HOST,
        WordList(
            ".claude .claude.json claude_desktop_config.json .codex .gemini .cursor .vscode
            .vscode-server .windsurf .codeium .continue .cline .roo .kiro .amazonq .qwen .opencode
            opencode.json opencode.jsonc .goose .crush .crush.json crush.json .amp .augment .trae .junie
            .factory .openhands .copilot .agents .agent .mcp.json mcp.json .mcp mcp_config.json
            mcp_settings.json cline_mcp_settings.json .idea .vs .zed .fleet .devcontainer
            .devcontainer.json .gitpod.yml .dir-locals.el .vimrc .gvimrc .nvimrc .exrc .nvim.lua .vim
            .emacs .emacs.d .spacemacs .doom.d",
        ),
    ),
    (
        WORKFLOW,
        WordList(
            ".github .gitlab .gitlab-ci.yml .gitlab-ci.yaml .gitea .forgejo .circleci jenkinsfile
            .travis.yml .drone.yml .woodpecker .woodpecker.yml .woodpecker.yaml .buildkite
            azure-pipelines.yml azure-pipelines.yaml .azure-pipelines bitbucket-pipelines.yml
            appveyor.yml .appveyor.yml .cirrus.yml .cirrus.star .semaphore .teamcity cloudbuild.yaml
            cloudbuild.yml buildspec.yml .build.yml .builds .tekton",
        ),
    ),
    (
        SHELL,
        WordList(
            ".envrc .direnvrc .direnv .bashrc .bash_profile .bash_login .bash_logout .bash_aliases
            .bash_completion .bash.bashrc .profile .login .logout .zshrc .zshenv .zprofile .zlogin
            .zlogout .zshrc.local .zsh .oh-my-zsh .kshrc .mkshrc .cshrc .tcshrc .inputrc .xinitrc
            .xprofile .xsession .xsessionrc .xserverrc .pam_environment .tmux.conf .screenrc config.fish
            fish_variables profile.ps1 microsoft.powershell_profile.ps1 .mise.toml mise.toml .mise
            .tool-versions .autoenv .autoenv.zsh starship.toml",
        ),
    ),
    (
        KEYS,
        WordList(
            ".ssh authorized_keys .rhosts .shosts .netrc _netrc .gnupg .aws .azure .kube .docker .gcloud
            .pgpass .password-store",
        ),
    ),
    (
        PROGRAM,
        WordList(
            ".gdbinit .lldbinit .ipython .jupyter .pythonrc .pythonrc.py sitecustomize.py
            usercustomize.py .rprofile .renviron .irbrc .pryrc .psqlrc .sqliterc .my.cnf .mylogin.cnf
            .curlrc .wgetrc .mailcap .muttrc .ackrc .ripgreprc .lesskey .terraformrc .ansible.cfg
            .editrc .dbshell .mongorc.js .mongoshrc.js",
        ),
    ),
    (
        PACKAGES,
        WordList(
            ".npmrc .yarnrc .yarnrc.yml .yarn .pnpmfile.cjs .pnp.cjs .pnp.loader.mjs .cargo .pypirc
            pip.conf .pip .pydistutils.cfg .condarc .gemrc .bundle .bazelrc .bazeliskrc .mvn .m2 .gradle
            .bunfig.toml bunfig.toml",
        ),
    ),
    (AUTOSTART, WordList("launchagents launchdaemons startupitems loginitems crontab .crontab")),
];

/// Beginnings of such names.
pub(super) const PREFIXES: &[(&str, &str)] = &[
    (INSTRUCTIONS, ".roorules-"),
    (INSTRUCTIONS, ".clinerules-"),
    (HOST, ".aider"),
    (HOOK, ".lintstagedrc"),
    (HOOK, ".huskyrc."),
    (SHELL, ".mise."),
    (PROGRAM, "sitecustomize."),
    (PROGRAM, "usercustomize."),
];

/// Ends of such names.
pub(super) const SUFFIXES: &[(&str, &str)] = &[
    // A bare repository, whose hooks lie beside its objects.
    (GIT, ".git"),
    (HOST, ".code-workspace"),
    (HOST, ".sublime-project"),
    (INSTRUCTIONS, ".mdc"),
    (INSTRUCTIONS, ".instructions.md"),
    // Python loads these from the folder of its packages, and runs lines in them.
    (PROGRAM, ".pth"),
];

/// Names that count where they follow each other.
pub(super) const NAMED_FOLDERS: &[(&str, &[&str])] = &[
    (AUTOSTART, &[".config", "autostart"]),
    (AUTOSTART, &[".config", "autostart-scripts"]),
    (AUTOSTART, &[".config", "systemd"]),
    (AUTOSTART, &[".config", "environment.d"]),
    (AUTOSTART, &[".local", "share", "systemd"]),
    (AUTOSTART, &[".local", "share", "applications"]),
    (AUTOSTART, &[".local", "share", "dbus-1"]),
    (AUTOSTART, &[".config", "upstart"]),
    (AUTOSTART, &[".config", "plasma-workspace"]),
    (AUTOSTART, &[".config", "hypr"]),
    (AUTOSTART, &[".config", "sway"]),
    (AUTOSTART, &[".config", "i3"]),
    (AUTOSTART, &["start menu", "programs", "startup"]),
    (AUTOSTART, &["spool", "cron"]),
    (AUTOSTART, &["spool", "at"]),
    (SHELL, &[".config", "fish"]),
    (SHELL, &[".config", "zsh"]),
    (SHELL, &[".config", "bash"]),
    (SHELL, &[".config", "nushell"]),
    (SHELL, &[".config", "powershell"]),
    (SHELL, &["documents", "powershell"]),
    (SHELL, &["documents", "windowspowershell"]),
    (SHELL, &[".config", "direnv"]),
    (SHELL, &[".config", "mise"]),
    (SHELL, &[".config", "tmux"]),
    (GIT, &[".config", "git"]),
    (GIT, &[".config", "jj"]),
    (PACKAGES, &[".config", "pip"]),
    (PROGRAM, &[".config", "mpv"]),
    (KEYS, &[".config", "gcloud"]),
    (KEYS, &[".config", "gh"]),
    (HOST, &[".config", "nvim"]),
    (HOST, &[".config", "emacs"]),
    (HOST, &[".config", "doom"]),
    (HOST, &[".config", "helix"]),
    (HOST, &[".config", "zed"]),
    (HOST, &[".config", "code"]),
    (HOST, &[".config", "vscodium"]),
    (HOST, &[".config", "cursor"]),
    (HOST, &[".config", "claude"]),
    (HOST, &[".config", "opencode"]),
    (HOST, &[".config", "goose"]),
    (HOST, &[".config", "crush"]),
    (HOST, &[".config", "amp"]),
    (HOST, &["application support", "claude"]),
    (HOST, &["application support", "code"]),
    (HOST, &["application support", "cursor"]),
    (HOST, &["appdata", "roaming", "claude"]),
    (HOST, &["appdata", "roaming", "code"]),
    (HOST, &["appdata", "roaming", "cursor"]),
    (ON_PATH, &[".local", "bin"]),
    (ON_PATH, &["node_modules", ".bin"]),
];

/// Where the machine's own programs and settings lie, from the root.
pub(super) const SYSTEM_FOLDERS: &[(&str, &[&str])] = &[
    (SYSTEM, &["bin"]),
    (SYSTEM, &["boot"]),
    (SYSTEM, &["dev"]),
    (SYSTEM, &["efi"]),
    (SYSTEM, &["etc"]),
    (SYSTEM, &["lib"]),
    (SYSTEM, &["lib32"]),
    (SYSTEM, &["lib64"]),
    (SYSTEM, &["proc"]),
    (SYSTEM, &["run"]),
    (SYSTEM, &["sbin"]),
    (SYSTEM, &["sys"]),
    (SYSTEM, &["usr"]),
    (SYSTEM, &["var", "lib"]),
    (SYSTEM, &["var", "run"]),
    (SYSTEM, &["var", "spool"]),
    (SYSTEM, &["nix"]),
    (SYSTEM, &["snap"]),
    (SYSTEM, &["opt", "homebrew"]),
    (SYSTEM, &["applications"]),
    (SYSTEM, &["library"]),
    (SYSTEM, &["system"]),
    (SYSTEM, &["private", "etc"]),
    (SYSTEM, &["private", "var", "db"]),
];
