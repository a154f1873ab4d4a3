//! What every session store must do. A new backend is done when it passes.

mod conversations;
mod declassification;
mod joins;
mod marks;
mod people;
mod pins;
mod random;
mod tokens;

use std::time::Duration;

use highwater_core::id::{Principal, SessionKey, VirtualServerId};
use highwater_store::{SessionHandle, SessionKind, SessionOwner, Store, StoreOptions};

pub(crate) use {
    conversations::*, declassification::*, joins::*, marks::*, people::*, pins::*, random::*, tokens::*,
};

/// A place for a store.
pub(crate) trait Backend: Send + Sync + 'static {
    /// An empty one.
    fn new() -> impl Future<Output = Self> + Send;

    /// Opens a store in it. Where it is shared, each is a replica of its own.
    fn open(&self) -> impl Future<Output = Store> + Send;

    /// A second store in it at the same time: another replica where it is shared, the same store otherwise.
    fn open_beside(&self) -> impl Future<Output = Store> + Send;
}

/// The stories, once for each backend.
macro_rules! run {
    ($name:ident, $backend:ty) => {
        mod $name {
            crate::suite::run!(@ $backend,
                a_label_is_there_when_it_is_joined,
                a_join_never_lowers_and_repeats_without_effect,
                sixty_four_joins_at_once_lose_nothing,
                sets_are_bounded_and_overflow_is_marked,
                a_covered_label_writes_nothing,
                a_session_survives_the_store,
                deferred_origins_arrive_a_little_later,
                a_late_reply_joins_the_new_epoch,
                of_two_declassifications_one_succeeds,
                a_declassification_of_nothing_says_so,
                a_release_in_flight_is_covered_by_the_label_or_by_the_person,
                a_declassification_keeps_its_record,
                a_host_with_a_session_per_call_falls_back,
                a_host_that_holds_conversations_is_not_bothered,
                until_it_is_known_a_host_starts_from_its_short_sessions,
                a_call_in_flight_while_falling_back_reaches_the_principal,
                only_a_person_lets_sessions_split_again,
                sessions_without_a_call_count_for_nothing,
                a_host_that_fell_back_can_be_declassified_while_it_goes_on,
                marks_only_rise_and_come_back,
                marks_outlive_the_store,
                an_object_of_any_length_can_be_marked,
                contexts_are_known_to_those_who_made_them,
                people_see_sessions_and_notices,
                what_a_server_says_is_kept_with_its_history,
                an_approval_names_exactly_what_was_seen,
                a_server_is_approved_as_a_whole_or_not_at_all,
                what_a_person_decided_stands_above_what_is_vouched_for,
                whatever_happens_at_once_only_what_was_named_is_approved,
                decisions_outlive_the_store,
                the_history_of_a_restless_server_is_bounded,
                a_token_is_made_once_and_its_secret_is_not_kept,
                a_rotated_token_has_another_secret_and_the_same_terms,
                a_revoked_token_stays_revoked_and_keeps_its_name,
                a_token_is_noted_when_it_is_used,
                of_many_who_make_one_token_one_succeeds,
                random_histories_agree_with_the_model,
            );
        }
    };
    (@ $backend:ty, $($story:ident),+ $(,)?) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $story() {
            crate::suite::$story::<$backend>().await;
        })+
    };
}
pub(crate) use run;

/// A shorter grace, for stories that wait for it.
pub(crate) fn shared() -> StoreOptions {
    StoreOptions { grace: Some(Duration::from_millis(300)), ..StoreOptions::default() }
}

pub(crate) fn owner(kind: SessionKind) -> SessionOwner {
    SessionOwner { principal: Principal::new("agent"), virtual_server: VirtualServerId::new("default"), kind }
}

pub(crate) fn key(kind: SessionKind, id: &str) -> SessionKey {
    kind.key(&Principal::new("agent"), id)
}

/// A session of the agent in a context of this name.
pub(crate) fn context(store: &Store, id: &str) -> SessionHandle {
    store.session(&key(SessionKind::Context, id), &owner(SessionKind::Context))
}
