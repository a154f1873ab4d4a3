//! Installs the foreign programs that tests talk to, from the pins in `peers/` into `.peers/`.
//!
//! Each group has a stamp with the pins it was made from, so that a second run installs nothing. A group
//! that cannot be installed is an error that ends with the line to run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::command::{exists, quiet};
use crate::repository::Repository;

/// Downloads may be slow; they never take this long.
const INSTALL_LIMIT: Duration = Duration::from_secs(15 * 60);

/// The Debian interpreter is preferred: it is the one whose virtual environments every user can read.
const PYTHON: &str = "/usr/bin/python3";

/// Rust tools compile for minutes, hence only for those who ask for their part by name.
const CARGO_DENY: &str = "0.20.2";
const CARGO_FUZZ: &str = "0.13.2";

/// One group of foreign programs that is installed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Node 22, the conformance suite, the TypeScript SDKs and servers.
    Node,
    /// The Python SDK as a client.
    PythonClients,
    /// Python servers.
    PythonServers,
    /// Python servers of the older SDK.
    PythonOlder,
    /// The Python SDK and FastMCP as servers, for the conformance suite.
    PythonFixtures,
    /// AgentDojo, and what its suites need to be servers.
    AgentDojo,
    /// A second opinion on passkeys and canonical JSON.
    Approval,
    /// Claude Code, the agent host.
    ClaudeCode,
    /// Codex, the agent host.
    Codex,
    /// The licence and ban checker, built from source.
    CargoDeny,
    /// The driver of the fuzz targets, built from source.
    CargoFuzz,
}

impl Group {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::PythonClients => "python/clients",
            Self::PythonServers => "python/servers",
            Self::PythonOlder => "python/older",
            Self::PythonFixtures => "python/fixtures",
            Self::AgentDojo => "python/agentdojo",
            Self::Approval => "approval",
            Self::ClaudeCode => "hosts/claude-code",
            Self::Codex => "hosts/codex",
            Self::CargoDeny => "cargo-deny",
            Self::CargoFuzz => "cargo-fuzz",
        }
    }

    pub(crate) fn folder(self, repository: &Repository) -> PathBuf {
        repository.peers().join(self.name())
    }

    /// Installs the group unless its stamp says that these pins are in place. Returns whether it did.
    pub(crate) fn install(self, repository: &Repository) -> Result<bool> {
        let pins = match self {
            Self::Node => read(&repository.path("peers/node/package-lock.json"))?,
            Self::PythonClients => read(&repository.path("peers/python/clients.txt"))?,
            Self::PythonServers => read(&repository.path("peers/python/servers.txt"))?,
            Self::PythonOlder => read(&repository.path("peers/python/older.txt"))?,
            Self::PythonFixtures => read(&repository.path("peers/python/fixtures.txt"))?,
            Self::AgentDojo => read(&repository.path("peers/python/agentdojo.txt"))?,
            Self::Approval => read(&repository.path("peers/approval/package-lock.json"))?,
            Self::ClaudeCode => read(&repository.path("peers/hosts/claude-code/package-lock.json"))?,
            Self::Codex => read(&repository.path("peers/hosts/codex/package-lock.json"))?,
            Self::CargoDeny => CARGO_DENY.to_owned(),
            Self::CargoFuzz => CARGO_FUZZ.to_owned(),
        };
        let folder = self.folder(repository);
        let stamp = folder.join("installed");
        if std::fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == pins) {
            return Ok(false);
        }
        if folder.exists() {
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove `{}`", folder.display()))?;
        }
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        match self {
            Self::Node => install_node(repository, "peers/node", &folder)?,
            Self::Approval => install_node(repository, "peers/approval", &folder)?,
            Self::ClaudeCode => install_node(repository, "peers/hosts/claude-code", &folder)?,
            Self::Codex => install_node(repository, "peers/hosts/codex", &folder)?,
            Self::PythonClients => install_python(repository, &folder, "peers/python/clients.txt", &[])?,
            Self::PythonServers => install_python(repository, &folder, "peers/python/servers.txt", &[])?,
            Self::PythonOlder => install_python(repository, &folder, "peers/python/older.txt", &[])?,
            Self::PythonFixtures => {
                install_python(repository, &folder, "peers/python/fixtures.txt", &["--no-deps"])?;
            }
            Self::AgentDojo => {
                // It asks for the libraries of every model provider, and no model takes part.
                install_python(repository, &folder, "peers/python/agentdojo.txt", &["--no-deps"])?;
            }
            Self::CargoDeny | Self::CargoFuzz => {
                let mut command = repository.cargo();
                command.args(["install", "--quiet", "--locked", "--version", &pins, self.name(), "--root"]);
                run(command.arg(&folder))?;
            }
        }
        std::fs::write(&stamp, pins).with_context(|| format!("cannot write `{}`", stamp.display()))?;
        Ok(true)
    }
}

