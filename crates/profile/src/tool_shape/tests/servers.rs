//! The tools of real servers: name, arguments, what is found. Arguments are those that they publish, without types that
//! change nothing.

use super::*;

fn check(server: &str, tools: &[(&str, &str, &str)]) {
    for (name, arguments, expected) in tools {
        assert_eq!(found(&shape(server, name, arguments)), *expected, "{server} {name}");
    }
}

const FLAG: &str = r#"={"type":"boolean"}"#;
const NUMBER: &str = r#"={"type":"integer"}"#;

#[test]
fn filesystem() {
    check(
        "filesystem",
        &[
            ("read_file", "path", "reads"),
            ("read_text_file", "path", "reads"),
            ("read_media_file", "path", "reads"),
            ("read_multiple_files", "paths[]", "reads"),
            ("write_file", "path content", ""),
            ("edit_file", "path", ""),
            ("create_directory", "path", ""),
            ("list_directory", "path", "reads"),
            ("list_directory_with_sizes", "path sortBy", "reads"),
            ("directory_tree", "path excludePatterns[]", "reads"),
            ("move_file", "source destination", ""),
            ("search_files", "path pattern excludePatterns[]", "reads"),
            ("get_file_info", "path", "reads"),
            ("list_allowed_directories", "", "reads"),
        ],
    );
}

#[test]
fn git() {
    check(
        "git",
        &[
            ("git_status", "repo_path", "reads"),
            ("git_diff_unstaged", "repo_path", "reads"),
            ("git_diff_staged", "repo_path", "reads"),
            ("git_diff", "repo_path target", "reads"),
            ("git_commit", "repo_path message", ""),
            ("git_add", "repo_path files[]", ""),
            ("git_reset", "repo_path", ""),
            ("git_log", "repo_path start_timestamp", "reads"),
            ("git_create_branch", "repo_path branch_name base_branch", ""),
            ("git_checkout", "repo_path branch_name", ""),
            ("git_show", "repo_path revision", "reads"),
            ("git_branch", "repo_path branch_type", ""),
            ("git_push", "repo_path remote", "name:push"),
            ("git_fetch", "repo_path remote", ""),
        ],
    );
}

#[test]
fn memory() {
    let entities = r#"entities={"type":"array","items":{"type":"object","properties":{
        "name":{"type":"string"},"entityType":{"type":"string"},"observations":{"type":"array","items":{"type":"string"}}}}}"#;
    let relations = r#"relations={"type":"array","items":{"type":"object","properties":{
        "from":{"type":"string"},"to":{"type":"string"},"relationType":{"type":"string"}}}}"#;
    let entities = entities.split_whitespace().collect::<String>();
    let relations = relations.split_whitespace().collect::<String>();
    check(
        "memory",
        &[
            ("create_entities", &entities, ""),
            ("create_relations", &relations, ""),
            ("add_observations", "observations", ""),
            ("delete_entities", "entityNames[]", ""),
            ("delete_observations", "deletions", ""),
            ("delete_relations", &relations, ""),
            ("read_graph", "", "reads"),
            ("search_nodes", "query", "reads"),
            ("open_nodes", "names[]", ""),
        ],
    );
    assert_eq!(shape("memory", "create_entities", &entities).objects(), ["entities/*/name"]);
    assert_eq!(
        shape("memory", "create_relations", &relations).objects(),
        ["relations/*/from", "relations/*/to"]
    );
    assert_eq!(shape("memory", "create_relations", &relations).paths(), [""; 0]);
    assert_eq!(shape("memory", "delete_entities", "entityNames[]").objects(), ["entityNames/*"]);
}

#[test]
fn time_sqlite_and_fetch() {
    check(
        "time",
        &[
            ("get_current_time", "timezone", "reads"),
            ("convert_time", "source_timezone time target_timezone", ""),
        ],
    );
    check(
        "sqlite",
        &[
            ("read_query", "query", "reads sql:query"),
            ("write_query", "query", "code:query"),
            ("create_table", "query", "code:query"),
            ("list_tables", "", "reads"),
            ("describe_table", "table_name", "reads"),
            ("append_insight", "insight", ""),
        ],
    );
    let number = format!("url max_length{NUMBER} start_index{NUMBER} raw{FLAG}");
    check("fetch", &[("fetch", &number, "reads url:url")]);
}

