//! Which frame is this? Read from the bytes, so that any observer can tell.
//!
//! | traffic | the flow is known by | the frame in it by |
//! |---|---|---|
//! | Sampled Values | destination address, APPID | `smpCnt` |
//! | GOOSE | destination address, APPID | `stNum`, `sqNum` |
//! | datagrams | both IPv4 addresses, destination port | sequence number (S2-2) |
//! | requests of MMS | both IPv4 addresses | number of its first byte (RFC 9293) |
//!
//! A VLAN tag may come or go on the way, and addresses of stations may be
//! rewritten: neither takes part.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use units::Instant;
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::goose::Goose;
use wire::sampled_values::SampledValues;
use wire::{ipv4, mms, tcp};

use crate::FlowIndex;
use crate::traffic::Haste;
use crate::traffic::datagram::DatagramView;

const NS_PER_SECOND: u128 = 1_000_000_000;
/// Beyond every sequence number, with room to add to it.
const FAR: u64 = u64::MAX / 2;

/// What all frames of a flow have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowKey {
    /// A stream of Sampled Values.
    SampledValues {
        /// The group that it is sent to.
        destination: MacAddress,
        application: u16,
    },
    Goose {
        /// The group that it is sent to.
        destination: MacAddress,
        application: u16,
    },
    /// Datagrams with a message header.
    Datagram {
        source: Ipv4Addr,
        destination: Ipv4Addr,
        port: u16,
    },
    /// Requests over TCP to the port of MMS.
    Mms {
        source: Ipv4Addr,
        destination: Ipv4Addr,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The flow that it belongs to.
    pub key: FlowKey,
    /// Its number in the flow. That of Sampled Values starts again every second.
    pub number: u64,
}

/// Returns the identity of a frame, or nothing if it is none of the traffic
/// that our sources make.
#[must_use]
pub fn identify(frame: &[u8]) -> Option<Identity> {
    let (header, payload) = Header::parse(frame).ok()?;
    match header.ether_type {
        EtherType::SAMPLED_VALUES => {
            let (application, samples) = SampledValues::parse(payload).ok()?;
            let first = samples.asdus.into_iter().next()?.ok()?;
            Some(Identity {
                key: FlowKey::SampledValues {
                    destination: header.destination,
                    application: application.app_id,
                },
                number: u64::from(first.smp_cnt),
            })
        }
        EtherType::GOOSE => {
            let (application, state) = Goose::parse(payload).ok()?;
            Some(Identity {
                key: FlowKey::Goose {
                    destination: header.destination,
                    application: application.app_id,
                },
                number: state_sequence(state.st_num, state.sq_num),
            })
        }
        EtherType::IPV4 => match DatagramView::parse(payload) {
            Some(datagram) => Some(Identity {
                key: FlowKey::Datagram {
                    source: datagram.source,
                    destination: datagram.destination,
                    port: datagram.destination_port,
                },
                number: u64::from(datagram.shim.sequence),
            }),
            None => request(payload),
        },
        _ => None,
    }
}

/// Returns the identity of a packet with a segment to the port of MMS that has data.
fn request(packet: &[u8]) -> Option<Identity> {
    let (ip, segment) = ipv4::Header::parse(packet).ok()?;
    if ip.protocol != ipv4::PROTOCOL_TCP {
        return None;
    }
    let (header, data) = tcp::Header::parse(segment).ok()?;
    let is_request = header.destination_port == mms::PORT && !data.is_empty();
    is_request.then(|| Identity {
        key: FlowKey::Mms {
            source: ip.source,
            destination: ip.destination,
        },
        number: u64::from(header.sequence),
    })
}

/// Returns the sequence number of a GOOSE frame: in the order of sending,
/// though not without gaps.
#[must_use]
pub fn state_sequence(state_number: u32, sequence_number: u32) -> u64 {
    u64::from(state_number) << u32::BITS | u64::from(sequence_number)
}

/// How a flow's frames are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    Unbounded,
    /// From 0 to `rate` − 1 in every second since `start`, by the clock of the
    /// stamps.
    EverySecond {
        /// How many frames a second has.
        rate: u32,
        /// When number 0 was first due.
        start: Instant,
        /// When its clock runs fast, if it does.
        haste: Option<Haste>,
    },
}

/// The flows of a run, by what their frames look like.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    flows: BTreeMap<FlowKey, (FlowIndex, Numbering)>,
}

impl Catalogue {
    /// Adds a flow. Returns the flow that had the same key before, if any: the
    /// two cannot be told apart.
    pub fn add(
        &mut self,
        key: FlowKey,
        flow: FlowIndex,
        numbering: Numbering,
    ) -> Option<FlowIndex> {
        self.flows
            .insert(key, (flow, numbering))
            .map(|(before, _)| before)
    }

    /// Returns the flow and the sequence number of a frame that was stamped at
    /// `at`, or nothing for a stranger.
    #[must_use]
    pub fn identify(&self, frame: &[u8], at: Instant) -> Option<(FlowIndex, u64)> {
        let Identity { key, number } = identify(frame)?;
        let (flow, numbering) = self.flows.get(&key)?;
        let sequence = match *numbering {
            Numbering::Unbounded => number,
            Numbering::EverySecond { rate, start, haste } => {
                let at = haste.map_or(at, |haste| haste.shown(at));
                let elapsed = u128::from(at.saturating_since(start).as_ns());
                let expected = elapsed * u128::from(rate) / NS_PER_SECOND;
                let expected = u64::try_from(expected).map_or(FAR, |near| near.min(FAR));
                nearest(number, u64::from(rate), expected)
            }
        };
        Some((*flow, sequence))
    }
}

/// Returns the sequence number of a counter that wraps: the one nearest to `expected`
/// at which a counter from 0 to `modulus` − 1 reads `counter`.
///
/// The sample counter of Sampled Values starts again every second. A reading of it
/// stands for the number near to where the stream should be at the time of the
/// reading; that is unambiguous as long as the reading is less than half a turn early
/// or late.
///
/// # Panics
///
/// If the modulus is zero.
pub(crate) fn nearest(counter: u64, modulus: u64, expected: u64) -> u64 {
    assert!(modulus > 0, "a counter has at least one value");
    let ahead = (counter % modulus + modulus - expected % modulus) % modulus;
    let behind = modulus - ahead;
    match ahead <= modulus / 2 || behind > expected {
        true => expected + ahead,
        false => expected - behind,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_sample_counter_runs_on_over_the_second() {
        assert_eq!(nearest(3999, 4000, 3999), 3999);
        assert_eq!(nearest(0, 4000, 3999), 4000);
        assert_eq!(nearest(3998, 4000, 4001), 3998);
        assert_eq!(nearest(2, 4000, 0), 2);
        assert_eq!(nearest(3999, 4000, 1), 3999);
    }

    proptest! {
        #[test]
        fn half_a_turn_off_is_understood(
            modulus in 2u64..10_000, truth in 10_000u64..1 << 50, off in 0u64..10_000, early: bool,
        ) {
            let off = off % modulus.div_ceil(2);
            let expected = match early {
                true => truth + off,
                false => truth - off,
            };

            prop_assert_eq!(nearest(truth % modulus, modulus, expected), truth);
        }
    }
}
