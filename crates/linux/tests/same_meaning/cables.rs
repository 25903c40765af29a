//! A namespace with a cable for every port: frames that leave are seen at the
//! port's end, on their way out.

use std::fs;
use std::io;

use linux::interface::{Interface, Power};
use linux::namespace::Namespace;
use linux::netlink::{Netlink, Purpose, Request};
use linux::tap::{Direction, Tap};

use crate::subject::Leaving;

const NEW_LINK: u16 = 16;
const NAME: u16 = 3;
const MTU: u16 = 4;
const INFO: u16 = 18;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const PEER: u16 = 1;
/// Frames of cases are longer than usual, and become longer still.
const MTU_BYTES: u32 = 9_000;
const TAP_BYTES: usize = 1 << 20;

/// The cables of a switch.
#[derive(Debug)]
pub struct Cables {
    /// The numbers of the interfaces that are ports, in their order.
    ports: Vec<u32>,
    /// Those of the other ends.
    far: Vec<u32>,
    tap: Tap,
}

impl Cables {
    /// Moves this thread into a namespace of its own and lays so many cables.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` without the right to.
    pub fn lay(count: u8) -> io::Result<Self> {
        Namespace::new()?.enter()?;
        let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        let mut netlink = Netlink::open()?;
        let ends = (1..=count).map(|number| lay(&mut netlink, number));
        let ends = ends.collect::<io::Result<Vec<[u32; 2]>>>()?;
        let tap = Tap::open(0, TAP_BYTES)?;
        Ok(Self {
            ports: ends.iter().map(|ends| ends[0]).collect(),
            far: ends.iter().map(|ends| ends[1]).collect(),
            tap,
        })
    }

    /// Returns the number of the interface of a port.
    pub fn interface(&self, port: u8) -> u32 {
        self.ports[usize::from(port) - 1]
    }

    /// Returns the number of the interface at the other end.
    pub fn far(&self, port: u8) -> u32 {
        self.far[usize::from(port) - 1]
    }

    /// Returns what has left since the last time, as seen at the ports.
    pub fn take_left(&mut self) -> Vec<Leaving> {
        take(&mut self.tap, &self.ports, Direction::Out)
    }

    /// Returns what has left since the last time, as seen at the other ends.
    pub fn take_arrived(&mut self) -> Vec<Leaving> {
        take(&mut self.tap, &self.far, Direction::In)
    }

    /// Returns how many frames nobody could note since they came too fast.
    pub fn lost(&mut self) -> u64 {
        self.tap.lost()
    }
}

fn take(tap: &mut Tap, interfaces: &[u32], wanted: Direction) -> Vec<Leaving> {
    let mut taken = Vec::new();
    while let Some(leaving) = tap.take(|captured| {
        let mut places = interfaces.iter();
        let place = places.position(|it| *it == captured.interface);
        let place = place.filter(|_| captured.direction == wanted)?;
        let port = u32::try_from(place + 1).unwrap();
        Some(Leaving::new(port, captured.length, captured.bytes))
    }) {
        taken.extend(leaving);
    }
    taken
}

/// Lays a cable and returns the numbers of its ends, first that of the port.
fn lay(netlink: &mut Netlink, number: u8) -> io::Result<[u32; 2]> {
    let (port, far) = (format!("port{number}"), format!("far{number}"));
    let mut request = Request::new(NEW_LINK, Purpose::Create, &[0; 16]);
    describe(&mut request, &port);
    netlink.ask(request.with_nested(INFO, |info| {
        info.append(INFO_KIND, b"veth");
        info.nest(INFO_DATA, |data| {
            data.nest(PEER, |peer| {
                peer.raw(&[0; 16]);
                describe(peer, &far);
            });
        });
    }))?;
    let mut numbers = [0; 2];
    for (name, number) in [&port, &far].into_iter().zip(&mut numbers) {
        let interface = Interface::named(name)?;
        interface.disable_offloads()?;
        interface.switch(Power::On)?;
        *number = interface.index();
    }
    Ok(numbers)
}

fn describe(request: &mut Request, name: &str) {
    request.append(NAME, format!("{name}\0").as_bytes());
    request.append(MTU, &MTU_BYTES.to_ne_bytes());
}