/// The pinned Node; the machine's may be too old for the conformance suite.
pub(crate) fn node(repository: &Repository) -> PathBuf {
    Group::Node.folder(repository).join("node_modules/.bin/node")
}

/// The client scripts beside their packages: an ES module looks for packages from its own place.
pub(crate) fn scripts(repository: &Repository) -> Result<PathBuf> {
    beside_packages(repository, "clients")
}

/// The fixture servers beside their packages, likewise.
pub(crate) fn fixtures(repository: &Repository) -> Result<PathBuf> {
    beside_packages(repository, "conformance")
}

fn beside_packages(repository: &Repository, folder: &str) -> Result<PathBuf> {
    let to = Group::Node.folder(repository).join(folder);
    std::fs::create_dir_all(&to).with_context(|| format!("cannot make `{}`", to.display()))?;
    let from = repository.path("peers").join(folder);
    for entry in std::fs::read_dir(&from).with_context(|| format!("cannot read `{}`", from.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(to)
}

/// The program that gives the second opinion, beside its packages.
pub(crate) fn approval_judge(repository: &Repository) -> Result<()> {
    let to = Group::Approval.folder(repository).join("judge.mjs");
    let from = repository.path("peers/approval/judge.mjs");
    std::fs::copy(&from, to).with_context(|| format!("cannot read `{}`", from.display()))?;
    Ok(())
}

fn install_node(repository: &Repository, pins: &str, folder: &Path) -> Result<()> {
    require("npm", "npm")?;
    for name in ["package.json", "package-lock.json"] {
        let from = repository.path(pins).join(name);
        std::fs::copy(&from, folder.join(name))
            .with_context(|| format!("cannot read `{}`", from.display()))?;
    }
    run(Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(folder)
        .env("npm_config_update_notifier", "false"))
}

fn install_python(repository: &Repository, folder: &Path, pins: &str, more: &[&str]) -> Result<()> {
    let python = if Path::new(PYTHON).exists() { PYTHON } else { "python3" };
    let can_make_environments =
        |python: &str| quiet(Command::new(python).args(["-c", "import ensurepip, venv"]), INSTALL_LIMIT);
    if !can_make_environments(python).is_ok_and(|outcome| outcome.success) {
        apt_install("python3-venv")?;
    }
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(folder))?;
    run(Command::new(folder.join("bin/pip"))
        .args(["install", "--quiet", "--no-input", "--disable-pip-version-check"])
        .args(more)
        .arg("--requirement")
        .arg(repository.path(pins)))
}

/// Makes sure that PostgreSQL is there. Its programs are not on the path.
pub(crate) fn postgres() -> Result<()> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    if versions.into_iter().any(|version| version.path().join("bin/postgres").is_file()) {
        return Ok(());
    }
    apt_install("postgresql")
}

/// Makes sure that there is a browser, and the program that drives it.
pub(crate) fn browser() -> Result<()> {
    if exists("chromium") && exists("chromedriver") {
        Ok(())
    } else {
        apt_install("chromium chromium-driver")
    }
}

/// Makes sure that a program of Debian can be started.
pub(crate) fn require(program: &str, package: &str) -> Result<()> {
    if exists(program) { Ok(()) } else { apt_install(package) }
}

fn apt_install(package: &str) -> Result<()> {
    let line = format!("apt-get update && apt-get install -y {package}");
    if !exists("apt-get") {
        bail!("the package `{package}` is missing and this is no Debian; install what `{line}` would");
    }
    let mut command = if rustix::process::geteuid().is_root() {
        Command::new("sh")
    } else if exists("sudo") {
        let mut sudo = Command::new("sudo");
        sudo.args(["-n", "sh"]);
        sudo
    } else {
        bail!("the package `{package}` is missing; run as root: {line}");
    };
    command.args(["-c", &format!("export DEBIAN_FRONTEND=noninteractive; {line}")]);
    run(&mut command).with_context(|| format!("the package `{package}` is missing; run as root: {line}"))
}

fn run(command: &mut Command) -> Result<()> {
    let line = crate::command::shown(command);
    let place = command.get_current_dir().map(|folder| format!("cd {} && ", folder.display()));
    let outcome = quiet(command, INSTALL_LIMIT)?;
    if !outcome.success {
        bail!("{}\ninstallation failed; run: {}{line}", outcome.output.trim_end(), place.unwrap_or_default());
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}
