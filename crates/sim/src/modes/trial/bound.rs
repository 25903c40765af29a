//! Within what a message has to be whole, whatever happens to the signals.
//!
//! All flows share one way over links of one rate `C`. So whatever has priority over whom,
//! a message is through when a single server of that rate has done all that came since it
//! was last idle: what the messages need that have to be sent, and `L`, what a frame takes
//! at each hop by itself. When it was last idle is not known, so the bound is the longest
//! over all arrivals that may have been the first since.
//!
//! What matters less does not have to be sent once the level has risen. A message of a flow
//! that the lowest level alone serves counts unless it is due
//!
//! ```text
//! from t + detection + spread until t + hold
//! ```
//!
//! where `t` is when a message is due that is larger than the lowest level allows: from
//! then on all switches of the way drop it, and for the hold time nobody lowers the level
//! for good. Where somebody does for a while, that has to reach the switch that watches,
//! which raises the level again, and that has to reach all others: meanwhile the link
//! serves what matters less, for twice the spread.
//!
//! The spread is the diameter of what is left of the network in all that time, in hops of a
//! signal; if `k` signals may be lost in a row, each hop takes `k` heart-beats more.

use calculus::mode_change::{SIGNAL_ON_WIRE, SIGNALS_AHEAD, SignalHop};
use units::{DataSize, Delay, Duration};

use super::play::PlayRecord;
use super::times::{self, Span};
use super::{Apart, Trial};
use crate::modes::site::PROPAGATION;

/// The largest frame on the wire.
const FULL_FRAME: DataSize = DataSize::from_bytes(1_538);
/// What a full frame carries of a message, less than it could.
const PAYLOAD_BYTES: u64 = 1_400;
/// How many frames a queue of the switches of trials holds.
pub(super) const QUEUE_FRAMES: u64 = 4_096;
/// No bound is longer; where one would be, nothing is promised.
const LONGEST: Duration = Duration::from_secs(5);

/// Within what a message has to be whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounded {
    pub(super) within: Duration,
    /// Whether a change of mode has to do with it.
    pub(super) in_change: bool,
}

/// What holds of the network around the time of a message.
struct Around {
    span: Span,
    falls: u64,
    spread: Delay,
}

/// Returns the bound of a message, or why it has none.
pub(super) fn of(
    trial: &Trial,
    record: &PlayRecord,
    (flow, number): (usize, u32),
) -> Result<Bounded, Apart> {
    let due = trial.due(flow, number);
    let mut within = per_hop(trial).round_up();
    loop {
        let around = around(trial, due, within)?;
        if is_given_up(trial, &around, (flow, due)) {
            return Err(Apart::GivenUp);
        }
        let again = busy_until(trial, &around, due).saturating_sub(due);
        if again > LONGEST {
            return Err(Apart::QueueTooShort);
        }
        if again <= within {
            check(trial, record, (flow, due), within)?;
            return Ok(Bounded {
                within,
                in_change: around.falls > 0 || breaches(trial).any(|at| around.span.has(at)),
            });
        }
        within = again;
    }
}

/// Looks at everything within a time before and after a message.
fn around(trial: &Trial, due: Duration, within: Duration) -> Result<Around, Apart> {
    let beats = trial.noise.losses_in_a_row + 1;
    let convergence = hop(trial, beats) * trial.topology.switches as u64;
    let span = Span {
        from: due.saturating_sub(within + convergence.round_up()),
        to: due + within,
    };
    let whole = times::whole(trial, span);
    let mut steps = trial.route.windows(2);
    let is_cut = steps.any(|step| !whole[trial.cable_between(step[0], step[1])]);
    if is_cut || trial.is_away(span) {
        return Err(Apart::WayCut);
    }
    let deaf = trial.noise.deaf.iter();
    let heard = whole.iter().zip(deaf).map(|(whole, deaf)| *whole && !deaf);
    let heard: Vec<bool> = heard.collect();
    let groups = trial.topology.groups(&heard);
    let first = groups[trial.route[0]];
    if trial.route.iter().any(|switch| groups[*switch] != first) {
        return Err(Apart::NoWayForSignals);
    }
    let lost = match trial.noise.loss_percent {
        0 => 0,
        _ => trial.noise.losses_in_a_row,
    };
    Ok(Around {
        span,
        falls: times::falls(trial, span),
        spread: hop(trial, lost) * trial.topology.diameter(&heard),
    })
}

/// Returns when messages are due that are larger than the lowest level allows.
fn breaches(trial: &Trial) -> impl Iterator<Item = Duration> + '_ {
    let flows = trial.flows.iter().enumerate();
    flows.flat_map(move |(flow, it)| {
        let numbers = it.breaches.iter();
        numbers.map(move |(number, _)| trial.due(flow, *number))
    })
}

/// Tells whether a message of a flow does not have to be sent at a time.
fn is_given_up(trial: &Trial, around: &Around, (flow, due): (usize, Duration)) -> bool {
    let frame = trial.rate.time_to_send(FULL_FRAME);
    let detection = frame + PROPAGATION + processing(trial);
    let change = (detection + around.spread).round_up();
    let remembers = |at: Duration| !times::forgets(trial, Span { from: at, to: due });
    let is_over = |at: Duration| at + change <= due && due <= at + trial.hold && remembers(at);
    trial.flows[flow].highest == 0 && breaches(trial).any(is_over)
}

