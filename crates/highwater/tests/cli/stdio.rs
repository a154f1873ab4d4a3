//! `stdio`: several clients, one gateway, one set of servers.

use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http::Gateway;
use crate::program::{PATIENCE, Running, Site, text};

pub(crate) fn greet(client: &mut Running) {
    let reply = client.ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } }));
    assert_eq!(reply["result"]["serverInfo"]["name"], "highwater", "{reply}");
    client.ask(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
}

pub(crate) fn count_tools(client: &mut Running) -> usize {
    let reply = client.ask(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
    reply["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools in {reply}")).len()
}

fn gateways(site: &Site) -> usize {
    site.processes().iter().filter(|(_, line)| line.contains("--second")).count()
}

fn example_servers(site: &Site) -> usize {
    let is_server = |line: &str| line.contains("example-server") && !line.contains(" guard ");
    site.processes().iter().filter(|(_, line)| is_server(line)).count()
}

/// The data directory is named, so that the processes of the gateway can be told by it.
fn join(site: &Site) -> Running {
    site.start(&["stdio", "--data-dir", site.data().to_str().unwrap()])
}

#[test]
fn two_clients_share_one_gateway_which_ends_with_the_last() {
    let site = Site::new();
    let mut first = join(&site);
    greet(&mut first);
    let mut second = join(&site);
    greet(&mut second);
    assert_eq!(count_tools(&mut first), 20);
    assert_eq!(count_tools(&mut second), 20);
    assert_eq!((gateways(&site), example_servers(&site)), (1, 4));

    assert_eq!(first.leave().code(), Some(0));
    assert_eq!(count_tools(&mut second), 20, "the end of the first is nothing to the second");
    let table = text(&site.run(&["servers"]).stdout);
    assert!(table.contains("files"), "a gateway without HTTP can be asked as well: {table}");
    assert_eq!(second.leave().code(), Some(0));
    site.wait_until_quiet();
    assert!(site.gateway().is_none());
}

#[test]
fn clients_that_start_at_the_same_moment_meet_in_one_gateway() {
    let site = Site::new();
    let mut clients: Vec<Running> = (0..6).map(|_| join(&site)).collect();
    for client in &mut clients {
        greet(client);
    }
    assert_eq!(gateways(&site), 1);
    for client in &mut clients {
        assert_eq!(count_tools(client), 20);
    }
    assert_eq!(example_servers(&site), 4);
    drop(clients);
    site.wait_until_quiet();
}

#[test]
fn a_client_that_is_killed_takes_nothing_with_it_and_leaves_nothing_behind() {
    let site = Site::new();
    let mut first = join(&site);
    greet(&mut first);
    let mut second = join(&site);
    greet(&mut second);
    first.signal(Signal::KILL);
    first.wait();
    assert_eq!(count_tools(&mut second), 20);
    second.signal(Signal::KILL);
    second.wait();
    site.wait_until_quiet();
}

#[test]
fn a_gateway_that_is_killed_leaves_no_process_and_its_client_is_told() {
    let site = Site::new();
    let mut client = join(&site);
    greet(&mut client);
    assert_eq!(count_tools(&mut client), 20);
    let pid = i32::try_from(site.gateway().unwrap()["pid"].as_i64().unwrap()).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    assert_eq!(client.wait().code(), Some(1));
    client.errors_until("error: the gateway has ended");
    site.wait_until_quiet();

    // What it left in the directory does not keep the next one away.
    assert!(
        site.gateway().is_some() && site.data().join("gateway.sock").exists(),
        "it had no time to tidy up"
    );
    let mut next = join(&site);
    greet(&mut next);
    assert_eq!(next.leave().code(), Some(0));
    site.wait_until_quiet();
}

#[test]
fn serve_is_joined_too_and_its_end_is_the_end() {
    let site = Site::new();
    let mut gateway = Gateway::of(site.start(&["serve", "--listen", "127.0.0.1:0"]));
    let mut client = join(&site);
    greet(&mut client);
    assert_eq!(count_tools(&mut client), gateway.tools().len());
    assert_eq!(gateways(&site), 0);
    assert_eq!(client.leave().code(), Some(0));

    let mut another = join(&site);
    greet(&mut another);
    gateway.running.signal(Signal::TERM);
    assert_eq!(gateway.running.wait().code(), Some(0));
    assert_eq!(another.wait().code(), Some(1));
    site.wait_until_quiet();
}

#[test]
fn a_client_chooses_its_virtual_server() {
    let site = Site::new();
    let program = env!("CARGO_BIN_EXE_highwater");
    let config = json!({
        "quarantine": false,
        "servers": {
            "mail": { "command": program, "args": ["example-server", "mail"] },
            "web": { "command": program, "args": ["example-server", "web"] },
        },
        "virtual_servers": { "reading": { "servers": ["web"] } },
    });
    site.write("highwater.yaml", &config.to_string());
    let mut client = site.start(&["stdio", "--virtual-server", "reading"]);
    greet(&mut client);
    let reply = client.ask(&json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }));
    let names = reply["result"]["tools"].to_string();
    assert!(names.contains("web__fetch_page") && !names.contains("mail__"), "{names}");

    let output = site.run(&["stdio", "--virtual-server", "writing"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "error: there is no virtual server `writing`\n");
    assert_eq!(client.leave().code(), Some(0));
}

#[test]
fn a_wrong_configuration_is_said_where_the_client_looks() {
    let site = Site::new();
    site.write("highwater.yaml", "servers: { a: { comand: x } }");
    let output = site.run(&["stdio"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("did you mean `command`?"), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty(), "standard output belongs to the protocol");
}

#[test]
fn a_client_that_names_another_configuration_is_warned() {
    let site = Site::new();
    let mut first = join(&site);
    greet(&mut first);
    site.write("other.yaml", "servers: { a: { command: a } }");
    let mut second = site.start(&["stdio", "--config", "other.yaml"]);
    second.errors_until("warning: joined a gateway that already runs on the built-in example");
    greet(&mut second);
    drop((first, second));
    site.wait_until_quiet();
}

#[test]
fn a_data_directory_too_long_for_a_socket_works_all_the_same() {
    let site = Site::new();
    let data = site.home().join("long".repeat(30));
    let arguments = ["stdio", "--data-dir", data.to_str().unwrap()];
    let mut first = site.start(&arguments);
    greet(&mut first);
    let mut second = site.start(&arguments);
    greet(&mut second);
    assert_eq!(count_tools(&mut second), 20);
    assert_eq!(gateways(&site), 1);
    let running: Value =
        serde_json::from_str(&std::fs::read_to_string(data.join("gateway.json")).unwrap()).unwrap();
    let socket = std::path::PathBuf::from(running["socket"].as_str().unwrap());
    assert!(socket.as_os_str().len() <= 100, "{}", socket.display());
    assert_eq!(first.leave().code(), Some(0));
    assert_eq!(second.leave().code(), Some(0));
    site.wait_until_quiet();
    let deadline = Instant::now() + PATIENCE;
    while socket.exists() {
        assert!(Instant::now() < deadline, "the socket stays");
    }
}
