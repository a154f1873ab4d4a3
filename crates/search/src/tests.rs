//! What is found and in which order, and the laws: filters before the limit, nothing of what is not seen in any answer.

use highwater_core::annotation::{
    Authority, Claim, Claims, Contract, Destination, Hints, Outcome, Possible, Source,
};
use highwater_core::id::UpstreamId;
use highwater_core::policy::Effect;
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_notation::{Word, Words};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const WORDS: [&str; 8] = ["issue", "file", "search", "create", "delete", "mail", "repo", "list"];

/// A tool of the tests: its words by field, its server, which of the contracts it has.
#[derive(Clone, Debug)]
struct Tool {
    name: String,
    title: String,
    description: String,
    arguments: &'static str,
    server: UpstreamId,
    traits: Traits,
}

impl Tool {
    fn new(name: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: String::new(),
            description: description.to_owned(),
            arguments: "",
            server: UpstreamId::new("a"),
            traits: Traits::default(),
        }
    }
}

fn index<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> Index {
    Index::new(tools.into_iter().map(|tool| ToolText {
        name: &tool.name,
        server: &tool.server,
        title: &tool.title,
        description: &tool.description,
        arguments: tool.arguments,
        traits: tool.traits,
    }))
}

fn query(text: &str) -> Query<'_> {
    Query { text, filters: Filters::EMPTY, server: None, limit: usize::MAX }
}

fn names<'t>(tools: &'t [Tool], text: &str) -> Vec<&'t str> {
    let index = index(tools);
    let found = index.find(&index.sight(|_| true), &query(text));
    found.hits.iter().map(|hit| tools[hit.tool].name.as_str()).collect()
}

/// Contracts that differ in what filters ask: nothing said, harmless, changing, destroying, closed.
fn traits(kind: usize) -> Traits {
    let outcome = |outcome| Claim::SetOutcomes(Possible::only(outcome));
    let reads = || Claim::Hints(Hints { read_only: Some(true), ..Hints::default() });
    let said = match kind {
        0 => vec![],
        1 => vec![reads()],
        2 => vec![outcome(Outcome::Consequential)],
        3 => vec![outcome(Outcome::Irreversible)],
        _ => vec![
            reads(),
            Claim::SetDestination(Possible::only(Destination::Internal)),
            Claim::SetSource(Possible::only(Source::Internal)),
        ],
    };
    let mut claims = Claims::new();
    for claim in said {
        claims.push(claim, Authority::Operator, "test");
    }
    Traits::of(&Contract::weigh(&claims, &ServerTrust::of_verified(TrustLevel::Tool, TrustLevel::Tool)).0)
}

#[test]
fn a_name_counts_more_than_a_title_and_a_title_more_than_a_description() {
    let mut titled = Tool::new("b", "");
    titled.title = "Invoice".to_owned();
    let mut argued = Tool::new("d", "");
    argued.arguments = "invoiceId";
    let tools = [Tool::new("x", "about an invoice and more"), titled, Tool::new("invoice", ""), argued];
    assert_eq!(names(&tools, "invoices"), ["invoice", "b", "d", "x"]);
}

#[test]
fn rare_words_count_more_and_ties_go_by_number() {
    let tools = [
        Tool::new("x1", "list files"),
        Tool::new("x2", "list issues"),
        Tool::new("x3", "list mail"),
        Tool::new("x4", "list mail"),
    ];
    assert_eq!(names(&tools, "list mail"), ["x3", "x4", "x1", "x2"]);
    assert!(names(&tools, "nothing like it").is_empty());
    assert_eq!(names(&tools, ""), ["x1", "x2", "x3", "x4"], "without a word, everything");
}

#[test]
fn a_server_is_found_by_its_name_and_chosen_by_it() {
    let mut tools = [Tool::new("get", "an issue"), Tool::new("get", "an issue")];
    tools[1].server = UpstreamId::new("github");
    let index = index(&tools);
    let sight = index.sight(|_| true);
    assert_eq!(index.find(&sight, &query("github issue")).hits[0].tool, 1);
    let one = |name: &str| {
        let server = UpstreamId::new(name);
        index.find(&sight, &Query { server: Some(&server), ..query("issue") }).hits.len()
    };
    assert_eq!([one("github"), one("a"), one("nobody")], [1, 1, 0]);
}

