//! The place of a program at an interface, where it sees each frame that arrives
//! before the network stack does.
//!
//! Where the kernel has it (6.6) the program hangs on a link (tcx) that only this
//! process holds: when the process ends, however it ends, the program is gone.
//! Elsewhere it is a filter of the interface's `clsact` discipline. That one stays
//! when the process is killed, and the next attachment to the interface finds and
//! removes it.
//!
//! A switch owns its ports. Another program or filter at the same place would see,
//! change or eat frames before the switch does, or never see one again; so the
//! attachment is refused while there is one, and says which.

mod filter;
mod link;

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use thiserror::Error;

use super::program::Program;
use crate::hold::Hold;
use crate::kernel_engine::clear_left_at;
use filter::Filter;
pub use link::Link;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// A link where the kernel has it, otherwise a filter.
    Best,
    /// A filter, whatever the kernel has.
    Filter,
}

/// The place that was taken, and why not a better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// A tcx link, which ends with this process.
    Link,
    /// A tcx link that has a name, and stays when this process dies.
    NamedLink,
    /// A filter of `clsact`, since the kernel has no tcx (Linux 6.6).
    FilterWithoutLinks,
    /// A filter of `clsact`, as was asked for.
    FilterAsAsked,
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Link => "tcx link, ends with this process",
            Self::NamedLink => "tcx link, stays when this process dies",
            Self::FilterWithoutLinks => "clsact filter, since this kernel has no tcx (Linux 6.6)",
            Self::FilterAsAsked => "clsact filter, as asked for",
        })
    }
}

/// Why a program cannot be attached.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AttachError {
    /// Somebody else's program is there.
    #[error(
        "interface {interface} is used by {occupant}, which would see or take frames before \
         the switch: remove it, or choose another interface"
    )]
    Occupied { interface: u32, occupant: Occupant },
    #[error("cannot attach the program to interface {interface}, {step}: {source}")]
    Refused {
        interface: u32,
        step: &'static str,
        source: io::Error,
    },
}

/// Somebody else's program at the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// A program on a tcx link.
    Program {
        /// Its number in the kernel.
        number: u32,
        /// Its name, where this process may ask for it.
        name: String,
    },
    /// A filter of the interface's `clsact` or `ingress` discipline.
    Filter {
        kind: String,
        /// Its name, empty if it has none.
        name: String,
        /// Its preference, by which `tc filter` names it.
        preference: u16,
    },
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program { number, name } => {
                write!(f, "the program `{name}` (tcx, number {number})")
            }
            Self::Filter {
                kind,
                name,
                preference,
            } => write!(
                f,
                "the {kind} filter `{name}` (tc filter, ingress, pref {preference})"
            ),
        }
    }
}

/// A program at an interface. It is gone from there when this value is dropped.
#[derive(Debug)]
pub struct Attachment {
    place: AttachedTo,
    hook: Hook,
}

#[derive(Debug)]
enum AttachedTo {
    Link(Link),
    Filter(Filter),
}

/// A program that meets what leaves by an interface, in front of its queue. It is gone from
/// there when this value is dropped.
#[derive(Debug)]
pub struct OutwardAttachment {
    _link: Link,
}

impl OutwardAttachment {
    /// Attaches `program` to the interface of number `interface`, of the calling thread's
    /// namespace, beside what is there.
    ///
    /// # Errors
    ///
    /// Without the right to, or if the kernel (before 6.6) has no links to interfaces.
    pub fn attach(program: &Program, interface: u32) -> io::Result<Self> {
        Ok(Self {
            _link: Link::create_outwards(program.as_fd(), interface)?,
        })
    }
}

/// Tells whether the kernel has links to interfaces (tcx).
pub(crate) fn has_links() -> io::Result<bool> {
    /// The loopback, which every namespace has.
    const ANY_INTERFACE: u32 = 1;
    link::occupant(ANY_INTERFACE).map(|programs| programs.has_links)
}

impl Attachment {
    /// Attaches `program` to the interface that is held, of the calling thread's
    /// namespace. What a killed process has left there is removed.
    ///
    /// # Errors
    ///
    /// If somebody else is there, the interface has gone, or this process has no
    /// right to.
    pub fn attach(
        program: &Program,
        hold: &Hold,
        preference: Preference,
    ) -> Result<Self, AttachError> {
        let interface = hold.interface();
        let refused = |step| {
            move |source| AttachError::Refused {
                interface,
                step,
                source,
            }
        };
        filter::remove_left(interface).map_err(refused("removing a filter that was left"))?;
        clear_left_at(interface).map_err(refused("removing what a killed switch left"))?;
        let filters = filter::occupant(interface).map_err(refused("listing its filters"))?;
        let programs = link::occupant(interface).map_err(refused("listing its programs"))?;
        if let Some(occupant) = filters.or(programs.occupant) {
            return Err(AttachError::Occupied {
                interface,
                occupant,
            });
        }
        let hook = match (preference, programs.has_links) {
            (Preference::Best, true) => Hook::Link,
            (Preference::Best, false) => Hook::FilterWithoutLinks,
            (Preference::Filter, _) => Hook::FilterAsAsked,
        };
        let place = match hook {
            Hook::Link | Hook::NamedLink => {
                Link::create(program.as_fd(), interface).map(AttachedTo::Link)
            }
            Hook::FilterWithoutLinks | Hook::FilterAsAsked => {
                Filter::create(program.as_fd(), interface).map(AttachedTo::Filter)
            }
        };
        Ok(Self {
            place: place.map_err(refused("putting it there"))?,
            hook,
        })
    }

    /// Takes over the link of a process that has ended, with its program.
    #[must_use]
    pub fn take_over(link: Link) -> Self {
        Self {
            place: AttachedTo::Link(link),
            hook: Hook::NamedLink,
        }
    }

    /// Gives the link a name, by which it stays when this process dies.
    ///
    /// # Errors
    ///
    /// If it is no link, or as the kernel says.
    pub fn name(&mut self, path: &Path) -> io::Result<()> {
        match &self.place {
            AttachedTo::Link(link) => link.pin(path)?,
            AttachedTo::Filter(_) => return Err(io::ErrorKind::Unsupported.into()),
        }
        self.hook = Hook::NamedLink;
        Ok(())
    }

    /// Returns the place that was taken.
    #[must_use]
    pub fn hook(&self) -> Hook {
        self.hook
    }

    /// Puts `program` into the place of the one that is there. Every frame meets
    /// one of the two.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
    pub fn replace(&mut self, program: &Program) -> io::Result<()> {
        match &mut self.place {
            AttachedTo::Link(link) => link.replace(program.as_fd()),
            AttachedTo::Filter(filter) => filter.replace(program.as_fd()),
        }
    }
}
