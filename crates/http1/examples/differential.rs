//! Our reader against hyper's on as many messages as are asked for: `… --example differential -- MESSAGES [SEED]`.

#![expect(clippy::indexing_slicing, reason = "it stops at the first surprise")]
#![expect(clippy::print_stdout, reason = "it is a program for people")]

#[path = "../tests/differential/dice.rs"]
mod dice;
#[path = "../tests/differential/generate.rs"]
mod generate;
#[path = "../tests/differential/hypers.rs"]
mod hypers;
#[path = "../tests/differential/ours.rs"]
mod ours;
#[path = "../tests/differential/reading.rs"]
mod reading;
#[path = "../tests/differential/run.rs"]
mod run;
#[path = "../tests/differential/script.rs"]
mod script;

use std::process::ExitCode;

use self::run::{Direction, many};

/// In each direction.
const MESSAGES: usize = 10_000_000;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let messages = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(MESSAGES);
    let seed = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut laxer = 0;
    for direction in [Direction::Requests, Direction::Responses] {
        let count = many(direction, seed, messages);
        println!(
            "{direction:?}: {} messages in {} streams, {} read, {} streams read more strictly than by hyper, {} more laxly",
            count.messages,
            count.streams,
            count.read,
            count.stricter,
            count.laxer.len()
        );
        for story in &count.laxer {
            println!("{story}");
        }
        laxer += count.laxer.len();
    }
    if laxer == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
