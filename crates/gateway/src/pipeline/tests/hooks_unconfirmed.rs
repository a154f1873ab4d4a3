//! A conversation that another one may have opened from its shell: what the other has read counts beside its label, and its
//! words count for nothing, until a person says that it is theirs.

use highwater_core::id::SessionKey;
use highwater_core::label::Label;
use highwater_hosts::binding::HostProcess;
use highwater_hosts::host::HookName;
use serde_json::json;

use super::approver::Approver;
use super::hooks::{Conversation, call, remarks};
use super::{ACT, ERAS, LOOK, Setup, Stage, refusal, text};
use crate::approvals::By;
use crate::session_admin::Reset;

/// A conversation that has read what strangers wrote and has run a command since.
async fn doubtful(stage: &Stage) -> Conversation<'_> {
    let one = Conversation::new(stage, "one");
    one.start("startup").await;
    one.ran("WebFetch", json!({ "url": "https://evil.example" }), json!({})).await;
    one.ran("Bash", json!({ "command": "true" }), json!({})).await;
    one
}

/// A conversation in a process of its own.
async fn opened<'a>(stage: &'a Stage, transcript: Option<String>) -> Conversation<'a> {
    let mut two = Conversation::new(stage, "two");
    two.process = HostProcess { id: 88, started: 2 };
    if let Some(transcript) = transcript {
        two.transcript = transcript;
    }
    two.start("startup").await;
    two
}

const TWO: &str = "host/local/claude-code/two";

#[tokio::test]
async fn what_the_other_has_read_counts_beside_its_label_until_a_person_says_that_it_is_theirs() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[0]);
    doubtful(&stage).await;
    let two = opened(&stage, None).await;
    assert!(remarks(&stage).contains(&"unconfirmed".to_owned()));
    assert_eq!(two.label(None), Vec::<&str>::new(), "it has read nothing itself");
    two.announce("c1", ACT, json!({})).await;
    refusal(&call(&agent, "c1", ACT).await);
    assert_eq!(stage.up().runs("act"), 0);
    let by = ("ada", "mine");
    let said = stage.gateway.new_conversation(&SessionKey::new(TWO), None, None, &Label::bottom(), by).await;
    assert!(matches!(said.unwrap(), Reset::Done(_)));
    two.announce("c2", ACT, json!({})).await;
    text(&call(&agent, "c2", ACT).await);
    // It is said once, and a host's conversation is not begun anew by a person.
    let again = stage.gateway.new_conversation(&SessionKey::new(TWO), None, None, &Label::bottom(), by).await;
    assert!(matches!(again.unwrap(), Reset::Unknown));
}

#[tokio::test]
async fn its_words_count_once_a_person_says_that_it_is_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = folder.path().join("two.jsonl");
    let line = json!({ "type": "user", "promptId": "turn-1", "turnOrigin": "human", "origin": { "kind": "human" },
        "message": { "role": "user", "content": "look" } });
    std::fs::write(&transcript, format!("{line}\n")).unwrap();
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[0]);
    doubtful(&stage).await;
    let two = opened(&stage, Some(transcript.to_str().unwrap().to_owned())).await;
    two.command(HookName::UserPromptSubmit, json!({ "prompt": "look" })).await.unwrap();
    two.announce("c1", LOOK, json!({})).await;
    text(&call(&agent, "c1", LOOK).await);
    assert!(!remarks(&stage).contains(&"words".to_owned()));
    let (key, by) = (SessionKey::new(TWO), ("ada", "mine"));
    stage.gateway.new_conversation(&key, None, None, &Label::bottom(), by).await.unwrap();
    assert!(remarks(&stage).contains(&"words".to_owned()), "{:?}", remarks(&stage));
}

