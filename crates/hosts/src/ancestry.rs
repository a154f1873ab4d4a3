//! Whether a host was started by another host's tool.
//!
//! Such a host is a sub-agent of the conversation whose tool started it: its prompts are nobody's words. A
//! detached process has no such ancestor, so this is one check among several.

use crate::host::Host;

/// One process among the ancestors of a hook, nearest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The path of the program that runs.
    pub program: String,
    /// Its arguments, the first of which names it.
    pub arguments: Vec<String>,
}

/// What stands above the host that ran a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ancestry {
    /// No other host.
    Alone,
    /// Another host, or the same one again.
    BelowAnotherHost,
    /// The chain could not be read, or there is no host in it.
    Unknown,
}

/// The part that a process plays.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The host's own program.
    Program(Host),
    /// The script that npm installs, which starts the host's own program and waits for it.
    Launcher(Host),
    Other,
}

/// What stands above the host in the chain of a hook's ancestors. The chain must reach the first process of
/// the system; one that was cut short is [`Ancestry::Unknown`], which the caller says by `whole`.
pub fn ancestry(chain: &[Process], whole: bool) -> Ancestry {
    let mut parts = chain.iter().map(part);
    let Some(host) = parts.find_map(|part| match part {
        Part::Program(host) => Some(host),
        // A launcher without its program below it: the host is a script.
        Part::Launcher(host) => Some(host),
        Part::Other => None,
    }) else {
        return Ancestry::Unknown;
    };
    let mut above = parts.peekable();
    // A shell that has one command to run becomes that command, so a host directly below the same host may
    // be its tool. Only the launcher is taken for a part of it.
    if above.peek() == Some(&Part::Launcher(host)) {
        above.next();
    }
    if above.any(|part| part != Part::Other) {
        Ancestry::BelowAnotherHost
    } else if whole {
        Ancestry::Alone
    } else {
        Ancestry::Unknown
    }
}

/// Where in the chain the host stands that ran a hook: the nearest one.
pub fn host_at(chain: &[Process]) -> Option<usize> {
    chain.iter().position(|process| part(process) != Part::Other)
}

/// Where in the chain the host stands whose tool started the one that ran the hook.
pub fn outer_host_at(chain: &[Process]) -> Option<usize> {
    let host = host_at(chain)?;
    let parts: Vec<Part> = chain.iter().map(part).collect();
    let above = match (parts.get(host), parts.get(host + 1)) {
        // Its own launcher is a part of it.
        (Some(Part::Program(own)), Some(Part::Launcher(launched))) if own == launched => host + 2,
        _ => host + 1,
    };
    parts.iter().skip(above).position(|part| *part != Part::Other).map(|at| at + above)
}

fn part(process: &Process) -> Part {
    if let Some(host) = host_named(&process.program) {
        return Part::Program(host);
    }
    let is_script = matches!(file_name(&process.program), "node" | "bun" | "deno");
    let script = process.arguments.get(1).filter(|_| is_script);
    match script.and_then(|script| host_named(script).or_else(|| host_of_package(script))) {
        Some(host) => Part::Launcher(host),
        None => Part::Other,
    }
}

fn host_named(path: &str) -> Option<Host> {
    let name = file_name(path);
    let name = name.strip_suffix(".exe").or_else(|| name.strip_suffix(".js")).unwrap_or(name);
    match name {
        "claude" => Some(Host::ClaudeCode),
        "codex" => Some(Host::Codex),
        // A program's file that was replaced by an update while it runs.
        _ if path.contains("/claude/versions/") => Some(Host::ClaudeCode),
        _ => None,
    }
}

fn host_of_package(script: &str) -> Option<Host> {
    if script.contains("@anthropic-ai/claude-code/") {
        Some(Host::ClaudeCode)
    } else if script.contains("@openai/codex/") {
        Some(Host::Codex)
    } else {
        None
    }
}

fn file_name(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(programs: &[&str]) -> Vec<Process> {
        let process = |line: &&str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            Process { program: arguments[0].clone(), arguments }
        };
        programs.iter().map(process).collect()
    }

    #[test]
    fn a_host_in_a_terminal_is_alone() {
        let claude = chain(&["/bin/sh", "/usr/bin/claude", "/bin/bash", "/usr/bin/xterm", "/sbin/init"]);
        assert_eq!(ancestry(&claude, true), Ancestry::Alone);
        let codex = chain(&[
            "/bin/sh",
            "/opt/codex",
            "/usr/bin/node /usr/lib/node_modules/@openai/codex/bin/codex.js",
            "/bin/zsh",
        ]);
        assert_eq!(ancestry(&codex, true), Ancestry::Alone);
    }

    #[test]
    fn a_host_that_a_tool_started_is_below_it() {
        for line in [
            &["/bin/sh", "/usr/bin/claude -p x", "/bin/bash", "/usr/bin/claude"][..],
            &["/bin/sh", "/usr/bin/claude -p x", "/usr/bin/claude"],
            &["/bin/sh", "/usr/bin/codex", "/bin/bash", "/usr/bin/claude"],
            &[
                "/opt/codex",
                "/usr/bin/node /x/codex.js",
                "/bin/bash",
                "/opt/codex",
                "/usr/bin/node /x/codex.js",
            ],
            &["/usr/bin/claude.exe (deleted)", "/home/u/.local/share/claude/versions/2.1.325"],
        ] {
            assert_eq!(ancestry(&chain(line), true), Ancestry::BelowAnotherHost, "{line:?}");
        }
    }

    #[test]
    fn the_host_is_the_nearest_one_of_the_chain() {
        let claude = chain(&["/usr/bin/timeout", "/bin/sh", "/usr/bin/claude", "/usr/bin/claude"]);
        assert_eq!((host_at(&claude), outer_host_at(&claude)), (Some(2), Some(3)));
        let codex =
            chain(&["/opt/codex", "/usr/bin/node /x/codex.js", "/bin/bash", "/usr/bin/claude", "/sbin/init"]);
        assert_eq!((host_at(&codex), outer_host_at(&codex)), (Some(0), Some(3)));
        assert_eq!(outer_host_at(&chain(&["/opt/codex", "/usr/bin/node /x/codex.js", "/bin/bash"])), None);
        assert_eq!(host_at(&chain(&["/bin/sh", "/usr/bin/python3"])), None);
    }

    #[test]
    fn a_chain_without_a_host_or_without_an_end_says_nothing() {
        assert_eq!(ancestry(&chain(&["/bin/sh", "/usr/bin/python3"]), true), Ancestry::Unknown);
        assert_eq!(ancestry(&chain(&["/bin/sh", "/usr/bin/claude", "/bin/bash"]), false), Ancestry::Unknown);
        assert_eq!(ancestry(&[], true), Ancestry::Unknown);
    }
}
