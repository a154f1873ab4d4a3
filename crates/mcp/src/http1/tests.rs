//! Where bodies end, and where that is not clear.

use proptest::prelude::*;

use super::*;

/// Reads a body that comes in these pieces; with what is left over behind it.
fn read(mut rest: Rest, pieces: &[&[u8]]) -> Result<(Vec<u8>, bool, Vec<u8>), Misframed> {
    let (mut ahead, mut body) = (BytesMut::new(), Vec::new());
    for piece in pieces {
        ahead.extend_from_slice(piece);
        while let Some(bytes) = rest.take(&mut ahead)? {
            assert!(!bytes.is_empty(), "an empty piece would read as the end");
            body.extend_from_slice(&bytes);
        }
    }
    Ok((body, rest.is_over(), ahead.to_vec()))
}

fn framing(headers: &[(&str, &str)]) -> Result<Framing, Misframed> {
    let mut framing = Framing::default();
    headers.iter().try_for_each(|(name, value)| framing.note(name, value.as_bytes()))?;
    Ok(framing)
}

#[test]
fn a_body_of_known_length_ends_with_its_last_byte() {
    assert_eq!(read(Rest::of_length(3), &[b"abcd"]), Ok((b"abc".to_vec(), true, b"d".to_vec())));
    assert_eq!(read(Rest::of_length(3), &[b"ab"]), Ok((b"ab".to_vec(), false, Vec::new())));
    assert!(Rest::of_length(0).is_over());
}

#[test]
fn the_end_of_a_chunked_body_is_seen_with_its_last_bytes() {
    let (mut rest, mut ahead) =
        (Rest::chunked(), BytesMut::from(&b"3;why=not\r\nabc\r\n0\r\nA: b\r\n\r\nnext"[..]));
    assert_eq!(rest.take(&mut ahead), Ok(Some(Bytes::from_static(b"abc"))));
    assert!(rest.is_over());
    assert_eq!(ahead, "next");
}

#[test]
fn chunks_that_two_readers_could_read_differently_are_none() {
    let many_trailers = format!("0\r\n{}", "a:\r\n".repeat(MAX_LINE));
    let long_line = format!("1;{}\r\n", "x".repeat(MAX_LINE));
    let endless = "1".repeat(MAX_LINE + 2);
    for body in [
        "\r\n",
        "x\r\n",
        "-1\r\n",
        "+1\r\na\r\n",
        "0x1\r\na\r\n",
        "1\na\r\n",
        "1\r\nab\r\n",
        "1\r\na\n",
        "1 1\r\na\r\n",
        " 1\r\na\r\n",
        "11111111111111111\r\n",
        "0\r\n\n",
        "5\r\r\nhello\r\n",
        "5;a\rb\r\nhello\r\n",
        "5\r;a\r\nhello\r\n",
        "5;a\0\r\nhello\r\n",
        "5\x0b\r\nhello\r\n",
        "0\r\nbad trailer\r\n\r\n",
        "0\r\n: no name\r\n\r\n",
        "0\r\nname : x\r\n\r\n",
        "0\r\na: b\r\n folded\r\n\r\n",
        "0\r\na: b\rc: d\r\n\r\n",
        "0\r\nGET / HTTP/1.1\r\n\r\n",
        &many_trailers,
        &long_line,
        &endless,
    ] {
        assert_eq!(read(Rest::chunked(), &[body.as_bytes()]), Err(Misframed::Chunk), "{body:.40}");
    }
}

#[test]
fn unusual_chunks_that_every_reader_reads_alike_are_read() {
    for body in [
        "5 \r\nhello\r\n0\r\n\r\n",
        "5\t; a=\"\u{e9}\"\r\nhello\r\n000\r\n\r\n",
        "5\r\nhello\r\n0\r\nX-Sum:\r\n!#$%&'*+-.^_`|~: a: b\t\r\n\r\n",
    ] {
        assert_eq!(
            read(Rest::chunked(), &[body.as_bytes()]),
            Ok((b"hello".to_vec(), true, vec![])),
            "{body}"
        );
    }
}

#[test]
fn a_length_is_one_number() {
    assert_eq!(framing(&[("Content-Length", " 5 ")]).unwrap().length, Some(5));
    assert_eq!(framing(&[("content-length", "5"), ("Content-Length", "5")]).unwrap().length, Some(5));
    for value in ["", "+5", "-5", "5, 5", "5 5", "0x5", "٥", "99999999999999999999"] {
        assert_eq!(framing(&[("content-length", value)]), Err(Misframed::Length), "{value}");
    }
    assert_eq!(framing(&[("content-length", "5"), ("content-length", "6")]), Err(Misframed::Length));
}

#[test]
fn only_chunks_are_understood() {
    assert!(framing(&[("Transfer-Encoding", "Chunked")]).unwrap().chunked);
    for value in ["gzip, chunked", "chunked, chunked", "identity", "", "xchunked"] {
        assert_eq!(framing(&[("transfer-encoding", value)]), Err(Misframed::Coding), "{value}");
    }
    let twice = [("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")];
    assert_eq!(framing(&twice), Err(Misframed::Coding));
}

#[test]
fn a_connection_goes_on_unless_somebody_says_otherwise() {
    let keeps = |minor, value| framing(&[("connection", value)]).unwrap().keeps(minor);
    assert!(Framing::default().keeps(1) && keeps(1, "keep-alive") && keeps(0, "Keep-Alive"));
    assert!(!Framing::default().keeps(0) && !keeps(1, "Close") && !keeps(1, "upgrade, close"));
    assert!(!keeps(0, "keep-alive, close"));
}

proptest! {
    #[test]
    fn chunks_are_read_the_same_however_they_arrive(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..6),
        cuts in proptest::collection::vec(0..400usize, 0..8),
    ) {
        let mut wire = Vec::new();
        for chunk in &chunks {
            wire.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            wire.extend_from_slice(chunk);
            wire.extend_from_slice(b"\r\n");
        }
        wire.extend_from_slice(b"0\r\n\r\nrest");
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < wire.len()).collect();
        cuts.extend([0, wire.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &wire[cut[0]..cut[1]]).collect();
        prop_assert_eq!(read(Rest::chunked(), &pieces), Ok((chunks.concat(), true, b"rest".to_vec())));
    }

    #[test]
    fn no_bytes_are_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for rest in [Rest::chunked(), Rest::of_length(50), Rest::UntilClose] {
            if let Ok((body, _, left)) = read(rest, &[&bytes]) {
                prop_assert!(body.len() + left.len() <= bytes.len());
            }
        }
    }
}