#[test]
fn playwright() {
    check(
        "playwright",
        &[
            ("browser_navigate", "url", "url:url"),
            ("browser_click", "element ref", ""),
            ("browser_snapshot", "", ""),
            ("browser_evaluate", "function element ref", "runs:evaluate"),
            ("browser_run_code", "code", "runs:run"),
            ("browser_type", "element ref text", ""),
            ("browser_fill_form", "fields", ""),
            ("browser_file_upload", "paths[]", "name:upload"),
            ("browser_take_screenshot", "filename", ""),
            ("browser_console_messages", "", ""),
            ("browser_network_requests", "", ""),
            ("browser_install", "", "runs:install"),
            ("browser_close", "", ""),
        ],
    );
}

#[test]
fn github() {
    check(
        "github",
        &[
            ("create_issue", "owner repo title body", "address:owner"),
            ("get_file_contents", "owner repo path branch", "reads"),
            ("push_files", "owner repo branch message", "name:push"),
            ("add_issue_comment", "owner repo body", "name:comment"),
            ("create_pull_request", "owner repo title body head base", "name:request"),
            ("create_or_update_file", "owner repo path content", "address:owner"),
            ("search_code", "q order", "reads"),
            ("search_repositories", "query", "reads"),
            ("list_commits", "owner repo sha", "reads"),
            ("list_issues", "owner repo labels[]", "reads"),
            ("get_pull_request_comments", "owner repo", "reads"),
            ("get_pull_request_status", "owner repo", "reads"),
            ("get_workflow_run", "owner repo run_id", "reads"),
            ("issue_read", "owner repo method", "reads"),
            ("run_workflow", "owner repo workflow_id", "address:owner runs:run"),
            ("fork_repository", "owner repo", "address:owner"),
            ("create_gist", "files", "name:gist"),
        ],
    );
    check("gitlab", &[("create_merge_request", "project_id title", "name:request")]);
}

#[test]
fn shells() {
    check(
        "shell",
        &[
            ("execute_command", "command", "runs:execute"),
            ("run_command", "command", "runs:run"),
            ("bash", "input", "runs:bash"),
            ("start_process", "command timeout_ms", "code:command"),
            ("read_process_output", "pid", "reads"),
            ("list_processes", "", "reads"),
        ],
    );
}

#[test]
fn mail() {
    check(
        "mail",
        &[
            ("send_email", "to subject body", "name:send"),
            ("list_emails", "folder", "reads"),
            ("read_email", "email_id", "reads"),
            ("search_emails", "query", "reads"),
            ("draft_email", "to[] subject body", "address:to"),
            ("delete_email", "messageId", ""),
            ("modify_email", "email_id labels[]", ""),
            ("forward_email", "email_id recipient", "name:forward"),
            ("create_event", "title attendees[]", "address:attendees"),
        ],
    );
}

#[test]
fn slack() {
    check(
        "slack",
        &[
            ("slack_post_message", "channel_id text", "name:post"),
            ("slack_reply_to_thread", "channel_id thread_ts text", "name:reply"),
            ("slack_list_channels", "cursor", "reads"),
            ("slack_get_channel_history", "channel_id", "reads"),
            ("slack_get_thread_replies", "channel_id thread_ts", "reads"),
            ("slack_get_user_profile", "user_id", "reads"),
            ("slack_add_reaction", "channel_id timestamp reaction", "address:channel_id"),
        ],
    );
}

#[test]
fn databases() {
    check(
        "postgres",
        &[
            ("query", "sql", "reads sql:sql"),
            ("execute_sql", "sql", "sql:sql"),
            ("pg_execute_query", "query", "sql:query"),
            ("run_query", "query params[]", "sql:query"),
            ("create_view", "name query", "code:query"),
            ("export_query", "query path", "code:query"),
            ("execute_sql", "sql output_path", "runs:execute"),
            ("execute_sql", "sql command", "runs:execute"),
            ("execute_sql", "sql_file", "runs:execute"),
            ("execute_sql", "sql[]", "runs:execute"),
            ("run_python_sql", "sql", "runs:run"),
            ("get_query_status", "query_id", "reads"),
        ],
    );
    check("neo4j", &[("read_neo4j_cypher", "query", "reads code:query"), ("get_neo4j_schema", "", "reads")]);
    check("notes", &[("run_sql", "statement", "sql:statement"), ("search_notes", "query", "reads")]);
    check("prod", &[("query", "query", "reads sql:query"), ("query_docs", "query", "reads")]);
    check("notion", &[("query_database", "database_id filter", "reads")]);
}
