//! Files that are wrong, and what the operator is told. Each snapshot shows the file and the answer.

#![expect(clippy::panic, reason = "a test fails by panicking")]

use highwater_config::load;
use proptest::prelude::*;

fn environment(name: &str) -> Option<String> {
    match name {
        "SECRET" => Some("s3cret".to_owned()),
        "BROKEN" => Some("s3cret\r\nX-Injected: 1".to_owned()),
        "REMOTE" => Some("http://s3cret.example.com".to_owned()),
        _ => None,
    }
}

fn diagnosis(text: &str) -> String {
    match load("highwater.yaml", text, &environment) {
        Ok(settings) => panic!("accepted: {settings:?}"),
        Err(problems) => problems.to_string(),
    }
}

macro_rules! tells {
    ($($name:ident: $text:expr;)+) => { $(
        #[test]
        fn $name() {
            let text: &str = $text;
            let answer = diagnosis(text);
            assert!(!answer.contains("s3cret"), "a secret is shown: {answer}");
            insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
                insta::assert_snapshot!(stringify!($name), format!("{text}\n{}\n{answer}", "-".repeat(40)));
            });
        }
    )+ };
}

tells! {
    a_whole_line_as_the_command: "servers:\n  time:\n    command: \"uvx mcp-server-time --local-timezone 'a b'\"\n  notes:\n    command: npx -y @x/notes\n    args: [x, \"1.0\"]\n  old:\n    command: /opt/tools/npx -y x\n";
    a_home_that_nothing_expands: "servers:\n  notes: { command: notes, cwd: ~/notes }\n";
    keys_one_level_too_far_left: "servers:\n  time:\n  command: uvx\n  args: [mcp-server-time]\n  env: { TZ: UTC }\n  notes: { command: notes }\n";
    keys_without_the_name_of_a_server: "servers:\n  command: uvx\n  args: [mcp-server-time]\n";
    servers_beside_their_block: "servers:\ntime:\n  command: uvx\n  args: [mcp-server-time]\n";
    keys_of_two_servers_at_one_level: "servers:\n  time:\n  command: uvx\n  notes:\n  command: notes\n";
    tabs_for_indentation: "servers:\n\ttime:\n\t\tcommand: uvx\n";
    oauth_as_other_clients_write_it: "mcpServers:\n  linear:\n    url: https://mcp.example.com/mcp\n    oauth: { clientId: x }\n";
    one_word_for_trust: "servers:\n  a: { command: x, trust: verified }\n  b: { command: x, trust: tool }\n  c: { command: x, trust: high }\n";
    an_unknown_key_of_a_server: "servers:\n  github:\n    args: [stdio]\n    comand: github-mcp-server\n    command: x\n";
    an_unknown_key_at_the_top: "servers: { a: { command: x } }\npolicies: []\n";
    an_unknown_key_in_limits: "limits:\n  maxMessage: 4MiB\nservers: { a: { command: x } }\n";
    keys_of_other_clients: "mcpServers:\n  a:\n    serverUrl: https://example.com\n    autoApprove: [x]\n    timeout: 60\ninputs: []\n";
    several_problems_at_once: "listen: 7411\nauth: maybe\nprefix: allways\nlimits: { drain: 10, max_depth: 9999 }\nservers:\n  bad name!: { command: x }\n  a: { command: [x] }\n  b: { url: ftp://x }\nvirtual_servers:\n  v: { servers: [a, bb], prefx: never }\n";
    a_value_of_the_wrong_type: "servers:\n  a:\n    command: x\n    args: stdio\n    env: [A=B]\n    disabled: yes\n    concurrency: many\n";
    rules_that_do_not_come_with_the_program: "servers: { a: { command: x } }\nrules: [builtin:gradual, { name: graduated, effect: block, when: { session.private: true } }]\n";
    retries_and_writes: "servers:\n  a: { command: x, retry: { times: 11, wait: 0s }, writes: sorted }\n  b: { url: 'https://x', retry: 3 }\n";
    an_empty_argument: "servers: { a: { command: x, args: [a, null, [b]] } }\n";
    a_wrong_word: "servers: { a: { command: x, era: modernn, start: soon } }\n";
    both_command_and_url: "servers:\n  a:\n    command: x\n    url: https://example.com\n";
    neither_command_nor_url: "servers:\n  a:\n    args: [x]\n  b:\n";
    a_type_that_does_not_fit: "servers:\n  a: { command: x, type: http }\n  b: { url: 'https://x', type: stdio }\n  c: { command: x, era: sse }\n  d: { url: 'https://x', type: sse, era: modern }\n";
    keys_that_mean_nothing_here: "servers:\n  a: { command: x, headers: { A: b } }\n  b: { url: 'https://x', args: [y], env: { A: b }, cwd: / }\n";
    an_unset_variable: "servers:\n  a:\n    command: x\n    env:\n      TOKEN: Bearer ${NOPE} and more\n      OTHER: ${env:SECRET}\n  b:\n    url: https://${HOST}/\n    headers: { Authorization: \"${\" }\n";
    a_secret_that_breaks_a_header: "servers:\n  a:\n    url: https://example.com\n    headers: { X-Key: \"${BROKEN}\", Host: a, Mcp-Session-Id: b, x-key: c, 'a b': d }\n";
    plain_http_beyond_loopback: "servers:\n  a: { url: 'http://example.com/mcp' }\n  b: { url: \"${REMOTE}\" }\n";
    credentials_in_a_url: "servers:\n  a: { url: 'https://me:pw@example.com/mcp' }\n";
    a_relative_directory: "servers:\n  a: { command: x, cwd: work }\n  b: { command: '', env: { 'A=B': c } }\n";
    a_reserved_name: "servers: { highwater: { command: x } }\n";
    a_server_in_both_blocks: "servers:\n  a: { command: x }\nmcpServers:\n  a: { command: y }\n";
    an_unknown_server_in_a_virtual_server: "servers: { github: { command: x } }\nvirtual_servers:\n  coding:\n    servers: [gihub, other, github, github]\n";
    open_to_everyone: "listen: 0.0.0.0:7411\nauth: none\nservers: { a: { command: x } }\n";
    hosts_and_origins: "allowed_hosts: [\"*.example.com\", a.example.com, A.example.com]\nallowed_origins: [example.com]\nservers: { a: { command: x } }\n";
    an_emptied_allow_list: "servers:\n  a:\n    command: x\n    allowed_tools:\n    #  - read\n";
    methods_that_are_not_extra: "servers:\n  a: { command: x, extra_methods: [tools/call, 'a b', ping] }\n";
    zeroes: "limits: { max_message: 0, session_idle: 0s, sessions: 0 }\nservers:\n  a: { command: x, timeouts: { call: 0s }, concurrency: 0, max_reply: 0 }\n";
    sizes_and_durations: "limits:\n  max_message: 4M\n  drain: 5 minutes\nservers: { a: { command: x, timeouts: { start: 30 } } }\n";
    a_duplicate_key: "servers:\n  a:\n    command: x\n    args: [y]\n    command: z\n";
    broken_yaml: "servers:\n  a:\n    command: x: y\n";
    an_unclosed_bracket: "servers:\n  a:\n    args: [x\n    command: y\n";
    broken_json: "{\n  \"servers\": {\n    \"a\": { \"command\" \"x\" }\n  }\n}\n";
    json_with_comments: "{\n  // the servers\n  \"servers\": { \"a\": { \"command\": \"x\" } }\n}\n";
    a_comment_among_arguments: "{ \"servers\": { \"a\": { \"command\": \"x\", \"args\": [\n  \"-y\", // always\n  \"b\"\n] } } }\n";
    a_comment_behind_a_value: "{\n  \"servers\": { \"a\": { \"command\": \"x\" } } // all\n}\n";
    misspelt_servers: "server:\n  a: { command: x }\n";
    two_documents: "servers: { a: { command: x } }\n---\nservers: { b: { command: y } }\n";
    an_unknown_tag: "servers: { a: { command: !secret x } }\n";
    an_unknown_alias: "servers: { a: *nothing }\n";
    an_empty_file: "# nothing yet\n";
    no_servers: "listen: localhost:7411\nservers:\n";
    only_text: "hello\n";
    a_list_of_servers: "servers:\n  - name: a\n    command: x\n";
    a_place_after_tabs_and_wide_letters: "{\n\t\"servers\": {\n\t\t\"a\": { \"command\": \"éé\", \"oops\": 1 }\n\t}\n}\n";
    secrets_written_out: "servers:\n  a: { command: x, env: { KEY: s3cret, OTHER: \"${SECRET}\" }, oops: 1 }\n  b: { url: 'https://x', headers: { A: [s3cret], B: é s3cret }, oops: 1 }\n";
    a_control_character: "servers: { a: { command: \"\u{1b}[31m\" } }\n";
    a_key_that_is_no_text: "servers: { a: { command: x }, ~: 1 }\n";
    a_list_as_a_key: "? [a]\n: 1\n";
    an_anchor_inside_itself: "servers: &a { b: *a }\n";
    a_store_that_is_none: "servers: { a: { command: x, share_context: everything } }\npartition: sesion\nstore: sqlit\n";
    a_database_that_is_none: "servers: { a: { command: x } }\nstore: { postgres: 'mysql://u:s3cret@db/x' }\n";
    tokens_that_grant_nothing: "servers: { a: { command: x } }\nagent_tokens:\n  empty: {}\n  nobody:\n  bot: { permissions: [], servers: [a] }\n";
    tokens_that_grant_what_is_not_there: "servers: { database: { command: x } }\nvirtual_servers: { coding: {} }\nagent_tokens:\n  bot: { permissions: [call_tool_raed], servers: [databse, '*'] }\n  other: { permissions: [read], servers: ['*'], virtual_server: codign, flow: observe, expires: tomorrow, rate_per_minute: 0, tool: [x] }\n";
    tokens_with_names_of_ours: "servers: { a: { command: x } }\nagent_tokens:\n  agent: { permissions: [read], servers: [a] }\n  a/b: { permissions: [read], servers: [a] }\n";
    approvals_that_cannot_be: "servers: { a: { command: x } }\napprovals:\n  listen: 7412\n  public_url: http://approve.example.com\n  extra_origins: [example.com]\n  flow: native_only\n  hold: 10m\n  auditor_key: abc\n  recovery_delay: 0s\n  open_browsr: false\n";
    sensitive_tools_without_an_auditor: "servers: { a: { command: x } }\napprovals:\n  tools:\n    \"bank:*\": { sensitive: true }\n    other: { sensitive: false }\n";
    a_webhook_that_cannot_be: "servers: { a: { command: x } }\napprovals:\n  webhook: { url: 'http://chat.example.com/s3cret', secret: s3cret }\n";
    a_webhook_to_nowhere: "servers: { a: { command: x } }\napprovals: { webhook: { secret: s3cret } }\n";
    a_page_that_no_browser_trusts: "servers: { a: { command: x } }\napprovals: { listen: \"0.0.0.0:7412\" }\n";
    authenticators_that_cannot_be_listed: "servers: { a: { command: x } }\napprovals:\n  attestation: required\n  authenticators:\n    one: { aaguids: [cb69481e], roots: [nowhere.pem] }\n    two: { aaguids: [00000000-0000-0000-0000-000000000000], roots: [\"-----BEGIN CERTIFICATE-----\"] }\n    three: { aaguids: [], models: [x] }\n    four: { aaguids: [cb69481e-8ff7-4039-93ec-0a2729a154a8], roots: [\"-----BEGIN CERTIFICATE-----\\nMAA=\\n-----END CERTIFICATE-----\", \"-----BEGIN PRIVATE KEY-----\\nMAA=\\n-----END PRIVATE KEY-----\"] }\n";
    an_attestation_that_lets_nobody_in: "servers: { a: { command: x } }\napprovals: { attestation: required }\n";
    a_list_of_authenticators_that_refuses_nobody: "servers: { a: { command: x } }\napprovals:\n  authenticators: { one: { aaguids: [cb69481e-8ff7-4039-93ec-0a2729a154a8], roots: [nowhere.pem] } }\n";
    people_who_cannot_sign: "servers: { a: { command: x } }\napprovals:\n  tools:\n    \"a:pay\": { class: crossplatform, quorum: { n: 3, approvers: [ada, ben] } }\n    \"a:send\": { quorum: { n: 1 } }\n    \"a:sign\": { quorum: { approvers: [ada, ada, \"a b\"] } }\nagent_tokens:\n  bot: { permissions: [read], servers: [a], user: \"ada lovelace\" }\n";
    provenance_that_is_none: "servers: { mail: { command: x } }\nprovenance: maybe\nidentity: [ada@example.com, '', ada@example.com]\npeople: everybody\nvirtual_servers: { v: { provenance: true } }\nagent_tokens:\n  bot: { permissions: [read], servers: [mail], words: everybody }\n";
    directories_of_nobody: "servers: { mail: { command: x } }\ndirectory:\n  - { name: Grace }\n  - { address: grace@example.com }\n  - { tool: list_contacts }\n  - { tool: 'mial:list_contacts' }\n  - { tool: 'mail:list_contacts', name: Grace }\n  - { phone: 123 }\n  - {}\n";
    caps_and_records_that_say_nothing: "servers:\n  bank:\n    command: x\n    labels:\n      pay:\n        caps: { amount: a lot, 'a~2': 5 }\n        records: {}\n        roles: { amount: money }\n      list: { records: { kind: '', ids: [id] } }\n    prompt_labels:\n      ask: { caps: { amount: 1 }, records: { kind: mail } }\n";
    a_store_of_another_kind: "servers: { a: { command: x } }\nstore: { redis: x }\n";
}

