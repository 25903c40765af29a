//! Two interfaces, joined, through which frames go round: a token bucket (`tbf`) holds each up
//! at one end, and a program sends it back from the other.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::net::{SendFlags, send};
use units::Duration;
use wire::bfd::{DESTINATION, STAND_IN_BYTES, STAND_IN_TURN_AT};
use wire::ethernet::EtherType;

use super::Place;
use crate::bpf::attachment::Attachment;
use crate::bpf::object::Object;
use crate::bpf::program::{LoadError, Program};
use crate::hold::Hold;
use crate::interface::{Interface, Power};
use crate::kernel_engine::SharedTables;
use crate::netlink::{Netlink, Purpose, Request};
use crate::qdisc::Bucket;
use crate::socket::{Receives, bind, packet_socket};

/// The compiled program; `cargo xtask bpf` makes it of the source beside it.
const OBJECT: &[u8] = include_bytes!("../../../bpf/stand_in.o");
const MAIN: &str = "taktos_stand_in";
/// How many frames go round: the loss of one stops nothing.
const FRAMES: usize = 2;
/// How many wait at most, with those that take their place.
const FRAMES_WAITING: u32 = 16;

/// Requests and attributes about interfaces; `linux/if_link.h`.
mod link {
    pub const NEW: u16 = 16;
    pub const DELETE: u16 = 17;
    pub const NAME: u16 = 3;
    pub const INFO: u16 = 18;
    pub const INFO_KIND: u16 = 1;
    pub const INFO_DATA: u16 = 2;
    pub const VETH_PEER: u16 = 1;
    /// How long the fixed part of a request is: `struct ifinfomsg`.
    pub const HEADER_BYTES: usize = 16;
}

/// Two interfaces with all that keeps frames going round. They go with this value.
#[derive(Debug)]
pub(super) struct Round {
    pair: Pair,
    /// Sends into the end with the token bucket.
    socket: OwnedFd,
    pin: Option<PathBuf>,
    _attachment: Attachment,
    _holds: [Hold; 2],
}

/// The interfaces, by the number of the one with the token bucket.
#[derive(Debug)]
struct Pair(u32);

impl Round {
    /// Makes the interfaces, of which one of a process that has ended may have left some, and
    /// has frames pass `every` so often.
    pub(super) fn begin(tables: &SharedTables, place: &Place, every: Duration) -> io::Result<Self> {
        let [here, there] = &place.names;
        let hold = |interface: &Interface| Hold::take(interface.index()).map_err(io::Error::other);
        if let Ok(left) = Interface::named(here) {
            let _hold = hold(&left)?;
            remove(left.index())?;
        }
        Netlink::open()?.ask(joined(here, there))?;
        let ends = [Interface::named(here)?, Interface::named(there)?];
        let pair = Pair(ends[0].index());
        let holds = [hold(&ends[0])?, hold(&ends[1])?];
        pair.pace(every, Purpose::Create)?;
        let program = load(tables, pair.0).map_err(io::Error::other)?;
        let attachment = Attachment::attach(&program, &holds[1], place.preference);
        let mut attachment = attachment.map_err(io::Error::other)?;
        if let Some(pin) = &place.pin {
            let _ = fs::remove_file(pin);
            attachment.name(pin)?;
        }
        for end in &ends {
            // Nobody is to speak there but us; where there is no IPv6, nobody does.
            let switch = format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", end.name());
            let _ = fs::write(switch, "1");
            end.switch(Power::On)?;
        }
        ends[0].await_use()?;
        let socket = packet_socket()?;
        bind(socket.as_fd(), pair.0, Receives::Nothing)?;
        Ok(Self {
            pair,
            socket,
            pin: place.pin.clone(),
            _attachment: attachment,
            _holds: holds,
        })
    }

    /// Has frames pass this often from now on.
    pub(super) fn change(&self, every: Duration) -> io::Result<()> {
        self.pair.pace(every, Purpose::Change)
    }

    /// Sends frames of a turn round.
    pub(super) fn send(&self, turn: u8) -> io::Result<()> {
        let mut frame = [0; STAND_IN_BYTES];
        frame[..6].copy_from_slice(&DESTINATION.0);
        frame[12..14].copy_from_slice(&EtherType::BFD.0.to_be_bytes());
        frame[STAND_IN_TURN_AT] = turn;
        for _ in 0..FRAMES {
            send(&self.socket, &frame, SendFlags::DONTWAIT)?;
        }
        Ok(())
    }
}

impl Drop for Round {
    fn drop(&mut self) {
        if let Some(pin) = &self.pin {
            let _ = fs::remove_file(pin);
        }
    }
}

impl Pair {
    /// Lets one frame pass in this time.
    fn pace(&self, every: Duration, purpose: Purpose) -> io::Result<()> {
        let bytes = u32::try_from(STAND_IN_BYTES).expect("60");
        let bucket = Bucket {
            rate: u64::from(bytes) * Duration::from_secs(1).as_ns() / every.as_ns(),
            burst: bytes,
            queue: bytes * FRAMES_WAITING,
        };
        Netlink::open()?.ask(bucket.request(purpose, self.0))
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // Who has removed it has done what was to be done.
        let _ = remove(self.0);
    }
}

/// Takes interfaces away, by the number of one of them, in the calling thread's namespace.
pub(in crate::kernel_engine) fn remove(interface: u32) -> io::Result<()> {
    let mut header = [0; link::HEADER_BYTES];
    header[4..8].copy_from_slice(&interface.to_ne_bytes());
    Netlink::open()?.ask(Request::new(link::DELETE, Purpose::Change, &header))
}

fn joined(here: &str, there: &str) -> Request {
    let header = [0; link::HEADER_BYTES];
    let request = Request::new(link::NEW, Purpose::Create, &header);
    request
        .with(link::NAME, here.as_bytes())
        .with_nested(link::INFO, |info| {
            info.append(link::INFO_KIND, b"veth");
            info.nest(link::INFO_DATA, |data| {
                data.nest(link::VETH_PEER, |peer| {
                    peer.raw(&header);
                    peer.append(link::NAME, there.as_bytes());
                });
            });
        })
}

fn load(tables: &SharedTables, pacing: u32) -> Result<Program, LoadError> {
    let object = Object::parse(OBJECT)?;
    let object = object.with_constant("pacing_interface", pacing.into());
    Program::load(&object, MAIN, &tables.arrays().collect())
}
