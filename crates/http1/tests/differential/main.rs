//! Our reader against hyper's, on both sides: where a message ends, whether it is accepted, and what its body is. We may
//! refuse more than hyper; what we accept, hyper must see alike.
//!
//! The ordinary run tries a hundred thousand messages. `cargo run --release --package highwater-http1 --example
//! differential -- 10000000` tries ten million in each direction, or as many as it is told.

#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod corpus;
mod dice;
mod generate;
mod hypers;
mod ours;
mod reading;
mod run;
mod script;

use self::run::{Count, Direction, many};

/// How many messages the ordinary run tries in each direction.
const MESSAGES: usize = 50_000;

/// Whether we were nowhere laxer, and did read something.
fn assert_strict(count: &Count) {
    assert!(count.laxer.is_empty(), "{} differences\n{}", count.laxer.len(), count.laxer.join("\n"));
    assert!(count.read * 4 > count.messages, "hardly anything was read: {count:?}");
    assert!(count.stricter * 3 < count.streams, "we refuse too much: {count:?}");
}

#[test]
fn requests_are_read_no_more_laxly_than_by_hyper() {
    assert_strict(&many(Direction::Requests, 1, MESSAGES));
}

#[test]
fn responses_are_read_no_more_laxly_than_by_hyper() {
    assert_strict(&many(Direction::Responses, 1, MESSAGES));
}

#[test]
fn the_streams_that_once_made_a_difference_make_none() {
    for (direction, stream) in corpus::STREAMS {
        for pieces in corpus::cuts(*direction, stream) {
            let mut count = Count::default();
            run::try_one(*direction, &pieces, &mut count);
            assert!(count.laxer.is_empty(), "{}", count.laxer.join("\n"));
        }
    }
}
