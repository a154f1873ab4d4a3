//! A child's whole tree ends with it, with us, and when asked, whatever the tree does to get away.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of a test fail by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use highwater_sandbox::{Child, Ending, Launch, Pipes, spawn};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::ChildStdout;
use tokio::time::timeout;

const LONG_ENOUGH: Duration = Duration::from_secs(120);

fn launch(command: &str, args: &[&str]) -> Launch {
    Launch {
        command: command.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
        cwd: None,
        guard: PathBuf::from(env!("CARGO_BIN_EXE_highwater-guard-probe")),
    }
}

fn started(launch: &Launch) -> (Child, Pipes) {
    let mut child = spawn(launch).unwrap();
    let pipes = child.take_pipes().unwrap();
    (child, pipes)
}

/// A shell that starts a child in a session of its own, an orphan, and stays; it says all three ids.
const TREE: &str = r#"
    setsid sh -c 'echo $$; exec sleep 600' &
    sh -c 'setsid sh -c "echo \$\$; exec sleep 600" & exit 0'
    echo $$
    exec sleep 600
"#;

async fn ids(lines: &mut Lines<BufReader<ChildStdout>>, count: usize) -> Vec<u32> {
    let mut ids = Vec::new();
    for _ in 0..count {
        let line =
            timeout(LONG_ENOUGH, lines.next_line()).await.unwrap().unwrap().expect("an id on each line");
        ids.push(line.trim().parse().unwrap());
    }
    ids
}

fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, after)| !after.trim_start().starts_with(['Z', 'X']))
}

/// Polls, since the end of a stranger's child announces itself to nobody here.
async fn all_end(pids: &[u32]) -> bool {
    let ended = async {
        while pids.iter().any(|pid| alive(*pid)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG_ENOUGH, ended).await.is_ok()
}

#[tokio::test]
async fn the_exit_code_is_the_child_s() {
    let (mut child, _pipes) = started(&launch("sh", &["-c", "exit 7"]));
    assert_eq!(child.wait().await, Ending::Exited(7));
    let (mut child, _pipes) = started(&launch("sh", &["-c", "kill -9 $$"]));
    assert_eq!(child.wait().await, Ending::Signalled(9));
}

#[tokio::test]
async fn the_environment_is_what_was_listed_and_nothing_else() {
    let mut launch = launch("env", &[]);
    launch.env.insert("TOKEN".to_owned(), "abc".to_owned());
    let (mut child, mut pipes) = started(&launch);
    let mut out = String::new();
    pipes.stdout.read_to_string(&mut out).await.unwrap();
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["PATH=/usr/local/bin:/usr/bin:/bin", "TOKEN=abc"]);
    assert_eq!(child.wait().await, Ending::Exited(0));
}

#[tokio::test]
async fn the_pipes_end_with_the_child_although_the_guard_lives_on() {
    let (mut child, mut pipes) = started(&launch("sh", &["-c", "exec >&- <&-; sleep 600"]));
    let mut out = Vec::new();
    timeout(LONG_ENOUGH, pipes.stdout.read_to_end(&mut out)).await.expect("stdout is closed").unwrap();
    child.reins().ask_to_end();
    assert_eq!(child.wait().await, Ending::Signalled(15));
}

#[tokio::test]
async fn nothing_of_the_tree_outlives_the_child() {
    let script = TREE.replace("exec sleep 600\n", "read word; kill -9 $$\n");
    let (mut child, mut pipes) = started(&launch("sh", &["-c", &script]));
    let pids = ids(&mut BufReader::new(pipes.stdout).lines(), 3).await;
    pipes.stdin.write_all(b"go\n").await.unwrap();
    assert_eq!(child.wait().await, Ending::Signalled(9));
    assert_eq!(pids.iter().filter(|pid| alive(**pid)).count(), 0);
}

#[tokio::test]
async fn a_tree_that_is_asked_to_end_ends() {
    let (mut child, pipes) = started(&launch("sh", &["-c", TREE]));
    let pids = ids(&mut BufReader::new(pipes.stdout).lines(), 3).await;
    assert!(pids.iter().all(|pid| alive(*pid)));
    child.reins().ask_to_end();
    assert_eq!(child.wait().await, Ending::Signalled(15));
    assert_eq!(pids.iter().filter(|pid| alive(**pid)).count(), 0);
}

