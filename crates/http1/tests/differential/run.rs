//! Holds our reader against hyper's on many streams, and counts.

use crate::dice::Dice;
use crate::reading::{Body, Reading, Verdict, compare};
use crate::script::Piece;
use crate::{generate, hypers, ours};

/// Which side reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// A server reads requests.
    Requests,
    /// A client reads responses.
    Responses,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub(crate) messages: usize,
    pub(crate) streams: usize,
    /// Messages that both readers read whole, and alike.
    pub(crate) read: usize,
    /// Streams that end earlier for us.
    pub(crate) stricter: usize,
    /// Streams in which we accepted more, each as a story.
    pub(crate) laxer: Vec<String>,
}

// === impl Direction ===

impl Direction {
    pub(crate) fn read(self, pieces: &[Piece]) -> (Reading, Reading) {
        match self {
            Self::Requests => (ours::requests(pieces), hypers::requests(pieces)),
            Self::Responses => {
                // One more than there are: after the last one, too, it counts whether another may follow.
                let asked = pieces.last().map_or(0, |piece| piece.after) + 1;
                (ours::responses(pieces, asked), hypers::responses(pieces, asked))
            }
        }
    }

    fn generate(self, dice: &mut Dice) -> (Vec<Piece>, usize) {
        match self {
            Self::Requests => generate::requests(dice),
            Self::Responses => generate::responses(dice),
        }
    }
}

/// Tries so many generated messages. Stops after a handful of differences.
pub(crate) fn many(direction: Direction, seed: u64, messages: usize) -> Count {
    let mut count = Count::default();
    while count.messages < messages && count.laxer.len() < 10 {
        // Each stream has dice of its own, so that it can be told alone.
        let stream = seed.wrapping_add(count.streams as u64).wrapping_mul(0x2545_f491_4f6c_dd1d);
        let (pieces, made) = direction.generate(&mut Dice::new(stream));
        count.streams += 1;
        count.messages += made;
        try_one(direction, &pieces, &mut count);
    }
    count
}

/// Tries one stream.
pub(crate) fn try_one(direction: Direction, pieces: &[Piece], count: &mut Count) {
    let (ours, theirs) = direction.read(pieces);
    count.read += ours.messages.iter().filter(|message| matches!(message.body, Body::Whole(_))).count();
    match compare(&ours, &theirs) {
        Verdict::Same => {}
        Verdict::Stricter => count.stricter += 1,
        Verdict::Laxer(what) => {
            let stream: Vec<String> =
                pieces.iter().map(|piece| format!("{} {:?}", piece.after, piece.bytes)).collect();
            let story = format!(
                "{direction:?}: {what}\n  sent  {:.3000}\n  ours  {ours:.3000?}\n  hyper {theirs:.3000?}",
                stream.join("\n        ")
            );
            count.laxer.push(story);
        }
    }
}
