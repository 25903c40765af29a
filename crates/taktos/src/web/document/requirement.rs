//! What an application requires of the network for one flow (S0-6).

use std::net::Ipv4Addr;
use std::sync::Arc;

use calculus::admission::{MAX_BURST, MAX_DELAY, MAX_RATE};
use controller::northbound::{
    ExceedAction, FlowMatch, MAX_DESTINATIONS, Protection, Requirement, Traffic, Transport,
    TransportProtocol,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::{BitRate, DataSize, Delay};
use wire::bfd::{HEART_BEAT_MAX_US, INTERVAL_MIN_US};
use wire::ethernet::{EtherType, MacAddress};

use super::modal::{ModesDocument, counted_at_lowest};
use run::experiment::plan::{LARGEST_FRAME, SMALLEST_FRAME};

/// The longest name of a flow, a host or an intent.
pub const LONGEST_NAME: usize = 256;
/// The most urgent queue.
const MOST_URGENT: u8 = 7;
/// The queue of a flow with a deadline that asks for none: the most urgent one that
/// has a budget where no file declares classes.
pub const USUAL_CLASS: u8 = 6;
/// The largest frame that a flow may announce, as on the wire: jumbo frames.
const LARGEST_JUMBO: DataSize = DataSize::from_bytes(16_384);
const LARGEST_VLAN: u16 = 4_094;

/// A value of a document that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: {reason}")]
pub struct Unusable {
    /// The key, with those above it.
    pub field: String,
    /// What is wrong with its value.
    pub reason: String,
}

impl Unusable {
    /// Says that `field` cannot be used.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        let (field, reason) = (field.into(), reason.into());
        Self { field, reason }
    }
}

/// One requirement, or several that are decided one by one in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequirementsDocument {
    /// The requirements.
    pub requirements: Vec<RequirementDocument>,
}

/// What is required for one flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequirementDocument {
    /// Its name, unique among all flows.
    #[schemars(length(min = 1, max = LONGEST_NAME))]
    pub name: String,
    /// The name of the host that sends.
    #[schemars(length(min = 1, max = LONGEST_NAME))]
    pub source: String,
    /// The names of the hosts that receive.
    #[schemars(length(min = 1, max = MAX_DESTINATIONS))]
    #[schemars(inner(length(min = 1, max = LONGEST_NAME)))]
    pub destinations: Vec<String>,
    /// How its frames are recognised, beside the source's port and address. Without
    /// anything else, all frames to the one destination.
    #[serde(rename = "match", default)]
    pub matching: MatchDocument,
    /// The queue in which it travels: 7 is the most urgent, 0 best effort. If left
    /// out, 0 without a deadline, and with one 6, or where that is refused the least urgent
    /// in which the deadline can be kept.
    #[serde(default)]
    pub class: Option<u8>,
    /// How late a frame may be; left out for best effort.
    #[serde(default)]
    pub deadline_ns: Option<u64>,
    /// The rate that it never exceeds for long.
    pub rate_bps: u64,
    /// The amount by which it may exceed the rate at any time; one frame of the
    /// largest size if left out.
    #[serde(default)]
    pub burst_bytes: Option<u64>,
    /// Its largest frame; 1542 if left out.
    #[serde(default)]
    pub largest_frame_bytes: Option<u64>,
    /// Its smallest frame; 84 if left out.
    #[serde(default)]
    pub smallest_frame_bytes: Option<u64>,
    /// What happens when a link on its way breaks.
    #[serde(default)]
    pub protection: Protection,
    /// Whether it is refused where no switch would drop what exceeds its contract.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_enforced: bool,
    /// What becomes of frames that exceed its contract, where that is enforced: dropped, or
    /// sent on as best effort, which needs every switch on its ways to enforce it.
    #[serde(default, skip_serializing_if = "is_drop")]
    #[schemars(with = "String", extend("enum" = ["drop", "best-effort"]))]
    pub excess: ExceedAction,
    /// What it gets at levels of criticality, where the network has them; the same at
    /// all of them if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<ModesDocument>,
}

