//! Everything that is looked at, in the order in which one thing depends on the other.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use highwater_hosts::connect::{
    HostFile, InstalledHook, ServerProgram, SettingsOf, hooks_in, obstacles, program_in,
};
use highwater_hosts::host::{Host, Version};

use super::check::Check;
use super::events::Range;
use super::server::Server;
use super::trust;
use crate::connection::{
    Connection, Location, Records, SERVER_NAME, changes, find_program, install, managed_settings,
};
use crate::local::socket;
use crate::place::Places;
use crate::running::Running;

/// The files of a host as far as hooks and servers are concerned.
struct Installed {
    hooks: Vec<InstalledHook>,
    server: Option<ServerProgram>,
}

/// Looks at everything.
pub(super) fn examine(host: Host, places: &Places, data: &Path) -> Vec<Check> {
    let program = find_program(host.program());
    let mut checks = vec![version(host, program.as_deref())];
    let connection = match Records::look(data, host) {
        Ok(Some(connection)) => connection,
        Ok(None) => {
            let found = format!("{} is not connected on `{}`", host.title(), data.display());
            checks.push(Check::failed("files", found, format!("`highwater connect {host}`")));
            return checks;
        }
        Err(failure) => {
            checks.push(Check::failed("files", failure.words(), format!("`highwater connect {host}`")));
            return checks;
        }
    };
    let location = match Location::of(host, connection.plugin.clone()) {
        Ok(location) => location,
        Err(failure) => {
            checks.push(Check::failed("files", failure.words(), "set `HOME` and try again"));
            return checks;
        }
    };
    checks.push(files(host, places, data, &location, &connection));
    checks.push(settings(host, &location));
    let installed = Installed::read(host, &location);
    checks.push(hook_program(&installed));
    if let (Host::Codex, Some(program)) = (host, &program) {
        checks.push(trust::codex(program, &location.path(HostFile::CodexHooks)));
    }
    let mut server = match &installed.server {
        None => {
            let found = format!("the host's list has no server `{SERVER_NAME}` that it starts");
            checks.push(Check::failed("server", found, format!("`highwater connect {host}`")));
            None
        }
        Some(program) => match Server::start(program) {
            Ok(server) => {
                let token = &connection.token.name;
                checks.push(Check::ok("server", format!("it starts and takes token `{token}`")));
                Some(server)
            }
            Err(why) => {
                checks.push(Check::failed(
                    "server",
                    why,
                    format!("`highwater connect {host}` makes a new token"),
                ));
                None
            }
        },
    };
    checks.push(gateway(data));
    checks.extend(Range { host, hooks: &installed.hooks, server: server.as_mut(), data }.fire());
    checks
}

/// Whether the host is there, in a version that was tested.
fn version(host: Host, program: Option<&Path>) -> Check {
    let (oldest, newest) = host.tested_versions();
    let Some(program) = program else {
        let found = format!("`{}` is not on your path", host.program());
        return Check::warning(
            "host",
            found,
            format!("install {}, or add its folder to `PATH`", host.title()),
        );
    };
    let said = Command::new(program).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let tested = match oldest == newest {
        true => format!("tested with {newest}"),
        false => format!("tested with {oldest} to {newest}"),
    };
    match Version::find(&said) {
        None => Check::warning("host", format!("`{}` does not say its version", program.display()), tested),
        Some(found) if found < oldest => Check::failed(
            "host",
            format!("{found} does not tell all that is needed"),
            format!("update it; {tested}"),
        ),
        Some(found) if found > newest => Check::warning(
            "host",
            format!("{found} is newer than what was tested"),
            format!("watch it; {tested}"),
        ),
        Some(found) => Check::ok("host", format!("{found}, {tested}")),
    }
}

