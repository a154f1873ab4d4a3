//! `serve`: what it says, and that what it says is true.

use std::net::TcpListener;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http::Gateway;
use crate::program::{PATIENCE, Running, Site, text};

#[test]
fn with_nothing_configured_the_example_runs_and_its_words_are_true() {
    let site = Site::new();
    let mut gateway = Gateway::of(site.start(&["serve", "--listen", "localhost:0"]));
    let words = &gateway.words;
    assert!(words.contains("built-in example"), "{words}");
    assert!(words.contains("http://localhost:"), "{words}");
    assert!(words.contains("conversations   presumed: what one token does is one conversation"), "{words}");
    assert!(!words.contains('\u{1b}'), "readable without colour: {words}");

    // The tokens shown are those in the files named.
    for name in ["agent-token", "operator-token"] {
        let token = std::fs::read_to_string(site.data().join(name)).unwrap();
        assert!(words.contains(token.trim()), "{name} in {words}");
        assert!(words.contains(site.data().join(name).to_str().unwrap()), "where {name} is, in {words}");
    }

    // Both snippets are JSON that a client can take, and lead here.
    let snippets: Vec<Value> = words
        .split("\n\n")
        .filter(|part| part.starts_with('{'))
        .map(|part| serde_json::from_str(part).unwrap())
        .collect();
    let [over_http, over_stdio] = snippets.as_slice() else { panic!("two snippets in {words}") };
    let entry = &over_http["mcpServers"]["highwater"];
    assert_eq!(entry["url"], format!("http://{}/mcp", gateway.address));
    assert_eq!(entry["headers"]["Authorization"], format!("Bearer {}", gateway.agent_token));
    let entry = &over_stdio["mcpServers"]["highwater"];
    assert_eq!(entry["command"], env!("CARGO_BIN_EXE_highwater"));
    assert_eq!(entry["args"], json!(["stdio"]));

    let greeting = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let response = gateway.post("", Some(&gateway.agent_token), "initialize", &greeting);
    assert_eq!(response.status, 200, "{}", response.body);
    let reply: Value = serde_json::from_str(&response.body).unwrap();
    assert_eq!(reply["result"]["serverInfo"]["name"], "highwater");
    assert_eq!(gateway.post("", None, "initialize", &greeting).status, 401);

    let tools = gateway.tools();
    for tool in ["files__read_file", "mail__send_message", "repo__list_issues", "web__fetch_page"] {
        assert!(tools.iter().any(|name| name == tool), "{tool} in {tools:?}");
    }

    let table = text(&site.run(&["servers"]).stdout);
    for server in ["files", "mail", "repo", "web"] {
        assert!(table.lines().any(|line| line.starts_with(server) && line.contains(" up ")), "{table}");
    }
    let listed: Value = serde_json::from_slice(&site.run(&["servers", "--json"]).stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 4);

    gateway.running.signal(Signal::TERM);
    assert_eq!(gateway.running.wait().code(), Some(0));
    assert!(site.gateway().is_none(), "its notice is taken away");
    site.wait_until_quiet();
}

#[test]
fn the_line_that_says_whether_it_works_is_short_and_works() {
    let site = Site::new();
    let gateway = Gateway::of(site.start(&["serve", "--listen", "localhost:0"]));
    let (_, line) = gateway.words.split_once("see if it works").unwrap();
    let line = line.lines().next().unwrap().trim();
    let arguments: Vec<&str> = line.split_whitespace().skip(1).collect();
    assert!(line.starts_with("highwater ") && line.len() < 80, "{line}");
    let output = site.run(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(&gateway.address), "{}", text(&output.stdout));
    // Of the rest only paths, tokens and what clients paste can be long.
    let long = gateway.words.lines().filter(|line| line.chars().count() > 200);
    assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn what_the_example_servers_were_told_survives_a_restart() {
    let site = Site::new();
    let serve = || Gateway::of(site.start(&["serve", "--listen", "127.0.0.1:0"]));
    let mut gateway = serve();
    let written = gateway.call("files__write_file", &json!({ "path": "notes/today.md", "text": "buy milk" }));
    assert_ne!(written["isError"], true, "{written}");
    gateway.running.signal(Signal::INT);
    assert_eq!(gateway.running.wait().code(), Some(0));

    let again = serve();
    assert_eq!(again.agent_token, gateway.agent_token, "tokens stay");
    let read = again.call("files__read_file", &json!({ "path": "notes/today.md" }));
    assert!(read.to_string().contains("buy milk"), "{read}");
}

#[test]
fn a_directory_has_one_gateway_and_the_second_learns_where_it_is() {
    let site = Site::new();
    let gateway = Gateway::of(site.start(&["serve", "--listen", "127.0.0.1:0"]));
    let output = site.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains(&format!("http://{}/mcp (process {})", gateway.address, gateway.running.pid())),
        "{said}"
    );
    assert!(said.contains("help: "), "{said}");
    assert!(gateway.tools().len() > 10, "the first is not disturbed");
}

