//! `servers` as people meet a server that does not work: why, its last words, and what helps.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::http::Gateway;
use crate::program::{Site, text};

/// Answers every request in the same way, for as long as the test runs.
fn answering(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            if stream.read(&mut head).is_ok_and(|read| read > 0) {
                // Whoever has left needs no answer.
                stream.write_all(answer.as_bytes()).ok();
            }
        }
    });
    url
}

/// A program that says this and ends.
fn saying(line: &str) -> Value {
    json!({ "command": "sh", "args": ["-c", format!("echo '{line}' >&2; exit 2")] })
}

const OAUTH: &str = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"https://x.example/.well-known/oauth-protected-resource\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const NO_TOKEN: &str = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const NOT_FOUND: &str =
    "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";

#[test]
fn each_server_that_does_not_work_says_why_and_what_helps() {
    let site = Site::new();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let servers = json!({
        "missing": { "command": "uvx-of-nobody" },
        "tls": saying("  Caused by: invalid peer certificate: UnknownIssuer"),
        "setting": saying("Error: API_KEY environment variable is required"),
        "oauth": { "url": answering(OAUTH) },
        "token": { "url": answering(NO_TOKEN) },
        "wrong-token": { "url": answering(NO_TOKEN), "headers": { "Authorization": "Bearer x" } },
        "path": { "url": answering(NOT_FOUND) },
        "page": { "url": answering(PAGE) },
        "refused": { "url": format!("http://{nobody}/mcp") },
        "name": { "url": "https://no-such-host.invalid/mcp" },
        "plain": { "url": answering(PAGE).replace("http://", "https://") },
    });
    let config =
        site.write("all.json", &json!({ "servers": servers, "approvals": { "listen": "none" } }).to_string());
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
    let gateway = Gateway::of(site.start(&arguments));
    // Whoever lists tools has them all started.
    gateway.tools();
    let table = text(&site.run(&["servers"]).stdout);
    let listed: Vec<Value> = serde_json::from_slice(&site.run(&["servers", "--json"]).stdout).unwrap();
    for (name, cause, fix) in [
        ("missing", "not-found", "it was looked for in "),
        ("tls", "certificate", "set SSL_CERT_FILE"),
        ("setting", "setting", "under its `env`"),
        ("oauth", "oauth", "OAuth is not supported yet"),
        ("token", "token", "`headers: { Authorization:"),
        ("wrong-token", "token", "is not accepted"),
        ("path", "path", "look at the path of its `url`"),
        ("page", "web-page", "look at the path of its `url`"),
        ("refused", "refused", "nobody listens there"),
        ("name", "name", "the host of its `url`"),
        ("plain", "protocol", "does it speak TLS there?"),
    ] {
        let status = listed.iter().find(|status| status["name"] == name).unwrap();
        assert_eq!(status["state"], "failed", "{status:#}");
        assert_eq!(status["trouble"]["cause"], cause, "{status:#}");
        let told = status["trouble"]["fix"].as_str().unwrap();
        assert!(told.contains(fix), "{name}: {told}");
        let part =
            table.split(&format!("\n{name} failed: ")).nth(1).unwrap_or_else(|| panic!("{name} in {table}"));
        assert!(part.split("\n\n").next().unwrap().contains(&format!("  fix: {told}")), "{name} in {table}");
    }
    assert!(table.contains("  last words: Caused by: invalid peer certificate: UnknownIssuer"), "{table}");
    // The long search path is not in the words that a model could be shown, nor in the table itself.
    let rows: Vec<&str> = table.lines().take_while(|line| !line.is_empty()).collect();
    assert!(rows.len() == 12 && rows.iter().all(|row| row.len() < 100), "{table}");
    let inspected = text(&site.run(&["servers", "inspect", "tls"]).stdout);
    for part in
        ["server `tls`: failed", "cause: certificate", "| ", "UnknownIssuer", "fix: set SSL_CERT_FILE"]
    {
        assert!(inspected.contains(part), "{part} in {inspected}");
    }
}

#[test]
fn a_child_gets_what_a_company_sets_and_none_of_its_passwords() {
    let site = Site::new();
    let seen = site.home().join("seen");
    let script = format!("env > {}; exit 3", seen.display());
    let config = json!({
        "servers": { "child": { "command": "sh", "args": ["-c", script] } }, "approvals": { "listen": "none" },
    });
    let config = site.write("child.json", &config.to_string());
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
    let gateway = Gateway::of(site.start_with(
        &arguments,
        &[
            ("NODE_EXTRA_CA_CERTS", "/etc/company.pem"),
            ("REQUESTS_CA_BUNDLE", "/etc/company.pem"),
            ("HTTPS_PROXY", "http://ada:s3cr3t@proxy.example.com:3128"),
            ("https_proxy", "http://ada:s3cr3t@proxy.example.com:3128"),
            ("NO_PROXY", "localhost"),
            ("UV_INDEX_URL", "https://ada:s3cr3t@pypi.example.com/simple"),
            ("npm_config_registry", "https://npm.example.com/"),
            ("npm_config__authToken", "s3cr3t"),
            ("UV_PUBLISH_TOKEN", "s3cr3t"),
            ("NODE_TLS_REJECT_UNAUTHORIZED", "0"),
        ],
    ));
    gateway.tools();
    let seen = std::fs::read_to_string(seen).unwrap();
    for line in [
        "NODE_EXTRA_CA_CERTS=/etc/company.pem",
        "REQUESTS_CA_BUNDLE=/etc/company.pem",
        "HTTPS_PROXY=http://proxy.example.com:3128",
        "https_proxy=http://proxy.example.com:3128",
        "NO_PROXY=localhost",
        "UV_INDEX_URL=https://pypi.example.com/simple",
        "npm_config_registry=https://npm.example.com/",
    ] {
        assert!(seen.lines().any(|seen| seen == line), "{line} in {seen}");
    }
    assert!(!seen.contains("s3cr3t") && !seen.contains("NODE_TLS") && !seen.contains("swordfish"), "{seen}");
}
