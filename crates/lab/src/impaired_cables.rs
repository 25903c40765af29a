//! The cables that lose or corrupt frames while both of their ends see a carrier.
//!
//! The control channel of a switch is such a cable, too: one that loses all of its frames
//! while the switch is isolated. What is hit on the others is known frame by frame, with the
//! flow that it was of.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::os::fd::AsFd;

use linux::impaired_interface::{HitFrame, HitFrames, ImpairError, ImpairedInterface};
use linux::interface::Interface;
use measure::fault_losses::{FaultLosses, Harm};
use measure::identity::Catalogue;
use scenario::{Direction, Impairment};
use units::Instant;
use wire::prp::Trailer;
use wire::redundancy_tag::{self, RedundancyTag};

use crate::network::{LabNetwork, control_names};
use crate::timeline::Change;

/// The number of interfaces of the control network.
const CONTROL: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct ImpairedCables {
    /// By cable and by the end that frames come from.
    cables: BTreeMap<(usize, usize), ImpairedInterface>,
    /// By switch, both directions of its control channel.
    channels: BTreeMap<usize, [ImpairedInterface; 2]>,
    hits: HitFrames,
    catalogue: Catalogue,
    losses: FaultLosses,
}

/// What became of frames on impaired cables.
#[derive(Clone, Debug, Default)]
pub struct ImpairmentRecord {
    /// Whose frames were hit, and when.
    pub losses: FaultLosses,
    pub lost: u64,
    pub corrupted: u64,
    /// Of how many frames that were hit it is not known whose they were.
    pub untold: u64,
}

impl ImpairedCables {
    /// Takes the place at the interfaces that `changes` impair, at none if there are none.
    ///
    /// # Errors
    ///
    /// If the kernel refuses, or an engine takes its frames there.
    pub(crate) fn prepare(
        network: &LabNetwork,
        changes: &[(Instant, Change)],
        catalogue: &Catalogue,
    ) -> Result<Option<Self>, ImpairError> {
        let is_one = |(_, change): &(Instant, Change)| {
            matches!(change, Change::Impair { .. } | Change::Isolate { .. })
        };
        if !changes.iter().any(is_one) {
            return Ok(None);
        }
        let mut impaired = Self {
            cables: BTreeMap::new(),
            channels: BTreeMap::new(),
            hits: HitFrames::create()?,
            catalogue: catalogue.clone(),
            losses: FaultLosses::default(),
        };
        for (_, change) in changes {
            match *change {
                Change::Impair {
                    cable, direction, ..
                } => {
                    for from in direction.ends() {
                        impaired.reach(network, cable, from)?;
                    }
                }
                Change::Isolate { switch } => impaired.reach_channel(network, switch)?,
                Change::Cut { .. }
                | Change::Heal { .. }
                | Change::Crash { .. }
                | Change::Kill { .. }
                | Change::Restart { .. }
                | Change::Rejoin { .. }
                | Change::HostMoves { .. }
                | Change::SlowSwitch { .. }
                | Change::SlowCable { .. } => {}
            }
        }
        Ok(Some(impaired))
    }

    fn reach(
        &mut self,
        network: &LabNetwork,
        cable: usize,
        from: usize,
    ) -> Result<(), ImpairError> {
        if self.cables.contains_key(&(cable, from)) {
            return Ok(());
        }
        let socket = &network.cables[cable].sockets[1 - from];
        let room = network.room_of(socket.place);
        let index = socket.interface.index();
        let hits = self.hits.as_fd();
        let interface = room.run(|| ImpairedInterface::attach(index, cable as u64, hits))?;
        self.cables.insert((cable, from), interface);
        Ok(())
    }

    fn reach_channel(&mut self, network: &LabNetwork, switch: usize) -> Result<(), ImpairError> {
        if self.channels.contains_key(&switch) {
            return Ok(());
        }
        let [own, far] = control_names(switch);
        let hits = self.hits.as_fd();
        let attach = |name: &str| {
            let interface = Interface::named(name);
            let index = interface.map_err(|source| ImpairError::Attach {
                interface: 0,
                source,
            })?;
            ImpairedInterface::attach(index.index(), CONTROL, hits)
        };
        let own = network.switches[switch].run(|| attach(&own))?;
        let far = network.control.run(|| attach(&far))?;
        self.channels.insert(switch, [own, far]);
        Ok(())
    }

    pub(crate) fn impair(
        &self,
        cable: usize,
        direction: Direction,
        impairment: Impairment,
        one_in: Option<NonZeroU32>,
    ) {
        for from in direction.ends() {
            let interface = &self.cables[&(cable, from)];
            match impairment {
                Impairment::Loss => interface.lose(one_in),
                Impairment::Corruption => interface.corrupt(one_in),
            }
        }
    }

    /// Has the control channel of a switch carry nothing, or carry again.
    pub(crate) fn isolate(&self, switch: usize, one_in: Option<NonZeroU32>) {
        for interface in &self.channels[&switch] {
            interface.lose(one_in);
        }
    }

    /// Takes down whose frames were hit since the last call.
    pub(crate) fn take_down(&mut self) -> std::io::Result<()> {
        let Self {
            hits,
            catalogue,
            losses,
            ..
        } = self;
        hits.drain(|hit: HitFrame<'_>| {
            if hit.number != CONTROL
                && let Some((flow, _)) = catalogue.identify(&untagged(hit.bytes), hit.at)
            {
                let cable = usize::try_from(hit.number).expect("the number of a cable");
                let harm = match hit.is_corrupted {
                    true => Harm::Corrupted,
                    false => Harm::Lost,
                };
                losses.add(cable, flow, harm, hit.at);
            }
        })
    }

    pub(crate) fn finish(mut self) -> std::io::Result<ImpairmentRecord> {
        self.take_down()?;
        let sum = |count: fn(&ImpairedInterface) -> u64| self.cables.values().map(count).sum();
        Ok(ImpairmentRecord {
            lost: sum(ImpairedInterface::lost),
            corrupted: sum(ImpairedInterface::corrupted),
            untold: sum(ImpairedInterface::untold),
            losses: self.losses,
        })
    }
}

/// Returns a frame without its redundancy tag or trailer, which its flow is not known by.
fn untagged(frame: &[u8]) -> Vec<u8> {
    let frame = match Trailer::of_frame(frame) {
        Ok((_, length)) => &frame[..length],
        Err(_) => frame,
    };
    match RedundancyTag::of_frame(frame) {
        Ok((_, at)) => [&frame[..at], &frame[at + redundancy_tag::LENGTH..]].concat(),
        Err(_) => frame.to_vec(),
    }
}