#[test]
fn a_port_that_is_taken_is_a_failure_with_a_way_out() {
    let site = Site::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = site.run(&["serve", "--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains(&address) && said.contains("--listen"), "{said}");
}

/// Does something while the usual place of the approval page is taken: by us, or by whoever has it already, such as a
/// gateway of another test. That one may let go of it at any time; if so there is nothing to see, and it is done again.
fn while_the_usual_page_is_taken<T>(mut done: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let ours = TcpListener::bind("127.0.0.1:7412");
        match (done(), ours) {
            (Some(seen), _) => return seen,
            (None, Ok(ours)) => panic!("the page is at {ours:?} as well"),
            (None, Err(taken)) => assert!(Instant::now() < deadline, "{taken}"),
        }
    }
}

/// What a gateway said that did not start, and how it ended; nothing if it did start.
fn not_started(running: &mut Running) -> Option<(ExitStatus, String)> {
    while let Some(line) = running.line() {
        if line.contains("  stop ") {
            return None;
        }
    }
    Some((running.wait(), running.rest_of_errors()))
}

#[test]
fn a_page_that_is_written_down_is_there_or_nothing_is() {
    let site = Site::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let usual = "localhost:7412".to_owned();
    let at = |listen: &str| {
        let config =
            format!("{{ servers: {{ a: {{ command: 'true' }} }}, approvals: {{ listen: '{listen}' }} }}");
        let config = site.write("page.yaml", &config);
        let arguments = ["serve", "--config", config.to_str().unwrap(), "--listen", "localhost:0"];
        not_started(&mut site.start(&arguments))
    };
    let elsewhere = taken.local_addr().unwrap().to_string();
    let ended = at(&elsewhere).expect("it is taken");
    // The usual place is no exception once it is written down.
    let usually = while_the_usual_page_is_taken(|| at(&usual));
    for (listen, (status, said)) in [(elsewhere, ended), (usual, usually)] {
        assert_eq!(status.code(), Some(1), "{listen}");
        assert!(said.contains(&format!("`approvals.listen: {listen}`")), "{said}");
        assert!(said.contains("help: stop the program that has the port"), "{said}");
    }
}

#[test]
fn a_page_that_nobody_chose_is_missed_aloud() {
    let site = Site::new();
    let gateway = while_the_usual_page_is_taken(|| {
        let gateway = Gateway::of(site.start(&["serve", "--listen", "localhost:0"]));
        Some(gateway).filter(|gateway| gateway.words.contains("7412 is taken"))
    });
    assert!(gateway.words.contains("approvals       none: localhost:7412 is taken"), "{}", gateway.words);
    assert!(!gateway.words.contains("enroll a passkey"), "{}", gateway.words);
    assert!(gateway.tools().len() > 10, "it works all the same");
    // D16: the address that is advised is one that is free, so never the one that is taken, by us or by another still.
    let taken = TcpListener::bind("127.0.0.1:7412");
    let output = site.run(&["approvals", "enroll", "--no-open"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let (_, advised) = said.split_once("localhost:").unwrap();
    let port: String = advised.chars().take_while(char::is_ascii_digit).collect();
    let free = TcpListener::bind(("127.0.0.1", port.parse().unwrap()));
    assert!(free.is_ok(), "localhost:{port} is advised, which is taken: {said}");
    drop(taken);
}

#[test]
fn nobody_listens_beyond_this_machine_without_a_token() {
    let site = Site::new();
    let config = site.write("open.yaml", "{ auth: none, servers: { a: { command: a } } }");
    let output = site.run(&["serve", "--config", config.to_str().unwrap(), "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`auth: none`"), "{}", text(&output.stderr));
}

#[test]
fn a_server_gets_its_own_variables_and_no_secret_of_ours() {
    let site = Site::new();
    let seen = site.home().join("seen");
    let config = json!({ "servers": { "spy": {
        "command": "sh",
        "args": ["-c", format!("env > '{}.new'; mv '{0}.new' '{0}'", seen.display())],
        "env": { "TOLD": "${SECRET_OF_TEST}" },
        "start": "eager",
    } } });
    site.write("highwater.yaml", &config.to_string());
    let gateway = Gateway::of(site.start(&["serve", "--listen", "127.0.0.1:0"]));
    let deadline = Instant::now() + PATIENCE;
    while !seen.exists() {
        assert!(Instant::now() < deadline, "the server was not started");
        std::thread::sleep(Duration::from_millis(10));
    }
    let environment = std::fs::read_to_string(&seen).unwrap();
    assert!(environment.contains("TOLD=swordfish"), "{environment}");
    assert!(environment.contains("PATH="), "{environment}");
    assert!(!environment.contains("SECRET_OF_TEST"), "{environment}");
    drop(gateway);
}
