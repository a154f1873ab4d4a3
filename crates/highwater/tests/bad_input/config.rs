//! Configurations and command lines that mean nothing: exit code 2, the place and the reason on standard error, and no
//! gateway.

use std::process::Output;

use highwater_testkit::client::gateway::Home;
use highwater_testkit::wait::PATIENCE;
use tokio::process::Command;
use tokio::time::timeout;

const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");
/// Usage, or an invalid configuration.
const INVALID: Option<i32> = Some(2);

/// Files that are wrong, where, and a word of what is said about it.
const FILES: [(&str, &str, &str); 12] = [
    ("servers:\n  a:\n    comand: x\n", "highwater.yaml:3:5", "command"),
    ("servers: { a: { command: x } }\nlissten: localhost:1\n", "highwater.yaml:2:1", "listen"),
    ("servers: { a: { command: x, era: modernn } }\n", "highwater.yaml:1:34", "modern"),
    ("servers:\n  a: { command: x\n", "highwater.yaml", "error"),
    ("servers: { a: { command: x, url: 'https://x' } }\n", "highwater.yaml:1", "url"),
    ("servers: { a: { command: x, command: y } }\n", "highwater.yaml:1", "command"),
    (
        "servers: { a: { url: 'https://x', headers: { A: '${NOT_SET_ANYWHERE}' } } }\n",
        "highwater.yaml:1",
        "NOT_SET_ANYWHERE",
    ),
    ("servers: { a: { command: x } }\nvirtual_servers: { v: { servers: [b] } }\n", "highwater.yaml:2", "`b`"),
    ("listen: 0.0.0.0:1\nauth: none\nservers: { a: { command: x } }\n", "highwater.yaml", "auth"),
    ("servers: { highwater: { command: x } }\n", "highwater.yaml:1", "reserved"),
    ("limits: { max_message: 0 }\nservers: { a: { command: x } }\n", "highwater.yaml:1", "max_message"),
    ("hello\n", "highwater.yaml:1", "error"),
];

#[tokio::test]
async fn a_configuration_that_does_not_compile_starts_nothing() {
    for (config, place, word) in FILES {
        for command in ["serve", "stdio", "check"] {
            let home = Home::new(PROGRAM, config).unwrap();
            let mut run = match command {
                "check" => {
                    let mut check = Command::new(PROGRAM);
                    check.arg("check").arg(home.config_file());
                    check
                }
                _ => home.command(command),
            };
            if command == "serve" {
                run.args(["--listen", "127.0.0.1:0"]);
            }
            let output = finished(&mut run).await;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let all = format!("{said}{}", String::from_utf8_lossy(&output.stdout));
            assert_eq!(output.status.code(), INVALID, "{command}: {config}: {all}");
            assert!(all.contains(place), "{command}: `{place}` is not in: {all}");
            assert!(all.contains(word), "{command}: `{word}` is not in: {all}");
            assert!(home.running().is_none(), "{command}: a gateway runs on: {config}");
            if command != "check" {
                assert!(output.stdout.is_empty(), "{command}: {output:?}");
                assert!(!home.data_dir().join("audit").exists(), "{command}: {config}");
            }
        }
    }
}

#[tokio::test]
async fn a_configuration_that_is_not_there_starts_nothing() {
    for command in ["serve", "stdio"] {
        let home = Home::new(PROGRAM, "").unwrap();
        std::fs::remove_file(home.config_file()).unwrap();
        let output = finished(&mut home.command(command)).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), INVALID, "{command}: {said}");
        assert!(said.contains("highwater.yaml"), "{command}: {said}");
        assert!(home.running().is_none(), "{command}");
    }
}

#[tokio::test]
async fn a_configuration_that_is_no_text_starts_nothing() {
    let home = Home::new(PROGRAM, "").unwrap();
    std::fs::write(home.config_file(), b"servers: { a: { command: \"\xFF\" } }\n").unwrap();
    let output = finished(home.command("serve").args(["--listen", "127.0.0.1:0"])).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), INVALID, "{said}");
    assert!(said.contains("highwater.yaml"), "{said}");
}

#[tokio::test]
async fn a_command_line_that_makes_no_sense_starts_nothing() {
    let good = "servers: { a: { command: x } }\n";
    for words in [
        &["serve", "--listen", "nowhere"][..],
        &["serve", "--lisen", "127.0.0.1:0"],
        &["stdio", "--virtual-server"],
        &["serve", "extra"],
        &["nonsense"],
        &[],
    ] {
        let home = Home::new(PROGRAM, good).unwrap();
        let output = finished(Command::new(PROGRAM).args(words).env("XDG_DATA_HOME", home.path())).await;
        assert_eq!(output.status.code(), INVALID, "{words:?}: {output:?}");
        assert!(!output.stderr.is_empty(), "{words:?}");
    }
    // What the file forbids cannot be had on the command line either.
    let home = Home::new(PROGRAM, &format!("auth: none\n{good}")).unwrap();
    let output = finished(home.command("serve").args(["--listen", "0.0.0.0:0"])).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), INVALID, "{said}");
    assert!(said.contains("auth: none"), "{said}");
}

#[tokio::test]
async fn an_unknown_virtual_server_cannot_be_joined() {
    let home = Home::new(PROGRAM, "servers: { a: { command: 'true' } }\n").unwrap();
    let gateway = home.serve().await.unwrap();
    let output = finished(gateway.home().command("stdio").args(["--virtual-server", "nobody"])).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("`nobody`"), "{said}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

#[tokio::test]
async fn a_second_gateway_on_one_data_directory_is_refused_and_the_first_stays() {
    let gateway = Home::new(PROGRAM, "servers: { a: { command: 'true' } }\n").unwrap().serve().await.unwrap();
    let output = finished(gateway.home().command("serve").args(["--listen", "127.0.0.1:0"])).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let running = gateway.home().running().expect("the first gateway runs");
    assert_eq!(running["pid"], gateway.pid().unwrap(), "{running}");
}

async fn finished(command: &mut Command) -> Output {
    let output = command.stdin(std::process::Stdio::null()).kill_on_drop(true).output();
    timeout(PATIENCE, output).await.expect("the command does not end").unwrap()
}