fn is_drop(excess: &ExceedAction) -> bool {
    *excess == ExceedAction::Drop
}

/// The fields by which a flow's frames are recognised. Those that are left out do
/// not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MatchDocument {
    /// What the frame carries, as a number: 35002 (0x88ba) for Sampled Values.
    pub ether_type: Option<u16>,
    /// Where it goes: the address of a host or a group.
    pub destination_mac: Option<String>,
    /// The VLAN id of its tag.
    pub vlan: Option<u16>,
    /// The IPv4 address it comes from.
    pub ipv4_source: Option<Ipv4Addr>,
    /// The IPv4 address it goes to.
    pub ipv4_destination: Option<Ipv4Addr>,
    /// The transport protocol.
    pub protocol: Option<TransportProtocol>,
    /// The transport port it comes from; needs a protocol.
    pub source_port: Option<u16>,
    /// The transport port it goes to; needs a protocol.
    pub destination_port: Option<u16>,
}

impl TryFrom<RequirementDocument> for Requirement {
    type Error = Unusable;

    fn try_from(document: RequirementDocument) -> Result<Self, Unusable> {
        let traffic = TrafficDocument {
            rate_bps: document.rate_bps,
            burst_bytes: document.burst_bytes,
            largest_frame_bytes: document.largest_frame_bytes,
            smallest_frame_bytes: document.smallest_frame_bytes,
        };
        let traffic = traffic.traffic()?;
        check_name("name", &document.name)?;
        check_name("source", &document.source)?;
        for (place, name) in document.destinations.iter().enumerate() {
            check_name(&format!("destinations[{place}]"), name)?;
        }
        let count = document.destinations.len() as u64;
        within("destinations", count, 1, MAX_DESTINATIONS as u64)?;
        let deadline = document.deadline_ns.map(deadline).transpose()?;
        let usual = deadline.map_or(0, |_| USUAL_CLASS);
        let class = document.class.unwrap_or(usual);
        within("class", u64::from(class), 0, u64::from(MOST_URGENT))?;
        let modes = document
            .modes
            .map(|it| it.flow(traffic, deadline.is_some()))
            .transpose()?;
        let counted = modes.as_ref().map(|it| counted_at_lowest(traffic, it));
        let traffic = counted.transpose()?.unwrap_or(traffic);
        let matching = document.matching.try_into()?;
        check_protection(document.protection)?;
        Ok(Self {
            name: document.name,
            source: document.source,
            destinations: document.destinations,
            matching,
            class,
            is_class_free: document.class.is_none() && deadline.is_some(),
            must_be_enforced: document.require_enforced,
            excess: document.excess,
            traffic,
            deadline,
            protection: document.protection,
            modes: modes.map(Arc::new),
        })
    }
}

/// What a flow never exceeds, as documents say it.
#[derive(Clone, Copy, Debug)]
pub struct TrafficDocument {
    /// The rate.
    pub rate_bps: u64,
    /// The amount by which it may exceed the rate.
    pub burst_bytes: Option<u64>,
    /// Its largest frame.
    pub largest_frame_bytes: Option<u64>,
    /// Its smallest frame.
    pub smallest_frame_bytes: Option<u64>,
}

