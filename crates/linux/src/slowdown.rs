//! An interface whose frames take longer, on purpose.
//!
//! A program in front of its queue keeps the processor for so long with each frame
//! (`bpf/slowdown.c`): what forwards there is slower by that, and whatever else the
//! processor has to do waits, as behind a switch that is busy.

use std::collections::BTreeMap;
use std::io;

use units::Duration;

use crate::bpf::attachment::OutwardAttachment;
use crate::bpf::object::Object;
use crate::bpf::program::Program;

/// The longest time for a frame: the processor does nothing else meanwhile.
pub const LONGEST: Duration = Duration::from_ms(1);

const OBJECT: &[u8] = include_bytes!("../bpf/slowdown.o");
const MAIN: &str = "slow_down";

/// What slows interfaces down until it is dropped.
#[derive(Debug)]
pub struct Slowdown {
    _attachments: Vec<OutwardAttachment>,
}

impl Slowdown {
    /// Has each frame that leaves by one of these interfaces, of the calling thread's
    /// namespace, take so much longer, [`LONGEST`] at most.
    ///
    /// # Errors
    ///
    /// Without CAP_BPF and CAP_NET_ADMIN, or if the kernel (before 6.6) has no links at
    /// traffic control.
    pub fn begin(interfaces: &[u32], extra: Duration) -> io::Result<Self> {
        let object = Object::parse(OBJECT).map_err(io::Error::other)?;
        let object = object.with_constant("extra_ns", extra.min(LONGEST).as_ns());
        let program = Program::load(&object, MAIN, &BTreeMap::new()).map_err(io::Error::other)?;
        let attachments = interfaces
            .iter()
            .map(|interface| OutwardAttachment::attach(&program, *interface));
        Ok(Self {
            _attachments: attachments.collect::<io::Result<_>>()?,
        })
    }
}
