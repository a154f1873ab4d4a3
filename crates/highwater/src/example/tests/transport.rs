//! Lines in, lines out: nothing that arrives ends the server, and the end of input does.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::client::{Client, kept, modern_meta, plain};
use crate::example::{ExampleArgs, ExampleServer, open};

fn serve(input: &[u8]) -> Vec<Value> {
    let mut output = Vec::new();
    open(ExampleServer::Mail, &plain()).unwrap().serve(input, &mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn garbage_is_answered_or_passed_over_and_the_next_line_is_served() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let deep = "[".repeat(100_000);
    for (garbage, code) in [
        ("{", Some(-32700)),
        ("\u{feff}{}", Some(-32700)),
        (deep.as_str(), Some(-32700)),
        ("7", Some(-32600)),
        ("null", Some(-32600)),
        ("{}", Some(-32600)),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":1}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, Some(-32602)),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, None),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#, None),
        (r#"{"jsonrpc":"2.0","method":"notifications/no-such","params":7}"#, None),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#, None),
        ("", None),
        ("  \r", None),
    ] {
        let mut answers = serve(format!("{garbage}\n{ping}\n").as_bytes());
        assert_eq!(answers.pop().unwrap(), json!({"jsonrpc": "2.0", "id": 1, "result": {}}), "{garbage:.60}");
        let codes: Vec<&Value> = answers.iter().map(|answer| &answer["error"]["code"]).collect();
        assert_eq!(codes, code.map(|code| json!(code)).iter().collect::<Vec<_>>(), "{garbage:.60}");
    }
    let not_text = serve(b"\xff\xfe\n");
    assert_eq!(not_text[0]["error"]["code"], -32700);
}

#[test]
fn a_line_without_end_is_skipped_and_a_last_line_without_newline_is_served() {
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let mut input = vec![b'x'; 3 << 20];
    input.push(b'\n');
    input.extend(ping);
    let answers = serve(&input);
    assert_eq!((answers.len(), &answers[0]["error"]["code"]), (2, &json!(-32600)));
    assert_eq!(answers[1]["id"], 1);
    assert_eq!(serve(&vec![b'x'; 3 << 20]).len(), 1);
}

#[test]
fn ids_come_back_as_they_were() {
    for id in [json!("a"), json!(0), json!(-7), json!(u64::MAX), json!(i64::MIN), json!("")] {
        let answers = serve(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string().as_bytes());
        assert_eq!(answers, [json!({"jsonrpc": "2.0", "id": id, "result": {}})]);
    }
}

#[test]
fn open_streams_end_with_the_input() {
    let params = json!({"_meta": modern_meta(), "notifications": {}});
    let sent = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let answers = serve(sent.to_string().as_bytes());
    assert_eq!(answers.len(), 3, "acknowledged, cancelled, result");
    assert_eq!(answers[2]["id"], 1);
}

#[test]
fn a_client_that_went_away_is_no_failure() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let ping = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".as_slice();
    open(ExampleServer::Mail, &plain()).unwrap().serve(ping, Gone).unwrap();
}

#[test]
fn calls_that_arrive_are_listed_with_their_context_beside_the_data() {
    let directory = tempfile::tempdir().unwrap();
    let mut mail = Client::modern(ExampleServer::Mail, &kept(directory.path()));
    let context = json!({"openWorldHint": true, "attribution": ["mcp://web.example/page"]});
    let params =
        json!({"name": "read_message", "arguments": {"id": "m-1"}, "_meta": {"annotations": context}});
    mail.ask("tools/call", params);
    mail.refused("read_message", json!({"id": "m-99"}));
    mail.fail("tools/call", json!({"name": "no_such"}));
    let list = std::fs::read_to_string(directory.path().join("mail.calls.jsonl")).unwrap();
    let entries: Vec<Value> = list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        entries,
        [
            json!({"tool": "read_message", "arguments": {"id": "m-1"}, "annotations": context}),
            json!({"tool": "read_message", "arguments": {"id": "m-99"}, "annotations": null}),
        ]
    );
}

#[test]
fn a_flag_of_another_server_is_wrong_usage() {
    let args = ExampleArgs { split_tools: true, ..plain() };
    let error = open(ExampleServer::Mail, &args).err().unwrap();
    assert!(error.downcast_ref::<clap::Error>().is_some(), "{error}");
}
