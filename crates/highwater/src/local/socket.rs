//! Where the socket of a data directory is. Only who holds the directory's lock may open it.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use highwater_store::DataDir;

use crate::environment::directory;
use crate::running::Running;

/// The longest path used for a socket. Systems allow a little over a hundred bytes.
const LONGEST_PATH: usize = 100;

/// An open socket. Its file goes when this does.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) listener: UnixListener,
    pub(crate) path: PathBuf,
}

// === impl Opened ===

impl Opened {
    /// Opens the socket of a directory whose lock is held. What is left of an earlier one is replaced.
    pub(crate) fn of(data_dir: &DataDir) -> io::Result<Self> {
        let path = choose(data_dir)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path })
    }
}

/// Where the gateway of a directory answers, if one does.
pub(crate) fn find(data: &Path) -> PathBuf {
    Running::read(data).map_or_else(|| data.join("gateway.sock"), |running| running.socket)
}

/// In the data directory, or, if its path is too long for a socket, in a directory of ours with a short one.
fn choose(data_dir: &DataDir) -> io::Result<PathBuf> {
    let usual = data_dir.socket();
    if usual.as_os_str().len() <= LONGEST_PATH {
        return Ok(usual);
    }
    let identity = fs::metadata(data_dir.path())?;
    // Device and inode name a directory however it is reached.
    let name = format!("{:x}-{:x}.sock", identity.dev(), identity.ino());
    let user = identity.uid();
    let folders = [
        directory("XDG_RUNTIME_DIR").map(|runtime| runtime.join("highwater")),
        Some(std::env::temp_dir().join(format!("highwater-{user}"))),
        Some(PathBuf::from(format!("/tmp/highwater-{user}"))),
    ];
    let mut refused = io::Error::new(io::ErrorKind::InvalidFilename, "no place has a path short enough");
    for folder in folders.into_iter().flatten() {
        let path = folder.join(&name);
        if path.as_os_str().len() > LONGEST_PATH {
            continue;
        }
        match make_private(&folder, user) {
            Ok(()) => return Ok(path),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Makes the folder, or makes sure that the one there is ours alone: temporary directories are open to everyone.
fn make_private(folder: &Path, user: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0 {
        Ok(())
    } else {
        let why = format!("`{}` does not belong to us alone", folder.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, "`{}` stays", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_gets_a_short_socket_that_others_cannot_reach() {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = DataDir::open(folder.path().join("d".repeat(120))).unwrap();
        let opened = Opened::of(&data_dir).unwrap();
        assert!(opened.path.as_os_str().len() <= LONGEST_PATH, "{}", opened.path.display());
        let around = fs::metadata(opened.path.parent().unwrap()).unwrap();
        assert_eq!(around.mode() & 0o777, 0o700);
        let path = opened.path.clone();
        drop(opened);
        assert!(!path.exists());
    }

    #[test]
    fn a_socket_left_behind_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = DataDir::open(folder.path().join("data")).unwrap();
        let left = UnixListener::bind(data_dir.socket()).unwrap();
        drop(left);
        let opened = Opened::of(&data_dir).unwrap();
        std::os::unix::net::UnixStream::connect(&opened.path).unwrap();
    }

    #[test]
    fn a_folder_that_others_can_open_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let user = fs::metadata(folder.path()).unwrap().uid();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        assert!(make_private(folder.path(), user).is_err());
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        assert!(make_private(folder.path(), user).is_ok());
        assert!(make_private(folder.path(), user + 1).is_err());
    }
}
