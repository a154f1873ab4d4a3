//! What other processes of the same account can read of a gateway's memory: nothing.

use std::os::unix::fs::MetadataExt as _;

use crate::http::Gateway;
use crate::program::Site;
use crate::stdio::{count_tools, greet};

/// Nobody's, so that root's processes can be told from what belongs to root because it cannot be dumped.
const GROUP: u32 = 65534;

/// Whether a process can be dumped. The files in `/proc` of one that cannot belong to root.
fn is_dumpable(pid: u32) -> bool {
    let file = std::fs::metadata(format!("/proc/{pid}/mem")).unwrap();
    (file.uid(), file.gid()) != (0, 0)
}

/// The example servers, which run as they would without a gateway.
fn assert_servers_are_dumpable(site: &Site) {
    let servers: Vec<u32> = site
        .processes()
        .into_iter()
        .filter(|(_, line)| line.contains("example-server") && !line.contains(" guard "))
        .map(|(pid, _)| pid)
        .collect();
    assert_eq!(servers.len(), 4);
    assert!(servers.into_iter().all(is_dumpable));
}

#[test]
fn the_memory_of_a_gateway_is_its_own() {
    let site = Site::new();
    let data = site.data();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()];
    let gateway = Gateway::of(site.start_in_group(&arguments, GROUP));
    assert!(!is_dumpable(gateway.running.pid()));
    assert!(gateway.tools().len() > 10);
    assert_servers_are_dumpable(&site);
}

#[test]
fn the_memory_of_a_pipe_to_a_gateway_and_of_the_gateway_behind_it_is_their_own() {
    let site = Site::new();
    let mut client = site.start_in_group(&["stdio", "--data-dir", site.data().to_str().unwrap()], GROUP);
    greet(&mut client);
    assert_eq!(count_tools(&mut client), 20);
    let gateway = site.gateway().unwrap()["pid"].as_u64().unwrap();
    assert!(!is_dumpable(client.pid()));
    assert!(!is_dumpable(u32::try_from(gateway).unwrap()));
    assert_servers_are_dumpable(&site);
    assert_eq!(client.leave().code(), Some(0));
    site.wait_until_quiet();
}