impl TrafficDocument {
    /// Returns what is meant, with what was left out.
    ///
    /// # Errors
    ///
    /// If a number is beyond what can be computed with.
    pub fn traffic(self) -> Result<Traffic, Unusable> {
        let (least, most) = (SMALLEST_FRAME.bytes_up(), LARGEST_JUMBO.bytes_up());
        let largest = self.largest_frame_bytes;
        let largest = largest.unwrap_or(LARGEST_FRAME.bytes_up());
        within("largest_frame_bytes", largest, least, most)?;
        let smallest = self.smallest_frame_bytes.unwrap_or(least);
        within("smallest_frame_bytes", smallest, least, largest)?;
        let burst = self.burst_bytes.unwrap_or(largest);
        within("burst_bytes", burst, largest, MAX_BURST.as_bits() / 8)?;
        within("rate_bps", self.rate_bps, 1, MAX_RATE.as_bps())?;
        Ok(Traffic {
            rate: BitRate::from_bps(self.rate_bps),
            burst: DataSize::from_bytes(burst),
            largest_frame: DataSize::from_bytes(largest),
            smallest_frame: DataSize::from_bytes(smallest),
            frames: None,
        })
    }
}

/// Reads a deadline.
///
/// # Errors
///
/// If it is zero, or longer than can be computed with.
pub fn deadline(ns: u64) -> Result<Delay, Unusable> {
    within("deadline_ns", ns, 1, MAX_DELAY.round_up().as_ns())?;
    Ok(Delay::from_ns(ns))
}

impl TryFrom<MatchDocument> for FlowMatch {
    type Error = Unusable;

    fn try_from(document: MatchDocument) -> Result<Self, Unusable> {
        let destination = document.destination_mac.as_deref();
        let destination = destination.map(|text| mac("match.destination_mac", text));
        if let Some(vlan) = document.vlan {
            within("match.vlan", u64::from(vlan), 1, u64::from(LARGEST_VLAN))?;
        }
        let ports = [document.source_port, document.destination_port];
        if document.protocol.is_none() && ports.iter().any(Option::is_some) {
            let reason = "ports need a protocol: say `\"udp\"` or `\"tcp\"`";
            return Err(Unusable::new("match.protocol", reason));
        }
        let [source, to] = ports;
        Ok(Self {
            ether_type: document.ether_type.map(EtherType),
            destination: destination.transpose()?,
            vlan: document.vlan,
            ipv4_source: document.ipv4_source,
            ipv4_destination: document.ipv4_destination,
            transport: document.protocol.map(|protocol| Transport {
                protocol,
                source,
                destination: to,
            }),
        })
    }
}

/// Checks what is wanted when something breaks.
fn check_protection(protection: Protection) -> Result<(), Unusable> {
    match protection.interruption() {
        None => {}
        Some((interruption, _)) => {
            let most = MAX_DELAY.round_up().as_ns();
            within("protection.interruption_ns", interruption.as_ns(), 1, most)?;
        }
    }
    match protection {
        Protection::FastFailover {
            heart_beat: Some(beat),
            ..
        } => {
            let [least, most] =
                [INTERVAL_MIN_US, HEART_BEAT_MAX_US].map(|us| u64::from(us) * 1_000);
            within("protection.heart_beat_ns", beat.as_ns(), least, most)
        }
        _ => Ok(()),
    }
}

impl From<&Requirement> for RequirementDocument {
    fn from(requirement: &Requirement) -> Self {
        let traffic = requirement.traffic;
        Self {
            name: requirement.name.clone(),
            source: requirement.source.clone(),
            destinations: requirement.destinations.clone(),
            matching: requirement.matching.into(),
            class: (!requirement.is_class_free).then_some(requirement.class),
            deadline_ns: requirement.deadline.map(|it| it.round_up().as_ns()),
            rate_bps: traffic.rate.as_bps(),
            burst_bytes: Some(traffic.burst.bytes_up()),
            largest_frame_bytes: Some(traffic.largest_frame.bytes_up()),
            smallest_frame_bytes: Some(traffic.smallest_frame.bytes_up()),
            protection: requirement.protection,
            require_enforced: requirement.must_be_enforced,
            excess: requirement.excess,
            modes: requirement.modes.as_deref().map(Into::into),
        }
    }
}

