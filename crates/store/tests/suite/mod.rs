//! What every session store must do. A new backend is done when it passes.

pub(crate) mod approvals;
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
    approvals::*, conversations::*, declassification::*, joins::*, marks::*, people::*, pins::*, random::*,
    tokens::*,
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
                an_open_set_goes_on_listing_what_comes,
                a_covered_label_writes_nothing,
                a_session_survives_the_store,
                deferred_origins_arrive_a_little_later,
                a_late_reply_joins_the_new_epoch,
                of_two_declassifications_one_succeeds,
                a_declassification_of_nothing_says_so,
                a_release_in_flight_is_covered_by_the_label_or_by_the_person,
                a_declassification_keeps_its_record,
                ways_that_are_used_at_once_share_one_label,
                whatever_ends_within_the_quiet_time_the_label_goes_on,
                after_a_silence_the_label_is_pending_and_survives,
                a_person_says_that_it_is_new_and_the_old_id_is_never_clean,
                a_word_without_a_silence_lets_one_way_begin_anew,
                a_word_from_elsewhere_is_about_the_way_that_was_used_last,
                what_is_pending_is_joined_where_a_person_says_that_it_is_not_new,
                after_a_reset_everybody_is_clean,
                a_conversation_is_declassified_while_others_come_into_it,
                a_reply_that_comes_after_a_silence_belongs_to_what_goes_on,
                what_unnamed_sessions_have_read_is_in_the_first_conversation,
                a_conversation_of_a_host_is_written_down_and_what_is_beside_it_goes_by_a_word,
                a_transport_session_is_known_until_its_client_ends_it,
                marks_only_rise_and_come_back,
                marks_outlive_the_store,
                what_was_not_written_is_as_it_was,
                people_take_marks_off,
                a_yes_takes_doubts_off_and_nothing_else,
                what_there_is_no_room_for_is_on_the_tool,
                of_anothers_mark_only_that_it_is_anothers_is_told,
                a_thing_of_any_name_can_be_marked,
                contexts_are_known_to_those_who_made_them,
                people_see_sessions_and_notices,
                what_a_server_says_is_kept_with_its_history,
                what_a_person_says_a_server_is_stands_until_it_is_taken_back,
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
                random_histories_of_approvals_agree_with_the_model,
                s52_a_bad_signature_leaves_the_challenge_for_a_good_one,
                s53_the_counter_of_the_assertion_is_stored,
                s57_fifty_parallel_calls_one_consumes,
                g06_whoever_loses_the_race_is_told_that_it_is_consumed,
                g24_a_challenge_and_its_credential_are_of_one_moment,
                g26_of_two_challenges_in_flight_the_lower_counter_fails_and_stays,
                s45_a_challenge_that_ended_meanwhile_is_not_consumed,
                s47_what_was_revoked_or_never_confirmed_consumes_nothing,
                t2_two_approvers_at_once_are_both_counted,
                t2_one_signature_answers_one_request_and_those_of_others_none,
                receipts_are_one_chain_whoever_signs_at_once,
                t3_a_grant_is_used_once_by_whoever_comes_first,
                t3_a_grant_is_for_one_principal_one_conversation_and_one_action,
                another_conversation_asks_for_itself,
                g16_a_tool_that_changed_since_ends_the_grant,
                a_revoked_credential_counts_neither_for_the_quorum_nor_for_the_grant,
                a_button_answers_only_what_takes_no_passkey,
                a_no_takes_back_a_yes_that_no_call_rests_on,
                identical_calls_meet_in_one_request,
                g21_a_request_that_asks_something_else_is_ended_and_asked_anew,
                a_no_is_remembered_and_the_third_pauses_the_tool,
                a_yes_forgets_the_noes_before_it,
                five_may_wait_and_ten_challenges_be_drawn,
                whoever_waits_here_hears_of_an_answer,
                s36_the_installation_is_made_once_and_keeps_its_page,
                a_person_has_one_handle,
                five_wrong_codes_close_the_window,
                g09_an_enrollment_is_finished_once_and_a_new_one_replaces_it,
                s19_s20_a_credential_is_kept_whole_and_added_once,
                starting_over_waits_and_can_be_stopped,
                t1_a_reset_voids_open_challenges_and_lets_no_new_one_be_issued,
                an_old_passkey_signs_that_its_reset_is_stopped_and_nothing_else,
                t2_t3_a_signature_of_somebody_in_reset_counts_in_no_quorum,
                t3_a_reset_voids_what_was_granted_and_not_used,
                no_passkey_in_reset_is_asked_for_and_no_button_behind_one_counts,
                t4_a_mandate_rests_while_its_signer_is_in_reset_and_ends_with_it,
                whatever_happens_at_once_nothing_is_signed_after_a_reset_has_begun,
                t4_the_last_use_of_a_mandate_goes_to_one_of_two,
                a_mandate_ends_when_it_is_taken_back,
                g25_a_round_is_taken_by_one_of_many,
                an_answer_is_remembered_until_it_is_forgotten,
                sensitive_arguments_are_cleared_when_nobody_needs_them,
                approvals_outlive_the_store,
            );
        }
    };
    // Where a test says what time it is. PostgreSQL has a clock of its own.
    (timed $name:ident, $backend:ty) => {
        mod $name {
            crate::suite::run!(@ $backend,
                t3_a_grant_lasts_two_minutes,
                a_request_ends_after_five_minutes_and_a_no_after_ten,
                what_is_sensitive_is_cleared_when_it_has_run_out,
                an_enrollment_window_lasts_ten_minutes,
                g25_a_round_ends_with_its_time_and_is_remembered_for_longer,
                g05_a_used_challenge_is_remembered_for_a_day,
                random_histories_of_approvals_agree_while_time_passes,
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

/// How long anything that must come about may take: far more than a busy machine needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

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
