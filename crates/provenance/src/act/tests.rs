//! Acts, and how people ask for them.

use super::*;
use highwater_core::annotation::{Destination, Outcome};
use highwater_core::id::UpstreamId;

fn act(tool: &str, description: Option<&str>) -> Act {
    let call = Call {
        server: &UpstreamId::new("s"),
        tool,
        description,
        arguments: &serde_json::Value::Null,
        role: &|_| None,
        schema: None,
        destination: Destination::User,
        outcome: Outcome::Consequential,
        destructive: false,
        caps: &[],
    };
    Act::of(&call)
}

fn asked(tool: &str, request: &str) -> bool {
    act(tool, None).is_asked(&[&Text::of_words(request)])
}

fn destruction_asked(tool: &str, request: &str) -> bool {
    act(tool, None).destruction_is_asked(&[&Text::of_words(request)])
}

#[test]
fn a_name_is_split_at_signs_and_humps() {
    assert_eq!(name_words("readFile"), ["read", "file"]);
    assert_eq!(name_words("delete_HTTPServer-now"), ["delete", "http", "server", "now"]);
}

#[test]
fn groups_of_destruction_never_vouch_for_each_other() {
    assert!(destruction_asked("transfer_repo", "Please transfer the repo X to Ann"));
    assert!(!destruction_asked("delete_repo", "Please transfer the repo X to Ann"));
    assert!(destruction_asked("delete_file", "Get rid of the old file"));
    assert!(destruction_asked("remove_user", "Take the user out of the group"));
    assert!(!destruction_asked("delete_file", "Read the file and tell me what it says"));
    assert!(!destruction_asked("delete_file", "Never delete the file"));
}

#[test]
fn acts_are_asked_for_in_ten_languages() {
    for request in [
        "Please mail the report to Bob",
        "Bitte schick den Bericht an Bob",
        "Envoie le rapport à Bob",
        "Envía el informe a Bob por favor",
        "Envie o relatório para a Maria",
        "Invia il rapporto a Bob per favore",
        "Stuur het rapport naar Bob",
        "Отправь отчёт и не удаляй файл",
        "请把报告发给张伟",
        "報告書を田中さんに送ってください",
    ] {
        assert!(asked("send_email", request), "{request}");
        assert!(!asked("reserve_hotel", request) || request.contains("mail"), "{request}");
        assert!(!destruction_asked("delete_email", request), "{request}");
    }
    assert!(destruction_asked("delete_event", "Bitte lösche den Termin am Montag"));
    assert!(destruction_asked("cancel_event", "Sag den Termin am Montag bitte ab"));
}

#[test]
fn a_tool_in_no_group_needs_a_word_of_its_own() {
    assert!(asked("summon_dragon", "Summon the dragon"));
    assert!(!asked("summon_dragon", "Tell me about the weather"));
}

#[test]
fn what_empowers_must_be_said_itself() {
    assert!(!asked("update_password", "Update my address"));
    assert!(asked("update_password", "Change my password to x"));
}

#[test]
fn the_verb_of_an_approved_description_counts() {
    let tool = act("x_files", Some("Permanently deletes the files of a folder"));
    assert!(tool.destroys());
    assert!(!tool.destruction_is_asked(&[&Text::of_words("Show me the files")]));
}

#[test]
fn what_widens_must_be_said() {
    let text = Text::of_words("Share the file with Ann, and make the album public");
    assert!(!widens_unasked("public", &[&text]));
    assert!(widens_unasked("recurring", &[&text]));
    assert!(!widens_unasked("color", &[&text]));
}
