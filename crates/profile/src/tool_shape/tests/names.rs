//! Names that look like reading, and laws that hold of every name.

use proptest::prelude::*;

use super::super::verbs::{Force, words_of};
use super::*;

fn reads(name: &str) -> bool {
    shape("server", name, "").reads_by_name()
}

#[test]
fn a_reading_name_reads() {
    for name in [
        "get",
        "list",
        "status",
        "getFile",
        "ListFiles",
        "read-file",
        "file_read",
        "memory_search",
        "dns_lookup",
        "system_info",
        "docker_logs",
        "git_blame",
        "get_data_by_id",
        "list_files_and_folders",
        "get_commit",
        "get_commit_and_diff",
        "list_deleted_files",
        "get_updates",
        "get_latest_release",
        "list_open_issues",
        "get_merge_request",
        "read_post",
        "list_workflow_runs",
        "get_script",
        "order_get",
        "template_get",
        "comment_find",
        "search_research_papers",
        "list_unread_emails",
    ] {
        assert!(reads(name), "{name}");
    }
}

#[test]
fn a_name_that_only_looks_like_reading_does_not() {
    for name in [
        "",
        "_",
        "foo",
        "getfile",
        "list_and_delete",
        "listAndDelete",
        "get_or_create",
        "search_replace",
        "find_and_replace",
        "read_write",
        "fetch_and_run",
        "get_and_email",
        "list_and_post",
        "get_and_zorch",
        "list_users_email",
        "find_duplicates_merge",
        "log",
        "log_event",
        "log_query",
        "set_status",
        "status_update",
        "status_online",
        "history_clear",
        "show_dialog",
        "show_error_message",
        "check_out",
        "checkout",
        "open_nodes",
        "mark_read",
        "mark_as_read",
        "save_search",
        "run_query",
        "query_run",
        "rerun_search",
        "sort_list",
        "order_list",
        "deletes_list",
        "sending_status",
        "resend_list",
        "list_push",
        "list_pop",
        "get_del",
        "find_one_and_update",
        "read_to_file",
        "query_to_csv",
        "git_fetch",
        "fetch_git_remote",
        "read_aloud",
        "sudo_get",
        "get_exec",
        "gEtExec",
        "getExecute",
        "verify_email",
        "browser_search_and_click",
        "get_s\u{435}nd",
        "get_\u{ff53}end",
        "get\u{200b}",
        "list_EXECUTE2",
        "foo_bar_get",
        "materialize_view",
        "populate_list",
        "post_status",
        "report_status",
    ] {
        assert!(!reads(name), "{name:?}");
    }
    assert!(!reads(&format!("get_{}", "a_".repeat(40))));
}

#[test]
fn a_sending_or_running_verb_is_found_where_it_acts() {
    for (name, expected) in [
        ("resend_invoice", "name:resend"),
        ("sendMail", "name:send"),
        ("sendmail", "name:sendmail"),
        ("email_team", "name:email"),
        ("gmail_email", "name:email"),
        ("archive_email", ""),
        ("create_message", "name:message"),
        ("archive_and_email", "name:email"),
        ("list_and_post", "name:post"),
        ("get_or_share", "name:share"),
        ("make_payment", "name:payment"),
        ("deploy_site", "name:deploy"),
        ("python3", "runs:python"),
        ("runJavaScript", "runs:run"),
        ("call_tool", "runs:call"),
        ("cargo_test", "runs:test"),
        ("create_test", ""),
        ("fetch_and_run", "runs:run"),
        ("start_shell", "runs:shell"),
    ] {
        assert_eq!(found(&shape("server", name, "")), expected, "{name}");
    }
}

/// Words of all kinds, joined as names are.
fn name() -> impl Strategy<Value = Vec<String>> {
    let known = proptest::sample::select(vec![
        "get", "list", "read", "search", "show", "query", "fetch", "status", "log", "tree", "and", "or",
        "to", "git", "file", "files", "dialog", "order", "email", "post", "run", "create", "delete",
        "commit", "staged", "by",
    ]);
    proptest::collection::vec(prop_oneof![3 => known.prop_map(str::to_owned), 1 => "[a-z]{1,6}"], 0..6)
}

fn acting(forces: &[Force]) -> impl Strategy<Value = &'static str> + use<> {
    let all = |act| forces.iter().flat_map(move |force| words_of(act, *force));
    let words: Vec<&'static str> =
        all(verbs::Act::Sends).chain(all(verbs::Act::Runs)).chain(all(verbs::Act::Changes)).collect();
    proptest::sample::select(words)
}

fn with(name: &[String], at: usize, word: &str) -> Vec<String> {
    let mut longer = name.to_vec();
    longer.insert(at.min(name.len()), word.to_owned());
    longer
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_name_with_a_word_that_always_acts_never_reads(
        name in name(), at in 0..7_usize, word in acting(&[Force::Always]),
    ) {
        let longer = with(&name, at, word);
        prop_assert!(!reads(&longer.join("_")), "{:?}", longer);
    }

    #[test]
    fn an_acting_word_more_never_makes_a_name_read(
        name in name(), at in 0..7_usize,
        word in acting(&[Force::Always, Force::UnlessRead, Force::AsVerb]),
    ) {
        let longer = with(&name, at, word);
        if !reads(&name.join("_")) {
            prop_assert!(!reads(&longer.join("_")), "{:?}", longer);
        }
    }

    #[test]
    fn a_name_that_begins_with_an_acting_verb_does_not_read_a_list(
        word in acting(&[Force::Always, Force::UnlessRead, Force::AsVerb]),
    ) {
        let name = format!("{word}_list");
        prop_assert!(!reads(&name), "{}", name);
    }

    #[test]
    fn a_name_is_read_in_every_spelling_alike(name in name()) {
        let camel: String = name.iter().map(|word| {
            let (first, rest) = word.split_at(1);
            format!("{}{rest}", first.to_uppercase())
        }).collect();
        // A word of one letter has no hump of its own.
        prop_assume!(name.iter().all(|word| word.len() > 1));
        let shapes = [name.join("_"), name.join("-"), camel].map(|name| found(&shape("server", &name, "")));
        prop_assert_eq!(&shapes[0], &shapes[1]);
        prop_assert_eq!(&shapes[0], &shapes[2]);
    }

    #[test]
    fn text_never_panics(server in any::<String>(), name in any::<String>(), schema in any::<String>()) {
        let shape = ToolShape::read(&server, &name, Some(&schema));
        prop_assert!(!shape.only_reads());
    }
}