#[tokio::test]
async fn the_question_of_its_first_act_asks_whose_it_is() {
    let stage = Setup::usual().with_page().open().await;
    let agent = stage.of_era(ERAS[0]);
    let approver = Approver::enrolled(&stage).await;
    doubtful(&stage).await;
    let two = opened(&stage, None).await;
    two.announce("c1", ACT, json!({})).await;
    let meta = json!({ "name": ACT, "arguments": {}, "_meta": { "claudecode/toolUseId": "c1" } });
    let waiting = agent.start("tools/call", meta);
    let request = approver.asked().await;
    let conversation = request.context.conversation.clone().unwrap();
    let opened = conversation.opened.unwrap();
    assert_eq!((opened.host.as_str(), opened.folder.as_deref()), ("Claude Code", Some("/home/ada/src")));
    assert_eq!(conversation.rests_on, "Claude Code's own conversation id");
    // A yes to the call alone says nothing of the conversation.
    approver.confirm(&request.id, None).await.unwrap();
    text(&waiting.finish().await.answer);
    let state = stage.memory.look(&SessionKey::new(TWO)).unwrap();
    assert!(state.session.pending.is_some() && !state.session.label.untrusted());
    // The word does.
    two.announce("c2", ACT, json!({})).await;
    let meta =
        json!({ "name": ACT, "arguments": { "path": "b" }, "_meta": { "claudecode/toolUseId": "c2" } });
    let waiting = agent.start("tools/call", meta);
    let request = approver.asked().await;
    let user = highwater_core::id::UserId::new("owner");
    let (asked, conversation) =
        approver.approval_service.conversation_of(&request.id, By::User(&user)).await.unwrap();
    let (key, epoch) = (SessionKey::new(conversation.key.as_str()), Some(conversation.epoch));
    let said = stage.gateway.new_conversation(&key, None, epoch, &Label::bottom(), ("ada", "mine")).await;
    assert!(matches!(said.unwrap(), Reset::Done(_)));
    approver.approval_service.end(&asked, "said").await.unwrap();
    text(&waiting.finish().await.answer);
    let state = stage.memory.look(&SessionKey::new(TWO)).unwrap();
    assert!(state.session.pending.is_none());
}

#[tokio::test]
async fn nobody_is_asked_where_the_other_is_trusted_or_has_run_nothing() {
    let stage = Setup::usual().open().await;
    let one = Conversation::new(&stage, "one");
    one.start("startup").await;
    one.ran("Bash", json!({ "command": "true" }), json!({})).await;
    opened(&stage, None).await;
    assert!(!remarks(&stage).contains(&"unconfirmed".to_owned()));
    let stage = Setup::usual().open().await;
    let one = Conversation::new(&stage, "one");
    one.start("startup").await;
    one.ran("WebFetch", json!({ "url": "https://evil.example" }), json!({})).await;
    opened(&stage, None).await;
    assert!(!remarks(&stage).contains(&"unconfirmed".to_owned()));
}

#[tokio::test]
async fn a_sub_agent_of_it_is_in_doubt_as_long_as_it_is() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[0]);
    doubtful(&stage).await;
    let two = opened(&stage, None).await;
    let child = json!({ "agent_id": "a1", "agent_type": "general" });
    two.command(HookName::SubagentStart, child.clone()).await.unwrap();
    two.announce("c1", ACT, child.clone()).await;
    refusal(&call(&agent, "c1", ACT).await);
    let (key, by) = (SessionKey::new(TWO), ("ada", "mine"));
    stage.gateway.new_conversation(&key, None, None, &Label::bottom(), by).await.unwrap();
    two.announce("c2", ACT, child).await;
    text(&call(&agent, "c2", ACT).await);
}

#[tokio::test]
async fn a_gateway_that_was_started_again_is_no_less_careful() {
    let stage = Setup::usual().open().await;
    doubtful(&stage).await;
    let next = Setup::usual().on(&stage.memory).open().await;
    let agent = next.of_era(ERAS[0]);
    let two = opened(&next, None).await;
    assert_eq!(remarks(&next), ["unconfirmed"]);
    two.announce("c1", ACT, json!({})).await;
    refusal(&call(&agent, "c1", ACT).await);
    // The one that has read it goes on as it was, and is asked nothing of this sort.
    let one = Conversation::new(&next, "one");
    one.announce("c2", LOOK, json!({})).await;
    assert_eq!(remarks(&next)[1..], ["conversation"]);
    // Nobody has said in between that the second is theirs.
    let last = Setup::usual().on(&stage.memory).open().await;
    let two = Conversation::new(&last, "two");
    two.announce("c3", ACT, json!({})).await;
    refusal(&call(&last.of_era(ERAS[0]), "c3", ACT).await);
}
