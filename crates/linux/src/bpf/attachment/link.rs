//! A program at an interface by a link (tcx), and the programs that hang there.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use super::Occupant;
use crate::bpf::attributes::{Attributes, Command};
use crate::bpf::pin;

/// `BPF_TCX_INGRESS`
const TCX_INGRESS: u32 = 46;
/// `BPF_TCX_EGRESS`
const TCX_EGRESS: u32 = 47;
/// As many programs as the kernel lets hang at one interface.
const PROGRAMS_MAX: usize = 64;
/// The beginning of `struct bpf_prog_info`, up to the name.
const INFORMATION_BYTES: usize = 80;
const NAME_OFFSET: usize = 64;
/// The beginning of `struct bpf_link_info`, of a link to an interface.
const LINK_INFORMATION_BYTES: usize = 24;
const INTERFACE_OFFSET: usize = 16;
/// `BPF_LINK_TYPE_TCX`
const TCX_LINK: u32 = 11;

/// A link. The program is gone when this value is dropped or the process ends, unless the
/// link has a name.
#[derive(Debug)]
pub struct Link {
    descriptor: OwnedFd,
}

/// What hangs at an interface.
#[derive(Debug)]
pub(super) struct Programs {
    /// Whether the kernel has links to interfaces.
    pub has_links: bool,
    pub occupant: Option<Occupant>,
}

impl Link {
    /// Has a program meet what comes in by the interface of number `interface`.
    pub(super) fn create(program: BorrowedFd<'_>, interface: u32) -> io::Result<Self> {
        Self::at(program, interface, TCX_INGRESS)
    }

    /// Has a program meet what goes out by it, in front of its queue.
    pub(super) fn create_outwards(program: BorrowedFd<'_>, interface: u32) -> io::Result<Self> {
        Self::at(program, interface, TCX_EGRESS)
    }

    fn at(program: BorrowedFd<'_>, interface: u32, hook: u32) -> io::Result<Self> {
        let mut create = Attributes::default();
        create.descriptor(0, program);
        create.word(4, interface);
        create.word(8, hook);
        let descriptor = create.open(Command::LinkCreate)?;
        Ok(Self { descriptor })
    }

    /// Opens the link that has a name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub(crate) fn pinned(path: &Path) -> io::Result<Self> {
        let descriptor = pin::open(path)?;
        Ok(Self { descriptor })
    }

    /// Gives it a name.
    pub(super) fn pin(&self, path: &Path) -> io::Result<()> {
        pin::pin(self.descriptor.as_fd(), path)
    }

    /// Takes the program away at once; when the last who has the link lets go of it, the
    /// kernel does so some time after.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub(crate) fn detach(&self) -> io::Result<()> {
        let mut detach = Attributes::default();
        detach.descriptor(0, self.descriptor.as_fd());
        detach.run(Command::LinkDetach).map(drop)
    }

    /// Asks for the number of its interface: zero if that has gone.
    ///
    /// # Errors
    ///
    /// If it is not a link to an interface.
    pub(crate) fn interface(&self) -> io::Result<u32> {
        let mut information = [0; LINK_INFORMATION_BYTES];
        let mut inform = Attributes::default();
        inform.descriptor(0, self.descriptor.as_fd());
        inform.word(4, u32::try_from(LINK_INFORMATION_BYTES).expect("24"));
        inform.bytes_mut(8, &mut information);
        inform.run(Command::Inform)?;
        let word = |at: usize| {
            information[at..]
                .first_chunk()
                .map(|it| u32::from_ne_bytes(*it))
        };
        match (word(0), word(INTERFACE_OFFSET)) {
            (Some(TCX_LINK), Some(interface)) => Ok(interface),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    pub(super) fn replace(&mut self, program: BorrowedFd<'_>) -> io::Result<()> {
        let mut update = Attributes::default();
        update.descriptor(0, self.descriptor.as_fd());
        update.descriptor(4, program);
        update.run(Command::LinkUpdate).map(drop)
    }
}

/// Asks what hangs at the interface of number `interface`.
pub(super) fn occupant(interface: u32) -> io::Result<Programs> {
    let mut numbers = [0; 4 * PROGRAMS_MAX];
    let mut query = Attributes::default();
    query.word(0, interface);
    query.word(4, TCX_INGRESS);
    query.bytes_mut(16, &mut numbers);
    query.word(24, u32::try_from(PROGRAMS_MAX).expect("64"));
    match query.run(Command::ProgramQuery) {
        Ok(_) => {}
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            return Ok(Programs {
                has_links: false,
                occupant: None,
            });
        }
        Err(error) => return Err(error),
    }
    let count = query.answer(24);
    let [a, b, c, d, ..] = numbers;
    let number = u32::from_ne_bytes([a, b, c, d]);
    let occupant = (count > 0).then(|| Occupant::Program {
        number,
        name: name_of(number).unwrap_or_else(|_| "?".to_owned()),
    });
    Ok(Programs {
        has_links: true,
        occupant,
    })
}

fn name_of(number: u32) -> io::Result<String> {
    let mut open = Attributes::default();
    open.word(0, number);
    let program = open.open(Command::ProgramOfNumber)?;
    let mut information = [0; INFORMATION_BYTES];
    let mut inform = Attributes::default();
    inform.descriptor(0, program.as_fd());
    inform.word(4, u32::try_from(INFORMATION_BYTES).expect("80"));
    inform.bytes_mut(8, &mut information);
    inform.run(Command::Inform)?;
    let name = information[NAME_OFFSET..].split(|&byte| byte == 0).next();
    Ok(String::from_utf8_lossy(name.unwrap_or_default()).into_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::fd::AsFd;

    use super::*;
    use crate::bpf::attachment::{AttachError, Attachment, Preference};
    use crate::bpf::map::MappedArray;
    use crate::bpf::object::Object;
    use crate::bpf::program::Program;
    use crate::bpf::record_ring::RecordRing;
    use crate::hold::Hold;
    use crate::namespace::Namespace;

    /// The loopback, in a namespace of its own.
    const INTERFACE: u32 = 1;

    #[test]
    fn a_program_that_hangs_there_is_named_and_left_alone() {
        let (Ok(namespace), Ok(tallies)) = (Namespace::new(), MappedArray::create("tallies", 8, 1))
        else {
            eprintln!("SKIPPED: needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_BPF");
            return;
        };
        let records = RecordRing::create("records", 4096).unwrap();
        let maps = BTreeMap::from([("tallies", tallies.as_fd()), ("records", records.as_fd())]);
        let object = Object::parse(include_bytes!("../../../bpf/probe.o")).unwrap();
        let program = Program::load(&object, "probe", &maps).unwrap();
        let there = || Link::create(program.as_fd(), INTERFACE);
        // A link of no switch: nobody holds the interface.
        let Ok(_link) = namespace.run(there) else {
            eprintln!("SKIPPED: this kernel has no links to interfaces");
            return;
        };

        let hold = namespace.run(|| Hold::take(INTERFACE)).unwrap();
        let attach = || Attachment::attach(&program, &hold, Preference::Best);
        let error = namespace.run(attach).unwrap_err();

        let AttachError::Occupied { occupant, .. } = error else {
            panic!("{error}");
        };
        assert!(
            matches!(&occupant, Occupant::Program { name, .. } if name == "probe"),
            "{occupant}"
        );
    }
}