/// Returns when the server is idle again that a message due at this time comes to.
fn busy_until(trial: &Trial, around: &Around, due: Duration) -> Duration {
    let mut arrivals: Vec<(Duration, Delay)> = Vec::new();
    for (flow, it) in trial.flows.iter().enumerate() {
        let last = trial.duration.saturating_sub(it.phase);
        let count = last.as_ns().div_ceil(trial.period.as_ns());
        for number in 0..u32::try_from(count).expect("a few messages") {
            let at = trial.due(flow, number);
            if !is_given_up(trial, around, (flow, at)) {
                arrivals.push((at, sending(trial, trial.size(flow, number))));
            }
        }
    }
    arrivals.sort_unstable();
    let beginning = per_hop(trial) + signals(trial, around) + around.spread * (2 * around.falls);
    let before = arrivals.partition_point(|(at, _)| *at <= due);
    // It may have been idle before any of those that a longer beginning would have
    // joined.
    let (mut first, mut idle, mut work) = (0, Duration::ZERO, Delay::ZERO);
    for (number, (at, sending)) in arrivals[..before].iter().enumerate() {
        if *at > idle {
            (first, work) = (number, beginning);
        }
        work += *sending;
        idle = arrivals[first].0 + work.round_up();
    }
    let beginnings = (first..before).map(|first| through(&arrivals[first..], beginning, due));
    beginnings.max().unwrap_or_default()
}

/// Returns when a server is idle again that was so before the first of these arrivals, or
/// zero if it is so before `due`.
fn through(arrivals: &[(Duration, Delay)], beginning: Delay, due: Duration) -> Duration {
    let began = arrivals[0].0;
    let (mut idle, mut busy) = (began, beginning);
    for (at, work) in arrivals {
        match *at > idle {
            true if *at <= due => return Duration::ZERO,
            true => break,
            false => busy += *work,
        }
        idle = began + busy.round_up();
        if idle.saturating_sub(due) > LONGEST {
            break;
        }
    }
    idle
}

/// Checks that the flow is served all the time, and that queues are long enough.
fn check(
    trial: &Trial,
    record: &PlayRecord,
    (flow, due): (usize, Duration),
    within: Duration,
) -> Result<(), Apart> {
    let span = Span {
        from: due,
        to: due + within,
    };
    let held = trial.route.iter();
    let held = held.map(|switch| record.highest_level(*switch, span));
    if held.max().unwrap_or_default() > trial.flows[flow].highest {
        return Err(Apart::GivenUp);
    }
    let frame = trial.rate.time_to_send(FULL_FRAME);
    if Delay::from(within + trial.period * 2u64) > frame * QUEUE_FRAMES {
        return Err(Apart::QueueTooShort);
    }
    match due + within > trial.duration {
        true => Err(Apart::AtTheEnd),
        false => Ok(()),
    }
}

/// Returns the time to send a message over a link.
fn sending(trial: &Trial, size_bytes: u32) -> Delay {
    trial.rate.time_to_send(FULL_FRAME) * frames(size_bytes)
}

/// Returns what signals take of the way in that time.
fn signals(trial: &Trial, around: &Around) -> Delay {
    let Span { from, to } = around.span;
    let waves = 1 + breaches(trial).filter(|at| around.span.has(*at)).count() as u64;
    let beats = (to.saturating_sub(from)) / trial.heartbeat + 1;
    let all = (SIGNALS_AHEAD + 1) * (waves + 2 * around.falls) + 2 * beats;
    let hops = trial.route.len() as u64 + 1;
    trial.rate.time_to_send(SIGNAL_ON_WIRE * all) * hops
}

fn frames(size_bytes: u32) -> u64 {
    u64::from(size_bytes).div_ceil(PAYLOAD_BYTES)
}

/// Returns what a frame takes at all hops by itself, with one at each that cannot be
/// overtaken.
fn per_hop(trial: &Trial) -> Delay {
    let frame = trial.rate.time_to_send(FULL_FRAME);
    let hops = trial.route.len() as u64 + 1;
    (frame * 2u64 + PROPAGATION + processing(trial)) * hops
}

/// Returns what a signal takes over a link and through a switch, if so many are lost
/// before it.
fn hop(trial: &Trial, lost: u64) -> Delay {
    let hop = SignalHop {
        rate: trial.rate,
        propagation: PROPAGATION,
        blocking: FULL_FRAME,
        equal: DataSize::ZERO,
        signals_ahead: SIGNALS_AHEAD,
        processing: processing(trial),
    };
    let hop = hop.bound().expect("a hop takes milliseconds at most");
    hop + Delay::from(trial.heartbeat * lost) + Delay::from(trial.noise.late_by)
}

/// Returns the longest time in the stage of a switch: at every port a frame and a signal
/// may come at the same time.
fn processing(trial: &Trial) -> Delay {
    let ports = (0..trial.topology.switches).map(|at| trial.topology.trunks(at).count());
    let ports = ports.max().unwrap_or_default() + 2 * trial.flows.len();
    trial.processing.latency + trial.processing.per_frame * (2 * ports as u64)
}

impl Trial {
    /// Returns the cable that frames from one switch to its neighbour take.
    fn cable_between(&self, from: usize, to: usize) -> usize {
        let mut trunks = self.topology.trunks(from);
        let towards = trunks.find(|(_, far, _)| far.node == crate::parts::Node::Switch(to));
        let (_, _, cable) = towards.expect("a route follows cables");
        cable
    }

    /// Tells whether the only switch of a way was away in that time; others have cables.
    fn is_away(&self, span: Span) -> bool {
        let [only] = self.route[..] else {
            return false;
        };
        let mut cables = self.topology.trunks(only).map(|(_, _, cable)| cable);
        let whole = times::whole(self, span);
        cables.any(|cable| !whole[cable])
    }
}
