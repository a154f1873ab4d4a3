//! Killed at any moment, the program leaves each file as it was or as it should be, and everything can be taken back.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Site;
use crate::homes::{HOMES, Home, everything};

/// Moments at which the program is killed: once this file is there or another, and then after some microseconds.
const FILES: [&str; 3] =
    [".local/share/highwater/connections/claude-code.json", ".claude.json", ".claude/settings.json"];
const PAUSES: [u64; 5] = [0, 300, 1_000, 3_000, 10_000];

fn used() -> &'static Home {
    HOMES.iter().find(|home| home.name == "line ends of Windows, no end of the last line").unwrap()
}

/// Kills a program once a file is not what it was.
fn kill_once_changed(mut program: Child, file: &Path, before: Option<Vec<u8>>, pause: Duration) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::read(file).ok() == before && program.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "nothing happens to {}", file.display());
    }
    std::thread::sleep(pause);
    program.kill().unwrap();
    program.wait().unwrap();
}

fn is_connected(file: &str, text: &str) -> bool {
    let value: Value = serde_json::from_str(text).unwrap();
    match file {
        ".claude.json" => value["mcpServers"]["highwater"]["env"]["HIGHWATER_TOKEN"].as_str().is_some(),
        _ => value["crossSessionInbound"] == "refuse" && value["hooks"]["SubagentStop"].is_array(),
    }
}

/// Whether each file is whole: as it was, or connected.
fn check_whole(site: &Site, home: &Home) -> usize {
    let connected = home.files.iter().filter(|(file, before)| {
        let now = site.read(file);
        let connected = now != *before;
        assert!(!connected || is_connected(file, &now), "{file}: {now}");
        connected
    });
    connected.count()
}

#[test]
fn a_connection_that_is_killed_is_done_again_or_taken_back() {
    let home = used();
    for (least, file) in FILES.into_iter().enumerate() {
        for pause in PAUSES {
            let site = Site::new(home);
            let before = everything(site.home());
            let text = std::fs::read(site.path(file)).ok();
            let program = site
                .command(&["connect", "claude-code", "--yes"])
                .stdout(std::process::Stdio::null())
                .spawn();
            kill_once_changed(program.unwrap(), &site.path(file), text, Duration::from_micros(pause));
            assert!(check_whole(&site, home) >= least, "{file} {pause}");
            if pause % 2 == 0 {
                site.done(&["connect", "claude-code", "--yes"]);
                assert_eq!(check_whole(&site, home), 2);
            }
            site.done(&["disconnect", "claude-code", "--yes"]);
            assert_eq!(everything(site.home()), before, "{file} {pause}");
        }
    }
}

#[test]
fn a_disconnection_that_is_killed_is_done_again() {
    let home = used();
    for file in FILES {
        let site = Site::new(home);
        let before = everything(site.home());
        site.done(&["connect", "claude-code", "--yes"]);
        let text = std::fs::read(site.path(file)).ok();
        let program =
            site.command(&["disconnect", "claude-code", "--yes"]).stdout(std::process::Stdio::null()).spawn();
        kill_once_changed(program.unwrap(), &site.path(file), text, Duration::ZERO);
        check_whole(&site, home);
        site.done(&["disconnect", "claude-code", "--yes"]);
        assert_eq!(everything(site.home()), before, "{file}");
    }
}
