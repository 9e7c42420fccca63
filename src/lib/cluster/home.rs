//! Where local clusters are: one folder each in `$XDG_DATA_HOME/klog/clusters`, or elsewhere for a throw-away one. Owns names, the lock by
//! which commands take turns, and the secret; must never know what a cluster is made of.
//!
//! `cluster.json` is the state, `secret` what nodes know each other by (mode 0600), `lock` the lock, `node-N.log` what node N says, and
//! `node-N` its data unless they were given another place.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{ClusterError, ClusterState};
use crate::os::replace_file;

/// The variable that names a cluster, or the folder of its state: set for the command of `klog cluster run`.
pub const VARIABLE: &str = "KLOG_CLUSTER";
/// The cluster that `up` starts when none is named.
pub const DEFAULT_NAME: &str = "dev";

const STATE: &str = "cluster.json";
const SECRET: &str = "secret";
const LOCK: &str = "lock";
const NAME_LEN_MAX: usize = 64;
/// How long a command waits for another one's turn to end: as long as a start may take, and a little.
const TURN_MAX: Duration = Duration::from_secs(45);
const TURN_PAUSE: Duration = Duration::from_millis(5);

/// The folder of one cluster's state, which need not be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    folder: PathBuf,
}

/// The right to change a cluster, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _file: File,
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ClusterError {
    let path = path.to_owned();
    move |source| ClusterError::Io { path, source }
}

/// The folder in which each local cluster has its own.
pub fn root() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    // One that is not absolute is to be ignored (XDG Base Directory Specification).
    let folder = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute()).or_else(home);
    folder.unwrap_or_default().join("klog/clusters")
}

