//! Requests merge, wait, are declined, and are limited.

use std::time::Duration;

use highwater_core::decide::Effect;
use highwater_core::id::UserId;
use highwater_store::RequestState;
use tokio::time::Instant;

use super::{Call, Room};
use crate::approvals::{ApprovalState, AskAnswer, By};

#[tokio::test]
async fn identical_requests_are_one_and_others_are_not() {
    let room = Room::new().await;
    let call = Call::new(Effect::Confirm);
    let first = room.open(&call).await;
    assert_eq!(room.open(&call).await.id, first.id);
    assert_ne!(room.open(&Call::new(Effect::Confirm).with(|it| it.principal = "other")).await.id, first.id);
    let other = Call::new(Effect::Confirm).with(|it| it.arguments = "{}".to_owned());
    assert_ne!(room.open(&other).await.id, first.id);
}

#[tokio::test]
async fn a_waiter_hears_of_the_answer() {
    let room = Room::new().await;
    let request = room.open(&Call::new(Effect::Confirm)).await;
    let owner = UserId::new("owner");
    let waiting = room.approval_service.settled(&request.id, Instant::now() + Duration::from_secs(30));
    let answering = async {
        tokio::task::yield_now().await;
        room.approval_service.confirm(&request.id, By::User(&owner), None).await.unwrap()
    };
    let (settled, state) = tokio::join!(waiting, answering);
    assert_eq!(state, ApprovalState::Approved);
    assert_eq!(settled.unwrap().unwrap().state, RequestState::Approved);
    let early = room.open(&Call::new(Effect::Confirm).with(|it| it.arguments = "{}".to_owned())).await;
    let open = room.approval_service.settled(&early.id, Instant::now()).await.unwrap().unwrap();
    assert_eq!(open.state, RequestState::Pending, "nobody waits longer than they want to");
}

#[tokio::test]
async fn a_no_stands_for_the_same_call_and_three_pause_the_tool() {
    let room = Room::new().await;
    let call =
        |path: &str| Call::new(Effect::Confirm).with(|it| it.arguments = format!(r#"{{"p":"{path}"}}"#));
    for path in ["a", "b", "c"] {
        let request = room.open(&call(path)).await;
        assert!(room.approval_service.decline(&request.id, By::Operator("op")).await.unwrap());
        assert!(
            !room.approval_service.decline(&request.id, By::Operator("op")).await.unwrap(),
            "it is answered"
        );
    }
    assert!(matches!(room.ask(&call("d")).await, AskAnswer::Paused));
    assert_eq!(room.approval_service.inbox().await.unwrap().paused.len(), 1);
    room.approval_service.resume("agent", "up__delete", By::Operator("op")).await.unwrap();
    assert!(matches!(room.ask(&call("d")).await, AskAnswer::Open(_)));
    assert!(matches!(room.ask(&call("a")).await, AskAnswer::Declined), "a no stands");
}

#[tokio::test]
async fn five_may_wait() {
    let room = Room::new().await;
    let call = |path: u8| Call::new(Effect::Confirm).with(|it| it.arguments = format!(r#"{{"p":{path}}}"#));
    for path in 0..5 {
        room.open(&call(path)).await;
    }
    assert!(matches!(room.ask(&call(5)).await, AskAnswer::TooMany));
    assert!(matches!(room.ask(&call(0)).await, AskAnswer::Open(_)), "one that waits is joined");
}
