//! `highwater logs`: what the gateway of a data directory logs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use clap::{Args, ValueEnum};
use highwater_pins::visible;
use serde_json::Value;

use crate::exit::Failure;
use crate::log_file::{current, earlier};
use crate::place::DataPlace;
use crate::terminal::{Style, View};

/// How often a log that is followed is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// The longest line that is shown. The gateway writes none that comes near.
const LONGEST: u64 = 1 << 20;

/// What `logs` takes.
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Go on showing what is logged, until you end it.
    #[arg(long, short)]
    follow: bool,

    /// Only lines of this level and graver ones.
    #[arg(long, value_name = "LEVEL", default_value = "trace", hide_default_value = true)]
    level: Level,

    /// How many lines of before to show.
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 200)]
    lines: usize,

    #[command(flatten)]
    data: DataPlace,

    /// Print the lines as they are kept: one JSON object each.
    #[arg(long)]
    json: bool,
}

/// How grave a line is, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Level {
    /// Something does not work.
    Error,
    /// Something may not.
    Warn,
    /// What happens.
    Info,
    /// What happens in detail.
    Debug,
    /// Everything.
    Trace,
}

/// The log as it is read on.
struct Reading {
    file: BufReader<File>,
    inode: u64,
    /// A line whose end has not been written yet.
    begun: Vec<u8>,
}

pub(crate) fn run(args: &LogsArgs) -> Result<(), Failure> {
    let data = args.data.path()?;
    let view = View { colour: View::stdout().colour, width: None };
    let show = |line: &str| shown(line, args.level, args.json, view);
    let mut reading = Reading::open(&current(&data)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::failed(format_args!("no gateway has logged anything on `{}` yet", data.display()))
                .help("start one with `highwater serve`, or name its directory with `--data-dir`")
        }
        _ => Failure::failed(format_args!("cannot read `{}`: {error}", current(&data).display())),
    })?;
    let mut lines = Vec::new();
    // What was put aside may have gone meanwhile.
    if let Ok(mut earlier) = Reading::open(&earlier(&data)) {
        lines.extend(earlier.lines().unwrap_or_default());
    }
    lines.extend(
        reading.lines().map_err(|error| Failure::failed(format_args!("cannot read the log: {error}")))?,
    );
    let shown: Vec<String> = lines.iter().filter_map(|line| show(line)).collect();
    let last: String =
        shown.iter().skip(shown.len().saturating_sub(args.lines)).map(String::as_str).collect();
    if !write(&last) || !args.follow {
        return Ok(());
    }
    loop {
        std::thread::sleep(LOOK);
        let more = reading.go_on(&current(&data)).unwrap_or_default();
        let more: String = more.iter().filter_map(|line| show(line)).collect();
        if !write(&more) {
            return Ok(());
        }
    }
}

/// Whether somebody still reads.
fn write(text: &str) -> bool {
    let mut stdout = io::stdout().lock();
    let is_closed =
        !text.is_empty() && stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err();
    // A pipe whose reader has gone says so only when something is written; a terminal goes with its session.
    !is_closed && (!text.is_empty() || stdout.is_terminal() || is_read(&stdout))
}

/// Whether the other end of standard output is still open, as far as that can be told.
fn is_read(stdout: &io::StdoutLock<'_>) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut ends = [PollFd::new(stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut ends, Some(&at_once)) {
        Ok(_) => !ends.iter().any(|end| end.revents().contains(PollFlags::ERR)),
        Err(_) => true,
    }
}

