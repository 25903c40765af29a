//! Flows that two ways carry at the same time, so that the loss of one loses no frame
//! (IEEE 802.1CB).
//!
//! The first switch gives each frame a number and sends it over both ways; the one of a
//! receiver hands on to it the copy that comes first, without the number, and sends each copy
//! on as it is to where others need it. What the last one has to
//! remember follows from the deadline, within which both ways bring each frame: a copy
//! comes no more than the deadline after the other one, and behind no more frames than
//! the flow sends meanwhile. So the history is longer than that, and numbers are
//! forgotten only after two deadlines without a frame: a copy never finds them gone, and
//! a sender that begins anew is heard again after that time (P802.1CBec).
//!
//! By PRP (IEC 62439-3) the number stands in a trailer, which also names the way: LAN A or B.
//! There each source has one counter for all of its flows, since who speaks PRP knows a copy
//! by its source and number; so a flow's numbers have gaps, and what is remembered is the
//! numbers themselves, as many.
//!
//! Where order is to be kept (RFC 9550), the last switch holds back what is ahead of missing
//! frames, for half of the deadline at most; the ways have the other half. So they differ by
//! no more than frames are held, and none that only the slower way brings is late for that.

use calculus::bounds::processing::{FRAME, FrameBucket};
use calculus::min_plus::TokenBucket;
use thiserror::Error;
use units::{BitRate, DataSize, Delay, Duration};
use wire::ethernet::{EtherType, LONGEST_FRAME, MacAddress, wire_size};
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::{
    Eliminate, RecoveryAlgorithm, SequenceEncoding, StreamHandle, TrailerAction,
};
use wire::openflow::{Action, MatchField, PortNumber, TableId};
use wire::prp::{self, Lan, Supervision};
use wire::redundancy_tag;

use crate::desired::Form;
use crate::northbound::{FlowId, FrameOrder, Protection, Requirement, Traffic};
use crate::place::PortId;
use crate::priority;
use crate::record::Admission;

const TABLE: TableId = TableId(0);
/// Streams with these bits number what a source sends, by its port; others are flows.
const SOURCE: u32 = 1 << 31;
/// The shortest time after which numbers are forgotten.
const RESET_MIN: Duration = Duration::from_ms(1);

/// Why a flow cannot go over two ways at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SeamlessError {
    /// Nothing bounds by how much ways differ.
    #[error("seamless redundancy needs a deadline: it says how long numbers are remembered")]
    NoDeadline,
    /// Levels may hold frames back for longer than the deadline of the lowest.
    #[error("seamless redundancy does not go with levels of criticality yet")]
    Modes,
    /// There are no two ways.
    #[error("no two ways without a common link lead from {from} to {to}")]
    OneWay {
        /// The source.
        from: String,
        /// The destination.
        to: String,
    },
    /// Numbers of PRP have gaps, so nobody knows what is missing.
    #[error("frames that are numbered by PRP cannot be kept in order: their numbers have gaps")]
    OrderByPrp,
    /// Several switches would hold frames back.
    #[error("{count} receivers, and frames are kept in order for one")]
    OrderForSeveral {
        /// How many there are.
        count: usize,
    },
    /// The last switch does not say that it does so as quickly as anything else.
    #[error("switch {switch} does not hold frames back to keep them in order")]
    NoOrder {
        /// Its name.
        switch: String,
    },
    /// With their numbers its frames would be longer than links carry.
    #[error("a frame of {largest} has no room for its number: {limit} at most has")]
    TooLong {
        /// Its largest frame, as on the wire.
        largest: DataSize,
        /// The largest that has room, as on the wire.
        limit: DataSize,
    },
    /// More frames than can be remembered may come between a frame and its copy.
    #[error(
        "up to {frames} frames may come between two copies within the deadline, and {limit} \
         numbers can be remembered"
    )]
    History {
        /// How many frames that are.
        frames: u64,
        /// How many numbers can be remembered.
        limit: u8,
    },
}

/// Ports, and what is done before a frame is sent through them.
type Step = (Option<Action>, Vec<PortNumber>);

/// What switches on a pair of ways do with frames beside sending them on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redundancy {
    /// Where frames come in, and are numbered.
    entrance: PortId,
    /// The receivers, before each of which copies are ended.
    receivers: Box<[PortId]>,
    /// By which ports the second way begins.
    second: Box<[PortNumber]>,
    eliminate: Eliminate,
}

