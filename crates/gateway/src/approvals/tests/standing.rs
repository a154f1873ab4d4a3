//! What stands longer than one request: remembered answers, mandates, and starting over.

use highwater_core::annotation::DataClass;
use highwater_core::approval::ApprovalReason;
use highwater_core::decide::Effect;
use highwater_core::id::{ChallengeId, Principal, SessionKey, UpstreamId, UserId};
use highwater_core::label::Label;
use highwater_notation::{ArgumentType, CanonicalArguments, Timestamp, to_iso};

use super::{Call, Room, digest, json, unlabelled};
use crate::approvals::{ApprovalFault, Around, AskAnswer, By, Mandated, Recalled, RememberScope, told_of};
use crate::gateway::now;

async fn recalls(room: &Room, call: &Call) -> bool {
    let (tool, arguments) = (call.tool(), call.arguments());
    let (contract, shape, reply) = unlabelled();
    let recalled = Recalled {
        principal: &Principal::new(call.principal),
        session: &SessionKey::new(call.session),
        tool: &tool,
        upstream: Some(&UpstreamId::new("up")),
        definition: Some(digest(call.definition)),
        call: call.asked(&arguments, (&contract, &shape, &reply)),
    };
    room.approval_service.recall(&recalled).await.unwrap().is_some()
}