#[test]
fn a_long_line_is_cut_round_the_caret() {
    let filler = |letter: &str| letter.repeat(300);
    let text = format!(
        "{{\"servers\":{{\"a\":{{\"command\":\"{}\",\"oops\":1,\"cwd\":\"/{}\"}}}}}}",
        filler("x"),
        filler("y")
    );
    insta::assert_snapshot!(diagnosis(&text));
}

#[test]
fn a_flood_of_problems_is_counted() {
    let text = (0..200)
        .fold("servers:\n  a:\n    command: x\n".to_owned(), |text, n| format!("{text}    k{n}: 1\n"));
    let answer = diagnosis(&text);
    assert_eq!(answer.matches("error[unknown-key]: unknown key").count(), 50);
    assert!(answer.ends_with("\n\nand 150 more"), "{answer}");
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let items = vec![format!("*a{}", n - 1); 10].join(", ");
        text.push_str(&format!("a{n}: &a{n} [{items}]\n"));
    }
    let answer = diagnosis(&text);
    assert!(answer.contains("nested too deeply, or too large"), "{answer}");
}

#[test]
fn deep_nesting_is_refused() {
    let answer = diagnosis(&format!("servers: {}{}", "[".repeat(100_000), "]".repeat(100_000)));
    assert!(answer.contains("nested too deeply, or too large"), "{}", &answer.get(..300).unwrap_or(&answer));
}

/// Pieces of files, so that random joins come close to real ones.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "servers:",
            "\n  a:",
            "\n    command: x",
            "\n    url: ",
            "http://",
            "${A}",
            "${",
            "[",
            "]",
            "{",
            "}",
            ":",
            ": ",
            ",",
            "\"",
            "'",
            "\n",
            "  ",
            "\t",
            "é",
            "\u{feff}",
            "- ",
            "*a",
            "&a ",
            "<<: ",
            "!x ",
            "|\n",
            "0",
            "null",
            "limits: ",
            "# c\n",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the text, there are settings or at least one problem with a place inside the file.
    #[test]
    fn no_text_brings_the_reader_down(pieces in prop::collection::vec(piece(), 0..24)) {
        let text = pieces.concat();
        if let Err(problems) = load("f", &text, &environment) {
            prop_assert!(problems.iter().count() > 0);
            let lines = text.lines().count() + 1;
            for place in problems.iter().filter_map(|problem| problem.place.as_ref()) {
                prop_assert!((1..=lines).contains(&place.line) && place.column >= 1, "{place:?}");
            }
            let _shown = problems.to_string();
        }
    }
}
