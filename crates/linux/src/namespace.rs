//! Network namespaces that live exactly as long as this process wants them.
//!
//! A [`Namespace`] has no name: only a file descriptor of this process holds it.
//! When the descriptor closes, at the latest when the process dies for whatever
//! reason, the kernel takes the namespace down with every interface in it. There
//! is nothing to clean up, after a crash neither.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::socket::namespace_cookie;

#[derive(Debug)]
pub struct Namespace {
    descriptor: OwnedFd,
}

impl Namespace {
    /// Creates an empty namespace, without even a loopback that is up.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` without CAP_SYS_ADMIN; otherwise what the kernel says.
    pub fn new() -> io::Result<Self> {
        // A thread of its own, so that no other one changes its network.
        let descriptor = on_own_thread(|| {
            // SAFETY: unsharing the network affects no memory and no open
            // descriptor, and only this thread, which ends right after.
            #[expect(unsafe_code, reason = "unshare")]
            unsafe {
                unshare_unsafe(UnshareFlags::NEWNET)?;
            }
            File::open("/proc/thread-self/ns/net")
        })?;
        Ok(Self {
            descriptor: descriptor.into(),
        })
    }

    /// Returns the namespace that the calling thread is in.
    ///
    /// # Errors
    ///
    /// If `/proc` is not there.
    pub fn current() -> io::Result<Self> {
        Ok(Self {
            descriptor: File::open("/proc/thread-self/ns/net")?.into(),
        })
    }

    /// Returns the namespace that a descriptor leads to.
    pub(crate) fn of(descriptor: OwnedFd) -> Self {
        Self { descriptor }
    }

    /// Runs `work` inside this namespace, on a thread of its own, and returns its
    /// result.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` if this process may not enter.
    ///
    /// # Panics
    ///
    /// If `work` panics.
    pub fn visit<R: Send>(&self, work: impl FnOnce() -> R + Send) -> io::Result<R> {
        on_own_thread(|| {
            self.enter()?;
            Ok(work())
        })
    }

    /// Runs `work` inside this namespace, on a thread of its own, and returns its
    /// result. Sockets made inside stay there.
    ///
    /// # Panics
    ///
    /// If `work` panics, or if this process has lost the privilege to enter.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        on_own_thread(|| {
            self.enter().expect("who made a namespace may enter it");
            work()
        })
    }

    /// Moves the calling thread into this namespace for good.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` without CAP_SYS_ADMIN.
    pub fn enter(&self) -> io::Result<()> {
        let network = Some(LinkNameSpaceType::Network);
        Ok(move_into_link_name_space(self.descriptor.as_fd(), network)?)
    }

    /// Returns a second hold on the same namespace.
    ///
    /// # Errors
    ///
    /// If the process has no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            descriptor: self.descriptor.try_clone()?,
        })
    }

    /// Returns by what it is told from all others that there ever were.
    ///
    /// # Errors
    ///
    /// If the kernel gives namespaces no cookies (before Linux 5.14).
    pub fn cookie(&self) -> io::Result<u64> {
        self.run(|| namespace_cookie(UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.as_fd()))
    }

    /// Returns the path under which other processes of this user find the
    /// namespace, as `nsenter --net=` takes it.
    #[must_use]
    pub fn path(&self) -> String {
        let fd = self.descriptor.as_raw_fd();
        format!("/proc/{}/fd/{fd}", std::process::id())
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Gives the whole process its own user and network namespace, in which it is
/// its own administrator, as an ordinary user may where the system allows it.
///
/// # Errors
///
/// If the process has several threads already, or the system forbids it.
pub fn become_own_administrator() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    // SAFETY: affects neither memory nor descriptors; the kernel refuses a user
    // namespace to a process with several threads.
    #[expect(unsafe_code, reason = "unshare")]
    unsafe {
        unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)?;
    }
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {} 1", user.as_raw()))?;
    std::fs::write("/proc/self/gid_map", format!("0 {} 1", group.as_raw()))
}

fn on_own_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
