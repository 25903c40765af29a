//! An interface that serves as a port for a while, and is given back as it was.
//!
//! It is lent to one switch at a time ([`Hold`]), and to none while a program of somebody
//! else's takes its frames before any socket sees them.
//!
//! A port wants its interface switched on, and frames as they came over the wire:
//! not merged, and with their tags. What is not so is changed, and changed back
//! when the loan ends. So is its queueing discipline, where the kernel is to pace
//! it, and what its card stamps. What a port needs besides ends with its descriptors: the
//! reception of frames for others, the program of AF_XDP.
//!
//! # Left out
//!
//! A process that is killed cannot change anything back: the interface then stays
//! switched on, its frames unmerged, stamped by the card, and paced. The next process that paces it finds
//! that discipline and replaces it.

use std::io;

use thiserror::Error;

use crate::hold::{Hold, HoldError};
use crate::interface::{CardStamps, Interface, Power, ReceiveOffload};
use crate::kernel_engine::clear_left_at;
use crate::qdisc::{PacedLink, PacingError, Qdisc, Shape};

/// What nobody may do to the frames of a port.
const MERGING: [ReceiveOffload; 2] = [ReceiveOffload::Merging, ReceiveOffload::LargeReceive];

/// Which frames a port needs to get from the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    /// Their tags may come beside them, as a packet socket knows them.
    Anywhere,
    /// Their tags have to stand in them, as AF_XDP knows no other place.
    InFrames,
}

/// An interface as long as it serves as a port.
#[derive(Debug)]
pub struct InterfaceGuard {
    interface: Interface,
    power: Power,
    /// What was done to frames and is not during the loan.
    suspended: Vec<ReceiveOffload>,
    paced: Option<PacedLink>,
    /// What its card stamped before, if that was changed.
    stamped: Option<CardStamps>,
    /// Let go at last, once all is as it was.
    hold: Hold,
}

/// Why an interface cannot be a port.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InterfaceGuardError {
    #[error(transparent)]
    Held(HoldError),
    #[error(
        "the XDP program of number {number} takes its frames before a switch sees them: remove it \
         (`ip link set dev {interface} xdp off`, or end the program that put it there), or choose \
         another interface"
    )]
    Occupied {
        interface: String,
        /// The program's number in the kernel.
        number: u32,
    },
    #[error(transparent)]
    Kernel(#[from] io::Error),
}

impl From<HoldError> for InterfaceGuardError {
    fn from(error: HoldError) -> Self {
        match error {
            HoldError::Kernel(reason) => Self::Kernel(reason),
            held @ HoldError::Held(_) => Self::Held(held),
        }
    }
}

impl From<InterfaceGuardError> for io::Error {
    fn from(error: InterfaceGuardError) -> Self {
        match error {
            InterfaceGuardError::Kernel(reason) => reason,
            taken => Self::new(io::ErrorKind::ResourceBusy, taken),
        }
    }
}

impl InterfaceGuard {
    /// Makes `interface`, of the calling thread's namespace, fit to be a port.
    ///
    /// # Errors
    ///
    /// If it is one already, somebody else's program takes its frames, it has gone, the
    /// driver refuses, or without CAP_NET_ADMIN. Nothing stays changed then.
    pub fn take(interface: Interface, tags: Tags) -> Result<Self, InterfaceGuardError> {
        // Before anything is touched that another switch relies on.
        let hold = Hold::take(interface.index())?;
        clear_left_at(interface.index())?;
        Self::with(interface, tags, hold)
    }

    /// As [`InterfaceGuard::take`], but that what a killed switch has left there goes on
    /// forwarding.
    ///
    /// # Errors
    ///
    /// As [`InterfaceGuard::take`].
    pub fn take_over(interface: Interface, tags: Tags) -> Result<Self, InterfaceGuardError> {
        let hold = Hold::take(interface.index())?;
        Self::with(interface, tags, hold)
    }

    fn with(interface: Interface, tags: Tags, hold: Hold) -> Result<Self, InterfaceGuardError> {
        if let Some(number) = interface.xdp_program()? {
            return Err(InterfaceGuardError::Occupied {
                interface: interface.name().to_owned(),
                number,
            });
        }
        let power = interface.power()?;
        let mut guard = Self {
            interface,
            power,
            suspended: Vec::new(),
            paced: None,
            stamped: None,
            hold,
        };
        let unwanted = match tags {
            Tags::Anywhere => None,
            Tags::InFrames => Some(ReceiveOffload::TagRemoval),
        };
        for offload in MERGING.into_iter().chain(unwanted) {
            guard.suspend(offload)?;
        }
        if power == Power::Off {
            guard.interface.switch(Power::On)?;
        }
        Ok(guard)
    }

    #[must_use]
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Returns the right to the interface, which ends with the loan.
    #[must_use]
    pub fn hold(&self) -> &Hold {
        &self.hold
    }

    /// Has the kernel pace the interface during the loan. To be called in the
    /// namespace of the interface.
    ///
    /// # Errors
    ///
    /// As [`PacedLink::take`].
    pub fn pace(&mut self, qdisc: Qdisc, shape: Shape) -> Result<&PacedLink, PacingError> {
        self.paced = None;
        let paced = PacedLink::take(&self.interface, qdisc, shape)?;
        Ok(self.paced.insert(paced))
    }

    /// Has the card stamp every frame, both ways, during the loan. The link of some cards
    /// goes down for a moment meanwhile: this waits until the kernel sends again.
    ///
    /// # Errors
    ///
    /// If the card does less than that, which then stamps as before; without CAP_NET_ADMIN;
    /// or without a carrier.
    pub fn stamp_by_card(&mut self) -> io::Result<()> {
        let before = match self.interface.card_stamps() {
            Ok(before) => before,
            // Old drivers can be told and not be asked.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => CardStamps::NOTHING,
            Err(error) => return Err(error),
        };
        if before.is_everything() {
            return Ok(());
        }
        let now = self.interface.let_card_stamp(CardStamps::EVERYTHING)?;
        self.stamped = Some(before);
        if !now.is_everything() {
            self.stamp_as_before();
            return Err(io::Error::other("its card stamps less than it says it can"));
        }
        self.interface.await_use()
    }

    /// Has the card stamp what it stamped before the loan.
    pub fn stamp_as_before(&mut self) {
        if let Some(before) = self.stamped.take() {
            // Who took our setting takes its own one.
            let _ = self.interface.let_card_stamp(before);
        }
    }

    fn suspend(&mut self, offload: ReceiveOffload) -> io::Result<()> {
        if self.interface.does(offload) {
            self.interface.let_do(offload, Power::Off)?;
            self.suspended.push(offload);
        }
        Ok(())
    }
}

impl Drop for InterfaceGuard {
    fn drop(&mut self) {
        self.paced = None;
        // An interface that has gone meanwhile is nobody's, and one that came
        // under its name was not lent.
        let still = Interface::named(self.interface.name());
        if still.is_ok_and(|found| found.index() == self.interface.index()) {
            self.stamp_as_before();
            for offload in self.suspended.drain(..) {
                let _ = self.interface.let_do(offload, Power::On);
            }
            if self.power == Power::Off {
                let _ = self.interface.switch(Power::Off);
            }
        }
    }
}
