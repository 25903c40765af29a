//! The socket in the file system by which tools of this machine reach a switch.
//!
//! The switch speaks OpenFlow there as on any connection that it accepts. Only the
//! user who runs the switch, and root, may connect. A socket that nobody answers
//! on, as a killed switch leaves it, is replaced.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::process::umask;
use wire::openflow::DatapathId;

/// Where the sockets of the switches of this machine are.
pub const FOLDER: &str = "/run/taktos";
/// How the name of a socket ends.
const ENDING: &str = "sock";

/// A socket that stands, until this value is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    /// The file that was made, which somebody may have replaced.
    inode: u64,
}

impl ControlSocket {
    /// Makes the socket `path`. To be called before the process has threads that
    /// make files.
    ///
    /// # Errors
    ///
    /// `AddrInUse` if a switch answers there; otherwise what the kernel says.
    pub fn bind(path: &Path) -> io::Result<(Self, UnixListener)> {
        if UnixStream::connect(path).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o755)
                .create(folder)?;
        }
        remove_socket(path)?;
        let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let bound = UnixListener::bind(path);
        umask(before);
        let listener = bound?;
        let inode = fs::symlink_metadata(path)?.ino();
        let path = path.to_owned();
        Ok((Self { path, inode }, listener))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path).is_ok_and(|it| it.ino() == self.inode);
        if ours {
            // Whoever finds it knows that nobody answers.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes what an earlier switch left; anything but a socket stays.
fn remove_socket(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;

    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => fs::remove_file(path),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "there is a file that is no socket",
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns where the socket of a switch is if nothing else is said.
#[must_use]
pub fn usual_path(datapath_id: DatapathId) -> PathBuf {
    Path::new(FOLDER).join(format!("{datapath_id}.{ENDING}"))
}

/// Returns the sockets of switches that answer.
#[must_use]
pub fn running() -> Vec<PathBuf> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
        .filter(|path| UnixStream::connect(path).is_ok())
        .collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_user_may_use_the_socket_and_it_goes_with_the_switch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/one.sock");

        let (socket, _listener) = ControlSocket::bind(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        drop(socket);

        assert_eq!(mode & 0o777, 0o600);
        assert!(!path.exists());
    }

    #[test]
    fn a_socket_that_nobody_answers_on_is_replaced_and_a_used_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.sock");
        drop(UnixListener::bind(&path).unwrap());

        let (_socket, _listener) = ControlSocket::bind(&path).unwrap();
        let second = ControlSocket::bind(&path).unwrap_err();

        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        assert!(path.exists());
    }

    #[test]
    fn a_file_that_is_no_socket_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("letter");
        fs::write(&path, "Dear").unwrap();

        let refused = ControlSocket::bind(&path).unwrap_err();

        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "Dear");
    }
}
