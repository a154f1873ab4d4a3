//! The bars of the design, section 10, in one table, and how each figure is made from the measurements.

use super::run::{Measured, Outcome, Sample, StartSample, median};
use super::stand::Target;

/// One line of the design's table.
pub(super) struct Bar {
    pub(super) measure: &'static str,
    pub(super) figure: Figure,
    pub(super) limit: Limit,
    pub(super) aim: f64,
    pub(super) unit: &'static str,
    /// The best gateway measured when the bar was set.
    pub(super) best: &'static str,
}

/// What is judged; a text names the point it is taken from.
#[derive(Clone, Copy)]
pub(super) enum Figure {
    /// CPU per call as a multiple of the floor's.
    Cpu(&'static str),
    /// What is added to the median latency, as a multiple of what the floor adds.
    AddedLatency(&'static str),
    /// Throughput as a share of the direct one.
    ShareOfDirect(&'static str),
    /// The median time of one answer.
    Millis(&'static str),
    /// One decision, without a wire.
    Decision,
    /// One reply labelled and judged, without a wire.
    Labelling,
    /// One filtered search among ten thousand tools, without a wire.
    Search,
    IdleMemory,
    LoadedMemory(&'static str),
    FirstStart,
    LaterStart,
    BinarySize,
}

#[derive(Clone, Copy)]
pub(super) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

/// A figure beside what it was made from.
pub(super) struct Reading {
    pub(super) gateway: Option<f64>,
    pub(super) floor: Option<f64>,
    /// What the bar is held against.
    pub(super) judged: f64,
}

use Figure::{
    AddedLatency, BinarySize, Cpu, Decision, FirstStart, IdleMemory, Labelling, LaterStart, LoadedMemory,
    Millis, Search, ShareOfDirect,
};
use Limit::{AtLeast, AtMost};

#[rustfmt::skip]
pub(super) const BARS: [Bar; 22] = [
    bar("CPU per call, 100 B, 1 session", Cpu("call/100B/1"), AtMost(1.8), 1.4, "×", "3.0–6.5×"),
    bar("CPU per call, 100 B, 8 sessions", Cpu("call/100B/8"), AtMost(1.8), 1.4, "×", "3.0–6.5×"),
    bar("CPU per call, 100 B, 64 sessions", Cpu("call/100B/64"), AtMost(1.8), 1.4, "×", "3.0–6.5×"),
    bar("CPU per call, 100 B, 512 sessions", Cpu("call/100B/512"), AtMost(1.8), 1.4, "×", "3.0–6.5×"),
    bar("CPU per call, 100 B, 8 sessions, modern", Cpu("modern/100B/8"), AtMost(1.8), 1.4, "×", "3.0–6.5×"),
    bar("CPU per call, 100 B, 64 sessions, modern", Cpu("modern/100B/64"), AtMost(1.8), 1.4, "×", "3.0–6.5×"),
    bar("CPU per call, 10 KiB, 8 sessions", Cpu("call/10KiB/8"), AtMost(2.0), 1.5, "×", "5×"),
    bar("CPU per call, 1 MiB, 4 sessions", Cpu("call/1MiB/4"), AtMost(3.0), 2.0, "×", "5.8–6.5×"),
    bar("CPU per call, 100 B kept, 8 sessions, marks", Cpu("keep/100B/8"), AtMost(1.8), 1.4, "×", "3.0–6.5×"),
    bar("CPU per request, reads and their hooks, words", Cpu("words-read/100B/8"), AtMost(1.8), 1.4, "×", "–"),
    bar("added p50, 1 session", AddedLatency("call/100B/1"), AtMost(2.0), 1.3, "×", "2.9–3.3×"),
    bar("throughput, 64 sessions, share of direct", ShareOfDirect("call/100B/64"), AtLeast(0.30), 0.40, "", "0.10–0.16"),
    bar("CPU per `tools/list`, 1,000 tools, 4 servers", Cpu("list/1000"), AtMost(2.0), 1.2, "×", "39×"),
    bar("one decision, 100 rules", Decision, AtMost(10.0), 3.0, "µs", "–"),
    bar("one reply labelled and judged", Labelling, AtMost(10.0), 3.0, "µs", "–"),
    bar("one filtered search, 10,000 tools", Search, AtMost(200.0), 100.0, "µs", "–"),
    bar("listing 10,000 tools, 4 servers", Millis("list/10000"), AtMost(100.0), 30.0, "ms", "–"),
    bar("resident, idle", IdleMemory, AtMost(20.0), 12.0, "MiB", "37 MiB"),
    bar("resident, 512 sessions", LoadedMemory("call/100B/512"), AtMost(60.0), 45.0, "MiB", "122 MiB"),
    bar("start to first full listing, new data", FirstStart, AtMost(30.0), 15.0, "ms", "15 ms"),
    bar("start to first full listing, known data", LaterStart, AtMost(30.0), 15.0, "ms", "15 ms"),
    bar("stripped binary", BinarySize, AtMost(25.0), 15.0, "MiB", "64 MiB"),
];

const fn bar(
    measure: &'static str,
    figure: Figure,
    limit: Limit,
    aim: f64,
    unit: &'static str,
    best: &'static str,
) -> Bar {
    Bar { measure, figure, limit, aim, unit, best }
}

impl Limit {
    pub(super) fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtMost(bar) => value <= bar,
            Self::AtLeast(bar) => value >= bar,
        }
    }
}

impl Figure {
    /// Reads the figure, if what it needs was measured.
    pub(super) fn read(self, outcome: &Outcome) -> Option<Reading> {
        match self {
            Self::Cpu(point) => {
                let measured = outcome.point(point)?;
                let cpu = |sample: &Sample| sample.cpu_us_per_call;
                let judged =
                    measured.median_by_round(|_, floor, gateway| ratio(cpu(gateway)?, cpu(floor)?))?;
                Some(beside(measured, cpu, judged))
            }
            Self::AddedLatency(point) => {
                let measured = outcome.point(point)?;
                let judged = measured.median_by_round(|direct, floor, gateway| {
                    ratio(gateway.p50_us - direct.p50_us, floor.p50_us - direct.p50_us)
                })?;
                Some(beside(measured, |sample| Some(sample.p50_us), judged))
            }
            Self::ShareOfDirect(point) => {
                let measured = outcome.point(point)?;
                let judged = measured.median_by_round(|direct, _, gateway| {
                    ratio(gateway.calls_per_second, direct.calls_per_second)
                })?;
                Some(beside(measured, |sample| Some(sample.calls_per_second), judged))
            }
            Self::Millis(point) => {
                let measured = outcome.point(point)?;
                let millis = |sample: &Sample| Some(sample.p50_us / 1_000.0);
                let judged = measured.median(Target::Gateway, millis)?;
                Some(beside(measured, millis, judged))
            }
            Self::IdleMemory => alone(outcome.idle_mib, outcome.floor_idle_mib),
            Self::LoadedMemory(point) => {
                let measured = outcome.point(point)?;
                let resident = |sample: &Sample| sample.resident_mib;
                let judged = measured.median(Target::Gateway, resident)?;
                Some(beside(measured, resident, judged))
            }
            Self::FirstStart => alone(listed(&outcome.first_starts), listed(&outcome.floor_starts)),
            Self::LaterStart => alone(listed(&outcome.later_starts), listed(&outcome.floor_starts)),
            Self::Decision => alone(median(outcome.judged.iter().map(|judged| judged.decide_us)), None),
            Self::Labelling => alone(median(outcome.judged.iter().map(|judged| judged.label_us)), None),
            Self::Search => alone(median(outcome.judged.iter().map(|judged| judged.search_us)), None),
            Self::BinarySize => alone(outcome.binary_mib, None),
        }
    }
}

fn listed(starts: &[StartSample]) -> Option<f64> {
    median(starts.iter().map(|start| start.listed_ms))
}

fn beside(measured: &Measured, of: impl Fn(&Sample) -> Option<f64>, judged: f64) -> Reading {
    Reading {
        gateway: measured.median(Target::Gateway, &of),
        floor: measured.median(Target::Floor, &of),
        judged,
    }
}

fn alone(gateway: Option<f64>, floor: Option<f64>) -> Option<Reading> {
    Some(Reading { gateway, floor, judged: gateway? })
}

/// A ratio, unless noise has made what it is measured against nothing.
fn ratio(value: f64, against: f64) -> Option<f64> {
    (against > 0.0).then_some(value / against)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::plan;

    #[test]
    fn every_bar_is_taken_from_a_planned_point() {
        let mut planned: Vec<String> = plan::calls().iter().map(ToString::to_string).collect();
        planned.extend([plan::list(1_000).to_string(), plan::list(10_000).to_string()]);
        for bar in &BARS {
            let (Cpu(point) | AddedLatency(point) | ShareOfDirect(point) | Millis(point)
            | LoadedMemory(point)) = bar.figure
            else {
                continue;
            };
            assert!(planned.iter().any(|name| name == point), "{}: {point}", bar.measure);
        }
    }

    #[test]
    fn a_limit_holds_in_its_own_direction() {
        assert!(AtMost(1.8).is_met_by(1.8) && !AtMost(1.8).is_met_by(1.81));
        assert!(AtLeast(0.3).is_met_by(0.3) && !AtLeast(0.3).is_met_by(0.29));
    }
}
