//! The index over the tools of a virtual server, and the way from what it finds to what is listed.

use std::sync::Arc;

use highwater_core::id::UpstreamId;
use highwater_mcp::annotations::ours::DECLARED;
use highwater_mcp::text::{member, members, pointer, string_member};
use highwater_search::{Filter, Filters, Found, Index, Query, Sight, ToolText, Traits};

use super::known::Known;
use super::merge::Merged;
use super::view::{Row, View};

/// The words of all tools of one state of the lists. Tools are numbered by name.
pub(crate) struct Finder {
    index: Index,
    /// The row of each tool.
    rows: Vec<usize>,
}

/// A tool that a caller may see.
pub(crate) struct Shown<'m> {
    pub(crate) upstream: &'m UpstreamId,
    /// As the client calls it.
    pub(crate) name: &'m Arc<str>,
    /// As its server does.
    pub(crate) own: &'m Arc<str>,
    pub(crate) known: &'m Arc<Known>,
    /// Its definition as clients see it, as JSON text.
    pub(crate) definition: &'m str,
}

// === impl Finder ===

impl Finder {
    pub(super) fn new(merged: &Merged) -> Self {
        let all = merged.tool_rows();
        let tool = |row: usize| all.get(row).and_then(|row| Some((row, row.tool.as_ref()?)));
        let mut rows: Vec<usize> = (0..all.len()).filter(|row| tool(*row).is_some()).collect();
        rows.sort_by_key(|row| tool(*row).map(|(_, tool)| &tool.client_name));
        let texts: Vec<Text> =
            rows.iter().map(|row| tool(*row).map(|(row, _)| Text::of(row)).unwrap_or_default()).collect();
        let tools = texts.iter().zip(&rows).filter_map(|(text, row)| {
            let (row, tool) = tool(*row)?;
            Some(ToolText {
                name: &tool.own,
                server: &row.upstream,
                title: &text.title,
                description: &text.description,
                arguments: &text.arguments,
                traits: Traits::of(&tool.known.contract).admitting(text.admits),
            })
        });
        Self { index: Index::new(tools), rows }
    }

    pub(super) fn sight(&self, view: &View) -> Sight {
        self.index.sight(|tool| self.rows.get(tool).is_some_and(|row| view.finds(*row)))
    }
}

// === impl View ===

impl View {
    /// What a caller with this view finds.
    pub(crate) fn search(&self, merged: &Merged, query: &Query<'_>) -> Found {
        let finder = merged.finder();
        finder.index.find(self.sight(finder), query)
    }

    /// A tool that was found.
    pub(crate) fn found<'m>(&self, merged: &'m Merged, tool: usize) -> Option<Shown<'m>> {
        let row = *merged.finder().rows.get(tool)?;
        self.finds(row).then(|| shown(merged.tool_rows().get(row)?))?
    }

    /// A tool by the name clients know it by, if it can be found.
    pub(crate) fn named<'m>(&self, merged: &'m Merged, name: &str) -> Option<Shown<'m>> {
        let rows = &merged.finder().rows;
        let name_of = |row: usize| {
            let tool = merged.tool_rows().get(row)?.tool.as_ref()?;
            Some(&*tool.client_name)
        };
        let place = rows.binary_search_by(|row| name_of(*row).cmp(&Some(name))).ok()?;
        self.found(merged, place)
    }
}

fn shown(row: &Row) -> Option<Shown<'_>> {
    let tool = row.tool.as_ref()?;
    Some(Shown {
        upstream: &row.upstream,
        name: &tool.client_name,
        own: &tool.own,
        known: &tool.known,
        definition: row.text()?,
    })
}

/// What is indexed of a definition.
#[derive(Default)]
struct Text {
    title: String,
    description: String,
    arguments: String,
    /// The filters that its server itself says leave it out.
    admits: Filters,
}

// === impl Text ===

impl Text {
    fn of(row: &Row) -> Self {
        let Some(tool) = row.text() else { return Self::default() };
        let text = |of: &str, key: &str| string_member(of, key).map(|text| text.into_owned());
        let annotated = || text(member(tool, "annotations")?, "title");
        let mut arguments = String::new();
        for (name, _) in pointer(tool, &["inputSchema", "properties"]).into_iter().flat_map(members) {
            arguments.push_str(&name);
            arguments.push(' ');
        }
        Self {
            title: text(tool, "title").or_else(annotated).unwrap_or_default(),
            description: text(tool, "description").unwrap_or_default(),
            arguments,
            admits: admits(tool),
        }
    }
}

/// Which filters a server says leave its tool out. Where a hint was made stricter, what it said itself is kept beside.
fn admits(tool: &str) -> Filters {
    let said = pointer(tool, &["_meta", DECLARED]).or_else(|| member(tool, "annotations")).unwrap_or("{}");
    let severe = [
        (Filter::ReadOnlyOnly, "readOnlyHint", "false"),
        (Filter::ExcludeDestructive, "destructiveHint", "true"),
        (Filter::ExcludeOpenWorld, "openWorldHint", "true"),
    ];
    severe
        .into_iter()
        .filter(|(_, key, word)| member(said, key) == Some(word))
        .map(|(filter, ..)| filter)
        .collect()
}
