//! The data directory: where it is locked, and where its secrets lie. Readable by its owner alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::fs::{FlockOperation, flock};
use rustix::rand::{GetRandomFlags, getrandom};
use thiserror::Error;

/// A directory that belongs to one gateway at a time.
#[derive(Clone, Debug)]
pub struct DataDir {
    path: PathBuf,
}

/// Proof that this process is the gateway of the directory. The lock goes with the process, however it ends.
#[derive(Debug)]
pub struct DataDirLock {
    _file: File,
}

/// The secrets made on first start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secret {
    /// Goes into the client's configuration and opens `/mcp` alone.
    AgentToken,
    /// For people: console and API. No agent is given it.
    OperatorToken,
    /// Seals what we hand out and take back, such as request states and task ids.
    SealKey,
    /// Signs receipts.
    ReceiptKey,
}

/// Why the data directory cannot be used.
#[derive(Debug, Error)]
pub enum DataDirError {
    /// The operating system refused.
    #[error("cannot {doing} `{path}`: {source}")]
    Io {
        /// What we tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// Others can read or write it.
    #[error("`{path}` is open to other users (mode {mode:o}); make it private with `chmod {wanted:o}`")]
    Open {
        /// Which file or directory.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// What it should be.
        wanted: u32,
    },
    /// A secret's file does not hold a secret.
    #[error("`{path}` does not hold a secret of ours; remove it to have a new one made")]
    NotASecret {
        /// Which file.
        path: PathBuf,
    },
    /// No randomness to be had.
    #[error("the system gives no random numbers")]
    NoEntropy,
}

// === impl DataDir ===

impl DataDir {
    /// Opens the directory, making it if it is not there.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, DataDirError> {
        let path = path.into();
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(|source| DataDirError::Io {
            doing: "create",
            path: path.clone(),
            source,
        })?;
        check_private(&path, 0o700)?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the gateway listens for `highwater stdio` clients of the same user.
    pub fn socket(&self) -> PathBuf {
        self.path.join("gateway.sock")
    }

    /// Becomes the gateway of this directory, or gives `None` if another process is.
    pub fn try_lock(&self) -> Result<Option<DataDirLock>, DataDirError> {
        let path = self.path.join("lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(|source| DataDirError::Io { doing: "open", path: path.clone(), source })?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(DataDirLock { _file: file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(DataDirError::Io { doing: "lock", path, source: errno.into() }),
        }
    }

    /// Reads a secret, making it on first use.
    pub fn secret(&self, secret: Secret) -> Result<String, DataDirError> {
        let path = self.secret_path(secret);
        match File::open(&path) {
            Ok(mut file) => {
                check_private(&path, 0o600)?;
                let mut text = String::new();
                file.read_to_string(&mut text).map_err(|source| DataDirError::Io {
                    doing: "read",
                    path: path.clone(),
                    source,
                })?;
                let text = text.trim().to_owned();
                let body = text.strip_prefix(secret.prefix()).unwrap_or_default();
                match URL_SAFE_NO_PAD.decode(body) {
                    Ok(bytes) if bytes.len() == 32 => Ok(text),
                    Ok(_) | Err(_) => Err(DataDirError::NotASecret { path }),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.make_secret(secret, &path),
            Err(source) => Err(DataDirError::Io { doing: "open", path, source }),
        }
    }

    /// Where a secret lies.
    pub fn secret_path(&self, secret: Secret) -> PathBuf {
        self.path.join(secret.file_name())
    }

    /// The name of the directory's gateway, by which others that share its database know it. Made on first use.
    pub fn gateway_id(&self) -> Result<String, DataDirError> {
        let path = self.path.join("gateway-id");
        let failed = |doing| {
            let path = path.clone();
            move |source| DataDirError::Io { doing, path, source }
        };
        match fs::read_to_string(&path) {
            Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
            Ok(_) => Err(DataDirError::NotASecret { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut bytes = [0; 16];
                let filled = getrandom(&mut bytes, GetRandomFlags::empty());
                if filled != Ok(bytes.len()) {
                    return Err(DataDirError::NoEntropy);
                }
                let id = format!("gw_{}", URL_SAFE_NO_PAD.encode(bytes));
                write_atomically(&path, format!("{id}\n").as_bytes())?;
                Ok(id)
            }
            Err(source) => Err(failed("read")(source)),
        }
    }

    fn make_secret(&self, secret: Secret, path: &Path) -> Result<String, DataDirError> {
        let mut bytes = [0; 32];
        // The kernel's own numbers: they need no seeding of ours, which would cost tens of milliseconds at start.
        let filled = getrandom(&mut bytes, GetRandomFlags::empty()).map_err(|_| DataDirError::NoEntropy)?;
        if filled != bytes.len() {
            return Err(DataDirError::NoEntropy);
        }
        let text = format!("{}{}", secret.prefix(), URL_SAFE_NO_PAD.encode(bytes));
        write_atomically(path, format!("{text}\n").as_bytes())?;
        Ok(text)
    }
}

// === impl Secret ===

impl Secret {
    fn file_name(self) -> &'static str {
        match self {
            Self::AgentToken => "agent-token",
            Self::OperatorToken => "operator-token",
            Self::SealKey => "seal-key",
            Self::ReceiptKey => "receipt-key",
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::AgentToken => "hwa_",
            Self::OperatorToken => "hwo_",
            Self::SealKey => "hwk_",
            Self::ReceiptKey => "hwr_",
        }
    }

    /// The 32 bytes behind the text of a secret.
    pub fn key_bytes(self, text: &str) -> Option<[u8; 32]> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(self.prefix())?).ok()?;
        bytes.try_into().ok()
    }
}

/// Writes a file so that a crash leaves either the old one or the new one.
pub(crate) fn write_atomically(path: &Path, content: &[u8]) -> Result<(), DataDirError> {
    let failed = |doing| move |source| DataDirError::Io { doing, path: path.to_owned(), source };
    let beside = path.with_extension("new");
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&beside)
        .map_err(failed("create"))?;
    file.write_all(content).map_err(failed("write"))?;
    file.sync_all().map_err(failed("write"))?;
    fs::rename(&beside, path).map_err(failed("replace"))
}

fn check_private(path: &Path, wanted: u32) -> Result<(), DataDirError> {
    let mode = fs::metadata(path)
        .map_err(|source| DataDirError::Io { doing: "look at", path: path.to_owned(), source })?
        .permissions()
        .mode()
        & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(DataDirError::Open { path: path.to_owned(), mode, wanted }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        let first = dir.secret(Secret::AgentToken).unwrap();
        assert!(first.starts_with("hwa_"));
        assert_eq!(dir.secret(Secret::AgentToken).unwrap(), first);
        assert_ne!(dir.secret(Secret::OperatorToken).unwrap().get(4..), first.get(4..));
        assert!(Secret::AgentToken.key_bytes(&first).is_some());
    }

    #[test]
    fn a_secret_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        dir.secret(Secret::SealKey).unwrap();
        let path = dir.secret_path(Secret::SealKey);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = dir.secret(Secret::SealKey).unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_truncated_secret_is_refused_and_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        dir.secret(Secret::SealKey).unwrap();
        fs::write(dir.secret_path(Secret::SealKey), "hwk_AAAA\n").unwrap();
        assert!(matches!(dir.secret(Secret::SealKey), Err(DataDirError::NotASecret { .. })));
    }

    #[test]
    fn a_directory_has_one_gateway_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        let held = dir.try_lock().unwrap();
        assert!(held.is_some());
        assert!(dir.try_lock().unwrap().is_none());
        drop(held);
        assert!(dir.try_lock().unwrap().is_some());
    }
}
