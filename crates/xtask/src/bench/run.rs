//! Measures: the targets of a point in turn, the points of a round one after another, round after round.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Serialize;

use super::BenchArgs;
use super::gateway::Profile;
use super::machine::{CpuTime, MachineTime, resident_mib, thread_time, with_descendants};
use super::parts::{Binaries, HooksTaken, Judged, Started};
use super::plan::{self, Ask, Era, Part, Point};
use super::stand::{Builder, Stand, Target};

/// How long a program is left alone before its idle memory is read.
const SETTLE: Duration = Duration::from_millis(500);
/// What one measurement takes beside its load: starting the generator, opening and closing its sessions.
const OVERHEAD: Duration = Duration::from_millis(700);
/// How long the record is given to be compressed at the end.
const UPKEEP: Duration = Duration::from_secs(3);
const LISTED: [usize; 2] = [1_000, 10_000];

/// One measurement of one point on one target.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Sample {
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) mean_us: f64,
    pub(super) calls_per_second: f64,
    /// Of the process in the middle and what it started; nothing if there is none.
    pub(super) cpu_us_per_call: Option<f64>,
    /// Resident memory of the process in the middle with all sessions open.
    pub(super) resident_mib: Option<f64>,
    /// The share of the machine that others used meanwhile.
    pub(super) foreign_share: f64,
    /// Where each call was announced.
    pub(super) hooks: Option<HooksTaken>,
}

/// All measurements of one point, one a round.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) point: Point,
    pub(super) samples: BTreeMap<Target, Vec<Sample>>,
}

/// How long one start took, in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StartSample {
    pub(super) healthz_ms: f64,
    pub(super) hello_ms: f64,
    pub(super) listed_ms: f64,
}

/// Everything that was measured.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) stand_in: bool,
    pub(super) rules: usize,
    pub(super) seconds: f64,
    pub(super) points: Vec<Measured>,
    /// On a new data directory; on one that was there; the floor.
    pub(super) first_starts: Vec<StartSample>,
    pub(super) later_starts: Vec<StartSample>,
    pub(super) floor_starts: Vec<StartSample>,
    /// With seven servers that are known and do not answer.
    pub(super) pinned_starts: Vec<StartSample>,
    pub(super) judged: Vec<Judged>,
    pub(super) idle_mib: Option<f64>,
    pub(super) floor_idle_mib: Option<f64>,
    pub(super) binary_mib: Option<f64>,
    pub(super) notices: Vec<String>,
}

pub(super) struct Runner<'a> {
    args: &'a BenchArgs,
    builder: Builder<'a>,
    deadline: Instant,
    outcome: Outcome,
}

// === impl Runner ===

impl<'a> Runner<'a> {
    pub(super) fn new(
        args: &'a BenchArgs,
        binaries: &'a Binaries,
        work: &'a Path,
        deadline: Instant,
    ) -> Self {
        let mut outcome = Outcome { stand_in: args.stand_in, ..Outcome::default() };
        let profile = match &binaries.gateway {
            Some(program) => Profile::for_build(program, args.rules, args.auth_none, &mut outcome.notices),
            None => Profile::default(),
        };
        outcome.rules = profile.rules;
        let builder = Builder { binaries, work, profile };
        Self { args, builder, deadline, outcome }
    }

    pub(super) fn run(mut self) -> anyhow::Result<Outcome> {
        let begun = Instant::now();
        if let Some(program) = &self.builder.binaries.gateway {
            let size = std::fs::metadata(program).context("the gateway's binary cannot be read")?.len();
            self.outcome.binary_mib = Some(size as f64 / (1024.0 * 1024.0));
        }
        if self.wanted("start") {
            self.starts()?;
        }
        if self.wanted("judgement") && self.builder.binaries.gateway.is_some() {
            for _ in 0..self.rounds() {
                self.outcome.judged.push(self.builder.binaries.judge(self.args.rules)?);
            }
        }
        for tools in LISTED {
            self.listing(tools)?;
        }
        self.calls()?;
        self.outcome.seconds = begun.elapsed().as_secs_f64();
        Ok(self.outcome)
    }

    fn starts(&mut self) -> anyhow::Result<()> {
        for round in 0..self.rounds() {
            progress(&format!("start, round {}", round + 1))?;
            let [first, later] = self.builder.start_twice(round)?;
            self.outcome.first_starts.push(StartSample::from(&first));
            self.outcome.later_starts.push(StartSample::from(&later));
            // Another build may not offer what it does not see.
            match self.builder.start_from_pins(round) {
                Ok(pinned) => self.outcome.pinned_starts.extend(pinned.as_ref().map(StartSample::from)),
                Err(error) => {
                    self.outcome.notices.push(format!("no start from pins was measured: {error:#}"))
                }
            }
            let floor = self.builder.start_floor_once()?;
            self.outcome.floor_starts.push(StartSample::from(&floor));
        }
        Ok(())
    }

