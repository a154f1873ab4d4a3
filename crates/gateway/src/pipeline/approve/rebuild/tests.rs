//! What goes out with an action that a person agreed to, member by member.

use super::*;

#[test]
fn capabilities_are_told_in_the_words_of_the_protocol_alone() {
    let declared = r#"{"elicitation":{"form":{"note":"x"},"url":{},"note":{}},"experimental":{"x":{}},"roots":{"listChanged":true,"note":1},"sampling":{"tools":"x"},"extensions":{"io.modelcontextprotocol/tasks":{"note":"x"},"x.example/y":{}}}"#;
    let told = r#"{"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}},"roots":{"listChanged":true},"sampling":{}}"#;
    assert_eq!(named_capabilities(declared), told);
    // An empty capability to be asked means forms, and what is no object is no capability.
    assert_eq!(named_capabilities(r#"{"elicitation":{},"sampling":"x"}"#), r#"{"elicitation":{}}"#);
    assert_eq!(named_capabilities("{}"), "{}");
}

#[test]
fn of_the_meta_of_a_client_a_trace_goes_on_and_evidence_for_its_server() {
    let trace = r#""traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#;
    let evidence = format!(r#""{VERIFIED_APPROVAL}":{{"method":"webauthn"}}"#);
    let meta = format!(r#"{{"progressToken":1,"x":{{"traceparent":1}},{evidence},{trace}}}"#);
    assert_eq!(shown_meta(&meta, false), Some(format!("{{{trace}}}")));
    assert_eq!(shown_meta(&meta, true), Some(format!("{{{trace},{evidence}}}")));
    assert_eq!(shown_meta(r#"{"progressToken":1}"#, true), None);
    assert_eq!(shown_meta(r#""traceparent""#, true), None);
    for other in [r#""00-\u0030""#, r#""""#, "1", "null", r#""00-0-0-01""#] {
        assert_eq!(shown_meta(&format!(r#"{{"traceparent":{other}}}"#), false), None, "{other}");
    }
}
