//! How it ends while somebody still waits for an answer.

use std::fs::File;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::http::Gateway;
use crate::program::{PATIENCE, Site};

/// A server whose one tool says that it was called and answers when it is told to.
const PATIENT: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"patient","version":"1"}}' ;;
    *'"tools/list"'*) answer '{"tools":[{"name":"wait","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) : > "$PLACE/called"; read -r word < "$PLACE/gate"; answer '{"content":[{"type":"text","text":"at last"}]}' ;;
  esac
done
"#;

struct Patient {
    site: Site,
    gateway: Gateway,
}

impl Patient {
    fn new() -> Self {
        let site = Site::new();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            site.home().join("gate"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let script = site.write("patient.sh", PATIENT);
        let config = json!({ "flow": "observe", "quarantine": false, "servers": { "patient": {
            "command": "sh",
            "args": [script],
            "env": { "PLACE": site.home() },
            "era": "legacy",
        } } });
        site.write("highwater.yaml", &config.to_string());
        let gateway = Gateway::of(site.start(&["serve", "--listen", "127.0.0.1:0"]));
        assert_eq!(gateway.tools(), ["patient__wait"]);
        Self { site, gateway }
    }
}

#[test]
fn a_call_in_flight_is_answered_before_the_end() {
    let Patient { site, mut gateway } = Patient::new();
    let client = gateway.client();
    let call = thread::spawn(move || client.call("patient__wait", &json!({})));
    wait_for_call(&site);
    gateway.running.signal(Signal::TERM);
    gateway.running.errors_until("stopping");
    open_gate(&site);
    assert!(call.join().unwrap().to_string().contains("at last"));
    assert_eq!(gateway.running.wait().code(), Some(0));
    site.wait_until_quiet();
}

#[test]
fn told_a_second_time_it_ends_at_once() {
    let Patient { site, mut gateway } = Patient::new();
    let client = gateway.client();
    let call = thread::spawn(move || client.try_call("patient__wait", &json!({})));
    wait_for_call(&site);
    gateway.running.signal(Signal::TERM);
    gateway.running.errors_until("stopping");
    gateway.running.signal(Signal::TERM);
    assert_eq!(gateway.running.wait().code(), Some(1));
    assert!(call.join().unwrap().is_err(), "nobody opened the gate");
    site.wait_until_quiet();
}

/// Waits until the call has arrived at the server.
fn wait_for_call(site: &Site) {
    let called = site.home().join("called");
    let deadline = Instant::now() + PATIENCE;
    while !called.exists() {
        assert!(Instant::now() < deadline, "the call did not arrive");
        thread::sleep(Duration::from_millis(5));
    }
}

fn open_gate(site: &Site) {
    let mut gate = File::options().write(true).open(site.home().join("gate")).unwrap();
    writeln!(gate, "go").unwrap();
}