/// A line as it is printed; nothing if it is not grave enough.
fn shown(line: &str, least: Level, json: bool, view: View) -> Option<String> {
    let Ok(event) = serde_json::from_str::<Value>(line) else {
        // What a process writes that ends in an unforeseen way is no event, and always worth a look.
        return (!json && !line.trim().is_empty()).then(|| format!("{}\n", harmless(line)));
    };
    let level = event.get("level").and_then(Value::as_str).unwrap_or("INFO");
    let grave = Level::from_str(level, true).unwrap_or(Level::Info);
    if grave > least {
        return None;
    }
    if json {
        return Some(format!("{line}\n"));
    }
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    let style = match grave {
        Level::Error => Style::Bad,
        Level::Warn => Style::Caution,
        Level::Info => Style::Good,
        Level::Debug | Level::Trace => Style::Faint,
    };
    let time = text("timestamp").split('.').next().unwrap_or_default().replace('T', " ");
    let mut out =
        format!("{} {}", view.paint(Style::Faint, &time), view.paint(style, &format!("{level:>5}")));
    let fields = event.get("fields").and_then(Value::as_object);
    if let Some(message) = fields.and_then(|fields| fields.get("message")) {
        out.push_str(&format!(" {}", words(message)));
    }
    let spans =
        event.get("spans").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    let of_spans = spans.flat_map(|span| span.iter()).filter(|(key, _)| *key != "name");
    let own = fields.into_iter().flatten().filter(|(key, _)| *key != "message");
    for (key, value) in own.chain(of_spans) {
        out.push_str(&format!(" {}{}", view.paint(Style::Faint, &format!("{key}=")), words(value)));
    }
    Some(out + "\n")
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => harmless(text),
        other => other.to_string(),
    }
}

/// Text of servers is in logs, too: nothing in it may move the cursor.
fn harmless(text: &str) -> String {
    visible(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

// === impl Reading ===

impl Reading {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let inode = file.metadata()?.ino();
        Ok(Self { file: BufReader::new(file), inode, begun: Vec::new() })
    }

    /// The lines that are whole by now.
    fn lines(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let room = LONGEST.saturating_sub(u64::try_from(self.begun.len()).unwrap_or(u64::MAX)).max(1);
            let read = (&mut self.file).take(room).read_until(b'\n', &mut self.begun)?;
            let is_whole = self.begun.ends_with(b"\n");
            if !is_whole && read > 0 && u64::try_from(self.begun.len()).is_ok_and(|length| length < LONGEST) {
                continue;
            }
            if !is_whole && read == 0 {
                return Ok(lines);
            }
            lines.push(String::from_utf8_lossy(self.begun.trim_ascii_end()).into_owned());
            self.begun.clear();
        }
    }

    /// What has been added, also where the log was put aside and another begun.
    fn go_on(&mut self, path: &Path) -> io::Result<Vec<String>> {
        let mut lines = self.lines()?;
        let now = std::fs::metadata(path)?;
        if now.ino() != self.inode {
            // The old one is read to its end first.
            lines.extend(self.lines()?);
            *self = Self::open(path)?;
            lines.extend(self.lines()?);
        } else if now.len() < self.file.stream_position()? {
            self.file.seek(SeekFrom::Start(0))?;
            lines.extend(self.lines()?);
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"timestamp":"2026-11-19T04:05:06.789Z","level":"WARN","fields":{"message":"a server ended","why":"exit\u001b[31m"},"target":"x","spans":[{"name":"call","server":"mail"}]}"#;

    #[test]
    fn a_line_is_shown_with_its_fields_and_no_control_characters() {
        let text = shown(LINE, Level::Trace, false, View::PLAIN).unwrap();
        assert!(text.starts_with("2026-11-19 04:05:06  WARN a server ended why=exit"), "{text}");
        assert!(text.ends_with("server=mail\n") && !text.contains('\u{1b}'), "{text}");
        assert_eq!(shown(LINE, Level::Trace, true, View::PLAIN).unwrap(), format!("{LINE}\n"));
    }

    #[test]
    fn only_what_is_grave_enough_is_shown() {
        assert!(shown(LINE, Level::Warn, false, View::PLAIN).is_some());
        assert!(shown(LINE, Level::Error, false, View::PLAIN).is_none());
        // A panic is no event.
        assert_eq!(shown("thread panicked", Level::Error, false, View::PLAIN).unwrap(), "thread panicked\n");
        assert_eq!(shown("thread panicked", Level::Error, true, View::PLAIN), None);
    }

    #[test]
    fn a_log_that_is_put_aside_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.log");
        std::fs::write(&path, "one\ntw").unwrap();
        let mut reading = Reading::open(&path).unwrap();
        assert_eq!(reading.lines().unwrap(), ["one"]);
        let append = |text: &str| {
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        append("o\n");
        assert_eq!(reading.go_on(&path).unwrap(), ["two"]);
        append("three\n");
        std::fs::rename(&path, folder.path().join("gateway.log.1")).unwrap();
        append("four\n");
        assert_eq!(reading.go_on(&path).unwrap(), ["three", "four"]);
    }
}