    fn listing(&mut self, tools: usize) -> anyhow::Result<()> {
        let point = plan::list(tools);
        if !self.wanted(&point.to_string()) {
            return Ok(());
        }
        let stand = self.builder.for_listing(tools)?;
        self.rounds_of(&[point], self.rounds().min(3), |_| &stand)
    }

    fn calls(&mut self) -> anyhow::Result<()> {
        let points: Vec<Point> =
            plan::calls().into_iter().filter(|point| self.wanted(&point.to_string())).collect();
        let of = |parts: &[Part]| -> Vec<Point> {
            points.iter().filter(|point| parts.contains(&point.part)).cloned().collect()
        };
        // Asked for by name, a point is measured however short the run is.
        let by_name = self.args.only.is_some();
        let main =
            if self.args.quick && !by_name { of(&[Part::Main]) } else { of(&[Part::Main, Part::Full]) };
        let grid = if self.args.quick && !by_name { Vec::new() } else { of(&[Part::Grid]) };
        let memory = self.wanted("rss");
        if main.is_empty() && grid.is_empty() && !memory {
            return Ok(());
        }
        let stands = self.builder.for_calls()?;
        if memory {
            std::thread::sleep(SETTLE);
            self.outcome.idle_mib = resident_mib(stands.legacy.gateway.hosted.started.pid);
            self.outcome.floor_idle_mib = resident_mib(stands.legacy.floor.hosted.started.pid);
        }
        let stand = |point: &Point| match (point.ask, point.era) {
            (Ask::WordsRead | Ask::WordsAct, _) => &stands.words,
            (_, Era::Legacy) => &stands.legacy,
            (_, Era::Modern) => &stands.modern,
        };
        self.rounds_of(&main, self.rounds(), stand)?;
        self.rounds_of(&grid, self.rounds().min(2), stand)?;
        self.note_upkeep(stands.legacy.gateway.hosted.started.pid);
        Ok(())
    }

    /// Says what compressing the record took: Highwater does it while calls pause, so it is in no other figure.
    fn note_upkeep(&mut self, pid: u32) {
        if self.outcome.stand_in {
            return;
        }
        std::thread::sleep(UPKEEP);
        let through = |measured: &Measured| match (measured.point.ask, measured.samples.get(&Target::Gateway))
        {
            (Ask::Call | Ask::Upload | Ask::Keep, Some(samples)) => samples.iter().map(|it| it.calls).sum(),
            _ => 0,
        };
        let calls: u64 = self.outcome.points.iter().map(through).sum();
        let micros = thread_time(pid, "audit-keep") as f64 / 1_000.0;
        self.outcome.notices.push(format!(
            "compressing and indexing the record, while calls pause: {:.2} µs per call",
            micros / calls.max(1) as f64
        ));
    }

