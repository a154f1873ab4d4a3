//! The mailbox: what it holds, how it changes, how it is labelled.

use serde_json::{Value, json};

use crate::example::tests::client::{BOTH, Client, kept, plain};
use crate::example::{ExampleArgs, ExampleServer::Mail};

fn ids(list: &Value) -> Vec<&str> {
    list["messages"].as_array().unwrap().iter().map(|message| message["id"].as_str().unwrap()).collect()
}

#[test]
fn the_inbox_is_listed_newest_first_and_shortened() {
    for era in BOTH {
        let mut mail = Client::of(era, Mail, &plain());
        assert_eq!(ids(&mail.data("list_messages", json!({}))), ["m-6", "m-5", "m-4", "m-3", "m-2", "m-1"]);
        assert_eq!(ids(&mail.data("list_messages", json!({"limit": 2}))), ["m-6", "m-5"]);
        assert_eq!(ids(&mail.data("list_messages", json!({"folder": "sent"}))), ["m-7"]);
    }
}

#[test]
fn labels_follow_sender_and_content() {
    let mut mail = Client::legacy(Mail, &plain());
    for (id, label) in [
        ("m-1", json!({"sensitivity": "user"})),
        ("m-2", json!({"sensitivity": ["user", "pii", "financial"]})),
        ("m-4", json!({"openWorldHint": true, "sensitivity": "user"})),
        ("m-5", json!({"openWorldHint": true, "sensitivity": ["user", "pii"]})),
    ] {
        let mut expected = label;
        expected["attribution"] = json!([format!("mcp://mail.larkfield.example/{id}")]);
        assert_eq!(mail.label("read_message", json!({"id": id})), expected);
    }
    assert_eq!(
        mail.label("list_messages", json!({}))["openWorldHint"],
        true,
        "subjects are their senders' words"
    );
    assert_eq!(mail.label("list_messages", json!({"folder": "sent"})).get("openWorldHint"), None);
}

#[test]
fn a_search_is_labelled_by_what_it_found() {
    let mut mail = Client::legacy(Mail, &plain());
    let found = mail.call("search_messages", json!({"query": "REVIEW figures"}));
    assert_eq!(ids(&found["structuredContent"]), ["m-2"]);
    assert_eq!(found["_meta"]["annotations"]["sensitivity"], json!(["user", "pii", "financial"]));
    assert_eq!(found["_meta"]["annotations"].get("openWorldHint"), None);
    let both = mail.label("search_messages", json!({"query": "salar"}));
    assert_eq!(both["openWorldHint"], true, "the orders speak of salaries, too");
    assert_eq!(ids(&mail.data("search_messages", json!({"query": "no such words"}))), Vec::<&str>::new());
}

#[test]
fn a_sent_message_is_in_the_sent_folder() {
    let mut mail = Client::modern(Mail, &plain());
    let sent =
        mail.data("send_message", json!({"to": "ines@tally.example", "subject": "Scan", "body": "Here."}));
    assert_eq!(sent, json!({"id": "m-8", "to": "ines@tally.example", "sent": true}));
    assert_eq!(mail.data("read_message", json!({"id": "m-8"}))["body"], "Here.");
    assert_eq!(ids(&mail.data("list_messages", json!({"folder": "sent"}))), ["m-8", "m-7"]);
}

#[test]
fn moving_and_deleting_change_the_folders() {
    let mut mail = Client::legacy(Mail, &plain());
    mail.call("move_message", json!({"id": "m-3", "folder": "archive"}));
    mail.call("delete_message", json!({"id": "m-4"}));
    assert_eq!(ids(&mail.data("list_messages", json!({}))), ["m-6", "m-5", "m-2", "m-1"]);
    assert_eq!(ids(&mail.data("list_messages", json!({"folder": "archive"}))), ["m-3"]);
    assert!(mail.refused("read_message", json!({"id": "m-4"})).contains("`m-4`"));
    mail.call("send_message", json!({"to": "a@b.example", "subject": "", "body": ""}));
    mail.call("delete_message", json!({"id": "m-8"}));
    let again = mail.data("send_message", json!({"to": "a@b.example", "subject": "", "body": ""}));
    assert_eq!(again["id"], "m-9", "a number is never given twice");
}

#[test]
fn bad_arguments_are_refused_by_name() {
    let mut mail = Client::legacy(Mail, &plain());
    for (tool, arguments, named) in [
        ("list_messages", json!({"folder": "trash"}), "`folder`"),
        ("list_messages", json!({"limit": 0}), "`limit`"),
        ("read_message", json!({}), "`id`"),
        ("read_message", json!({"id": "m-99"}), "`id`"),
        ("read_message", json!({"id": 1}), "`id`"),
        ("read_message", json!({"id": "m-1", "mode": "raw"}), "`mode`"),
        ("send_message", json!({"to": "nobody", "subject": "", "body": ""}), "`to`"),
        ("send_message", json!({"to": "a@b.example,c@d.example", "subject": "", "body": ""}), "`to`"),
        ("send_message", json!({"to": "a@b.example", "subject": "s"}), "`body`"),
        ("move_message", json!({"id": "m-7", "folder": "archive"}), "`id`"),
        ("delete_message", json!({"id": ""}), "`id`"),
    ] {
        let text = mail.refused(tool, arguments);
        assert!(text.contains(named), "{tool}: {text}");
    }
}

#[test]
fn the_mailbox_is_bounded() {
    let mut mail = Client::legacy(Mail, &plain());
    let message = json!({"to": "a@b.example", "subject": "", "body": ""});
    for _ in 7..1000 {
        mail.call("send_message", message.clone());
    }
    assert!(mail.refused("send_message", message).contains("full"));
}

#[test]
fn with_a_directory_the_mailbox_survives_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    Client::legacy(Mail, &kept(directory.path())).call("delete_message", json!({"id": "m-1"}));
    let mut again = Client::modern(Mail, &kept(directory.path()));
    assert!(again.refused("read_message", json!({"id": "m-1"})).contains("m-1"));
    assert_eq!(Client::modern(Mail, &plain()).data("read_message", json!({"id": "m-1"}))["id"], "m-1");
}

#[test]
fn resolution_tells_the_label_of_a_message_before_it_is_read() {
    for era in BOTH {
        let mut mail = Client::of(era, Mail, &ExampleArgs { resolve: true, ..plain() });
        let salaries = mail.resolved("read_message", json!({"id": "m-2"}));
        assert_eq!(
            salaries["returnMetadata"],
            json!({"source": "internal", "sensitivity": ["user", "pii", "financial"]})
        );
        assert_eq!(salaries.get("openWorldHint"), None, "the source says more");
        assert_eq!(salaries["attribution"], json!(["mcp://mail.larkfield.example/m-2"]));
        let orders = mail.resolved("read_message", json!({"id": "m-4"}));
        assert_eq!(orders["returnMetadata"]["source"], "untrustedPublic");
        assert_eq!(
            mail.resolved("send_message", json!({"to": "a@b.example", "subject": "", "body": ""}))["inputMetadata"]
                ["destination"],
            "public"
        );
    }
}
