//! The log: on standard error, since standard output belongs to the protocol or to the answer, and of gateways in a file as
//! well.

use clap::{Args, ValueEnum};
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::environment::variable;
use crate::exit::Failure;
use crate::log_file;
use crate::terminal::View;

/// What is logged, and how it is written.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LogOptions {
    /// How much to log to standard error: `off`, `error`, `warn`, `info`, `debug`, `trace`, or a filter as in
    /// `RUST_LOG`, which counts when this is not said.
    #[arg(long, global = true, value_name = "LEVEL", display_order = 900)]
    log_level: Option<String>,

    /// How to write it: `text` for people, or `json`, one object a line, for programs.
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        display_order = 901,
        default_value = "text",
        hide_default_value = true,
        hide_possible_values = true
    )]
    log_format: LogFormat,
}

/// Where the log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogTo {
    /// To standard error alone.
    Stderr,
    /// To the file in the data directory alone.
    File,
    /// To both: a gateway that somebody watches.
    Both,
}

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    #[default]
    Text,
    Json,
}

// === impl LogOptions ===

impl LogOptions {
    /// The options with which another process writes its log alike.
    pub(crate) fn format_options(&self) -> &'static [&'static str] {
        match self.log_format {
            LogFormat::Text => &[],
            LogFormat::Json => &["--log-format", "json"],
        }
    }

    /// Whether the log is for programs, which take one object a line.
    pub(crate) fn is_json(&self) -> bool {
        self.log_format == LogFormat::Json
    }

    /// Starts the log. If nothing is said of how much, `RUST_LOG` counts, then `usual`.
    pub(crate) fn start(&self, usual: &str, to: LogTo) -> Result<(), Failure> {
        let from_environment = variable("RUST_LOG").filter(|filter| !filter.trim().is_empty());
        let filter = self.log_level.as_deref().or(from_environment.as_deref()).unwrap_or(usual);
        let filter: Targets = filter.parse().ok().filter(|_| is_plain(filter)).ok_or_else(|| {
            Failure::usage(format_args!("`{filter}` is not a log level"))
                .help("use one of `off`, `error`, `warn`, `info`, `debug`, `trace`")
        })?;
        let to_stderr = (to != LogTo::File).then(|| lines(self.log_format, std::io::stderr));
        // For `highwater logs`, which shows them as people want to see them.
        let to_file = (to != LogTo::Stderr).then(|| lines(LogFormat::Json, || log_file::Sink));
        let lines: Vec<_> = to_stderr.into_iter().chain(to_file).collect();
        tracing_subscriber::registry().with(filter).with(lines).init();
        Ok(())
    }
}

/// Writes each event as a line, with the fields of the spans it happened in.
fn lines<S, W>(format: LogFormat, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    match format {
        LogFormat::Text => fmt::layer().with_writer(writer).with_ansi(View::stderr().colour).boxed(),
        // All spans are listed, the innermost last, so that it need not stand there twice.
        LogFormat::Json => fmt::layer().json().with_current_span(false).with_writer(writer).boxed(),
    }
}

/// Whether a filter names levels and targets alone. Whatever else stood in one would be taken for a target's name.
fn is_plain(filter: &str) -> bool {
    filter
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | ':' | '=' | ',' | ' '))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};

    use super::*;

    /// What was written.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, events: impl FnOnce()) -> Vec<String> {
        let written = Written::default();
        let writer = written.clone();
        let layer = lines(format, move || writer.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), events);
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    /// An event in two spans, of which one learns a field late.
    fn call() {
        let call =
            tracing::info_span!("call", decision = "hwd_1", server = tracing::field::Empty, era = "modern");
        let _in_call = call.enter();
        call.record("server", "mail");
        let forward = tracing::info_span!("forward", tool = "send");
        let _in_forward = forward.enter();
        tracing::warn!(attempt = 2, why = "line\n\u{1b}[31mbreak", "sent again");
    }

    #[test]
    fn a_line_of_json_has_the_fields_of_its_event_and_of_every_span_around_it() {
        let lines = logged(LogFormat::Json, call);
        let [line] = lines.as_slice() else { panic!("one line: {lines:?}") };
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&line["level"], &line["target"]), (&json!("WARN"), &json!(module_path!())), "{line}");
        assert!(line["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
        let fields = json!({ "message": "sent again", "attempt": 2, "why": "line\n\u{1b}[31mbreak" });
        assert_eq!(line["fields"], fields, "{line}");
        let spans = json!([
            { "name": "call", "decision": "hwd_1", "server": "mail", "era": "modern" },
            { "name": "forward", "tool": "send" },
        ]);
        assert_eq!(line["spans"], spans, "{line}");
    }

    #[test]
    fn a_line_of_text_names_its_spans() {
        let lines = logged(LogFormat::Text, call);
        assert!(lines[0].contains("call{decision=\"hwd_1\"") && lines[0].contains("sent again"), "{lines:?}");
    }

    #[test]
    fn what_is_no_level_and_no_target_is_refused() {
        for filter in ["info", "warn,highwater_upstream=debug", "off", "highwater_gateway::front=trace, info"]
        {
            assert!(is_plain(filter) && filter.parse::<Targets>().is_ok(), "{filter}");
        }
        for filter in ["[", "info,[span]", "[call{id=1}]=debug", "highwater=loud", "a=b=c"] {
            assert!(!is_plain(filter) || filter.parse::<Targets>().is_err(), "{filter}");
        }
    }
}
