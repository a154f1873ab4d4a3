//! `cargo xtask layout`: which functions every call runs, read from what callgrind saw, and the linker script that lays
//! them side by side in the program. CONTRIBUTING.md says when and how.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::command::stdout_of;
use crate::repository::Repository;

/// The file that is written.
const SCRIPT: &str = "crates/highwater/road.ld";

const HEAD: &str = "/* What every call runs, in the order in which calls come by it. Laid side by side, a call that wakes a machine
   touches some 140 pages of code instead of 270. A function that is missing here only lies further away, and a line
   that names none does nothing. Written by `cargo xtask layout`; see CONTRIBUTING.md. */
SECTIONS
{
  .text.road :
  {
";
const TAIL: &str = "  }
}
INSERT BEFORE .text;
";

/// A name without its hash may fit so much more than what was run, in bytes; one that fits more keeps its hash.
const SPARE: u64 = 4096;

#[derive(Args)]
pub(crate) struct LayoutArguments {
    /// How many calls were made while callgrind looked, in each profile
    #[arg(long)]
    calls: u64,
    /// What callgrind wrote about `target/release/highwater`, with `--dump-instr=yes --demangle=no`
    #[arg(required = true)]
    profiles: Vec<PathBuf>,
}

/// What one run of callgrind says of the program.
#[derive(Default)]
struct Profile {
    functions: BTreeMap<u32, Function>,
}

#[derive(Default)]
struct Function {
    name: String,
    /// Whether it is in the program itself.
    ours: bool,
    /// How often its most often executed instruction was.
    times: u64,
    cost: u64,
    /// Whom it calls, by where in its code.
    calls: BTreeSet<(u64, u32)>,
}

pub(crate) fn run(repository: &Repository, arguments: &LayoutArguments) -> Result<ExitCode> {
    let program = repository.target.join("release/highwater");
    let sizes = sizes(&program)?;
    ensure!(!sizes.is_empty(), "`{}` is stripped; build it with `-C strip=none`", program.display());
    let mut names: Vec<String> = Vec::new();
    for file in &arguments.profiles {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let walked = Profile::read(&text).walk(arguments.calls);
        ensure!(!walked.is_empty(), "nothing in `{}` is run by every call", file.display());
        names.extend(walked);
    }
    let script = script(&names, &sizes);
    std::fs::write(repository.path(SCRIPT), script).with_context(|| format!("cannot write `{SCRIPT}`"))?;
    println!("wrote {SCRIPT}");
    Ok(ExitCode::SUCCESS)
}

/// The functions of a program with their sizes.
fn sizes(program: &Path) -> Result<BTreeMap<String, u64>> {
    let listed = stdout_of(Command::new("nm").arg("--print-size").arg(program))?;
    let function = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (_, size, kind, name) = (words.next()?, words.next()?, words.next()?, words.next()?);
        matches!(kind, "t" | "T" | "w" | "W").then_some(())?;
        Some((name.to_owned(), u64::from_str_radix(size, 16).ok()?))
    };
    Ok(listed.lines().filter_map(function).collect())
}

fn script(names: &[String], sizes: &BTreeMap<String, u64>) -> String {
    let mut script = HEAD.to_owned();
    let mut written = BTreeSet::new();
    for name in names {
        let Some(size) = sizes.get(name) else { continue };
        let plain = unhashed(name);
        let fits: u64 =
            sizes.iter().filter(|(other, _)| unhashed(other) == plain).map(|(_, size)| size).sum();
        let pattern = pattern(if fits <= size + SPARE { &plain } else { name });
        if written.insert(pattern.clone()) {
            _ = writeln!(script, "    *(.text.{pattern})");
        }
    }
    script + TAIL
}

/// A symbol without the hash that another version of anything changes.
fn unhashed(name: &str) -> String {
    match name.rfind("17h") {
        Some(at) if name.ends_with('E') => format!("{}*", name.get(..at).unwrap_or_default()),
        _ => name.to_owned(),
    }
}

/// A symbol as a linker's pattern: signs that mean something else there fit anything.
fn pattern(name: &str) -> String {
    let mut pattern = String::new();
    for sign in name.chars() {
        if sign.is_ascii_alphanumeric() || sign == '_' || sign == '.' {
            pattern.push(sign);
        } else if !pattern.ends_with('*') {
            pattern.push('*');
        }
    }
    pattern
}

// === impl Profile ===

