//! What is measured: one row a point, named the way `--only` and the tables name it.

use std::fmt;

/// One kind of load, put on each target in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) ask: Ask,
    pub(super) era: Era,
    pub(super) sessions: usize,
    /// Bytes of text in the answer or the upload; for a listing, tools.
    pub(super) size: usize,
    pub(super) part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Call,
    Upload,
    /// A text kept under a name, in a session that holds private data: what is written bears its label.
    Keep,
    /// A read of what strangers write, in a conversation whose host tells the user's words and announces each call.
    WordsRead,
    /// An act in such a conversation, which runs because the user's words ask for it.
    WordsAct,
    List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

/// How much weight a point has, and so how often it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Has a bar, or tells why one is met: every round.
    Main,
    /// Every round of a full run.
    Full,
    /// The rest of the grid, in a full run, with what time is left.
    Grid,
}

const SESSIONS: [usize; 4] = [1, 8, 64, 512];
const SIZES: [usize; 3] = [100, 10 * 1024, 1024 * 1024];

/// Calls through one upstream, the points with bars first.
pub(super) fn calls() -> Vec<Point> {
    let call = |sessions, size, part| Point { ask: Ask::Call, era: Era::Legacy, sessions, size, part };
    let mut points: Vec<Point> = SESSIONS.iter().map(|&sessions| call(sessions, 100, Part::Main)).collect();
    points.push(call(8, 10 * 1024, Part::Main));
    points.push(call(4, 1024 * 1024, Part::Main));
    points.push(Point { ask: Ask::Keep, ..call(8, 100, Part::Main) });
    points.push(Point { ask: Ask::WordsRead, ..call(8, 100, Part::Main) });
    points.push(Point { ask: Ask::WordsAct, ..call(8, 100, Part::Main) });
    for sessions in [8, 64] {
        points.push(Point { era: Era::Modern, ..call(sessions, 100, Part::Full) });
    }
    points.push(Point { ask: Ask::Keep, ..call(8, 10 * 1024, Part::Full) });
    points.push(Point { ask: Ask::Upload, ..call(8, 10 * 1024, Part::Full) });
    points.push(Point { ask: Ask::Upload, ..call(4, 1024 * 1024, Part::Full) });
    for size in SIZES {
        for sessions in SESSIONS {
            if !points.contains(&call(sessions, size, Part::Main)) {
                points.push(call(sessions, size, Part::Grid));
            }
        }
    }
    points
}

/// A listing of `tools` tools, spread over four upstreams behind Highwater and in one behind the floor.
pub(super) fn list(tools: usize) -> Point {
    Point { ask: Ask::List, era: Era::Legacy, sessions: 1, size: tools, part: Part::Main }
}

impl Point {
    /// Calls of each session before anything is counted: enough to open pools and fill caches, few enough that
    /// large answers do not take the time of the measurement.
    pub(super) fn warm_up(&self) -> usize {
        let calls = match self.ask {
            // Each name is written once before anything is counted: the first mark on a thing is flushed to the disk.
            Ask::Keep | Ask::WordsAct => 400 * self.sessions,
            Ask::Call | Ask::Upload | Ask::WordsRead if self.size <= 64 * 1024 => 400,
            Ask::Call | Ask::Upload | Ask::WordsRead => 16,
            Ask::List => 4,
        };
        calls / self.sessions + 1
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ask, era, sessions, size, .. } = self;
        let size = match size {
            size if size % (1024 * 1024) == 0 => format!("{}MiB", size / (1024 * 1024)),
            size if size % 1024 == 0 => format!("{}KiB", size / 1024),
            size => format!("{size}B"),
        };
        match (ask, era) {
            (Ask::Call, Era::Legacy) => write!(f, "call/{size}/{sessions}"),
            (Ask::Call, Era::Modern) => write!(f, "modern/{size}/{sessions}"),
            (Ask::Keep, _) => write!(f, "keep/{size}/{sessions}"),
            (Ask::WordsRead, _) => write!(f, "words-read/{size}/{sessions}"),
            (Ask::WordsAct, _) => write!(f, "words-act/{size}/{sessions}"),
            (Ask::Upload, _) => write!(f, "upload/{size}/{sessions}"),
            (Ask::List, _) => write!(f, "list/{}", self.size),
        }
    }
}

impl Era {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_the_grid_is_planned_once() {
        let names: Vec<String> = calls().iter().map(ToString::to_string).collect();
        for size in ["100B", "10KiB", "1MiB"] {
            for sessions in SESSIONS {
                let name = format!("call/{size}/{sessions}");
                assert_eq!(names.iter().filter(|planned| **planned == name).count(), 1, "{name}");
            }
        }
    }
}
