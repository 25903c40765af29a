//! One cable of the network, which can be cut and healed.

use std::io;

use linux::clock;
use linux::interface::Interface;
use units::{BitRate, Instant};

use crate::network::Place;
use crate::veth::{self, Power};
use linux::netlink::Netlink;
use linux::qdisc;

/// One end of a cable, plugged in.
#[derive(Debug)]
pub struct Socket {
    pub place: Place,
    pub interface: Interface,
    netlink: Netlink,
}

/// A cable with its two ends.
#[derive(Debug)]
pub struct Cable {
    /// Its ends, in the order of the plan.
    pub sockets: [Socket; 2],
    rate: BitRate,
    power: Power,
}

/// When a change of a cable was made: the kernel takes its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// When the kernel was asked.
    pub asked: Instant,
    pub done: Instant,
}

impl Socket {
    pub(crate) fn new(place: Place, netlink: Netlink, interface: Interface) -> Self {
        Self {
            place,
            interface,
            netlink,
        }
    }
}

impl Cable {
    pub(crate) fn new(sockets: [Socket; 2], rate: BitRate, power: Power) -> io::Result<Self> {
        let mut cable = Self {
            sockets,
            rate,
            power: Power::Off,
        };
        cable.set(power)?;
        Ok(cable)
    }

    /// Returns whether it is whole.
    #[must_use]
    pub fn power(&self) -> Power {
        self.power
    }

    /// Cuts the cable: both ends lose their carrier, what is under way is lost.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn cut(&mut self) -> io::Result<Changed> {
        self.set(Power::Off)
    }

    /// Heals the cable.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn heal(&mut self) -> io::Result<Changed> {
        self.set(Power::On)
    }

    /// Returns at which rate it was laid.
    #[must_use]
    pub(crate) fn rate(&self) -> BitRate {
        self.rate
    }

    /// Has both ends send into it more slowly than it was laid, by so many thousandths.
    ///
    /// # Errors
    ///
    /// If an end is not paced by the kernel.
    pub(crate) fn slow_down(&mut self, by_thousandths: u32) -> io::Result<()> {
        let left = u64::from(1_000_u32.saturating_sub(by_thousandths).max(1));
        let rate = BitRate::from_bps(self.rate.as_bps() / 1_000 * left);
        self.sockets.iter_mut().try_for_each(|socket| {
            qdisc::change_rate(&mut socket.netlink, socket.interface.index(), rate)
        })
    }

    /// Waits until the kernel sends over it, if it is whole.
    ///
    /// # Errors
    ///
    /// If the kernel does not begin to.
    pub(crate) fn await_use(&self) -> io::Result<()> {
        match self.power {
            Power::On => self
                .sockets
                .iter()
                .try_for_each(|it| it.interface.await_use()),
            Power::Off => Ok(()),
        }
    }

    pub(crate) fn set(&mut self, power: Power) -> io::Result<Changed> {
        let asked = clock::now();
        let (changing, staying) = self.ends();
        veth::switch(&mut staying.netlink, staying.interface.index(), Power::On)?;
        veth::switch(&mut changing.netlink, changing.interface.index(), power)?;
        self.power = power;
        Ok(Changed {
            asked,
            done: clock::now(),
        })
    }

    /// Returns the end that is switched off for a cut and the one that only loses
    /// its carrier: a host's end, if there is one, whose queues stay as they are.
    fn ends(&mut self) -> (&mut Socket, &mut Socket) {
        let [first, second] = &mut self.sockets;
        match first.place {
            Place::Switch { .. } => (first, second),
            Place::Host(_) => (second, first),
        }
    }
}
