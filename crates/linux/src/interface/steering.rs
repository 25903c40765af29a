//! Receive packet steering: which processor goes on with what arrives at an interface.
//!
//! Virtual Ethernet puts an arriving frame into the queue of the processor on which it
//! was sent. Two frames of a flow that leave a sender, or a queueing discipline with a
//! timer, on different processors are in different queues then, and the later one may be
//! first. One processor for all that arrives at an interface keeps their order.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::Interface;

/// An interface whose frames one processor goes on with, as long as this exists.
#[derive(Debug)]
pub struct Steering {
    /// Of each queue of arrivals the file of its processors, and what stood there.
    queues: Vec<(File, String)>,
}

/// What stands there where nobody steers.
const NOWHERE: &str = "0";

impl Steering {
    /// Takes over what a process that has ended steered: it had found that nobody did.
    #[must_use]
    pub fn taken_over(mut self) -> Self {
        for (_, before) in &mut self.queues {
            NOWHERE.clone_into(before);
        }
        self
    }

    /// Has `processor` go on with whatever arrives at `interface`, of the calling
    /// thread's namespace.
    ///
    /// # Errors
    ///
    /// If the kernel has no receive packet steering or no such processor, or without
    /// CAP_SYS_ADMIN and CAP_NET_ADMIN. Nothing stays changed then.
    pub fn to(interface: &Interface, processor: usize) -> io::Result<Self> {
        // What the files of the kernel show depends on the namespace of whoever mounts
        // them: this mount is the calling thread's, and nobody else sees it.
        let kernel = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&kernel)?;
        let root = fsmount(
            &kernel,
            FsMountFlags::FSMOUNT_CLOEXEC,
            MountAttrFlags::empty(),
        )?;
        let root = format!("/proc/self/fd/{}", root.as_fd().as_raw_fd());
        let folder = format!("{root}/class/net/{}/queues", interface.name());
        let mut steering = Self { queues: Vec::new() };
        for queue in fs::read_dir(folder)? {
            let queue = queue?;
            if !queue.file_name().as_encoded_bytes().starts_with(b"rx-") {
                continue;
            }
            let path = queue.path().join("rps_cpus");
            let mut before = String::new();
            File::open(&path)?.read_to_string(&mut before)?;
            let mut file = OpenOptions::new().write(true).open(&path)?;
            file.write_all(mask(processor).as_bytes())?;
            steering.queues.push((file, before));
        }
        Ok(steering)
    }
}

impl Drop for Steering {
    fn drop(&mut self) {
        for (file, before) in &mut self.queues {
            // An interface that is gone needs nothing.
            let _ = file.write_all(before.as_bytes());
        }
    }
}

/// Returns the set of one processor as the kernel reads it: words of 32 bits in
/// hexadecimal, the highest first.
fn mask(processor: usize) -> String {
    let lower = ",00000000".repeat(processor / 32);
    format!("{:x}{lower}", 1_u32 << (processor % 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_a_word_for_each_32_processors() {
        assert_eq!(mask(0), "1");
        assert_eq!(mask(31), "80000000");
        assert_eq!(mask(64), "1,00000000,00000000");
    }
}
