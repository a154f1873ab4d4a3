//! `retrieve_tools`: finds tools among those that the caller may see, and says of each what would become of a call.

use std::sync::Arc;

use highwater_core::id::UpstreamId;
use highwater_mcp::text::{is_string, member, members, pointer, quote};
use highwater_search::{Filter, Filters, Found, Query};

use super::arguments::Given;
use super::prospect::{Told, outset, prospect};
use super::{granted, told};
use crate::catalog::{Merged, OwnTool, Shown, View};
use crate::pipeline::route::missing_servers;
use crate::pipeline::{Arrival, Delivery, Refusal, Road};

/// How many tools are found where nobody says how many, and how many at most.
const USUAL: usize = 10;
const MOST: usize = 100;

/// How much of each tool is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// With its schema.
    Full,
    /// With the names of its arguments.
    Compact,
}

/// Finds tools.
pub(super) async fn retrieve(road: &Road, arrival: &Arrival) -> Result<Delivery, Refusal> {
    granted(arrival, OwnTool::Retrieve)?;
    let given = Given::read(
        arrival,
        &[
            "query",
            "limit",
            "server",
            "read_only_only",
            "exclude_destructive",
            "exclude_open_world",
            "detail",
        ],
    )?;
    let text = given.text("query")?.unwrap_or_default();
    let server = given.text("server")?.map(UpstreamId::new);
    let mut filters = Filters::EMPTY;
    for filter in Filter::ALL {
        if given.flag(filter.as_str())? {
            filters = filters.union(Filters::only(*filter));
        }
    }
    let detail = match given.text("detail")?.as_deref() {
        None | Some("full") => Detail::Full,
        Some("compact") => Detail::Compact,
        Some(_) => return Err(Refusal::unfit("`detail` is neither `full` nor `compact`")),
    };
    let limit = given.number("limit", 1..=MOST)?.unwrap_or(USUAL);
    let query = Query { text: &text, filters, server: server.as_ref(), limit };
    let (names, view) = look(arrival).await?;
    let found = view.search(&names, &query);
    let outset = outset(road, arrival).await;
    let mut tools = Vec::with_capacity(found.hits.len());
    for hit in &found.hits {
        let Some(tool) = view.found(&names, hit.tool) else { continue };
        let Some(said) = prospect(arrival, &outset, &names, &tool) else { continue };
        tools.push(entry(&tool, said, hit.score, detail));
    }
    let mut out = format!(r#"{{"tools":[{}],"total":{}"#, tools.join(","), found.total);
    if found.omitted.total > 0 {
        out.push_str(&format!(r#","filter_diagnostics":{}"#, diagnostics(&found)));
    }
    let missing: Vec<String> = missing_servers(arrival).iter().map(|server| quote(server.as_str())).collect();
    if !missing.is_empty() {
        out.push_str(&format!(r#","not_available":[{}]"#, missing.join(",")));
    }
    out.push('}');
    Ok(told(arrival, &out))
}

/// What the caller is shown, indexed.
pub(super) async fn look(arrival: &Arrival) -> Result<(Arc<Merged>, Arc<View>), Refusal> {
    let caller = arrival.client.caller();
    let server = arrival
        .world
        .virtual_server(&caller.virtual_server)
        .ok_or_else(|| Refusal::unknown("virtual server", caller.virtual_server.as_str(), &[]))?;
    let standing = caller.standing();
    let (merged, view) = server.look(&caller.viewer(&standing)).await;
    if !merged.is_indexed() {
        // Many tools take a while: others are served meanwhile.
        let merged = Arc::clone(&merged);
        if tokio::task::spawn_blocking(move || merged.index()).await.is_err() {
            tracing::error!("the tools could not be indexed aside");
        }
    }
    Ok((merged, view))
}

/// One hit.
fn entry(tool: &Shown<'_>, said: Told, score: f32, detail: Detail) -> String {
    let mut out = format!(r#"{{"name":{},"server":{}"#, quote(tool.name), quote(tool.upstream.as_str()));
    for key in ["title", "description"] {
        if let Some(text) = member(tool.definition, key).filter(|text| is_string(text)) {
            out.push_str(&format!(r#","{key}":{text}"#));
        }
    }
    let schema = member(tool.definition, "inputSchema");
    match detail {
        Detail::Full => out.push_str(&format!(r#","inputSchema":{}"#, schema.unwrap_or("{}"))),
        Detail::Compact => {
            let properties = pointer(tool.definition, &["inputSchema", "properties"]);
            let names: Vec<String> =
                properties.into_iter().flat_map(members).map(|(name, _)| quote(&name)).collect();
            out.push_str(&format!(r#","arguments":[{}]"#, names.join(",")));
        }
    }
    let hints = tool.known.contract.hints();
    out.push_str(&format!(
        r#","annotations":{{"readOnlyHint":{},"destructiveHint":{},"idempotentHint":{},"openWorldHint":{}}},{},"score":{score:.3}}}"#,
        hints.read_only,
        hints.destructive,
        hints.idempotent,
        hints.open_world,
        said.members(),
    ));
    out
}

/// What the filters left out. It speaks of tools that the caller may see, and of no others.
fn diagnostics(found: &Found) -> String {
    let by: Vec<String> = found
        .omitted
        .by
        .iter()
        .map(|omission| {
            let (filter, tools, unstated) = (omission.filter, omission.tools, omission.unstated);
            format!(r#""{filter}":{{"tools":{tools},"unstated":{unstated}}}"#)
        })
        .collect();
    let omitted = found.omitted.total;
    let matched = found.total + omitted;
    let by = by.join(",");
    format!(
        r#"{{"matched_before_filters":{matched},"omitted_total":{omitted},"omitted_by_filter":{{{by}}},"suggestion":"leave a filter away to see what it hides; `unstated` counts tools of which nobody who is believed has said what they do"}}"#
    )
}
