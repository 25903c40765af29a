//! An interface that is paced for a while, and then has the kernel's own discipline
//! again.
//!
//! Disciplines that the kernel gave the interface itself (number 0: `noqueue`,
//! `pfifo_fast`, `fq_codel`, `mq`) stand back, and come back when ours is taken
//! away: the kernel makes them anew. A discipline that somebody chose is not ours to
//! take away: nothing could bring it back as it was. What a killed process of ours
//! left behind is known by its number and replaced.

use std::fmt;
use std::io;

use thiserror::Error;

use super::traffic::{DELETE_DISCIPLINE, GET_DISCIPLINE, HEADER_BYTES, KIND, NEW_DISCIPLINE, ROOT};
use super::{Length, Pieces, Qdisc, Shape, header, htb};
use crate::interface::Interface;
use crate::netlink::{Netlink, NetlinkMessage, Purpose, Request, attribute, word};

/// An interface that is paced as long as this exists.
#[derive(Debug)]
pub struct PacedLink {
    netlink: Netlink,
    index: u32,
    pacing: Pacing,
}

/// How an interface is paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// By token buckets, with queues of this length.
    Htb(Length, Pieces),
    /// Not at all, as was asked for.
    Nothing,
    /// Not at all, since the kernel has no discipline that could.
    NothingThere,
}

/// Why an interface cannot be paced.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PacingError {
    /// The kernel was built without the discipline.
    #[error(
        "this kernel has no queueing discipline `htb`: load its module (`modprobe sch_htb`) or \
         build it with CONFIG_NET_SCH_HTB, or choose the discipline `none`, which paces nothing"
    )]
    Lacking,
    /// Somebody has chosen a discipline for this interface.
    #[error(
        "`{interface}` has a queueing discipline of its own, `{kind}` {major:x}:. Take it away \
         (`tc qdisc del dev {interface} root`), or choose the discipline `none`"
    )]
    Occupied {
        interface: String,
        kind: String,
        major: u32,
    },
    /// Anything else that the kernel says.
    #[error("`{interface}` cannot be paced: {reason}")]
    Kernel {
        interface: String,
        reason: io::Error,
    },
}

/// Whether what paces an interface may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Built {
    Already,
    Anew,
}

/// The outermost discipline of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OutermostQdisc {
    Default,
    /// What a process of ours left behind.
    Ours(Pieces),
    Foreign {
        kind: String,
        major: u32,
    },
}

impl PacedLink {
    /// Paces `interface`, of the calling thread's namespace, by `qdisc`.
    ///
    /// # Errors
    ///
    /// If the kernel lacks the discipline, somebody else has given the interface
    /// one, or without CAP_NET_ADMIN. Nothing stays changed then.
    pub fn take(interface: &Interface, qdisc: Qdisc, shape: Shape) -> Result<Self, PacingError> {
        Self::of(interface, qdisc, shape, Built::Anew)
    }

    /// Takes over how a process that has ended paced `interface`, with what waits there, if
    /// it did and `qdisc` and `shape` are what it was told; as [`PacedLink::take`] else.
    ///
    /// # Errors
    ///
    /// As [`PacedLink::take`].
    pub fn take_over(
        interface: &Interface,
        qdisc: Qdisc,
        shape: Shape,
    ) -> Result<Self, PacingError> {
        Self::of(interface, qdisc, shape, Built::Already)
    }

    /// Takes away what a killed process has left at the interface of number `index`.
    ///
    /// # Errors
    ///
    /// If nothing of ours is there, or without CAP_NET_ADMIN.
    pub fn remove_left(index: u32) -> io::Result<()> {
        remove(&mut Netlink::open()?, index)
    }

    fn of(
        interface: &Interface,
        qdisc: Qdisc,
        shape: Shape,
        built: Built,
    ) -> Result<Self, PacingError> {
        let index = interface.index();
        let failed = |reason| PacingError::Kernel {
            interface: interface.name().into(),
            reason,
        };
        let mut netlink = Netlink::open().map_err(failed)?;
        let found = outermost(&mut netlink, index).map_err(failed)?;
        if let (OutermostQdisc::Ours(pieces), Built::Already, Qdisc::Auto | Qdisc::Htb) =
            (&found, built, qdisc)
        {
            let pacing = Pacing::Htb(shape.length, *pieces);
            return Ok(Self {
                netlink,
                index,
                pacing,
            });
        }
        make_room(&mut netlink, interface, qdisc, found)?;
        let pacing = match qdisc {
            Qdisc::None => Pacing::Nothing,
            Qdisc::Auto | Qdisc::Htb => Pacing::Htb(shape.length, Pieces::Cut),
        };
        // From here on a drop takes away what has been built.
        let mut link = Self {
            netlink,
            index,
            pacing,
        };
        let mut built = link.build(shape);
        if built.as_ref().is_err_and(is_unknown) {
            let _ = remove(&mut link.netlink, index);
            link.pacing = Pacing::Htb(shape.length, Pieces::Whole);
            built = link.build(shape);
        }
        match (built, qdisc) {
            (Err(reason), Qdisc::Auto) if is_unknown(&reason) => {
                let _ = remove(&mut link.netlink, index);
                link.pacing = Pacing::NothingThere;
            }
            (Err(reason), _) if is_unknown(&reason) => return Err(PacingError::Lacking),
            (Err(reason), _) => return Err(failed(reason)),
            (Ok(()), _) => {}
        }
        Ok(link)
    }

