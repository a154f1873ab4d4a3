//! The matrix: clients of both transports and both eras, in front of servers of every kind there is. Each of the
//! twenty cells tells the same stories.
//!
//! Whether a call ran is read from the journal of the server, never from the answer of the gateway.

#[path = "support/stage.rs"]
mod stage;
#[path = "support/matrix/mod.rs"]
mod stories;

use highwater_testkit::client::Era;

use stage::{Cell, Front, Upstream, tell};
use stories::{calls, changes, fixture, questions, reads, tasks};

/// One test for each story in one cell.
macro_rules! cell {
    ($name:ident: $front:ident $era:ident in front of $upstream:ident) => {
        mod $name {
            use super::*;

            const CELL: Cell = Cell { front: Front::$front, era: Era::$era, upstream: Upstream::$upstream };

            cell!(stories in calls: lists_and_calls, refuses_what_is_unknown, passes_errors_on, reports_progress,
                keeps_the_progress_of_two_clients_apart, cancels, keeps_ids_as_they_are, passes_log_messages_on,
                answers_what_is_its_own);
            cell!(stories in questions: asks_with_a_form, takes_no_for_an_answer, asks_for_a_page_to_be_opened,
                asks_nothing_that_was_not_declared, asks_the_model, asks_for_roots, asks_in_rounds,
                asks_before_a_resource_is_read, asks_for_what_a_prompt_needs);
            cell!(stories in changes: tells_of_new_tools, tells_of_new_prompts, tells_of_touched_resources,
                stops_telling);
            cell!(stories in reads: reads_resources, knows_what_is_no_resource, gives_prompts, completes);
            cell!(stories in tasks: goes_on_as_a_task, waits_for_what_must_be_a_task);
        }
    };
    (stories in $part:ident: $($story:ident),*) => {
        $(
            #[tokio::test]
            async fn $story() {
                tell(CELL, fixture, |stage| Box::pin($part::$story(stage))).await;
            }
        )*
    };
}

cell!(stdio_legacy_to_stdio_legacy: Stdio Legacy in front of StdioLegacy);
cell!(stdio_legacy_to_stdio_modern: Stdio Legacy in front of StdioModern);
cell!(stdio_legacy_to_http_legacy: Stdio Legacy in front of HttpLegacy);
cell!(stdio_legacy_to_http_modern: Stdio Legacy in front of HttpModern);
cell!(stdio_legacy_to_sse: Stdio Legacy in front of Sse);
cell!(stdio_modern_to_stdio_legacy: Stdio Modern in front of StdioLegacy);
cell!(stdio_modern_to_stdio_modern: Stdio Modern in front of StdioModern);
cell!(stdio_modern_to_http_legacy: Stdio Modern in front of HttpLegacy);
cell!(stdio_modern_to_http_modern: Stdio Modern in front of HttpModern);
cell!(stdio_modern_to_sse: Stdio Modern in front of Sse);
cell!(http_legacy_to_stdio_legacy: Http Legacy in front of StdioLegacy);
cell!(http_legacy_to_stdio_modern: Http Legacy in front of StdioModern);
cell!(http_legacy_to_http_legacy: Http Legacy in front of HttpLegacy);
cell!(http_legacy_to_http_modern: Http Legacy in front of HttpModern);
cell!(http_legacy_to_sse: Http Legacy in front of Sse);
cell!(http_modern_to_stdio_legacy: Http Modern in front of StdioLegacy);
cell!(http_modern_to_stdio_modern: Http Modern in front of StdioModern);
cell!(http_modern_to_http_legacy: Http Modern in front of HttpLegacy);
cell!(http_modern_to_http_modern: Http Modern in front of HttpModern);
cell!(http_modern_to_sse: Http Modern in front of Sse);
