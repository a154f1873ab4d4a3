//! How long `highwater explain ID` takes where much is on record: `cargo xtask bench --record GIB`, outside the ordinary run.
//!
//! The lines are written here as a gateway writes them, a gibibyte at a time; then the gateway is started on them, which
//! compresses them and makes their indexes. At the end decisions from everywhere are explained.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

/// The most that an explanation may take.
const BAR: Duration = Duration::from_millis(100);

/// How many bytes of lines are in a file, as the gateway has them.
const SEGMENT: usize = 16 << 20;

/// How many files are written before they are compressed: a gibibyte.
const BATCH: usize = 64;

/// How many calls a session has.
const CALLS: usize = 50;

/// How many decisions are explained.
const EXPLAINED: usize = 40;

/// How long a batch may take to be compressed.
const PATIENCE: Duration = Duration::from_secs(600);

const CONFIG: &str = "listen: 127.0.0.1:0\nservers: { web: { command: 'true' } }\napprovals: { listen: none }\n\
     audit: { keep: 3650d, max: 1000GiB }\n";

/// A gateway that is ended with this.
struct Running(Child);

// === impl Running ===

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Writes, has it compressed, explains, and says how long that took.
pub(super) fn run(program: &Path, work: &Path, gibibytes: usize) -> anyhow::Result<()> {
    let (data, config) = (work.join("data"), work.join("highwater.yaml"));
    let folder = data.join("audit");
    make_private(&data)?;
    make_private(&folder)?;
    fs::write(&config, CONFIG).context("the configuration cannot be written")?;
    let mut calls = 0;
    for batch in 0..gibibytes {
        for number in 0..BATCH {
            let path = folder.join(format!("{:06}.jsonl", batch * (BATCH + 1) + number + 1));
            calls = write(&path, calls)?;
        }
        compress(program, &data, &config, &folder)?;
        println!("{} GiB of records, {} MiB on disk", batch + 1, size(&folder)? >> 20);
    }
    let mut times = Vec::new();
    for number in 0..EXPLAINED {
        let id = id(1 + (calls - 2) * number / (EXPLAINED - 1));
        let began = Instant::now();
        let output = Command::new(program).args(["explain", &id, "--data-dir"]).arg(&data).output()?;
        times.push(began.elapsed());
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success() && said.contains(&id), "`{id}` was not explained: {said}");
    }
    times.sort();
    let (median, worst) = (times.get(times.len() / 2), times.last());
    let (median, worst) = (median.copied().unwrap_or_default(), worst.copied().unwrap_or_default());
    let verdict = if worst <= BAR { "held" } else { "missed" };
    println!(
        "explain ID over {gibibytes} GiB: median {median:.1?}, worst {worst:.1?} (bar {BAR:?}: {verdict})"
    );
    Ok(())
}

/// Writes one file and says up to which call.
fn write(path: &Path, mut call: usize) -> anyhow::Result<usize> {
    let mut lines = String::with_capacity(SEGMENT + 8_192);
    while lines.len() < SEGMENT {
        call += 1;
        let (id, session, time) = (id(call), call / CALLS, 1_794_736_194_000 + call);
        let is_first = call.is_multiple_of(CALLS);
        let raised = if is_first { r#","raised":true"# } else { "" };
        let label = if is_first { "" } else { r#""openWorld","integrity:none","source:untrustedPublic""# };
        let digest = format!("{:064x}", call.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        lines.push_str(&format!(
            r#"{{"v":2,"time":{time},"id":"{id}","event":"decision","principal":"agent-{}","session":"connection/agent/{session}","epoch":0,"virtual_server":"default","upstream":"web","kind":"call-tool","method":"tools/call","target":"tool_{}","tool":"web__tool_{}","digest":"{digest}","mode":"observe","effect":"allow","ruling":"allowed","label":[{label}],"contract":{{"destination":["public"],"outcomes":["benign"],"source":["untrustedPublic"],"returns":[]}},"findings":[{{"id":"flow.act","effect":"allow","reasons":["untrusted-acts"],"saw":[{{"fact":"session.integrity","value":"none","truth":"true"}},{{"fact":"session.openWorld","value":"true","truth":"true"}}]}}]}}
{{"v":2,"time":{time},"id":"{id}","event":"outcome","outcome":"delivered","bytes":{},"millis":{},"label":["openWorld","integrity:none","source:untrustedPublic"]{raised}}}
"#,
            session % 20,
            call % 37,
            call % 37,
            call % 9_973,
            call % 311,
        ));
    }
    fs::write(path, &lines).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(call)
}

fn id(call: usize) -> String {
    format!("hwd_Bench-{call:05x}")
}

/// Lets a gateway run on the files until it has compressed them.
fn compress(program: &Path, data: &Path, config: &Path, folder: &Path) -> anyhow::Result<()> {
    // The newest file is the one that is written: it is begun empty here, so that all others are closed.
    let next = names(folder)?.len();
    let open = folder.join(format!("{:06}.jsonl", newest(folder)? + 1));
    fs::write(&open, "").with_context(|| format!("cannot write `{}`", open.display()))?;
    let mut command = Command::new(program);
    command.arg("serve").arg("--data-dir").arg(data).arg("--config").arg(config);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _running = Running(command.spawn().context("the gateway cannot be started")?);
    let began = Instant::now();
    loop {
        let plain =
            names(folder)?.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl")).count();
        if plain <= 1 {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            bail!("{plain} of {next} files are not compressed after {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn newest(folder: &Path) -> anyhow::Result<u64> {
    let number = |path: &PathBuf| path.file_name()?.to_str()?.split_once('.')?.0.parse().ok();
    Ok(names(folder)?.iter().filter_map(number).max().unwrap_or_default())
}

fn names(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

fn size(folder: &Path) -> anyhow::Result<u64> {
    names(folder)?.iter().map(|path| Ok(fs::metadata(path)?.len())).sum()
}

fn make_private(folder: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("cannot make the folder `{}`", folder.display()))
}
