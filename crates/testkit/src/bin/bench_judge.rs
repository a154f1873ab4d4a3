//! Times the judgement alone, without a wire: one decision with a hundred rules, one reply labelled and judged, and one
//! filtered search among ten thousand tools.
//! Prints one line of JSON, in microseconds.

use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use anyhow::{Context as _, anyhow, bail};
use clap::Parser;
use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{
    Authority, Claim, Claims, Contract, DataClass, Destination, Outcome, Possible, Sensitivity, Source,
};
use highwater_core::decide::{
    Obligations, Received, ReplyFacts, ReplyVerdict, ResultType, Verdict, decide, decide_reply, judge,
    label_reply,
};
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{Admission, Facts, Policy, ServerFacts, Span};
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_notation::{Arguments, Timestamp};
use highwater_rules::{ConditionSource, RuleSource, Spanned, ValueSource, Written, compile};
use highwater_search::{Filter, Filters, Index, Query, ToolText, Traits};
use serde_json::json;

#[derive(Parser)]
struct Args {
    /// How many rules the policy has.
    #[arg(long, default_value_t = 100)]
    rules: usize,
    /// How often each is done.
    #[arg(long, default_value_t = 200_000)]
    times: u32,
    /// How many tools are searched.
    #[arg(long, default_value_t = 10_000)]
    tools: usize,
}

/// How often each query is put.
const SEARCHES: usize = 200;

/// The queries, as models write them.
const QUERIES: [&str; 8] = [
    "search issues in a repository",
    "read file contents",
    "send a message to a channel",
    "list open pull requests of a repository",
    "create calendar event with attendees",
    "query the database for customer records",
    "upload image to storage bucket",
    "delete old branches",
];

/// What texts of tools are made of: as many words as a few hundred tools of real servers share.
const VERBS: [&str; 12] = [
    "search", "read", "send", "list", "create", "query", "upload", "delete", "update", "get", "move", "watch",
];
const OBJECTS: [&str; 16] = [
    "issue",
    "file",
    "message",
    "pull_request",
    "calendar_event",
    "database",
    "image",
    "branch",
    "customer",
    "channel",
    "repository",
    "record",
    "bucket",
    "page",
    "invoice",
    "container",
];

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let (mail, server) = (UpstreamId::new("mail"), VirtualServerId::new("default"));
    let rules: Vec<RuleSource> = (0..args.rules).map(rule).collect();
    let rules = compile(&rules, &[]).map_err(|errors| anyhow!("the rules do not compile: {errors:?}"))?;
    let policy = Policy::new(
        [(mail.clone(), Admission::default())].into(),
        [(server.clone(), [mail.clone()].into())].into(),
    )
    .with_rules(rules);
    let contract = contract();
    let session = contract.reply_label().clone();
    let action = Action::new(
        ActionKind::CallTool,
        mail,
        "tools/call",
        "list_messages",
        r#"{"name":"list_messages","arguments":{"folder":"inbox","limit":10}}"#,
    );
    let (decision, principal) = (DecisionId::new("hwd_1"), Principal::new("agent"));
    let known = ServerFacts { trust: trusted(), ..ServerFacts::default() };
    let facts = Facts {
        grant: Grant::everything(),
        contract: &contract,
        session: &session,
        server: &known,
        tool_id: Some("mail__list_messages"),
        arguments: Arguments::Known(r#"{"folder":"inbox","limit":10}"#),
        now: Timestamp(1_800_000_000_000),
        ..Facts::of(&decision, &principal, &server, &action)
    };

    let judgement = judge(&policy, &facts);
    if !matches!(decide(&policy, &facts), Verdict::Allow(_)) {
        bail!("what is timed should be allowed: {:?}", judgement.findings());
    }
    let decided = timed(args.times, || matches!(decide(&policy, black_box(&facts)), Verdict::Allow(_)))?;
    let labelled = timed(args.times, || {
        let received = Received::new((), ReplyFacts::new(ResultType::Complete));
        let labelled = label_reply(&policy, black_box(&facts), received);
        match decide_reply(&policy, &facts, Obligations::default(), labelled) {
            ReplyVerdict::Pass(pass) => *pass.label() != Label::bottom(),
            ReplyVerdict::Hold(_) | ReplyVerdict::Withhold(_) => false,
        }
    })?;
    let searched = searched(args.tools)?;
    let line = json!({ "decide_us": decided, "label_us": labelled, "search_us": searched });
    writeln!(std::io::stdout(), "{line}").context("standard output is closed")
}