    /// Measures every point on every target, `rounds` times, or as often as the time allows; at least once unless
    /// it only fills the grid.
    fn rounds_of<'s>(
        &mut self,
        points: &[Point],
        rounds: usize,
        stand: impl Fn(&Point) -> &'s Stand,
    ) -> anyhow::Result<()> {
        let first = self.outcome.points.len();
        self.outcome.points.extend(points.iter().cloned().map(Measured::new));
        for round in 0..rounds {
            for (index, point) in points.iter().enumerate() {
                let longest = (self.seconds(point) + OVERHEAD).saturating_mul(3);
                let needed = round == 0 && point.part != Part::Grid;
                if !needed && Instant::now() + longest > self.deadline {
                    self.outcome.notices.push(format!("no time was left for round {} of {point}", round + 1));
                    continue;
                }
                progress(&format!("{point}, round {}", round + 1))?;
                // Each round begins with another target, so that none is always the one after a pause.
                for turn in 0..Target::ALL.len() {
                    let Some(&target) = Target::ALL.get((round + turn) % Target::ALL.len()) else { continue };
                    let sample = self.measure(point, stand(point), target)?;
                    if let Some(measured) = self.outcome.points.get_mut(first + index) {
                        measured.samples.entry(target).or_default().push(sample);
                    }
                }
            }
        }
        Ok(())
    }

    fn measure(&mut self, point: &Point, stand: &Stand, target: Target) -> anyhow::Result<Sample> {
        let through = self.outcome.name(target);
        let failed = || format!("{point} through {through} failed");
        let binaries = self.builder.binaries;
        let seconds = self.seconds(point).as_secs_f64();
        let mut load = binaries.start_load(point, stand.endpoint(target), seconds).with_context(failed)?;
        let middle = stand.middle_pid(target).map(with_descendants).unwrap_or_default();
        let mut others = stand.other_pids();
        others.extend([load.pid(), std::process::id()]);

        let machine_before = MachineTime::now();
        let others_before = CpuTime::of(&others);
        let middle_before = CpuTime::of(&middle);
        let taken = load.go().with_context(failed)?;
        let middle_after = CpuTime::of(&middle);
        let others_after = CpuTime::of(&others);
        let machine_after = MachineTime::now();

        if let Some(error) = &taken.first_error {
            let notice = format!("{point} through {through}: {} errors, first: {error}", taken.errors);
            self.outcome.notices.push(notice);
        }
        let spent = middle_after.since(&middle_before);
        let ours = spent + others_after.since(&others_before);
        // A hook is a request of its own: what a call and its announcement cost is spread over both.
        let requests = taken.calls + taken.hooks.as_ref().map_or(0, |hooks| hooks.count);
        let per_call = spent as f64 / 1_000.0 / requests.max(1) as f64;
        Ok(Sample {
            calls: taken.calls,
            errors: taken.errors,
            p50_us: taken.p50_us,
            p99_us: taken.p99_us,
            mean_us: taken.mean_us,
            calls_per_second: taken.calls_per_second,
            cpu_us_per_call: (!middle.is_empty()).then_some(per_call),
            resident_mib: stand.middle_pid(target).and_then(resident_mib),
            foreign_share: machine_after.foreign_share_since(&machine_before, ours),
            hooks: taken.hooks,
        })
    }

    fn rounds(&self) -> usize {
        self.args.rounds.unwrap_or(if self.args.quick { 2 } else { 5 }).max(1)
    }

    fn seconds(&self, point: &Point) -> Duration {
        let millis = match (self.args.quick, point.part) {
            (true, _) => 800,
            (false, Part::Grid) => 1_200,
            (false, Part::Main | Part::Full) if point.ask == Ask::List => 1_500,
            (false, Part::Main | Part::Full) => 2_000,
        };
        Duration::from_millis(millis)
    }

    fn wanted(&self, name: &str) -> bool {
        self.args.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
    }
}

// === impl Outcome ===

impl Outcome {
    pub(super) fn errors(&self) -> u64 {
        self.points
            .iter()
            .flat_map(|measured| measured.samples.values().flatten())
            .map(|sample| sample.errors)
            .sum()
    }

    /// What the tables call a target.
    pub(super) fn name(&self, target: Target) -> &'static str {
        match target {
            Target::Direct => "direct",
            Target::Floor => "floor",
            Target::Gateway if self.stand_in => "stand-in",
            Target::Gateway => "highwater",
        }
    }

    pub(super) fn point(&self, name: &str) -> Option<&Measured> {
        self.points.iter().find(|measured| measured.point.to_string() == name)
    }

    /// The shares of the machine that others used, over all measurements, in rising order.
    pub(super) fn foreign_shares(&self) -> Vec<f64> {
        let samples = self.points.iter().flat_map(|measured| measured.samples.values().flatten());
        let mut shares: Vec<f64> = samples.map(|sample| sample.foreign_share).collect();
        shares.sort_by(f64::total_cmp);
        shares
    }
}

// === impl Measured ===

impl Measured {
    fn new(point: Point) -> Self {
        Self { point, samples: BTreeMap::new() }
    }

    /// The median over the rounds.
    pub(super) fn median(&self, target: Target, of: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        median(self.samples.get(&target)?.iter().filter_map(of))
    }

    /// The median of a figure made from the three samples of one round, which were taken side by side.
    pub(super) fn median_by_round(
        &self,
        figure: impl Fn(&Sample, &Sample, &Sample) -> Option<f64>,
    ) -> Option<f64> {
        let of = |target| self.samples.get(&target).into_iter().flatten();
        let rounds = of(Target::Direct).zip(of(Target::Floor)).zip(of(Target::Gateway));
        median(rounds.filter_map(|((direct, floor), gateway)| figure(direct, floor, gateway)))
    }
}

impl From<&Started> for StartSample {
    fn from(started: &Started) -> Self {
        Self {
            healthz_ms: started.healthz_us / 1_000.0,
            hello_ms: started.hello_us / 1_000.0,
            listed_ms: started.listed_us / 1_000.0,
        }
    }
}

/// The middle value, or the mean of the two in the middle.
pub(super) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(upper, *values.get(values.len() / 2 - 1)?))
}

fn progress(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stderr(), "bench: {line}").context("standard error is closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), Some(2.5));
        assert_eq!(median(std::iter::empty()), None);
    }
}