#[tokio::test]
async fn a_tree_that_does_not_listen_is_killed_when_asked_twice() {
    let script = "trap 'echo 0' TERM; echo $$; while :; do sleep 600 & wait; done";
    let (mut child, pipes) = started(&launch("sh", &["-c", script]));
    let mut lines = BufReader::new(pipes.stdout).lines();
    let pids = ids(&mut lines, 1).await;
    child.reins().ask_to_end();
    // Two signals that meet count as one, so the second waits until the first has been passed on.
    assert_eq!(ids(&mut lines, 1).await, [0]);
    child.reins().ask_to_end();
    let asked = std::time::Instant::now();
    assert_eq!(child.wait().await, Ending::Signalled(9));
    assert!(asked.elapsed() < highwater_sandbox::guard::ASKED_GRACE, "it was not killed at once");
    assert_eq!(pids.iter().filter(|pid| alive(**pid)).count(), 0);
}

#[tokio::test]
async fn a_dropped_child_takes_its_tree_along() {
    let (child, pipes) = started(&launch("sh", &["-c", TREE]));
    let pids = ids(&mut BufReader::new(pipes.stdout).lines(), 3).await;
    drop(child);
    assert!(all_end(&pids).await);
}

#[tokio::test]
async fn a_killed_guard_costs_its_group_too() {
    let (mut child, pipes) = started(&launch("sh", &["-c", "echo $$; sleep 600 & exec sleep 600"]));
    let pids = ids(&mut BufReader::new(pipes.stdout).lines(), 1).await;
    let guard = rustix::process::Pid::from_raw(i32::try_from(child.pid()).unwrap()).unwrap();
    rustix::process::kill_process(guard, rustix::process::Signal::KILL).unwrap();
    assert_eq!(child.wait().await, Ending::Signalled(9));
    assert!(all_end(&pids).await);
}

/// The gateway of this story is the shell: it starts the guard as `spawn` does and is killed.
#[tokio::test]
async fn a_killed_gateway_leaves_nothing_behind() {
    let guard = env!("CARGO_BIN_EXE_highwater-guard-probe");
    let script = format!("'{guard}' guard --parent $$ -- sh -c \"$TREE\" & wait");
    let mut gateway = tokio::process::Command::new("sh")
        .args(["-c", &script])
        .env("TREE", TREE)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(gateway.stdout.take().unwrap()).lines();
    let pids = ids(&mut lines, 3).await;
    assert!(pids.iter().all(|pid| alive(*pid)));
    gateway.kill().await.unwrap();
    assert!(all_end(&pids).await);
}

#[tokio::test]
async fn a_program_that_cannot_be_executed_is_explained_on_stderr() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (mut child, mut pipes) = started(&launch(script.to_str().unwrap(), &[]));
    let mut said = String::new();
    pipes.stderr.read_to_string(&mut said).await.unwrap();
    assert!(said.starts_with("highwater guard: cannot start `"), "{said}");
    assert_eq!(child.wait().await, Ending::Exited(126));
}

#[test]
fn a_command_that_is_not_there_is_named_with_where_it_comes_from() {
    let mut absent = launch("uvx", &[]);
    absent.env.insert("PATH".to_owned(), "/nonexistent".to_owned());
    assert_eq!(
        spawn(&absent).unwrap_err().to_string(),
        "`uvx` was not found on its PATH `/nonexistent`; it comes with uv, the Python package manager"
    );
    absent.env.clear();
    absent.command = "no-such-program".to_owned();
    assert_eq!(
        spawn(&absent).unwrap_err().to_string(),
        "`no-such-program` was not found; its environment has no PATH"
    );
    absent.command = "/no/such/program".to_owned();
    assert_eq!(spawn(&absent).unwrap_err().to_string(), "`/no/such/program` was not found");
    absent.command = "/etc/passwd".to_owned();
    assert_eq!(spawn(&absent).unwrap_err().to_string(), "`/etc/passwd` is not executable");
    absent.command = "/bin/sh".to_owned();
    absent.cwd = Some(Path::new("/no/such/directory").to_owned());
    assert_eq!(
        spawn(&absent).unwrap_err().to_string(),
        "the working directory `/no/such/directory` does not exist"
    );
}
