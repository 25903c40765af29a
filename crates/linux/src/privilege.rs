//! What a thread gives up once it has what it needs.
//!
//! Who takes over a thread that speaks with strangers gets no more than it has left. A
//! thread of a privileged program keeps the right to open files whoever owns them:
//! folders for data often belong to another user.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

/// Lets the calling thread, and those that it starts from now on, do nothing more that
/// takes privileges, but for opening files; and never gain any.
///
/// # Errors
///
/// If the kernel does not let go of them.
pub fn renounce() -> io::Result<()> {
    set_no_new_privs(true)?;
    let present = capabilities(None)?;
    let kept = CapabilitySet::DAC_OVERRIDE;
    set_capabilities(
        None,
        CapabilitySets {
            effective: present.effective & kept,
            permitted: present.permitted & kept,
            inheritable: CapabilitySet::empty(),
        },
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_gives_its_rights_up_and_no_other_does() {
        let before = capabilities(None).unwrap();

        let left = thread::spawn(|| {
            renounce().unwrap();
            let again = renounce();
            (capabilities(None).unwrap(), again.is_ok())
        });
        let (left, again) = left.join().unwrap();

        assert!(
            (left.permitted | left.effective)
                .difference(CapabilitySet::DAC_OVERRIDE)
                .is_empty()
        );
        assert!(again);
        assert_eq!(capabilities(None).unwrap(), before);
    }
}
