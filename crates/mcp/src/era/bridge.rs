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

/// The parameters of a request towards an upstream of `era`.
///
/// In `_meta`: our own keys go, the client's progress token is replaced by `progress` (or goes), the modern
/// era's keys are set for a modern upstream and removed for a legacy one. Everything else is kept.
pub fn request_params(
    params: Option<&str>,
    era: Era,
    progress: Option<u64>,
    client: &ClientView<'_>,
) -> Option<String> {
    let meta = params.and_then(|params| member(params, "_meta"));
    // The common cases by far: nothing to take away, and nothing to add or only what is ours.
    match (era, meta, params) {
        (Era::Legacy, None, _) if progress.is_none() => return params.map(str::to_owned),
        (Era::Modern, None, Some(params)) if let Some(open) = params.strip_suffix('}') => {
            return Some(with_meta(open, progress, client));
        }
        _ => {}
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
    let emptied = meta.is_none_or(|meta| {
        era == Era::Legacy
            && token.is_none()
            && members(meta).all(|(key, _)| edits.iter().any(|(edited, _)| *edited == key))
    });
    let whole =
        if emptied && token.is_none() && era == Era::Legacy { Edit::Remove } else { Edit::Merge(&edits) };
    Some(edit_object(params.unwrap_or("{}"), &[("_meta", whole)]))
}

/// Closes an object without `_meta`, its last brace taken off, with the `_meta` that a modern upstream wants.
fn with_meta(open: &str, progress: Option<u64>, client: &ClientView<'_>) -> String {
    let room = 256 + client.client_info.len() + client.capabilities.len();
    let mut out = String::with_capacity(open.len() + room);
    out.push_str(open);
    if !open.trim_end().ends_with('{') {
        out.push(',');
    }
    out.push_str(r#""_meta":{"#);
    if let Some(number) = progress {
        quote_into(&mut out, meta_key::PROGRESS_TOKEN);
        out.push_str(&format!(":{number},"));
    }
    quote_into(&mut out, meta_key::PROTOCOL_VERSION);
    out.push(':');
    quote_into(&mut out, MODERN_VERSION);
    for (key, value) in
        [(meta_key::CLIENT_INFO, client.client_info), (meta_key::CLIENT_CAPABILITIES, client.capabilities)]
    {
        out.push(',');
        quote_into(&mut out, key);
        out.push(':');
        out.push_str(value);
    }
    if let Some(level) = client.log_level {
        out.push(',');
        quote_into(&mut out, meta_key::LOG_LEVEL);
        out.push(':');
        quote_into(&mut out, level);
    }
    out.push_str("}}");
    out
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