impl Home {
    /// The cluster of that name.
    pub fn named(name: &str) -> Result<Home, ClusterError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || NAME_LEN_MAX < name.len() || name.starts_with('.') || !name.chars().all(fits) {
            return Err(ClusterError::Name { name: name.to_owned() });
        }
        Ok(Home { folder: root().join(name) })
    }

    /// The cluster whose state is in that folder.
    pub fn at(folder: &Path) -> Home {
        Home { folder: folder.to_owned() }
    }

    /// The cluster that is meant: the one that is named, else by [`VARIABLE`], else the only one, else [`DEFAULT_NAME`] of several.
    pub fn pick(named: Option<&str>) -> Result<Home, ClusterError> {
        let variable = std::env::var(VARIABLE).ok().filter(|value| !value.is_empty());
        if let Some(name) = named.map(str::to_owned).or(variable) {
            let home = if name.contains('/') { Home::at(Path::new(&name)) } else { Home::named(&name)? };
            return match home.exists() {
                true => Ok(home),
                false => Err(ClusterError::Unknown { name, known: names()? }),
            };
        }
        let known = names()?;
        match known.as_slice() {
            [] => Err(ClusterError::Unknown { name: DEFAULT_NAME.to_owned(), known }),
            [only] => Home::named(only),
            several if several.iter().any(|name| name == DEFAULT_NAME) => Home::named(DEFAULT_NAME),
            _ => Err(ClusterError::Several { known }),
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of the folder, which is the cluster's.
    pub fn name(&self) -> String {
        self.folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Whether there is anything of it.
    pub fn exists(&self) -> bool {
        self.folder.is_dir()
    }

    /// Makes the folder, for nobody else to look into; gives whether it was not there.
    pub fn make(&self) -> Result<bool, ClusterError> {
        if let Some(parent) = self.folder.parent() {
            fs::create_dir_all(parent).map_err(at(parent))?;
        }
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(at(&self.folder)(error)),
        }
    }

    /// Waits for the turn to change this cluster, whose folder is there.
    pub async fn turn(&self) -> Result<Turn, ClusterError> {
        let path = self.folder.join(LOCK);
        let end = Instant::now() + TURN_MAX;
        loop {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(at(&path))?;
            match file.try_lock() {
                // Race: whoever had the turn before may have removed the cluster, and the lock we hold is on a file that is gone. Another
                // one may have made the cluster anew since. So the file that we locked has to be the one that is there.
                Ok(()) if is_same(&file, &path) => return Ok(Turn { _file: file }),
                Ok(()) if !self.exists() => return Err(ClusterError::Unknown { name: self.name(), known: names()? }),
                Ok(()) | Err(TryLockError::WouldBlock) => (),
                Err(TryLockError::Error(error)) => return Err(at(&path)(error)),
            }
            if end <= Instant::now() {
                return Err(ClusterError::Busy { name: self.name(), within: TURN_MAX });
            }
            sleep(TURN_PAUSE).await;
        }
    }

    /// The state; `None` where none was written.
    pub fn read(&self) -> Result<Option<ClusterState>, ClusterError> {
        let path = self.folder.join(STATE);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(at(&path)(error)),
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| ClusterError::StateFile { path, reason: error.to_string() })
    }

    /// Replaces the state in one step.
    pub fn write(&self, state: &ClusterState) -> Result<(), ClusterError> {
        let path = self.folder.join(STATE);
        let text = serde_json::to_vec_pretty(state).map_err(|error| at(&path)(error.into()))?;
        replace_file(&path, &text).map_err(at(&path))
    }

    /// Removes the state and leaves the rest.
    pub fn forget(&self) -> Result<(), ClusterError> {
        let path = self.folder.join(STATE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(&path)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The cluster's secret, made now where there is none.
    pub fn secret(&self) -> Result<String, ClusterError> {
        let path = self.folder.join(SECRET);
        match fs::read_to_string(&path) {
            Ok(secret) if !secret.trim().is_empty() => return Ok(secret.trim().to_owned()),
            Ok(_) => (),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (),
            Err(error) => return Err(at(&path)(error)),
        }
        let mut noise = [0; 32];
        getrandom::fill(&mut noise).map_err(|error| at(&path)(io::Error::other(error)))?;
        let secret: String = noise.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path).map_err(at(&path))?;
        file.write_all(secret.as_bytes()).map_err(at(&path))?;
        Ok(secret)
    }

    /// Removes the folder with all that is in it.
    pub fn remove(&self) -> Result<(), ClusterError> {
        crate::os::remove_tree(&self.folder).map_err(at(&self.folder))
    }
}

fn is_same(file: &File, path: &Path) -> bool {
    let (held, there) = (file.metadata(), fs::metadata(path));
    held.is_ok_and(|held| there.is_ok_and(|there| (held.dev(), held.ino()) == (there.dev(), there.ino())))
}

/// The names of all local clusters, in order.
pub fn names() -> Result<Vec<String>, ClusterError> {
    let root = root();
    let entries = match fs::read_dir(&root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(at(&root)(error)),
    };
    let folders = entries.filter_map(Result::ok).filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| Home::named(name).is_ok());
    names.sort();
    Ok(names)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_folders() {
        for good in ["dev", "a.b_c-9", &"x".repeat(64)] {
            assert!(Home::named(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", ".hidden", "a/b", "a b", "ä", &"x".repeat(65)] {
            assert!(Home::named(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_secret_is_made_once_and_for_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(&folder.path().join("dev"));
        assert!(home.make().unwrap());
        assert!(!home.make().unwrap());
        let secret = home.secret().unwrap();
        assert_eq!(secret.len(), 64);
        assert_eq!(home.secret().unwrap(), secret);
        assert_eq!(fs::metadata(home.folder().join(SECRET)).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(home.folder()).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_state_that_is_none_is_told_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        assert_eq!(home.read().unwrap(), None);
        fs::write(folder.path().join(STATE), "{\"name\": 3}").unwrap();
        let text = home.read().unwrap_err().to_string();
        assert!(text.contains(STATE) && text.contains("line 1"), "{text}");
    }

    #[tokio::test]
    async fn turns_are_taken_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(&folder.path().join("dev"));
        home.make().unwrap();
        let turn = home.turn().await.unwrap();
        let waiting = tokio::spawn({
            let home = home.clone();
            async move { home.turn().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(turn);
        drop(waiting.await.unwrap().unwrap());

        // The cluster is removed by the one whose turn it is: the next one is told, instead of holding a lock on a file that is gone.
        let turn = home.turn().await.unwrap();
        let waiting = tokio::spawn({
            let home = home.clone();
            async move { home.turn().await }
        });
        tokio::task::yield_now().await;
        home.remove().unwrap();
        drop(turn);
        assert!(matches!(waiting.await.unwrap(), Err(ClusterError::Unknown { .. } | ClusterError::Io { .. })));
    }
}