impl Redundancy {
    /// Returns what a flow needs that goes over two ways.
    #[must_use]
    pub fn of(flow: FlowId, admission: &Admission) -> Option<Self> {
        let [_, second] = admission.ways.copies()?;
        let eliminate = eliminate(flow, &admission.requirement).ok()?;
        let entrance = admission.source;
        let mut branches = second.branches.iter();
        let first = branches.find(|branch| branch.entrance() == entrance);
        Some(Self {
            entrance,
            receivers: admission.destinations.clone().into(),
            second: first.map_or_else(Box::default, |it| it.outputs.clone().into()),
            eliminate,
        })
    }

    /// Returns whether numbers stand in trailers of PRP.
    #[must_use]
    pub fn is_by_prp(&self) -> bool {
        self.eliminate.encoding == SequenceEncoding::Prp
    }

    /// Returns what is done with frames that come in there and go out by these ports: hosts
    /// at the first switch get them without a number, others the first copy alone.
    pub fn actions(
        &self,
        entrance: PortId,
        outputs: &[PortNumber],
    ) -> impl Iterator<Item = Action> + use<> {
        let is_received = |port: &PortNumber| {
            let at = PortId::new(entrance.datapath, *port);
            self.receivers.contains(&at)
        };
        let (received, sent_on): (Vec<_>, Vec<_>) = outputs.iter().copied().partition(is_received);
        let steps = match entrance == self.entrance {
            true => self.replicate(&received, &sent_on),
            false => [
                (None, sent_on),
                (Some(Action::Eliminate(self.eliminate)), received),
            ]
            .into(),
        };
        steps.into_iter().flat_map(|(before, ports)| {
            let before = before.filter(|_| !ports.is_empty());
            before
                .into_iter()
                .chain(ports.into_iter().map(Action::output))
        })
    }

    /// Returns what sends frames over both ways, each with what is done before.
    fn replicate(&self, received: &[PortNumber], sent_on: &[PortNumber]) -> Vec<Step> {
        let received = (None, received.to_vec());
        let stream = self.eliminate.stream;
        match self.eliminate.encoding {
            SequenceEncoding::RTag => {
                vec![received, (Some(Action::Sequence(stream)), sent_on.to_vec())]
            }
            SequenceEncoding::Prp => {
                let of_source = StreamHandle(SOURCE | self.entrance.port.0);
                let number = TrailerAction::Number(of_source);
                let is_second = |port: &PortNumber| self.second.contains(port);
                let (second, first) = sent_on.iter().partition(|port| is_second(port));
                vec![
                    received,
                    (Some(Action::Trailer(number)), first),
                    (Some(Action::Trailer(TrailerAction::Lan(Lan::B))), second),
                ]
            }
        }
    }
}

/// Returns the entry by which a switch hears which stations are there, by PRP.
pub(crate) fn supervision_form() -> Form {
    let group = Masked {
        value: Supervision::group(0),
        mask: Some(MacAddress([0xff, 0xff, 0xff, 0xff, 0xff, 0])),
    };
    let fields = [
        MatchField::EthDst(group),
        MatchField::EthType(EtherType::PRP),
    ];
    let supervise = [Action::Trailer(TrailerAction::Supervise)];
    Form::new(TABLE, priority::PROBE, &fields, &supervise)
}

/// Refuses a flow that cannot go over two ways, whatever ways there are.
///
/// # Errors
///
/// Why it cannot, if it asks for that.
pub fn check(requirement: &Requirement) -> Result<(), SeamlessError> {
    if !matches!(requirement.protection, Protection::Seamless { .. }) {
        return Ok(());
    }
    if requirement.modes.is_some() {
        return Err(SeamlessError::Modes);
    }
    if order_of(requirement) == FrameOrder::Kept {
        if encoding_of(requirement) == SequenceEncoding::Prp {
            return Err(SeamlessError::OrderByPrp);
        }
        let count = requirement.destinations.len();
        if count > 1 {
            return Err(SeamlessError::OrderForSeveral { count });
        }
    }
    let largest = requirement.traffic.largest_frame;
    let limit = wire_size(LONGEST_FRAME).saturating_sub(added(requirement));
    if largest > limit {
        return Err(SeamlessError::TooLong { largest, limit });
    }
    eliminate(FlowId(0), requirement).map(|_| ())
}

/// Returns by how much the frames of a flow that two ways carry become longer at most: by
/// their number, and by what short frames are padded with before they get a trailer.
#[must_use]
pub fn added(requirement: &Requirement) -> DataSize {
    match encoding_of(requirement) {
        SequenceEncoding::RTag => DataSize::from_bytes(redundancy_tag::LENGTH as u64),
        SequenceEncoding::Prp => {
            let shortest = requirement.traffic.smallest_frame.max(wire_size(0));
            let numbered = wire_size(prp::length_with_trailer(0)).saturating_sub(shortest);
            numbered.max(DataSize::from_bytes(prp::TRAILER_LENGTH as u64))
        }
    }
}

