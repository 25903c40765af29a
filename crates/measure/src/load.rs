//! The traffic of a run, ready for a world to send and to observe.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use wire::ethernet::{EtherType, Header, MacAddress};
use wire::ipv4;

use crate::capture::Captures;
use crate::identity::Catalogue;
use crate::traffic::{Answering, Source};
use crate::{FlowIndex, ReceiverIndex, Recorder};

/// The traffic of a run.
#[derive(Debug)]
pub struct Load {
    /// What each host sends and receives, in the order of the hosts.
    pub hosts: Vec<HostLoad>,
    /// Takes down every frame that leaves or reaches a host.
    pub recorder: Recorder,
    /// Tells which flow a frame belongs to.
    pub catalogue: Catalogue,
    /// Takes in the frames of the links of which captures are wanted.
    pub captures: Captures,
}

/// What one host sends and receives.
#[derive(Debug, Default)]
pub struct HostLoad {
    pub sources: Vec<QueuedSource>,
    /// What it sends that belongs to no flow, and through which queues.
    pub foreign: Vec<(Source, u8)>,
    /// What the headers of its frames may be; nothing if nobody is to look for foreign
    /// ones.
    pub headers: Option<BTreeSet<Headers>>,
    /// What answers to frames that it receives.
    pub answering: Vec<Answering>,
    /// The flows that it receives, and as which of their receivers.
    pub receives: BTreeMap<FlowIndex, ReceiverIndex>,
}

/// Where frames go, what they carry, and the station of the network that they say they are
/// from.
pub type Headers = (MacAddress, EtherType, Option<Ipv4Addr>);

impl HostLoad {
    /// Tells whether a frame that the host sent is of none of its flows.
    #[must_use]
    pub fn is_foreign(&self, frame: &[u8]) -> bool {
        is_foreign(self.headers.as_ref(), frame)
    }
}

/// Tells whether a frame is neither ARP nor has one of these headers, if there are any to
/// look for.
#[must_use]
pub fn is_foreign(headers: Option<&BTreeSet<Headers>>, frame: &[u8]) -> bool {
    headers.is_some_and(|known| match Header::parse(frame) {
        Ok((header, packet)) => {
            let from = match header.ether_type {
                EtherType::IPV4 => ipv4::Header::parse(packet).ok().map(|(ip, _)| ip.source),
                _ => None,
            };
            header.ether_type != EtherType::ARP
                && !known.contains(&(header.destination, header.ether_type, from))
        }
        Err(_) => true,
    })
}

/// Something that a host sends, and how urgent it is on the way out.
#[derive(Debug)]
pub struct QueuedSource {
    pub source: Source,
    /// The flow that it belongs to.
    pub flow: FlowIndex,
    /// The queue of the host's interface; 7 is served first.
    pub queue: u8,
}
