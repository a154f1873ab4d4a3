//! Shapes requests for the era of the upstream. Everything the era does not ask for stays as it came.

use super::{Era, MODERN_VERSION, meta_key};
use crate::edit::{Edit, edit_object};
use crate::text::{member, members, quote, quote_into};

/// What a modern upstream is told about the client, whatever era the client speaks.
#[derive(Clone, Copy, Debug)]
pub struct ClientView<'a> {
    /// The client's capabilities as JSON text, reduced to what we can bridge.
    pub capabilities: &'a str,
    /// Our own `clientInfo` as JSON text. The client's stays with us.
    pub client_info: &'a str,
    /// The log level the client wants for this request, if any.
    pub log_level: Option<&'a str>,
}

/// What becomes of the `_meta` that a client sent.
#[derive(Clone, Copy, Debug)]
pub enum ClientMeta<'a> {
    /// It goes on, if there is one.
    Kept,
    /// This object goes in its place.
    Replaced(&'a str),
    /// It stands here in the parameters and holds nothing but what the eras put there. `ours`, which says nothing of
    /// eras and progress, goes with what the upstream's era wants in its place.
    Formal {
        /// Where it begins.
        start: usize,
        /// Where it ends.
        end: usize,
        /// What else is said, as an object.
        ours: Option<&'a str>,
    },
    /// There is none. This object, which says nothing of eras and progress, goes out if there is one.
    Absent(Option<&'a str>),
}

/// The parameters of a request towards an upstream of `era`.
///
/// In `_meta`: our own keys go, the client's progress token is replaced by `progress` (or goes), the modern
/// era's keys are set for a modern upstream and removed for a legacy one. Everything else is kept.
pub fn request_params(
    params: Option<&str>,
    meta: ClientMeta<'_>,
    era: Era,
    progress: Option<u64>,
    client: &ClientView<'_>,
) -> Option<String> {
    match meta {
        ClientMeta::Kept => edited(params, era, progress, client),
        ClientMeta::Replaced(object) => {
            let replaced = edit_object(params.unwrap_or("{}"), &[("_meta", Edit::Set(object))]);
            edited(Some(&replaced), era, progress, client)
        }
        ClientMeta::Formal { start, end, ours } => {
            let sent = params.unwrap_or("{}");
            if ours.is_none() && progress.is_none() && era == Era::Legacy {
                return Some(edit_object(sent, &[("_meta", Edit::Remove)]));
            }
            let Some((before, after)) = sent.get(..start).zip(sent.get(end..)) else {
                return edited(params, era, progress, client);
            };
            let mut out = String::with_capacity(before.len() + after.len() + room_for(ours, client));
            out.push_str(before);
            push_meta(&mut out, ours, era, progress, client);
            out.push_str(after);
            Some(out)
        }
        // By far the most common, and nothing has to be looked for.
        ClientMeta::Absent(object) => match params.unwrap_or("{}").trim_end().strip_suffix('}') {
            Some(open) if object.is_some() || progress.is_some() || era == Era::Modern => {
                Some(with_meta(open, object, era, progress, client))
            }
            Some(_) | None => params.map(str::to_owned),
        },
    }
}

fn edited(params: Option<&str>, era: Era, progress: Option<u64>, client: &ClientView<'_>) -> Option<String> {
    let meta = params.and_then(|params| member(params, "_meta"));
    if meta.is_none() {
        return request_params(params, ClientMeta::Absent(None), era, progress, client);
    }
    let token = progress.map(|number| number.to_string());
    let version = quote(MODERN_VERSION);
    let level = client.log_level.map(quote);
    let foreign: Vec<String> = meta
        .map(|meta| {
            members(meta)
                .filter(|(key, _)| key.starts_with(meta_key::OURS))
                .map(|(key, _)| key.into_owned())
                .collect()
        })
        .unwrap_or_default();
    let mut edits: Vec<(&str, Edit<'_>)> = foreign.iter().map(|key| (key.as_str(), Edit::Remove)).collect();
    edits.push((meta_key::PROGRESS_TOKEN, token.as_deref().map_or(Edit::Remove, Edit::Set)));
    match era {
        Era::Modern => {
            edits.push((meta_key::PROTOCOL_VERSION, Edit::Set(&version)));
            edits.push((meta_key::CLIENT_INFO, Edit::Set(client.client_info)));
            edits.push((meta_key::CLIENT_CAPABILITIES, Edit::Set(client.capabilities)));
            edits.push((meta_key::LOG_LEVEL, level.as_deref().map_or(Edit::Remove, Edit::Set)));
        }
        Era::Legacy => {
            for key in [
                meta_key::PROTOCOL_VERSION,
                meta_key::CLIENT_INFO,
                meta_key::CLIENT_CAPABILITIES,
                meta_key::LOG_LEVEL,
            ] {
                edits.push((key, Edit::Remove));
            }
        }
    }
    let emptied = era == Era::Legacy
        && token.is_none()
        && meta
            .is_some_and(|meta| members(meta).all(|(key, _)| edits.iter().any(|(edited, _)| *edited == key)));
    let whole = if emptied { Edit::Remove } else { Edit::Merge(&edits) };
    Some(edit_object(params.unwrap_or("{}"), &[("_meta", whole)]))
}

/// Closes an object without `_meta`, its last brace taken off, with the `_meta` that the upstream is to get.
fn with_meta(
    open: &str,
    ours: Option<&str>,
    era: Era,
    progress: Option<u64>,
    client: &ClientView<'_>,
) -> String {
    let mut out = String::with_capacity(open.len() + room_for(ours, client));
    out.push_str(open);
    if !open.trim_end().ends_with('{') {
        out.push(',');
    }
    out.push_str(r#""_meta":"#);
    push_meta(&mut out, ours, era, progress, client);
    out.push('}');
    out
}

/// Room for a `_meta` and the few bytes round it.
fn room_for(ours: Option<&str>, client: &ClientView<'_>) -> usize {
    256 + ours.map_or(0, str::len) + client.client_info.len() + client.capabilities.len()
}

/// Writes the `_meta` that the upstream is to get.
fn push_meta(out: &mut String, ours: Option<&str>, era: Era, progress: Option<u64>, client: &ClientView<'_>) {
    let ours = ours.and_then(|object| object.strip_prefix('{')?.strip_suffix('}')).unwrap_or_default();
    out.push('{');
    let start = out.len();
    let separate = |out: &mut String| out.push_str(if out.len() > start { "," } else { "" });
    out.push_str(ours);
    if let Some(number) = progress {
        separate(out);
        push_key(out, meta_key::PROGRESS_TOKEN);
        out.push_str(&number.to_string());
    }
    if era == Era::Modern {
        separate(out);
        push_key(out, meta_key::PROTOCOL_VERSION);
        out.push('"');
        out.push_str(MODERN_VERSION);
        out.push('"');
        for (key, value) in [
            (meta_key::CLIENT_INFO, client.client_info),
            (meta_key::CLIENT_CAPABILITIES, client.capabilities),
        ] {
            out.push(',');
            push_key(out, key);
            out.push_str(value);
        }
        if let Some(level) = client.log_level {
            out.push(',');
            push_key(out, meta_key::LOG_LEVEL);
            quote_into(out, level);
        }
    }
    out.push('}');
}

/// A key that needs no escapes.
fn push_key(out: &mut String, key: &'static str) {
    out.push('"');
    out.push_str(key);
    out.push_str("\":");
}

/// The parameters of a notification towards an upstream of `era`; a modern one wants its version on it.
pub fn notification_params(params: Option<&str>, era: Era) -> Option<String> {
    match era {
        Era::Legacy => params.map(str::to_owned),
        Era::Modern => {
            let version = quote(MODERN_VERSION);
            let edits = [(meta_key::PROTOCOL_VERSION, Edit::Set(version.as_str()))];
            Some(edit_object(params.unwrap_or("{}"), &[("_meta", Edit::Merge(&edits))]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: ClientView<'static> = ClientView {
        capabilities: r#"{"roots":{}}"#,
        client_info: r#"{"name":"us"}"#,
        log_level: Some("info"),
    };

    /// What becomes of a `_meta` that is known to be formal, after making sure that looking for it gives the same.
    fn formal(params: &str, ours: Option<&str>, era: Era, progress: Option<u64>) -> String {
        let meta = member(params, "_meta").unwrap();
        let start = meta.as_ptr() as usize - params.as_ptr() as usize;
        let meta = ClientMeta::Formal { start, end: start + meta.len(), ours };
        let told = request_params(Some(params), meta, era, progress, &CLIENT).unwrap();
        let looked = match ours {
            None => request_params(Some(params), ClientMeta::Kept, era, progress, &CLIENT).unwrap(),
            Some(ours) => {
                let laid = edit_object(params, &[("_meta", Edit::Set(ours))]);
                request_params(Some(&laid), ClientMeta::Kept, era, progress, &CLIENT).unwrap()
            }
        };
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&told), read(&looked), "{told}");
        told
    }

    #[test]
    fn what_the_eras_put_on_requests_is_written_anew_where_it_stood() {
        let params = r#"{"name":"t","_meta": {"io.modelcontextprotocol/clientInfo":{"name":"them"},"progressToken":"p"} , "arguments":{}}"#;
        for ours in [None, Some(r#"{"annotations":{"openWorldHint":true}}"#)] {
            for era in [Era::Legacy, Era::Modern] {
                for progress in [None, Some(7)] {
                    let told = formal(params, ours, era, progress);
                    assert!(told.starts_with(r#"{"name":"t""#) && told.ends_with(r#" , "arguments":{}}"#));
                    assert!(!told.contains("them"));
                }
            }
        }
        assert_eq!(formal(params, None, Era::Legacy, None), r#"{"name":"t" , "arguments":{}}"#);
    }
}