#[tokio::test]
async fn pages_of_a_host_are_remembered_also_where_strangers_were_read_and_for_nothing_more() {
    let room = Room::new().await;
    let private = || Label::bottom().with_class(DataClass::Confidential).with_open_world();
    let fetch = |url: &str| {
        let arguments = format!(r#"{{"url":"{url}"}}"#);
        Call::new(Effect::Confirm).with(|it| {
            it.arguments = arguments;
            it.page = Some("url");
            it.label = private();
            it.told = told_of(r#"[["flow.write",["not-cleared"]]]"#);
        })
    };
    let request = room.open(&fetch("https://example.com/a")).await;
    let offered = room.approval_service.inbox().await.unwrap().pending.remove(0).remember;
    assert_eq!(offered, [RememberScope::Host, RememberScope::Session]);
    let by = || By::Operator("op");
    assert!(
        room.approval_service.confirm(&request.id, by(), Some(RememberScope::ToolWithTargets)).await.is_err()
    );
    room.approval_service.confirm(&request.id, by(), Some(RememberScope::Host)).await.unwrap();
    assert!(recalls(&room, &fetch("https://example.com/b/c")).await);
    let more_strangers = private().with_origin("mcp:web:other");
    assert!(recalls(&room, &fetch("https://example.com/b").with(|it| it.label = more_strangers)).await);
    for url in ["https://example.net/a", "https://example.com/a?q=1", "http://example.com/a"] {
        assert!(!recalls(&room, &fetch(url)).await, "{url}");
    }
    let changes: [fn(&mut Call); 7] = [
        |it| it.label = it.label.clone().with_class(DataClass::Pii),
        |it| it.label = it.label.clone().with_malicious(),
        |it| it.session = "s2",
        |it| it.principal = "other",
        |it| it.definition = 2,
        |it| it.page = None,
        |it| it.arguments = r#"{"url":"https://example.com/b","headers":"x"}"#.to_owned(),
    ];
    for (place, change) in changes.into_iter().enumerate() {
        assert!(!recalls(&room, &fetch("https://example.com/b").with(change)).await, "{place}");
    }
}

#[tokio::test]
async fn what_is_remembered_never_widens() {
    for scope in
        [RememberScope::Session, RememberScope::ToolWithTargets, RememberScope::UntilDefinitionChanges]
    {
        let room = Room::new().await;
        let call = || Call::new(Effect::Confirm);
        let request = room.open(&call()).await;
        room.approval_service.confirm(&request.id, By::Operator("op"), Some(scope)).await.unwrap();
        assert!(recalls(&room, &call()).await, "{scope:?}");
        let elsewhere = recalls(&room, &call().with(|it| it.session = "s2")).await;
        assert_eq!(elsewhere, scope != RememberScope::Session, "{scope:?}");
        let changes: [fn(&mut Call); 7] = [
            |it| it.arguments = r#"{"path":"b"}"#.to_owned(),
            |it| it.arguments = r#"{"path":"a","force":true}"#.to_owned(),
            |it| it.definition = 2,
            |it| it.principal = "other",
            |it| it.label = Label::bottom().with_class(highwater_core::annotation::DataClass::Pii),
            |it| it.label = Label::bottom().with_open_world(),
            |it| {
                it.told =
                    told_of(r#"[["structural.approval",["person-wanted"]],["flow.act",["untrusted-acts"]]]"#)
            },
        ];
        for (place, change) in changes.into_iter().enumerate() {
            assert!(!recalls(&room, &call().with(change)).await, "{scope:?} {place}");
        }
        let known = room.approval_service.inbox().await.unwrap().remembered;
        assert!(room.approval_service.forget(&known.first().unwrap().id, By::Operator("op")).await.unwrap());
        assert!(!recalls(&room, &call()).await);
    }
}

#[tokio::test]
async fn nothing_is_remembered_for_a_passkey_or_of_a_doubtful_session() {
    let room = Room::new().await;
    let passkey = room.open(&Call::new(Effect::Passkey)).await;
    assert!(room.approval_service.view(&passkey.id).await.unwrap().unwrap().remember.is_empty());
    let doubtful = Call::new(Effect::Confirm).with(|it| {
        it.arguments = "{}".to_owned();
        it.label = Label::bottom().with_open_world();
    });
    let doubtful = room.open(&doubtful).await;
    assert!(room.approval_service.view(&doubtful.id).await.unwrap().unwrap().remember.is_empty());
    let kept =
        room.approval_service.confirm(&doubtful.id, By::Operator("op"), Some(RememberScope::Session)).await;
    assert!(matches!(kept.unwrap_err(), ApprovalFault::NotRememberable));
}

fn terms(tool: &str, calls: u64) -> String {
    let from = now();
    let until = Timestamp(from.0 + 60 * 60 * 1000);
    format!(
        r#"{{"tools":["{tool}"],"arguments":{{"path":{{"prefix":"build/"}}}},"max_calls":{calls},"not_before":"{}",
            "expires":"{}","agent":"agent"}}"#,
        to_iso(Timestamp(from.0 - 1000)),
        to_iso(until)
    )
}

async fn uses(room: &Room, path: &str, definition: u8, label: &Label) -> bool {
    let call = Call::new(Effect::Passkey);
    let arguments = CanonicalArguments::read(Some(&format!(r#"{{"path":"{path}"}}"#))).unwrap();
    let mandated = Mandated {
        principal: &Principal::new("agent"),
        tool: &call.tool(),
        upstream: Some(&UpstreamId::new("up")),
        definition: Some(digest(definition)),
        arguments: &arguments,
        types: &[("path", ArgumentType::Text)].into(),
        delegable: true,
        aims: &["path".to_owned()],
        session: &SessionKey::new("s1"),
        label,
        reply: &Label::bottom(),
        around: &Around::default(),
    };
    room.approval_service.use_mandate(&mandated).await.unwrap().is_some()
}

#[tokio::test]
async fn a_mandate_is_signed_counted_and_taken_back() {
    let room = Room::new().await;
    let passkey = room.first_passkey("owner").await;
    let owner = UserId::new("owner");
    let signed = |terms: String| {
        let (room, passkey, owner) = (&room, &passkey, &owner);
        async move {
            let envelope = json(&room.approval_service.mandate_challenge(owner, &terms).await?);
            let response = passkey.get(&envelope["requestOptions"]).unwrap().to_string();
            let challenge = ChallengeId::new(envelope["challengeId"].as_str().unwrap());
            room.approval_service.mandate_assertion(&challenge, &response).await
        }
    };
    assert!(matches!(signed("{}".to_owned()).await.unwrap_err(), ApprovalFault::Mandate(_)));
    // What use would refuse is refused before anybody signs, and the place is named.
    let usual = terms("up__delete", 1);
    let tainted = usual.replace(r#""agent":"agent""#, r#""agent":"agent","while_tainted":true"#);
    for (terms, says) in [
        (terms("gone", 1), "`tools`: no server offers `gone` now"),
        (usual.replace(r#""agent":"agent""#, r#""agent":"nobody""#), "`agent`: there is no token `nobody`"),
        (
            usual.replace(r#"{"prefix":"build/"}"#, r#"{"max":50}"#),
            "`arguments.path`: it is of type `string`",
        ),
        (
            usual.replace(r#""path":"#, r#""text":"#),
            "`arguments.text`: the tool's definition does not name one type",
        ),
        (tainted, "`arguments.path`: it says what is acted on or where"),
    ] {
        let refused = signed(terms).await.unwrap_err();
        assert!(
            matches!(refused, ApprovalFault::Terms(_)) && refused.to_string().starts_with(says),
            "{refused}"
        );
    }
    let settings = |tools: &str| {
        let config = format!(r#"{{"servers":{{}},"approvals":{{"tools":{{"up:delete":{tools}}}}}}}"#);
        let mut loaded =
            highwater_config::load("test", &config.replace("{}", r#"{"up":{"command":"x"}}"#), &|_| None)
                .unwrap();
        loaded.approvals.open_browser = false;
        loaded.approvals.notify = false;
        loaded.approvals
    };
    for (tools, says) in [
        (
            r#"{"quorum":{"n":2,"approvers":["ada","ben"]}}"#,
            "`tools`: several people must sign for `up__delete`",
        ),
        (r#"{"delegable":false}"#, "`tools`: `up__delete` must not be delegated"),
    ] {
        room.approval_service.under(settings(tools));
        let refused = signed(usual.clone()).await.unwrap_err();
        assert!(refused.to_string().starts_with(says), "{refused}");
    }
    room.approval_service.under(settings(r#"{"delegable":true}"#));
    let mandate = signed(terms("up__delete", 2)).await.unwrap();
    let clean = Label::bottom();
    assert!(!uses(&room, "src/a", 1, &clean).await, "another path");
    assert!(!uses(&room, "build/a", 2, &clean).await, "another definition");
    assert!(!uses(&room, "build/a", 1, &clean.clone().with_open_world()).await, "a doubtful session");
    assert!(uses(&room, "build/a", 1, &clean).await);
    assert!(uses(&room, "build/b", 1, &clean).await);
    assert!(!uses(&room, "build/c", 1, &clean).await, "used up");
    let another = signed(terms("up__delete", 5)).await.unwrap();
    assert_ne!(another.id, mandate.id);
    assert!(room.approval_service.revoke_mandate(&another.id, By::User(&owner)).await.unwrap());
    assert!(!uses(&room, "build/c", 1, &clean).await, "taken back");
}

#[tokio::test]
async fn a_reset_denies_meanwhile_and_an_old_passkey_stops_it() {
    let room = Room::new().await;
    let passkey = room.first_passkey("owner").await;
    let owner = UserId::new("owner");
    room.approval_service.begin_reset(&owner, "admin").await.unwrap();
    assert!(matches!(room.ask(&Call::new(Effect::Passkey)).await, AskAnswer::Resetting));
    assert!(matches!(
        room.approval_service.complete_reset(&owner, "admin").await.unwrap_err(),
        ApprovalFault::NotDue(_)
    ));
    let envelope = json(&room.approval_service.cancel_reset_challenge(&owner).await.unwrap());
    let response = passkey.get(&envelope["requestOptions"]).unwrap().to_string();
    let challenge = ChallengeId::new(envelope["challengeId"].as_str().unwrap());
    room.approval_service.cancel_reset(&challenge, &response).await.unwrap();
    assert!(matches!(room.ask(&Call::new(Effect::Passkey)).await, AskAnswer::Open(_)));
    let settings = highwater_config::ApprovalSettings {
        recovery_delay: std::time::Duration::ZERO,
        open_browser: false,
        notify: false,
        ..highwater_config::ApprovalSettings::default()
    };
    room.approval_service.under(settings);
    room.approval_service.begin_reset(&owner, "admin").await.unwrap();
    let opened = room.approval_service.complete_reset(&owner, "admin").await.unwrap();
    assert!(opened.code.is_some(), "the first passkey of a new beginning");
    let request = room.open(&Call::new(Effect::Passkey)).await;
    match room.sign(&request.id, "owner", &passkey).await.unwrap_err() {
        ApprovalFault::Rejected(rejection) => {
            assert_eq!(rejection.reason, ApprovalReason::NoEligibleCredential);
        }
        other => panic!("{other}"),
    }
}
