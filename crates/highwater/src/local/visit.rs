//! The visitor's side of the socket.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::hello::{Hello, Welcome, line};
use super::socket;

/// How long a gateway may take to answer the first line.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a visit ended.
pub(crate) enum Visit {
    /// Welcome. What the gateway says next has not been read, but may be in the reader already.
    Welcome {
        /// What the gateway says.
        reader: BufReader<UnixStream>,
        /// The first line it wrote.
        welcome: Welcome,
    },
    /// The gateway does not want to, and says why.
    Refused(String),
    /// Nobody is there.
    Absent,
}

/// Goes to the gateway of a data directory and says hello.
pub(crate) fn visit(data: &Path, hello: &Hello) -> io::Result<Visit> {
    visit_for(data, hello, PATIENCE)
}

/// The same, where the answer may take this long.
pub(crate) fn visit_for(data: &Path, hello: &Hello, patience: Duration) -> io::Result<Visit> {
    let mut stream = match UnixStream::connect(socket::find(data)) {
        Ok(stream) => stream,
        Err(error) if is_absence(&error) => return Ok(Visit::Absent),
        Err(error) => return Err(error),
    };
    stream.set_read_timeout(Some(patience))?;
    let mut first = Vec::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    let spoken = stream.write_all(&line(hello)?).and_then(|()| reader.read_until(b'\n', &mut first));
    match spoken {
        // It hung up before it said anything: it was about to end.
        Ok(_) if !first.ends_with(b"\n") => return Ok(Visit::Absent),
        Ok(_) => {}
        Err(error) if is_absence(&error) => return Ok(Visit::Absent),
        Err(error) => return Err(error),
    }
    stream.set_read_timeout(None)?;
    let welcome: Welcome = serde_json::from_slice(&first)?;
    Ok(match welcome.refused {
        Some(why) => Visit::Refused(why),
        None => Visit::Welcome { reader, welcome },
    })
}

fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, InvalidInput, NotFound};
    // A path too long for a socket is invalid input: a gateway there would have left word of a shorter one.
    matches!(error.kind(), NotFound | ConnectionRefused | ConnectionReset | BrokenPipe | InvalidInput)
}