impl From<FlowMatch> for MatchDocument {
    fn from(matching: FlowMatch) -> Self {
        let transport = matching.transport;
        Self {
            ether_type: matching.ether_type.map(|it| it.0),
            destination_mac: matching.destination.map(|it| it.to_string()),
            vlan: matching.vlan,
            ipv4_source: matching.ipv4_source,
            ipv4_destination: matching.ipv4_destination,
            protocol: transport.map(|it| it.protocol),
            source_port: transport.and_then(|it| it.source),
            destination_port: transport.and_then(|it| it.destination),
        }
    }
}

/// Checks that a number is within limits that are themselves possible.
///
/// # Errors
///
/// If it is not.
pub fn within(field: &str, value: u64, least: u64, most: u64) -> Result<(), Unusable> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => {
            let reason = format!("{value} is not within {least} to {most}");
            Err(Unusable::new(field, reason))
        }
    }
}

/// Checks that a name can be one.
///
/// # Errors
///
/// If it is empty, too long, or has control characters in it.
pub fn check_name(field: &str, name: &str) -> Result<(), Unusable> {
    if name.is_empty() || name.len() > LONGEST_NAME {
        let reason = format!("a name has 1 to {LONGEST_NAME} bytes, not {}", name.len());
        return Err(Unusable::new(field, reason));
    }
    match name.chars().any(char::is_control) {
        true => Err(Unusable::new(field, "a name has no control characters")),
        false => Ok(()),
    }
}

/// Reads a hardware address.
///
/// # Errors
///
/// If it is none.
pub fn mac(field: &str, text: &str) -> Result<MacAddress, Unusable> {
    let expected = "expected six bytes in hexadecimal, as in `02:00:00:00:00:01`";
    let reason = || format!("`{text}` is no address: {expected}");
    text.parse().map_err(|_| Unusable::new(field, reason()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least() -> serde_json::Value {
        serde_json::json!({
            "name": "sv", "source": "mu", "destinations": ["relay"], "rate_bps": 1_000_000
        })
    }

    fn read(document: serde_json::Value) -> Result<Requirement, Unusable> {
        let document: RequirementDocument = serde_json::from_value(document).unwrap();
        document.try_into()
    }

    #[test]
    fn what_is_left_out_is_best_effort_with_frames_of_any_size() {
        let requirement = read(least()).unwrap();

        assert_eq!(requirement.class, 0);
        assert_eq!(requirement.deadline, None);
        assert_eq!(requirement.traffic.burst, LARGEST_FRAME);
        assert_eq!(requirement.traffic.smallest_frame, SMALLEST_FRAME);
        assert_eq!(requirement.protection, Protection::None);
    }

    #[test]
    fn a_requirement_comes_back_from_its_document() {
        let mut document = least();
        document["deadline_ns"] = 4_000_000.into();
        document["match"] = serde_json::json!({
            "destination_mac": "01:0c:cd:04:00:01", "vlan": 5, "ipv4_destination": "10.0.0.1",
            "protocol": "udp", "destination_port": 9
        });
        document["protection"] =
            serde_json::json!({"kind": "restore", "interruption_ns": 1_000_000, "covers": "any"});
        let requirement = read(document).unwrap();

        let written = serde_json::to_value(RequirementDocument::from(&requirement)).unwrap();

        assert_eq!(requirement.class, USUAL_CLASS);
        assert!(requirement.is_class_free);
        assert_eq!(read(written).unwrap(), requirement);
    }

    #[test]
    fn no_number_goes_on_that_the_arithmetic_could_not_take() {
        for (field, value) in [
            ("rate_bps", 0),
            ("rate_bps", u64::MAX),
            ("burst_bytes", u64::MAX),
            ("burst_bytes", 100),
            ("largest_frame_bytes", 1 << 40),
            ("smallest_frame_bytes", 2_000),
            ("deadline_ns", 0),
            ("deadline_ns", u64::MAX),
            ("class", 8),
        ] {
            let mut document = least();
            document[field] = value.into();

            let unusable = read(document).unwrap_err();

            assert_eq!(unusable.field, field);
        }
    }
}
