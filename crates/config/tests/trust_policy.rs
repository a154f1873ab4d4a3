//! The MCP trust policy document, row by row: its fields with their defaults, its default policy, its rules of assignment and
//! enforcement, and what its security considerations ask of a configuration.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use highwater_config::{ServerSettings, Settings, check, load};
use highwater_core::trust::TrustLevel;

/// §3.1, as it is printed.
const PRINTED: &str = r#"mcp_servers:
  "https://mcp.internal.corp/v1":
    server_trust: tool          # TOOL for verified internal server
    resource_trust: none        # resource content is always untrusted
    verified: true              # has a signed manifest
    label: "Internal MCP"

  "https://community.example.com/mcp":
    server_trust: none          # untrusted community server
    resource_trust: none
    verified: false
    allowed_tools:              # restrict which tools may be called
      - "search"
      - "calculator"
    label: "Community Search"
"#;

const SERVERS: &str = "servers:
  internal: { url: 'https://mcp.internal.corp/v1' }
  community: { url: 'https://community.example.com/mcp' }
  unlisted: { url: 'https://elsewhere.example.com/mcp' }
";

fn settings(text: &str) -> Settings {
    load("highwater.yaml", text, &|_| None).unwrap_or_else(|problems| panic!("{problems}"))
}

fn refused(text: &str) -> String {
    match load("highwater.yaml", text, &|_| None) {
        Ok(settings) => panic!("accepted: {settings:?}"),
        Err(problems) => problems.to_string(),
    }
}

/// A server with this trust block.
fn server(block: &str) -> ServerSettings {
    let text = format!("servers: {{ a: {{ command: x }} }}\nmcp_servers: {{ a: {{ {block} }} }}\n");
    settings(&text).servers.into_iter().next().unwrap()
}

fn allows(server: &ServerSettings, tool: &str) -> bool {
    server.allowed_tools.as_ref().is_none_or(|allowed| allowed.contains(tool))
}

#[test]
fn section_3_1_loads_as_it_is_printed() {
    let surroundings =
        highwater_config::Surroundings { environment: &|_| None, files: &|_| Err("none".to_owned()) };
    let alone =
        check("highwater.yaml", PRINTED, &surroundings).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(alone.settings.servers, []);
    assert_eq!(
        alone.warnings.len(),
        3,
        "two entries nobody goes to, and no server at all: {:?}",
        alone.warnings
    );

    let settings = settings(&format!("{SERVERS}{PRINTED}"));
    let internal = settings.server("internal").unwrap();
    assert_eq!(internal.trust.effective(), TrustLevel::Tool);
    assert_eq!(internal.trust.resources(), TrustLevel::None);
    assert!(internal.trust.verified());
    assert_eq!(internal.title.as_deref(), Some("Internal MCP"));
    assert_eq!(internal.allowed_tools, None);

    let community = settings.server("community").unwrap();
    assert_eq!(community.trust.effective(), TrustLevel::None);
    assert!(!community.trust.verified());
    assert_eq!(community.title.as_deref(), Some("Community Search"));
    assert_eq!(community.allowed_tools, Some(BTreeSet::from(["search".to_owned(), "calculator".to_owned()])));
}

/// §2.1: what each kind of content is worth, for every level, verified or not.
#[test]
fn section_2_tool_replies_are_worth_what_is_verified_and_resources_what_was_raised() {
    for (word, level) in [
        ("none", TrustLevel::None),
        ("tool", TrustLevel::Tool),
        ("agent", TrustLevel::Agent),
        ("system", TrustLevel::System),
        ("user", TrustLevel::User),
        ("owner", TrustLevel::Owner),
        ("any", TrustLevel::None),
        ("full", TrustLevel::Owner),
        ("NONE", TrustLevel::None),
        ("TOOL", TrustLevel::Tool),
        ("Owner", TrustLevel::Owner),
        ("FULL", TrustLevel::Owner),
    ] {
        let verified = server(&format!("server_trust: {word}, verified: true")).trust;
        assert_eq!((verified.effective(), verified.resources()), (level, TrustLevel::None), "{word}");
        let raised = server(&format!("resource_trust: {word}, verified: true")).trust;
        assert_eq!((raised.effective(), raised.resources()), (TrustLevel::Tool, level), "{word}");
        // The key invariant: no configuration bypasses the cap.
        let written = format!("server_trust: {word}, resource_trust: {word}, verified: false");
        let capped = server(&written).trust;
        assert_eq!((capped.effective(), capped.resources()), (TrustLevel::None, TrustLevel::None), "{word}");
    }
    assert!(refused("servers: { a: { command: x, trust: { server_trust: root } } }").contains("root"));
}