/// Returns where a flow that two ways carry has its numbers.
const fn encoding_of(requirement: &Requirement) -> SequenceEncoding {
    match requirement.protection {
        Protection::Seamless { encoding, .. } => encoding,
        _ => SequenceEncoding::RTag,
    }
}

/// Returns in which order the frames of a flow are to reach its receivers.
#[must_use]
pub const fn order_of(requirement: &Requirement) -> FrameOrder {
    match requirement.protection {
        Protection::Seamless { order, .. } => order,
        _ => FrameOrder::Any,
    }
}

/// Returns for how long at most a frame of a flow is held back that is ahead of missing ones;
/// zero if each is handed on as it comes.
#[must_use]
pub fn hold(requirement: &Requirement) -> Duration {
    let kept = order_of(requirement) == FrameOrder::Kept;
    let deadline = requirement.deadline.filter(|_| kept);
    let half = |deadline: Delay| Delay::from_ps(deadline.as_ps().div_ceil(2));
    deadline.map_or(Duration::ZERO, |deadline| half(deadline).round_up())
}

/// Returns what a flow never exceeds, whose traffic is this, behind the switch that numbers
/// its frames: each is longer.
#[must_use]
pub fn numbered(traffic: Traffic, requirement: &Requirement) -> Traffic {
    let tag = added(requirement);
    let frames = frames_of(traffic);
    let bits = |millionths: u64| (millionths * tag.as_bits()).div_ceil(FRAME);
    Traffic {
        rate: BitRate::from_bps(traffic.rate.as_bps() + bits(frames.rate_per_second)),
        burst: traffic.burst + DataSize::from_bits(bits(frames.burst)),
        largest_frame: traffic.largest_frame + tag,
        ..traffic
    }
}

/// Returns how many frames a flow is at most.
fn frames_of(traffic: Traffic) -> FrameBucket {
    let by_size = TokenBucket::new(traffic.rate, traffic.burst);
    let by_size = FrameBucket::of(by_size, traffic.smallest_frame);
    let counted = traffic.frames;
    counted.map_or(by_size, |frames| frames.least(by_size))
}