#[test]
fn what_nobody_vouches_for_passes_no_filter() {
    let failed =
        |kind: usize| Filter::ALL.iter().map(|filter| traits(kind).fails(*filter)).collect::<Vec<_>>();
    assert_eq!(failed(0), [true, true, true], "nothing said");
    assert_eq!(failed(1), [false, false, true], "harmless, to and from anywhere");
    assert_eq!(failed(2), [true, false, true], "changing");
    assert_eq!(failed(3), [true, true, true], "destroying");
    assert_eq!(failed(4), [false, false, false], "harmless and closed");
    let unstated =
        |kind: usize| Filter::ALL.iter().map(|filter| traits(kind).is_unstated(*filter)).collect::<Vec<_>>();
    assert_eq!(unstated(0), [true, true, true]);
    assert_eq!(unstated(3), [false, false, true]);
    let admits = traits(0).admitting(Words::only(Filter::ReadOnlyOnly));
    assert!(admits.fails(Filter::ReadOnlyOnly) && !admits.is_unstated(Filter::ReadOnlyOnly));
}

#[test]
fn what_filters_leave_out_is_counted() {
    let mut tools =
        [Tool::new("a", "file"), Tool::new("b", "file"), Tool::new("c", "file"), Tool::new("d", "")];
    for (tool, kind) in tools.iter_mut().zip([0, 3, 4, 3]) {
        tool.traits = traits(kind);
    }
    let index = index(&tools);
    let filters = Words::only(Filter::ExcludeDestructive);
    let found = index.find(&index.sight(|_| true), &Query { filters, ..query("file") });
    assert_eq!((found.hits.len(), found.total), (1, 1));
    let by = Omission { filter: Filter::ExcludeDestructive, tools: 2, unstated: 1 };
    assert_eq!(found.omitted, Omitted { total: 2, by: vec![by] });
}

#[test]
fn a_prospect_is_never_milder_than_its_effect() {
    let order = [Effect::Allow, Effect::Confirm, Effect::Passkey, Effect::Block];
    let said: Vec<_> = order.into_iter().map(Prospect::of).collect();
    assert_eq!(said, Prospect::ALL);
    assert_eq!(Prospect::of(Effect::Redact), Prospect::Blocked, "nothing can be removed from a reply");
}

prop_compose! {
    fn text()(words in vec(0..WORDS.len(), 0..6)) -> String {
        words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ")
    }
}

prop_compose! {
    fn tool()(
        name in text(), title in text(), description in text(),
        argument in 0..WORDS.len(), server in 0..3_usize, kind in 0..5_usize,
    ) -> Tool {
        let server = UpstreamId::new(["a", "b", "github"][server]);
        Tool { name, title, description, arguments: WORDS[argument], server, traits: traits(kind) }
    }
}

fn filters() -> impl Strategy<Value = Filters> {
    (0..8_usize)
        .prop_map(|bits| Filter::ALL.iter().copied().filter(|it| bits >> it.index() & 1 == 1).collect())
}

proptest! {
    #[test]
    fn a_limit_with_filters_is_the_beginning_of_the_filtered_whole(
        tools in vec(tool(), 0..40), text in text(), filters in filters(), limit in 0..12_usize,
    ) {
        let index = index(&tools);
        let sight = index.sight(|_| true);
        let whole = index.find(&sight, &query(&text));
        let cut = index.find(&sight, &Query { filters, limit, ..query(&text) });
        let kept: Vec<Hit> =
            whole.hits.iter().copied().filter(|hit| tools[hit.tool].traits.passes(filters)).collect();
        prop_assert_eq!(&cut.hits, &kept[..limit.min(kept.len())]);
        prop_assert_eq!(cut.total, kept.len());
        prop_assert_eq!(cut.omitted.total, whole.hits.len() - kept.len());
        for omission in &cut.omitted.by {
            let failing = whole.hits.iter().filter(|hit| tools[hit.tool].traits.fails(omission.filter));
            prop_assert_eq!(omission.tools, failing.count());
        }
    }

    #[test]
    fn an_answer_hangs_on_nothing_that_is_not_seen(
        tools in vec((tool(), any::<bool>()), 0..40), text in text(), filters in filters(), limit in 0..12_usize,
    ) {
        let (all, seen): (Vec<Tool>, Vec<bool>) = tools.into_iter().unzip();
        let shown: Vec<usize> = (0..all.len()).filter(|tool| seen[*tool]).collect();
        let (whole, part) = (index(&all), index(shown.iter().map(|tool| &all[*tool])));
        let asked = Query { filters, limit, ..query(&text) };
        let through = whole.find(&whole.sight(|tool| seen[tool]), &asked);
        let mut alone = part.find(&part.sight(|_| true), &asked);
        for hit in &mut alone.hits {
            hit.tool = shown[hit.tool];
        }
        prop_assert_eq!(through, alone);
    }

    #[test]
    fn the_same_question_has_the_same_answer(tools in vec(tool(), 0..40), text in text(), filters in filters()) {
        let asked = Query { filters, limit: 5, ..query(&text) };
        let (one, other) = (index(&tools), index(&tools));
        prop_assert_eq!(one.find(&one.sight(|_| true), &asked), other.find(&other.sight(|_| true), &asked));
    }
}