/// What one search takes, in microseconds, at the median: filtered, by a caller who does not see every tool. The texts
/// repeat, so that the lists of each word are as long as they can be.
fn searched(tools: usize) -> anyhow::Result<f64> {
    let servers: Vec<UpstreamId> = (0..20).map(|number| UpstreamId::new(format!("server{number}"))).collect();
    let (harmless, unknown) = (Traits::of(&contract()), Traits::of(&Contract::unknown()));
    let mut texts = Vec::with_capacity(tools);
    let pairs = VERBS.iter().flat_map(|verb| OBJECTS.iter().map(move |object| (verb, object))).cycle();
    for (number, (verb, object)) in pairs.take(tools).enumerate() {
        let beside = OBJECTS.iter().cycle().nth(number % 7).context("there are objects")?;
        let description = format!(
            "{verb} {object}s of a {beside}, by name or number, and returns the {object} with its {beside}, its \
             author and the time of its last change; fails if the {object} is not there or access is denied"
        );
        texts.push((format!("{verb}_{object}_{number}"), description));
    }
    let index = Index::new(texts.iter().zip(servers.iter().cycle()).enumerate().map(
        |(number, ((name, description), server))| ToolText {
            name,
            server,
            title: "",
            description,
            arguments: "name number limit cursor",
            traits: if number % 2 == 0 { harmless } else { unknown },
        },
    ));
    let sight = index.sight(|tool| tool % 10 != 0);
    let filters = Filters::only(Filter::ExcludeDestructive);
    let mut taken = Vec::with_capacity(SEARCHES * QUERIES.len());
    for text in std::iter::repeat_n(QUERIES, SEARCHES).flatten() {
        let query = Query { text, filters, server: None, limit: 15 };
        let begun = Instant::now();
        let found = black_box(index.find(&sight, black_box(&query)));
        taken.push(begun.elapsed().as_secs_f64() * 1e6);
        if found.hits.len() != 15 {
            bail!("`{text}` finds {} tools", found.hits.len());
        }
    }
    taken.sort_by(f64::total_cmp);
    taken.get(taken.len() / 2).copied().context("nothing was searched")
}

/// What one takes, in microseconds.
fn timed(times: u32, mut one: impl FnMut() -> bool) -> anyhow::Result<f64> {
    let begun = Instant::now();
    for _ in 0..times {
        if !black_box(one()) {
            bail!("what is timed went wrong");
        }
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / f64::from(times))
}

fn trusted() -> ServerTrust {
    ServerTrust::of_verified(TrustLevel::Tool, TrustLevel::None)
}

/// A tool that reads private mail and sends nothing out.
fn contract() -> Contract {
    let mut claims = Claims::new();
    for claim in [
        Claim::SetDestination(Possible::only(Destination::Internal)),
        Claim::AcceptsAny,
        Claim::SetOutcomes(Possible::only(Outcome::Benign)),
        Claim::SetSource(Possible::only(Source::Internal)),
        Claim::SetReturns(Sensitivity::of([DataClass::Pii])),
    ] {
        claims.push(claim, Authority::Operator, "bench");
    }
    Contract::weigh(&claims, &trusted()).0.with_origin("mcp:mail:list_messages")
}

/// Rules of five kinds, none of which applies.
fn rule(number: usize) -> RuleSource {
    let text = |text: &str| Written::Text(text.to_owned());
    let of = match number % 5 {
        0 => vec![
            test("session.sensitivity", "contains", text("financial")),
            test("tool.annotations.inputMetadata.destination", "equals", text("public")),
            test("tool.name", "matches", text(&format!("send_{number}*"))),
        ],
        1 => vec![
            test("session.untrusted", "equals", Written::Bool(true)),
            test("tool.annotations.inputMetadata.outcomes", "equals", text("irreversible")),
        ],
        2 => vec![
            test("server.trust", "lessThan", text("tool")),
            test("session.private", "equals", Written::Bool(true)),
        ],
        3 => vec![
            test("tool.id", "equals", text(&format!("mail__send{number}"))),
            test("arguments.to", "matches", text("*@evil.example")),
        ],
        _ => vec![
            test("session.risk", "greaterThan", Written::Int(90)),
            test("agent.virtualServer", "equals", text("coding")),
            test("flow.violations", "contains", text("write")),
        ],
    };
    RuleSource {
        name: spanned(format!("r{number}")),
        effect: spanned("block".to_owned()),
        condition: ConditionSource::All { span: Span::default(), of },
        message: None,
        phase: None,
        non_monotone: false,
        dry_run: false,
    }
}

fn test(fact: &str, operator: &str, value: Written) -> ConditionSource {
    let value = ValueSource { span: Span::default(), value };
    ConditionSource::Test { fact: spanned(fact.to_owned()), operator: spanned(operator.to_owned()), value }
}

fn spanned(text: String) -> Spanned<String> {
    Spanned::new(text, Span::default())
}
