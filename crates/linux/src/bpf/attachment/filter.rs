//! A program at an interface as a filter of its `clsact` discipline, and the
//! filters that are there.
//!
//! Source: `linux/pkt_sched.h`, `linux/pkt_cls.h`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::Occupant;
use crate::netlink::{Netlink, Purpose, Request, attribute};

const NEW_DISCIPLINE: u16 = 36;
const DELETE_DISCIPLINE: u16 = 37;
const NEW_FILTER: u16 = 44;
const DELETE_FILTER: u16 = 45;
const GET_FILTER: u16 = 46;
/// The attributes of disciplines and filters.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
/// The attributes of a filter that is a program.
mod program {
    pub const DESCRIPTOR: u16 = 6;
    pub const NAME: u16 = 7;
    pub const FLAGS: u16 = 8;
    /// What the program returns is what becomes of the frame.
    pub const DIRECT: u32 = 1;
}
/// The number of the discipline, and where it hangs.
const DISCIPLINE: u32 = 0xffff_0000;
const AT_INTERFACE: u32 = 0xffff_fff1;
/// Where a filter hangs: at what arrives, or at what leaves.
const INGRESS: u32 = 0xffff_fff2;
const EGRESS: u32 = 0xffff_fff3;
/// `ETH_P_ALL`, as the kernel wants it: in network order.
const ALL_PROTOCOLS: u32 = 0x0003_u16.to_be() as u32;
/// The first filter of all.
const PREFERENCE: u32 = 1;
const NUMBER: u32 = 1;
/// By this name the next process knows the filter for ours.
const NAME: &[u8] = b"taktos_switch\0";
/// `struct tcmsg`
const HEADER_BYTES: usize = 20;

/// A filter of ours, with the discipline under it if that is ours as well.
#[derive(Debug)]
pub(super) struct Filter {
    netlink: Netlink,
    interface: u32,
    made_discipline: bool,
}

impl Filter {
    pub(super) fn create(program: BorrowedFd<'_>, interface: u32) -> io::Result<Self> {
        let mut netlink = Netlink::open()?;
        let header = header(interface, DISCIPLINE, AT_INTERFACE, 0);
        let qdisc = Request::new(NEW_DISCIPLINE, Purpose::Create, &header);
        let made_discipline = match netlink.ask(qdisc.with(KIND, b"clsact\0")) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        // From here on, dropping it removes what is there of it.
        let mut filter = Self {
            netlink,
            interface,
            made_discipline,
        };
        filter.put(program, Purpose::Create)?;
        Ok(filter)
    }

    pub(super) fn replace(&mut self, program: BorrowedFd<'_>) -> io::Result<()> {
        self.put(program, Purpose::Change)
    }

    fn put(&mut self, program: BorrowedFd<'_>, purpose: Purpose) -> io::Result<()> {
        let request = Request::new(NEW_FILTER, purpose, &filter_header(self.interface));
        let descriptor = program.as_raw_fd().to_ne_bytes();
        let request = request
            .with(KIND, b"bpf\0")
            .with_nested(OPTIONS, |options| {
                options.append(program::DESCRIPTOR, &descriptor);
                options.append(program::NAME, NAME);
                options.append(program::FLAGS, &program::DIRECT.to_ne_bytes());
            });
        self.netlink.ask(request)
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        // An interface that has gone has taken them along.
        let _ = delete_filter(&mut self.netlink, self.interface);
        let others = [INGRESS, EGRESS]
            .map(|side| filters(&mut self.netlink, self.interface, side))
            .into_iter()
            .any(|listed| listed.map_or(true, |listed| !listed.is_empty()));
        if self.made_discipline && !others {
            let header = header(self.interface, DISCIPLINE, AT_INTERFACE, 0);
            let request = Request::new(DELETE_DISCIPLINE, Purpose::Change, &header);
            let _ = self.netlink.ask(request);
        }
    }
}

/// Removes the filter that a killed process has left at the interface.
pub(super) fn remove_left(interface: u32) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let listed = filters(&mut netlink, interface, INGRESS)?;
    if listed.iter().any(is_ours) {
        delete_filter(&mut netlink, interface)?;
    }
    Ok(())
}

/// Returns a filter at the interface that is not ours.
pub(super) fn occupant(interface: u32) -> io::Result<Option<Occupant>> {
    let mut netlink = Netlink::open()?;
    let listed = filters(&mut netlink, interface, INGRESS)?;
    Ok(listed.into_iter().find(|filter| !is_ours(filter)))
}

fn is_ours(filter: &Occupant) -> bool {
    match filter {
        Occupant::Filter {
            kind,
            name,
            preference,
        } => {
            kind == "bpf"
                && Some(name.as_str()) == text(NAME)
                && u32::from(*preference) == PREFERENCE
        }
        Occupant::Program { .. } => false,
    }
}

fn delete_filter(netlink: &mut Netlink, interface: u32) -> io::Result<()> {
    let header = filter_header(interface);
    let request = Request::new(DELETE_FILTER, Purpose::Change, &header);
    netlink.ask(request.with(KIND, b"bpf\0"))
}

/// Lists the filters on one side of an interface.
fn filters(netlink: &mut Netlink, interface: u32, side: u32) -> io::Result<Vec<Occupant>> {
    let answers = netlink.list(GET_FILTER, &header(interface, 0, side, 0))?;
    Ok(answers.iter().filter_map(|it| filter_of(it)).collect())
}

/// Reads one answer; `None` if it is not about a filter but about a list of them.
fn filter_of(answer: &[u8]) -> Option<Occupant> {
    let (header, attributes) = answer.split_at_checked(HEADER_BYTES)?;
    let number = u32::from_ne_bytes(header[8..12].try_into().ok()?);
    let info = u32::from_ne_bytes(header[16..20].try_into().ok()?);
    if number == 0 {
        return None;
    }
    let options = attribute(attributes, OPTIONS).unwrap_or_default();
    let name = attribute(options, program::NAME).and_then(text);
    Some(Occupant::Filter {
        kind: text(attribute(attributes, KIND)?)?.to_owned(),
        name: name.unwrap_or_default().to_owned(),
        preference: u16::try_from(info >> 16).expect("16 bits are left"),
    })
}

fn text(bytes: &[u8]) -> Option<&str> {
    let bytes = bytes.split(|&byte| byte == 0).next()?;
    std::str::from_utf8(bytes).ok()
}

fn filter_header(interface: u32) -> [u8; HEADER_BYTES] {
    header(interface, NUMBER, INGRESS, PREFERENCE << 16 | ALL_PROTOCOLS)
}

/// `struct tcmsg`: the interface, the number of what is meant, where it hangs, and
/// for filters preference and protocol.
fn header(interface: u32, number: u32, parent: u32, info: u32) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    for (index, word) in [interface, number, parent, info].into_iter().enumerate() {
        bytes[4 * (index + 1)..][..4].copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}
