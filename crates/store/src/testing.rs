//! A PostgreSQL server of a test's own: started on a free port, crashed, paused and ended with the test.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt};
use rustix::process::{Pid, Signal, geteuid, kill_process};

/// Where Debian puts the programs of each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Nobody: PostgreSQL refuses to run as root.
const NOBODY: u32 = 65534;

/// How long the server may take to answer or to end, on a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);

/// A server with an empty folder. It ends with the process that holds this, however that ends.
#[derive(Debug)]
pub struct PostgresServer {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    /// Bound and never listening: nobody else is given the port while the server does not run.
    _reserved: OwnedFd,
    /// Waits for the end of our process and clears up after it.
    keeper: Option<Child>,
}

// === impl PostgresServer ===

impl PostgresServer {
    /// Starts a server.
    pub fn start() -> Self {
        let programs = programs();
        let folder = scratch();
        let mut make = as_nobody(&programs.join("initdb"));
        make.args(["-A", "trust", "-U", "hw", "-E", "UTF8", "--locale=C", "--no-sync", "-D"]);
        let made = make.arg(folder.join("data")).current_dir(&folder).output().expect("initdb starts");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let (reserved, port) = reserved_port().expect("a port");
        let mut server = Self { folder, programs, port, _reserved: reserved, keeper: None };
        server.restart();
        server
    }

    /// The URL of one database, which is made on first use.
    pub fn url(&self, database: &str) -> String {
        let mut create = as_nobody(&self.programs.join("createdb"));
        let port = self.port.to_string();
        create.args(["-h", "127.0.0.1", "-p", &port, "-U", "hw", database]);
        // One that is there already is as good.
        create.current_dir(&self.folder).output().expect("createdb starts");
        format!("postgres://hw@127.0.0.1:{}/{database}", self.port)
    }

    /// Everything that is in one database, as text.
    pub fn dump(&self, database: &str) -> String {
        let mut dump = as_nobody(&self.programs.join("pg_dump"));
        let port = self.port.to_string();
        dump.args(["-h", "127.0.0.1", "-p", &port, "-U", "hw", database]);
        let dumped = dump.current_dir(&self.folder).output().expect("pg_dump starts");
        assert!(dumped.status.success(), "pg_dump: {}", String::from_utf8_lossy(&dumped.stderr));
        String::from_utf8_lossy(&dumped.stdout).into_owned()
    }

    /// Starts the server again, on the same port and folder.
    pub fn restart(&mut self) {
        self.end(Signal::QUIT);
        // The keeper outlives this process by as long as it takes to clear up: it waits for a word, or for our end.
        let script = r#"folder=$1; shift; "$@" & server=$!; read word; kill -CONT $server; kill -QUIT $server
            wait $server; [ "$word" = keep ] || rm -rf "$folder""#;
        let mut command = as_nobody(Path::new("/bin/sh"));
        command.args(["-c", script, "keeper"]).arg(&self.folder).arg(self.programs.join("postgres"));
        command.arg("-D").arg(self.folder.join("data")).args(["-p", &self.port.to_string()]);
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]);
        command.args(["-c", "max_connections=200"]);
        let log = fs::File::options().create(true).append(true).open(self.folder.join("log"));
        let log = log.expect("the log can be written");
        command.current_dir(&self.folder).stdin(Stdio::piped()).stderr(log).stdout(Stdio::null());
        self.keeper = Some(command.spawn().expect("the server starts"));
        let deadline = Instant::now() + LIMIT;
        while !self.answers() {
            assert!(Instant::now() < deadline, "PostgreSQL does not answer:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the server as a crash does: at once, without a word to its clients.
    pub fn crash(&mut self) {
        self.end(Signal::QUIT);
    }

    /// Lets every process of the server stand still: connections stay open and nothing is answered.
    pub fn pause(&self) {
        self.signal_all(Signal::STOP);
    }

    /// Lets them go on.
    pub fn resume(&self) {
        self.signal_all(Signal::CONT);
    }

    fn end(&mut self, signal: Signal) {
        let Some(mut keeper) = self.keeper.take() else { return };
        if let Some(server) = self.pid() {
            kill_process(server, signal).ok();
        }
        if let Some(mut stdin) = keeper.stdin.take() {
            stdin.write_all(b"keep\n").ok();
        }
        keeper.wait().expect("the keeper ends");
    }

    fn signal_all(&self, signal: Signal) {
        let server = self.pid().expect("the server runs");
        for pid in children(server).into_iter().chain([server]) {
            kill_process(pid, signal).ok();
        }
    }

    fn pid(&self) -> Option<Pid> {
        let text = fs::read_to_string(self.folder.join("data/postmaster.pid")).ok()?;
        Pid::from_raw(text.lines().next()?.parse().ok()?)
    }

    /// Whether it takes connections: asked for encryption, it says yes or no in one byte.
    fn answers(&self) -> bool {
        let ask = || -> std::io::Result<u8> {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            stream.set_read_timeout(Some(Duration::from_secs(1)))?;
            stream.write_all(&[0, 0, 0, 8, 4, 210, 22, 47])?;
            let mut answer = [0];
            stream.read_exact(&mut answer)?;
            Ok(answer[0])
        };
        // It listens before it has recovered; the file says when that is done.
        let status = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
        status.lines().nth(7).is_some_and(|status| status.trim() == "ready") && ask().is_ok()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if let Some(server) = self.pid() {
            // One that stands still would not end.
            kill_process(server, Signal::CONT).ok();
        }
        self.end(Signal::QUIT);
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// The folder of the newest version's programs.
fn programs() -> PathBuf {
    let versions = fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, folder)| folder.join("postgres").exists())
        .collect();
    versions.sort();
    let newest = versions.pop().map(|(_, folder)| folder);
    newest.expect("PostgreSQL is missing; run: cargo xtask test --only postgres, or as root: apt-get install -y postgresql")
}

/// An empty folder that the server's user owns.
fn scratch() -> PathBuf {
    let name = crate::random::random_id("highwater-postgres-").expect("random numbers");
    let folder = std::env::temp_dir().join(name);
    fs::create_dir(&folder).expect("a temporary folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("a private folder");
    if geteuid().is_root() {
        chown(&folder, Some(NOBODY), Some(NOBODY)).expect("a folder of nobody's");
    }
    folder
}

/// A command that does not run as root.
fn as_nobody(program: &Path) -> Command {
    if !geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let nobody = NOBODY.to_string();
    command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"]).arg(program);
    command
}

fn children(of: Pid) -> Vec<Pid> {
    let raw = of.as_raw_nonzero();
    let text = fs::read_to_string(format!("/proc/{raw}/task/{raw}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// A port that the system gives to nobody else while the socket exists. PostgreSQL can listen there all the same, since it
/// reuses addresses as well.
fn reserved_port() -> std::io::Result<(OwnedFd, u16)> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    let port = SocketAddrV4::try_from(getsockname(&socket)?)?.port();
    Ok((socket, port))
}