/// Whether the host's files hold what this build installs.
fn files(host: Host, places: &Places, data: &Path, location: &Location, connection: &Connection) -> Check {
    let again = format!("`highwater connect {host}` puts it right");
    let planned = install(places, data, &connection.token.secret, location.plugin.is_some())
        .and_then(|install| Ok((changes(host, location, &install, Some(connection))?, install)));
    let (changed, install) = match planned {
        Ok(planned) => planned,
        Err(failure) => return Check::failed("files", failure.words().replace('\n', "; "), again),
    };
    let mut stale: Vec<String> = changed
        .iter()
        .filter(|change| change.is_change())
        .map(|change| change.before.shown.clone())
        .collect();
    if let Some(folder) = &location.plugin {
        let files = highwater_hosts::connect::plugin_files(&install, env!("CARGO_PKG_VERSION"));
        let is_stale = |name: &str, text: &String| {
            std::fs::read_to_string(folder.join(name)).ok().as_ref() != Some(text)
        };
        stale.extend(
            files
                .iter()
                .filter(|(name, text)| is_stale(name, text))
                .map(|(name, _)| location.shown(&folder.join(name))),
        );
    }
    let shown: Vec<&str> = changed.iter().map(|change| change.before.shown.as_str()).collect();
    match stale.is_empty() {
        true => Check::ok("files", format!("{}: as this build installs them", shown.join(", "))),
        false => {
            Check::failed("files", format!("not as this build installs them: {}", stale.join(", ")), again)
        }
    }
}

/// Whether any file that the host heeds keeps our hooks from running.
fn settings(host: Host, location: &Location) -> Check {
    let here = std::env::current_dir().unwrap_or_default();
    let (user, project): (PathBuf, &[&str]) = match host {
        Host::ClaudeCode => (
            location.path(HostFile::ClaudeSettings),
            &[".claude/settings.json", ".claude/settings.local.json"],
        ),
        Host::Codex => (location.path(HostFile::CodexConfig), &[".codex/config.toml"]),
    };
    let mut places = vec![(user, SettingsOf::User)];
    places.extend(project.iter().map(|name| (here.join(name), SettingsOf::Project)));
    places.push((PathBuf::from(managed_settings(host)), SettingsOf::Administrator));
    let found: Vec<String> = places
        .iter()
        .flat_map(|(path, of)| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let shown = location.shown(path);
            obstacles(host, *of, &text).into_iter().map(move |obstacle| format!("{shown}, {obstacle}"))
        })
        .collect();
    match found.is_empty() {
        true => Check::ok("settings", "nothing keeps hooks from running"),
        false => Check::failed("settings", found.join("; "), "take it out, and start the host anew"),
    }
}

/// Whether the program in the hooks is there.
fn hook_program(installed: &Installed) -> Check {
    let expected = installed.hooks.len();
    let Some(ServerProgram { command, .. }) = &installed.server else {
        return Check::failed("program", "no program is named", "connect the host again");
    };
    match find_program(command) {
        Some(program) => Check::ok("program", format!("{}, {expected} hooks", program.display())),
        None => Check::failed(
            "program",
            format!("`{command}` cannot be started"),
            "connect the host again with the program that you use",
        ),
    }
}

/// Whether a gateway answers on the data directory.
fn gateway(data: &Path) -> Check {
    let socket = socket::find(data);
    let is_there = std::os::unix::net::UnixStream::connect(&socket).is_ok();
    match (is_there, Running::read(data)) {
        (true, Some(running)) => {
            Check::ok("gateway", format!("process {} on `{}`", running.pid, socket.display()))
        }
        (true, None) => Check::ok("gateway", format!("on `{}`", socket.display())),
        (false, _) => {
            let found = format!("none answers on `{}`", socket.display());
            Check::failed(
                "gateway",
                found,
                "`highwater serve` says why; `gateway.log` in the data directory, too",
            )
        }
    }
}

// === impl Installed ===

impl Installed {
    fn read(host: Host, location: &Location) -> Self {
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        let (hooks, servers) = match (&location.plugin, host) {
            (Some(folder), _) => (read(folder.join("hooks/hooks.json")), read(folder.join(".mcp.json"))),
            (None, Host::ClaudeCode) => {
                (read(location.path(HostFile::ClaudeSettings)), read(location.path(HostFile::ClaudeServers)))
            }
            (None, Host::Codex) => {
                (read(location.path(HostFile::CodexHooks)), read(location.path(HostFile::CodexConfig)))
            }
        };
        Self { hooks: hooks_in(host, &hooks), server: program_in(host, &servers, SERVER_NAME) }
    }
}
