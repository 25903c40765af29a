//! The times of the control messages of an emulated device.
//!
//! The agent works on one message after the other, each as long as its kind takes by
//! the profile. A frame that no entry matches is handed over after what is left of the
//! set-up of a flow when the times of the answer (a flow-mod and a packet-out) are
//! taken off, so that the whole is what the profile says. Where a profile has bounds of
//! these that exceed the set-up, they are too long: they are shortened until they fit.

use scenario::ControlTimes;
use units::{Delay, Instant};
use wire::openflow::MessageType;

use super::{Behaviour, Dice};

const HEADER_LENGTH: usize = 8;
/// Where a packet-in of OpenFlow 1.3 says its reason, OF13 clause 7.4.1.
const REASON_OFFSET: usize = 14;
const NO_MATCH: u8 = 0;

/// Decides when messages take effect and when answers leave.
#[derive(Clone, Debug)]
struct Agent {
    times: ControlTimes,
    behaviour: Behaviour,
    dice: Dice,
    busy_until: Instant,
}

impl Agent {
    fn new(behaviour: Behaviour, dice: Dice) -> Self {
        let mut times = behaviour.control.clone();
        if let Some(setup) = &behaviour.flow_setup {
            shorten(&mut times, setup.at(0));
        }
        Self {
            times,
            behaviour,
            dice,
            busy_until: Instant::ZERO,
        }
    }

    /// Returns when the message that arrives at `now` is worked on: later than those
    /// before.
    fn receive(&mut self, now: Instant, message: &[u8]) -> Instant {
        let time = match kind(message) {
            Some(MessageType::FlowMod | MessageType::Experimenter) => &self.times.flow_mod,
            Some(MessageType::PacketOut) => &self.times.packet_out,
            Some(MessageType::BarrierRequest) => &self.times.barrier,
            Some(_) | None => &self.times.echo,
        };
        self.busy_until = self.busy_until.max(now) + time.value.round_up();
        self.busy_until
    }

    /// Returns when a message leaves that the core sends at `now`.
    fn send(&mut self, now: Instant, message: &[u8]) -> Instant {
        if kind(message) != Some(MessageType::PacketIn) {
            return now;
        }
        let missed = message.get(REASON_OFFSET) == Some(&NO_MATCH);
        let held = match self.behaviour.flow_setup.as_ref().filter(|_| missed) {
            Some(setup) => self.dice.draw(setup).saturating_sub(self.answering()),
            None => self.times.packet_in.value,
        };
        now + held.round_up()
    }

    fn answering(&self) -> Delay {
        self.times.flow_mod.value + self.times.packet_out.value
    }
}

/// Shortens the messages that answer the miss of a flow's first frame, in proportion, so
/// that they do not exceed the shortest set-up of a flow.
fn shorten(times: &mut ControlTimes, setup: Delay) {
    let answering = times.flow_mod.value + times.packet_out.value;
    if answering <= setup {
        return;
    }
    for time in [&mut times.flow_mod, &mut times.packet_out] {
        let product = u128::from(time.value.as_ps()) * u128::from(setup.as_ps());
        let ps = u64::try_from(product / u128::from(answering.as_ps()));
        time.value = Delay::from_ps(ps.expect("shorter than before"));
    }
}

/// When the messages of a switch take effect and leave: an emulated agent, or none
/// and then at once.
#[derive(Clone, Debug, Default)]
pub struct Pace(Option<Agent>);

impl Pace {
    /// Returns the pace of a device that behaves so; without that, no time passes.
    #[must_use]
    pub fn new(behaviour: Option<Behaviour>, dice: Dice) -> Self {
        Self(behaviour.map(|behaviour| Agent::new(behaviour, dice)))
    }

    /// Hands on what arrives at `now`, with the time at which it takes effect.
    pub fn receive(&mut self, now: Instant, bytes: &[u8], mut hand_on: impl FnMut(Instant, &[u8])) {
        match &mut self.0 {
            None => hand_on(now, bytes),
            Some(agent) => {
                for message in messages(bytes) {
                    hand_on(agent.receive(now, message), message);
                }
            }
        }
    }

    /// Hands on what the core sends at `now`, with the time at which it leaves.
    pub fn send(&mut self, now: Instant, bytes: &[u8], mut hand_on: impl FnMut(Instant, &[u8])) {
        match &mut self.0 {
            None => hand_on(now, bytes),
            Some(agent) => {
                for message in messages(bytes) {
                    hand_on(agent.send(now, message), message);
                }
            }
        }
    }
}

/// Returns the messages of a piece of a control connection, each whole; what is left
/// of the piece, or is no message, as the last of them.
fn messages(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = match rest {
            [_, _, high, low, ..] => usize::from(u16::from_be_bytes([*high, *low])),
            _ => rest.len(),
        };
        let whole = length >= HEADER_LENGTH && length <= rest.len();
        let (message, behind) = rest.split_at(if whole { length } else { rest.len() });
        rest = behind;
        Some(message)
    })
}

fn kind(message: &[u8]) -> Option<MessageType> {
    MessageType::from_number(*message.get(1)?)
}