impl Profile {
    fn read(text: &str) -> Self {
        let mut profile = Self::default();
        let (mut objects, mut names) = (BTreeMap::new(), BTreeMap::new());
        let (mut ours, mut caller, mut callee, mut address, mut called) = (false, 0, 0, 0_u64, None);
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("ob=") {
                ours = named(rest, &mut objects).is_some_and(|(_, object)| object.ends_with("/highwater"));
            } else if let Some(rest) = line.strip_prefix("cob=") {
                named(rest, &mut objects);
            } else if let Some(rest) = line.strip_prefix("fn=") {
                let Some((id, name)) = named(rest, &mut names) else { continue };
                caller = id;
                let function = profile.functions.entry(id).or_default();
                // callgrind numbers the copies of a function that calls itself.
                function.name = name.split('\'').next().unwrap_or_default().to_owned();
                function.ours = ours;
            } else if let Some(rest) = line.strip_prefix("cfn=") {
                callee = named(rest, &mut names).map_or(0, |(id, _)| id);
            } else if line.starts_with("calls=") {
                called = Some(());
            } else if let Some((at, cost)) = position(line, address) {
                address = at;
                let function = profile.functions.entry(caller).or_default();
                function.cost += cost;
                match called.take() {
                    Some(()) => _ = function.calls.insert((address, callee)),
                    None => function.times = function.times.max(cost),
                }
            }
        }
        profile
    }

    /// What every call runs, from whoever costs most down to whom it calls, in the order of its code.
    fn walk(&self, calls: u64) -> Vec<String> {
        // A few calls may have taken another way.
        let enough = (calls / 2).max(1);
        let often = |function: &&Function| function.ours && function.times >= enough;
        let mut roots: Vec<u32> =
            self.functions.iter().filter(|(_, function)| often(function)).map(|(id, _)| *id).collect();
        roots.sort_by_key(|id| std::cmp::Reverse(self.functions.get(id).map_or(0, |function| function.cost)));
        let (mut seen, mut walked) = (BTreeSet::new(), Vec::new());
        for root in roots {
            let mut ahead = vec![root];
            while let Some(id) = ahead.pop() {
                let Some(function) = self.functions.get(&id).filter(often) else { continue };
                if seen.insert(id) {
                    walked.push(function.name.clone());
                    ahead.extend(function.calls.iter().rev().map(|(_, callee)| *callee));
                }
            }
        }
        walked
    }
}

/// `(7) name`, or `(7)` for a name that was told before.
fn named<'a>(text: &'a str, known: &mut BTreeMap<u32, &'a str>) -> Option<(u32, &'a str)> {
    let (id, name) = text.strip_prefix('(')?.split_once(')')?;
    let id = id.parse().ok()?;
    if !name.is_empty() {
        known.insert(id, name.trim_start());
    }
    known.get(&id).map(|name| (id, *name))
}

/// An instruction and what it cost: its address, mostly told by how far it is from the one before, a line, a count.
fn position(line: &str, before: u64) -> Option<(u64, u64)> {
    let mut words = line.split(' ');
    let (address, _, cost) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
    let address = match address.split_at_checked(1)? {
        ("*", "") => before,
        ("+", further) => before.checked_add(further.parse().ok()?)?,
        ("-", back) => before.checked_sub(back.parse().ok()?)?,
        _ => u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()?,
    };
    Some((address, cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: &str = "\
ob=(1) /there/highwater
fn=(1) _ZN8pipeline3run17h0123456789abcdefE
0x10 1 100
+4 * 100
cfn=(2) _ZN5later17h0123456789abcdefE
calls=100 0x40
* * 500
-4 2 100
cfn=(3) _ZN6$LT$T$GT$6sooner17h0123456789abcdefE
calls=100 0x80
* * 300

fn=(2)
0x40 1 100
fn=(3)
0x80 1 100
fn=(4) _ZN6seldom17h0123456789abcdefE
0xc0 1 3
ob=(2) /lib/libc.so.6
fn=(5) memcpy
0x40 1 9000
";

    #[test]
    fn what_every_call_runs_is_walked_in_the_order_of_the_code() {
        let walked = Profile::read(CALLS).walk(100);
        let short: Vec<&str> = walked.iter().map(|name| name.split("17h").next().unwrap()).collect();
        assert_eq!(short, ["_ZN8pipeline3run", "_ZN6$LT$T$GT$6sooner", "_ZN5later"]);
    }

    #[test]
    fn a_name_keeps_its_hash_only_where_it_would_fit_too_much() {
        let walked = Profile::read(CALLS).walk(100);
        let mut sizes: BTreeMap<String, u64> = walked.iter().map(|name| (name.clone(), 64)).collect();
        sizes.insert("_ZN5later17hfedcba9876543210E".to_owned(), 1 << 20);
        let script = script(&walked, &sizes);
        let lines: Vec<&str> = script.lines().filter(|line| line.contains("*(")).map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "*(.text._ZN8pipeline3run*)",
                "*(.text._ZN6*LT*T*GT*6sooner*)",
                "*(.text._ZN5later17h0123456789abcdefE)"
            ]
        );
    }
}