    /// Returns how the interface is paced.
    #[must_use]
    pub fn pacing(&self) -> Pacing {
        self.pacing
    }

    fn build(&mut self, shape: Shape) -> io::Result<()> {
        match self.pacing {
            Pacing::Htb(_, pieces) => htb::build(&mut self.netlink, self.index, shape, pieces),
            Pacing::Nothing | Pacing::NothingThere => Ok(()),
        }
    }
}

impl Drop for PacedLink {
    fn drop(&mut self) {
        // It is ours only by its number: where somebody has put another one in its
        // place, the kernel refuses, and is right.
        let _ = remove(&mut self.netlink, self.index);
    }
}

impl fmt::Display for Pacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Htb(length, Pieces::Cut) => {
                write!(f, "paced by htb, with queues of {length}")
            }
            Self::Htb(length, Pieces::Whole) => write!(
                f,
                "paced by htb, with queues of {length}; what a sender leaves to a card to cut \
                 goes in one piece, as this kernel has no `tbf`"
            ),
            Self::Nothing => f.write_str("not paced"),
            Self::NothingThere => f.write_str("not paced, as this kernel has no `htb`"),
        }
    }
}

/// Clears what a process of ours has left, and refuses to clear what is not ours.
fn make_room(
    netlink: &mut Netlink,
    interface: &Interface,
    qdisc: Qdisc,
    found: OutermostQdisc,
) -> Result<(), PacingError> {
    match (found, qdisc) {
        (OutermostQdisc::Default, _) | (OutermostQdisc::Foreign { .. }, Qdisc::None) => Ok(()),
        (OutermostQdisc::Ours(_), _) => {
            remove(netlink, interface.index()).map_err(|reason| PacingError::Kernel {
                interface: interface.name().into(),
                reason,
            })
        }
        (OutermostQdisc::Foreign { kind, major }, Qdisc::Auto | Qdisc::Htb) => {
            Err(PacingError::Occupied {
                interface: interface.name().into(),
                kind,
                major,
            })
        }
    }
}

/// Asks for the outermost discipline of the interface of number `index`.
fn outermost(netlink: &mut Netlink, index: u32) -> io::Result<OutermostQdisc> {
    let mut found = OutermostQdisc::Default;
    let request = Request::new(GET_DISCIPLINE, Purpose::Show, &header(index, 0, ROOT));
    netlink.ask_for(request, |message| {
        if let Some(qdisc) = discipline_in(message) {
            found = qdisc;
        }
    })?;
    Ok(found)
}

fn discipline_in(message: NetlinkMessage<'_>) -> Option<OutermostQdisc> {
    let (header, rest) = message.body.split_at_checked(HEADER_BYTES)?;
    let handle = word(header, 8)?;
    if message.kind != NEW_DISCIPLINE || word(header, 12)? != ROOT {
        return None;
    }
    let kind = attribute(rest, KIND)?.split(|byte| *byte == 0).next()?;
    Some(match (handle, kind) {
        (0, _) => OutermostQdisc::Default,
        (htb::OUTERMOST, b"tbf") => OutermostQdisc::Ours(Pieces::Cut),
        (htb::OUTERMOST, b"htb") => OutermostQdisc::Ours(Pieces::Whole),
        (handle, kind) => OutermostQdisc::Foreign {
            kind: String::from_utf8_lossy(kind).into_owned(),
            major: handle >> 16,
        },
    })
}

/// Takes our discipline away; the kernel refuses if another one is there.
fn remove(netlink: &mut Netlink, index: u32) -> io::Result<()> {
    let header = header(index, htb::OUTERMOST, ROOT);
    netlink.ask(Request::new(DELETE_DISCIPLINE, Purpose::Change, &header))
}

/// Tells whether the kernel knows no such discipline.
fn is_unknown(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOENT)
}