/// §3.2: each field, its default, and that a wrong type is an error.
#[test]
fn section_3_2_fields_have_their_types_and_defaults() {
    let plain = server("");
    assert_eq!(plain.trust.effective(), TrustLevel::None, "server_trust");
    assert_eq!(plain.trust.resources(), TrustLevel::None, "resource_trust");
    assert!(!plain.trust.verified(), "verified");
    assert_eq!(plain.allowed_tools, None, "allowed_tools");
    assert_eq!(plain.title, None, "label");
    for (block, wrong) in [
        ("server_trust: 1", "server_trust"),
        ("resource_trust: [none]", "resource_trust"),
        ("verified: yes", "verified"),
        ("allowed_tools: search", "allowed_tools"),
        ("label: [a]", "label"),
        ("servertrust: none", "servertrust"),
    ] {
        let said =
            refused(&format!("servers: {{ a: {{ command: x }} }}\nmcp_servers: {{ a: {{ {block} }} }}\n"));
        assert!(said.contains(wrong), "{block}: {said}");
    }
}

/// §3.2, §4.2: null is all, a list is that list, an empty list is none.
#[test]
fn section_4_2_a_list_of_tools_is_that_list() {
    for (block, search, exec) in [
        ("", true, true),
        ("allowed_tools: null", true, true),
        ("allowed_tools: [search]", true, false),
        ("allowed_tools: []", false, false),
    ] {
        let server = server(block);
        assert_eq!((allows(&server, "search"), allows(&server, "exec")), (search, exec), "{block}");
    }
}

/// §3.3: a server that is not listed.
#[test]
fn section_3_3_a_server_nobody_listed_has_no_trust() {
    let settings = settings(&format!("{SERVERS}{PRINTED}"));
    let unlisted = settings.server("unlisted").unwrap();
    assert_eq!(unlisted.trust, highwater_core::trust::ServerTrust::default());
    assert_eq!(unlisted.trust.effective(), TrustLevel::None);
    assert_eq!(unlisted.trust.resources(), TrustLevel::None);
    assert!(!unlisted.trust.verified());
}

/// §5.1: TLS wherever the network is not our own machine.
#[test]
fn section_5_1_servers_beyond_this_machine_are_reached_over_tls() {
    for (url, allowed) in [
        ("https://mcp.example.com/v1", true),
        ("http://localhost:9000/mcp", true),
        ("http://127.0.0.1:9000/mcp", true),
        ("http://[::1]:9000/mcp", true),
        ("http://mcp.example.com/v1", false),
        ("http://10.0.0.8/mcp", false),
        ("http://localhost.example.com/mcp", false),
        ("http://127.0.0.1.example.com/mcp", false),
    ] {
        let text = format!("servers: {{ a: {{ url: '{url}' }} }}\n");
        assert_eq!(load("highwater.yaml", &text, &|_| None).is_ok(), allowed, "{url}");
    }
}

/// §5.3: two servers with a tool of the same name have their own lists.
#[test]
fn section_5_3_a_list_is_about_its_own_server() {
    let text = "servers: { a: { command: x }, b: { command: y } }
mcp_servers:
  a: { allowed_tools: [search] }
  b: { allowed_tools: [read] }
";
    let settings = settings(text);
    let (a, b) = (settings.server("a").unwrap(), settings.server("b").unwrap());
    assert!(allows(a, "search") && !allows(b, "search"));
    assert!(allows(b, "read") && !allows(a, "read"));
    // An address is the same however it is written, so that no list is lost to a capital.
    for url in ["HTTPS://Mcp.Example.com/v1", "https://mcp.example.com:443/v1/", "https://mcp.example.com/v1"]
    {
        let text = format!(
            "servers: {{ a: {{ url: '{url}' }} }}\nmcp_servers: {{ 'https://mcp.example.com/v1': {{ allowed_tools: [] }} }}\n"
        );
        let settings = self::settings(&text);
        assert!(!allows(settings.server("a").unwrap(), "search"), "{url}");
    }
    // What is said twice would leave open which holds.
    let twice = "servers: { a: { command: x, trust: { verified: true } } }\nmcp_servers: { a: { verified: false } }\n";
    assert!(refused(twice).contains("more than once"));
    // A name that nobody has is a slip, and so is a URL that is nearly another's.
    assert!(
        refused("servers: { a: { command: x } }\nmcp_servers: { b: {} }\n").contains("no server is called")
    );
    let near = "servers: { a: { url: 'https://mcp.example.com/v1' } }\nmcp_servers: { 'https://mcp.example.com/v2': {} }\n";
    assert!(refused(near).contains("did you mean"));
}
