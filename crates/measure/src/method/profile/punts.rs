//! Frames between the data plane and the controller: how long a device works on one
//! that it hands up, and on one that the controller has it send.

use units::{Duration, Instant};
use wire::openflow::{self};
use wire::openflow::{BufferId, ControllerLength, MessageType};
use wire::openflow10::{self, Action, PortNumber};

use crate::method::data_plane::passages::{number_of, stream};
use crate::method::known_times::KnownTimes;
use crate::method::orders::{FlowEntry, Version, plain, widened};
use crate::method::table_setting::{FROM, TO, output};
use crate::statistics::Distribution;
use crate::trial::{Order, Sender, Sighting, Tester, Trial, TrialError, Watcher, Way};

/// Between two frames: longer than any device here works on one.
const APART: Duration = Duration::from_ms(10);
/// The time in which the table is made.
const FIRST: Duration = Duration::from_ms(100);
const BYTES: u16 = 64;

/// How long a device works on frames for and from the controller.
#[derive(Clone, Debug, Default)]
pub struct PacketInClasses {
    /// From the frame to the message that hands it up.
    pub packet_in: Distribution,
    /// From the message to the frame.
    pub packet_out: Distribution,
}

/// Has so many frames handed up, and so many sent.
///
/// # Errors
///
/// If a trial cannot be made.
pub fn measure(tester: &mut dyn Tester, times: u16) -> Result<PacketInClasses, TrialError> {
    let link = tester.control_link();
    let version = Version::of(link.version).unwrap_or(Version::V13);
    let frames = KnownTimes::of_frames(tester.setup());
    let messages = KnownTimes::of_messages(link);
    let handed_up = hand_up(tester, version, times)?;
    let (order, sent) = send(tester, version, times)?;
    let mut punts = PacketInClasses::default();
    for time in handed_up {
        let known = frames.of_frame(u64::from(BYTES));
        punts.packet_in.record(time.saturating_sub(known));
    }
    for time in sent {
        let known = messages.of_segment(order) + frames.preamble();
        punts.packet_out.record(time.saturating_sub(known));
    }
    Ok(punts)
}

fn hand_up(
    tester: &mut dyn Tester,
    version: Version,
    times: u16,
) -> Result<Vec<Duration>, TrialError> {
    let up = FlowEntry {
        actions: vec![Action::Output {
            port: PortNumber::CONTROLLER,
            max_length: ControllerLength::NO_BUFFER,
        }],
        ..FlowEntry::EVERYTHING
    };
    let length = APART * u64::from(times);
    let trial = Trial {
        streams: vec![stream(BYTES, APART, FIRST, length)],
        orders: vec![
            at(Duration::ZERO, version.delete_all()),
            at(APART * 2u64, version.addition(&up)),
        ],
        length: FIRST + length,
        drain: APART,
        ..Trial::default()
    };
    let mut up = Up::default();
    tester.run(trial, &mut up)?;
    Ok(up.times())
}

/// Returns the length of the message and the times.
fn send(
    tester: &mut dyn Tester,
    version: Version,
    times: u16,
) -> Result<(usize, Vec<Duration>), TrialError> {
    let mut frame = Vec::new();
    let Some(order) = first_frame(&mut frame).then(|| packet_out(version, &frame)) else {
        return Ok((0, Vec::new()));
    };
    let mut orders = vec![at(Duration::ZERO, version.delete_all())];
    orders.extend((0..u64::from(times)).map(|turn| at(FIRST + APART * turn, order.clone())));
    let trial = Trial {
        orders,
        length: FIRST + APART * u64::from(times),
        drain: APART,
        ..Trial::default()
    };
    let mut out = Out::default();
    tester.run(trial, &mut out)?;
    let sent = out.ordered.iter().filter_map(|ordered| {
        let came = out.came.iter().find(|came| *came >= ordered)?;
        let took = came.saturating_since(*ordered);
        (took < APART).then_some(took)
    });
    Ok((order.len(), sent.collect()))
}

fn at(due: Duration, bytes: Vec<u8>) -> Order {
    Order { due, bytes }
}

fn first_frame(frame: &mut Vec<u8>) -> bool {
    let mut stream = stream(BYTES, APART, Duration::ZERO, APART);
    let sender: &mut dyn Sender = &mut *stream.sender;
    sender.emit(Duration::ZERO, frame).is_some()
}

fn packet_out(version: Version, data: &[u8]) -> Vec<u8> {
    let narrow = [output()];
    match version {
        Version::V10 => plain(&openflow10::Message::PacketOut(openflow10::PacketOut {
            buffer: BufferId::NONE,
            in_port: PortNumber::NONE,
            actions: openflow10::Actions::of(&narrow),
            data,
        })),
        Version::V13 => {
            let port = crate::trial::PlayedStation::at(TO).device_port;
            let actions = [openflow::Action::output(port)];
            widened(&openflow::Message::PacketOut(openflow::PacketOut {
                buffer: BufferId::NONE,
                in_port: openflow::PortNumber::CONTROLLER,
                actions: openflow::Actions::of(&actions),
                data,
            }))
        }
    }
}

/// When frames went in, and when they were handed up.
#[derive(Default)]
struct Up {
    sent: Vec<Instant>,
    heard: Vec<Instant>,
}

impl Up {
    fn times(mut self) -> Vec<Duration> {
        self.heard.sort_unstable();
        let times = self.sent.iter().filter_map(|sent| {
            let heard = self.heard.iter().find(|heard| *heard >= sent)?;
            let took = heard.saturating_since(*sent);
            (took < APART).then_some(took)
        });
        times.collect()
    }
}

impl Watcher for Up {
    fn see(&mut self, sighting: &Sighting<'_>) {
        let is_sent = (sighting.port, sighting.way) == (FROM, Way::Sent);
        if is_sent && number_of(sighting.bytes).is_some() {
            self.sent.push(sighting.at);
        }
    }

    fn hear(&mut self, at: Instant, bytes: &[u8]) {
        // The same number in both versions.
        if bytes.get(1) == Some(&MessageType::PacketIn.number()) {
            self.heard.push(at);
        }
    }
}

/// When messages were handed over, all but the first, and when frames came.
#[derive(Default)]
struct Out {
    ordered: Vec<Instant>,
    came: Vec<Instant>,
}

impl Watcher for Out {
    fn see(&mut self, sighting: &Sighting<'_>) {
        let came = (sighting.port, sighting.way) == (TO, Way::Received);
        if came && number_of(sighting.bytes).is_some() {
            self.came.push(sighting.at);
        }
    }

    fn ordered(&mut self, order: usize, at: Instant) {
        if order > 0 {
            self.ordered.push(at);
        }
    }
}