/// Returns how copies of a flow's frames are ended.
fn eliminate(flow: FlowId, requirement: &Requirement) -> Result<Eliminate, SeamlessError> {
    let deadline = requirement.deadline.ok_or(SeamlessError::NoDeadline)?;
    let sent = frames_of(requirement.traffic);
    let frames = sent.spread_by(deadline).burst.div_ceil(FRAME);
    let limit = Eliminate::HISTORY_MAX;
    let history = u8::try_from(frames + 1)
        .ok()
        .filter(|history| *history <= limit)
        .ok_or(SeamlessError::History { frames, limit })?
        .max(2);
    let encoding = encoding_of(requirement);
    Ok(Eliminate {
        stream: StreamHandle(flow.0),
        algorithm: match encoding {
            SequenceEncoding::RTag => RecoveryAlgorithm::Vector,
            SequenceEncoding::Prp => RecoveryAlgorithm::DuplicateDiscard,
        },
        history,
        reset: (deadline + deadline).round_up().max(RESET_MIN),
        // Who speaks PRP takes frames of those who do not.
        takes_unnumbered: encoding == SequenceEncoding::Prp,
        strips_tag: true,
        encoding,
        ways: Some(2),
        // Copies that are under way when it is looked.
        tolerance: 2 * u32::from(history),
        hold: hold(requirement),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::northbound::{ExceedAction, FlowMatch};

    const R_TAG: Protection = Protection::Seamless {
        encoding: SequenceEncoding::RTag,
        order: FrameOrder::Any,
    };
    const IN_ORDER: Protection = Protection::Seamless {
        encoding: SequenceEncoding::RTag,
        order: FrameOrder::Kept,
    };
    const PRP: Protection = Protection::Seamless {
        encoding: SequenceEncoding::Prp,
        order: FrameOrder::Any,
    };

    /// 122 bytes and what the medium adds, 4,000 times a second.
    fn samples(deadline: Option<Delay>) -> Requirement {
        let frame = DataSize::from_bytes(146);
        Requirement {
            name: "sv".to_owned(),
            source: "mu".to_owned(),
            destinations: vec!["relay".to_owned()],
            matching: FlowMatch::default(),
            class: 5,
            is_class_free: false,
            must_be_enforced: false,
            excess: ExceedAction::Drop,
            traffic: Traffic {
                rate: BitRate::from_bps(146 * 8 * 4_000),
                burst: frame,
                largest_frame: frame,
                smallest_frame: frame,
                frames: None,
            },
            deadline,
            protection: R_TAG,
            modes: None,
        }
    }

    #[test]
    fn as_many_numbers_are_remembered_as_frames_come_between_two_copies() {
        let requirement = samples(Some(Delay::from_us(3_000)));

        let how = eliminate(FlowId(7), &requirement).unwrap();

        // Twelve periods and one frame; a copy that far behind is still known.
        assert_eq!(how.history, 14);
        assert_eq!(how.reset, Duration::from_ms(6));
        assert_eq!(how.stream, StreamHandle(7));
    }

    #[test]
    fn a_history_that_would_be_too_short_is_refused_with_its_length() {
        let requirement = samples(Some(Delay::from_us(16_000)));

        let refused = check(&requirement);

        let error = SeamlessError::History {
            frames: 65,
            limit: 64,
        };
        assert_eq!(refused, Err(error));
        assert_eq!(check(&samples(Some(Delay::from_us(15_500)))), Ok(()));
    }

    /// So what the ways have of it is no longer than frames are held.
    #[test]
    fn where_order_is_kept_frames_are_held_for_half_of_the_deadline() {
        let mut samples = samples(Some(Delay::from_ps(3_000_001)));
        assert_eq!(hold(&samples), Duration::ZERO);
        samples.protection = IN_ORDER;

        let how = eliminate(FlowId(7), &samples).unwrap();

        assert_eq!(how.hold, Duration::from_ns(1_501));
        assert!(how.is_possible(), "{how:?}");
    }

    #[test]
    fn order_that_nobody_could_keep_is_refused() {
        let mut samples = samples(Some(Delay::from_us(3_000)));
        samples.protection = IN_ORDER;
        assert_eq!(check(&samples), Ok(()));
        samples.destinations.push("other".to_owned());
        let several = SeamlessError::OrderForSeveral { count: 2 };
        assert_eq!(check(&samples), Err(several));
        samples.protection = Protection::Seamless {
            encoding: SequenceEncoding::Prp,
            order: FrameOrder::Kept,
        };
        assert_eq!(check(&samples), Err(SeamlessError::OrderByPrp));
    }

    #[test]
    fn without_a_deadline_it_is_refused() {
        let mut other = samples(None);
        assert_eq!(check(&other), Err(SeamlessError::NoDeadline));
        other.protection = Protection::None;
        assert_eq!(check(&other), Ok(()));
    }

    #[test]
    fn a_frame_without_room_for_a_tag_is_refused() {
        let mut long = samples(Some(Delay::from_us(3_000)));
        long.traffic.largest_frame = wire_size(1_512);
        long.traffic.burst = wire_size(1_512);
        let fits = check(&long);
        long.traffic.largest_frame = wire_size(1_513);

        assert_eq!(fits, Ok(()));
        let refused = SeamlessError::TooLong {
            largest: wire_size(1_513),
            limit: wire_size(1_512),
        };
        assert_eq!(check(&long), Err(refused));
    }

    #[test]
    fn each_frame_counts_with_its_tag() {
        let samples = samples(None);

        let numbered = numbered(samples.traffic, &samples);

        assert_eq!(numbered.rate, BitRate::from_bps(152 * 8 * 4_000));
        assert_eq!(numbered.burst, DataSize::from_bytes(152));
        assert_eq!(numbered.largest_frame, DataSize::from_bytes(152));
    }

    /// 60 bytes are padded to 64 and get a trailer of 6.
    #[test]
    fn a_short_frame_counts_with_its_padding_and_its_trailer() {
        let mut samples = samples(Some(Delay::from_us(3_000)));
        samples.protection = PRP;
        assert_eq!(added(&samples), DataSize::from_bytes(6));
        samples.traffic.smallest_frame = wire_size(62);
        assert_eq!(added(&samples), DataSize::from_bytes(8));
        samples.traffic.smallest_frame = wire_size(20);
        assert_eq!(added(&samples), DataSize::from_bytes(10));

        samples.traffic.largest_frame = wire_size(1_509);
        let refused = SeamlessError::TooLong {
            largest: wire_size(1_509),
            limit: wire_size(1_508),
        };
        assert_eq!(check(&samples), Err(refused));
    }
}
