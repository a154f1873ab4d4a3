//! Who may ask what of the page: documents are for windows of their own, changes come from our own documents alone.

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, ORIGIN};

use super::origin::PageOrigin;
use super::visitors::Visitors;

const SITE: &str = "sec-fetch-site";
const DEST: &str = "sec-fetch-dest";

/// A request that goes no further: its status, and why in words.
pub(super) type Barred = (StatusCode, &'static str);

/// A document may be opened from anywhere, and nowhere but in a window of its own: in a frame somebody else could place
/// things over it.
pub(super) fn document(headers: &HeaderMap) -> Result<(), Barred> {
    if one(headers, DEST) == Some("document") {
        Ok(())
    } else {
        Err((StatusCode::FORBIDDEN, "open this page in a browser, in a tab of its own"))
    }
}

/// Events are for our own documents.
pub(super) fn events(headers: &HeaderMap) -> Result<(), Barred> {
    if one(headers, SITE) == Some("same-origin") {
        Ok(())
    } else {
        Err((StatusCode::FORBIDDEN, "only the page itself listens here"))
    }
}

/// Whatever changes something comes from a document of ours.
pub(super) fn change(headers: &HeaderMap, origin: &PageOrigin, visitors: &Visitors) -> Result<(), Barred> {
    if one(headers, SITE) != Some("same-origin") || one(headers, ORIGIN.as_str()) != Some(origin.as_str()) {
        return Err((StatusCode::FORBIDDEN, "only the page itself may ask this"));
    }
    let media_type = one(headers, CONTENT_TYPE.as_str()).unwrap_or_default().split(';').next();
    if !media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case("application/json")) {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be `application/json`"));
    }
    if !visitors.is_from_document(headers) {
        return Err((StatusCode::FORBIDDEN, "this page is too old; load it again"));
    }
    Ok(())
}

/// The value of a header that is there exactly once.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    value.to_str().ok()
}
