//! Runs a program on a frame that no interface has seen.
//!
//! The kernel builds the frame, hands it to the program, and says what became of
//! both. What the program does besides is real: maps change, copies that it
//! redirects leave.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use super::attributes::{Attributes, Command};
use super::program::Program;

/// `struct __sk_buff`
const CONTEXT_BYTES: usize = 192;
mod field {
    pub const MARK: usize = 8;
    pub const PRIORITY: usize = 32;
    pub const INGRESS_INTERFACE: usize = 36;
    pub const INTERFACE: usize = 40;
}
/// More than the kernel builds frames of.
const FRAME_BYTES_MAX: usize = 1 << 16;

/// What stands beside a frame, as the program sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The number of the interface it arrived at, 0 for none.
    pub ingress_interface: u32,
    /// The number of the interface whose it is; the loopback if not above 1.
    pub interface: u32,
    /// Its class, by which queueing disciplines choose.
    pub priority: u32,
    /// A mark that goes with it.
    pub mark: u32,
}

/// What a program has made of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOutcome {
    /// What the program returned, as `TC_ACT_...`.
    pub verdict: i32,
    /// The frame afterwards. A tag that the kernel keeps beside the frame is not
    /// in it.
    pub frame: Vec<u8>,
    /// What stands beside it afterwards.
    pub context: Context,
    /// How long one run took in the mean.
    pub duration: Duration,
}

impl Program {
    /// Runs the program `repeat` times, at least once, on `frame`, each time on
    /// what the run before has made of it.
    ///
    /// # Errors
    ///
    /// If the frame is shorter than 14 bytes or longer than the kernel builds, if
    /// the namespace of this thread has no such interface, or this process no right
    /// to.
    pub fn test_run(&self, frame: &[u8], context: Context, repeat: u32) -> io::Result<TestOutcome> {
        let (before, mut after) = (context.to_bytes(), [0; CONTEXT_BYTES]);
        let mut out = vec![0; FRAME_BYTES_MAX];
        let mut test = Attributes::default();
        test.descriptor(0, self.as_fd());
        test.word(8, length(frame.len())?);
        test.word(12, length(out.len())?);
        test.bytes(16, frame);
        test.bytes_mut(24, &mut out);
        test.word(32, repeat.max(1));
        test.word(40, length(CONTEXT_BYTES)?);
        test.word(44, length(CONTEXT_BYTES)?);
        test.bytes(48, &before);
        test.bytes_mut(56, &mut after);
        test.run(Command::ProgramTestRun)?;
        let (verdict, written) = (test.answer(4), test.answer(12) as usize);
        let duration = Duration::from_nanos(test.answer(36).into());
        out.truncate(written);
        Ok(TestOutcome {
            verdict: verdict.cast_signed(),
            frame: out,
            context: Context::from_bytes(&after),
            duration,
        })
    }
}

impl Context {
    fn to_bytes(self) -> [u8; CONTEXT_BYTES] {
        let mut bytes = [0; CONTEXT_BYTES];
        for (offset, value) in [
            (field::MARK, self.mark),
            (field::PRIORITY, self.priority),
            (field::INGRESS_INTERFACE, self.ingress_interface),
            (field::INTERFACE, self.interface),
        ] {
            bytes[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; CONTEXT_BYTES]) -> Self {
        let word = |offset: usize| {
            let word = bytes[offset..offset + 4].try_into();
            u32::from_ne_bytes(word.expect("four bytes"))
        };
        Self {
            ingress_interface: word(field::INGRESS_INTERFACE),
            interface: word(field::INTERFACE),
            priority: word(field::PRIORITY),
            mark: word(field::MARK),
        }
    }
}

fn length(length: usize) -> io::Result<u32> {
    u32::try_from(length).map_err(|_| io::ErrorKind::InvalidInput.into())
}
