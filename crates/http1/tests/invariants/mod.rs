//! What holds for any bytes at all. The corpus test and the fuzz targets share it.

use bytes::BytesMut;
use highwater_http1::body::BodyDecoder;
use highwater_http1::framing::{Framing, FramingError};

/// A body is the same, and ends at the same place, whether it comes at once or byte by byte, and for readers that end
/// lines more readily; and headers either say one thing or are refused.
pub(crate) fn framing_holds(data: &[u8]) {
    let starts = [BodyDecoder::chunked, || BodyDecoder::of_length(7), || BodyDecoder::UntilClose];
    for start in starts {
        let bytes: Vec<&[u8]> = data.chunks(1).collect();
        // What is wrong is noticed as early as the bytes allow, so of that only that it is wrong must be alike.
        assert_eq!(read_body(start(), &[data]).ok(), read_body(start(), &bytes).ok());
    }
    if let Ok((body, true, left)) = read_body(BodyDecoder::chunked(), &[data]) {
        assert_eq!(read_carelessly(data), Some((body, left)), "another reader sees another body");
    }
    let mut framing = Framing::default();
    for line in data.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let Some((name, value)) = line.split_at_checked(colon) else { continue };
        let Ok(name) = std::str::from_utf8(name) else { continue };
        let before = framing.length;
        match framing.note(name, value.strip_prefix(b":").unwrap_or_default()) {
            Ok(()) => assert!(before.is_none() || framing.length == before, "a length was changed"),
            Err(_) => return,
        }
    }
}

/// The body in these pieces, whether it is over, and how much is left behind it.
fn read_body(mut decoder: BodyDecoder, pieces: &[&[u8]]) -> Result<(Vec<u8>, bool, usize), FramingError> {
    let (mut buffered, mut body) = (BytesMut::new(), Vec::new());
    for piece in pieces {
        buffered.extend_from_slice(piece);
        while let Some(bytes) = decoder.decode(&mut buffered)? {
            assert!(!bytes.is_empty(), "nothing reads as the end");
            body.extend_from_slice(&bytes);
        }
    }
    let left = if decoder.is_done() { buffered.len() } else { 0 };
    Ok((body, decoder.is_done(), left))
}

/// A chunked body, and how much is left behind it, as read by a reader that ends a line at CR, LF or both.
fn read_carelessly(data: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut rest = data;
    let mut body = Vec::new();
    loop {
        let line = careless_line(&mut rest)?;
        let digits = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
        let size = usize::from_str_radix(std::str::from_utf8(line.get(..digits)?).ok()?, 16).ok()?;
        if size == 0 {
            break;
        }
        let (chunk, behind) = rest.split_at_checked(size)?;
        body.extend_from_slice(chunk);
        rest = behind;
        careless_line(&mut rest).filter(|line| line.is_empty())?;
    }
    while !careless_line(&mut rest)?.is_empty() {}
    Some((body, rest.len()))
}

fn careless_line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (line, behind) =
        rest.split_at_checked(rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'))?)?;
    *rest = behind.strip_prefix(b"\r\n").or_else(|| behind.get(1..))?;
    Some(line)
}
