//! Nothing is lost: a server that uses every freedom JSON leaves, in every place MCP has, and a client that compares
//! bytes.
//!
//! What the client receives is what the server sent, except for names, resource URIs and what the eras add and take
//! away; the same for what the client sends. What arrived at the server is read from its journal.

#[path = "support/stage.rs"]
mod stage;
#[path = "support/lossless/mod.rs"]
mod stories;

use highwater_testkit::client::Era;

use stage::{Cell, Front, Upstream, tell};
use stories::script::scripted;
use stories::{down, edges, up};

/// One test for each story in one cell.
macro_rules! cell {
    ($name:ident: $front:ident $era:ident in front of $upstream:ident) => {
        mod $name {
            use super::*;

            const CELL: Cell = Cell { front: Front::$front, era: Era::$era, upstream: Upstream::$upstream };

            cell!(stories in down: definitions, list_results, greetings, results_of_calls, results_of_other_requests,
                errors, notifications, updates);
            cell!(stories in up: arguments, metadata, questions_and_answers);
            cell!(stories in edges: messages_of_several_lines, a_message_within_a_message_is_none,
                escaped_keys_are_keys, names_of_ours_are_ours);
        }
    };
    (stories in $part:ident: $($story:ident),*) => {
        $(
            #[tokio::test]
            async fn $story() {
                tell(CELL, scripted, |stage| Box::pin($part::$story(stage))).await;
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
