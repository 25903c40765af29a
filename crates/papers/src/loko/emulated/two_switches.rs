//! The network of LOKO Fig. 16: two switches, two hosts at each, and each host
//! sends one flow across to its counterpart (S4-8).
//!
//! ```text
//! host 1 --1         1-- host 3
//!        switch 3---3 switch
//! host 2 --2         2-- host 4
//! ```
//!
//! Port 4 of each switch leads to a controller. It fills the table before the
//! traffic begins, and may then send echo requests. Delays are taken between taps
//! on the cables of the hosts, from start-of-frame delimiter to start-of-frame
//! delimiter.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use calculus::loko::processing_time::{Priorities, UsedEntry};
use measure::Contract;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{DataSize, Duration, Instant};
use wire::openflow::{DatapathId, Echo, TransactionId};
use wire::openflow10::{Action, Match10, Message, PortNumber};

use super::shaped_host::{OfferedLoad, ShapedHost, below};
use sim::zodiac_fx::frame::datagram;
use sim::zodiac_fx::table::{dummy, five_tuple, order, priority_of};
use sim::zodiac_fx::{Frame, Input, Profile, Sent, ZodiacFx};

/// Entries of each table: one a flow and dummies, LOKO section 2.3.
const ENTRIES: usize = 17;
const TRUNK: PortNumber = PortNumber(3);
/// Enough to fill a table.
const SETUP: Duration = Duration::from_ms(20);
const HOSTS: usize = 4;
const FLOW_SHIFT: u32 = 62;

/// Which entries of the table the four flows use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOrder {
    /// The first four or the last four.
    pub used: UsedEntry,
    pub priorities: Priorities,
}

impl TableOrder {
    /// The slowest, as LOKO section 6 sets it up.
    pub const WORST: Self = Self {
        used: UsedEntry::Last,
        priorities: Priorities::Increasing,
    };
    pub const BEST: Self = Self {
        used: UsedEntry::First,
        priorities: Priorities::Decreasing,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulatedRun {
    pub profile: Profile,
    pub table: TableOrder,
    /// The size of all frames, check sequence included.
    pub frame: DataSize,
    /// What the first and the second host of each switch may send, if anything.
    pub contracts: [Option<Contract>; 2],
    /// What their applications want to send.
    pub load: OfferedLoad,
    /// Echo requests a second to each switch.
    pub echoes_a_second: u64,
    /// How long hosts and controller send.
    pub length: Duration,
    /// Everything random follows from it.
    pub seed: u64,
}

/// What two of the four flows experienced: those of the first hosts, or those of
/// the second hosts if the first send nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedPair {
    pub sent: u64,
    /// The delays of those that arrived, in nanoseconds.
    pub delays_ns: Vec<u32>,
}

impl EmulatedRun {
    #[must_use]
    pub fn observe(&self) -> ObservedPair {
        let mut network = TwoSwitches::new(self);
        while network.step() {}
        network.observed
    }
}

#[derive(Debug)]
struct TwoSwitches {
    switches: [ZodiacFx; 2],
    hosts: Vec<Option<ShapedHost>>,
    /// On the cable towards each switch from the other.
    trunks: [VecDeque<(Instant, Frame)>; 2],
    echoes: [Echoes; 2],
    observed_hosts: [usize; 2],
    observed: ObservedPair,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    Switch(usize),
    Host(usize),
    Trunk(usize),
    Echo(usize),
}

impl TwoSwitches {
    fn new(run: &EmulatedRun) -> Self {
        let begin = Instant::ZERO + SETUP;
        let during = (begin, begin + run.length);
        let hosts = (0..HOSTS).map(|host| {
            let contract = run.contracts[host % 2]?;
            let frame = frame_of(host, run.frame);
            let seed = run.seed.wrapping_mul(HOSTS as u64 + 2) + host as u64;
            let rate = run.profile.port_rate;
            Some(ShapedHost::new(
                &frame, contract, run.load, rate, during, seed,
            ))
        });
        let observed_hosts = match run.contracts[0] {
            Some(_) => [0, 2],
            None => [1, 3],
        };
        let switches = [0, 1].map(|switch| filled_switch(run, switch));
        let echoes = [0, 1].map(|switch| {
            let seed = run.seed.wrapping_mul(HOSTS as u64 + 2) + HOSTS as u64 + switch;
            Echoes::new(run.echoes_a_second, during, seed)
        });
        Self {
            switches,
            hosts: hosts.collect(),
            trunks: [VecDeque::new(), VecDeque::new()],
            echoes,
            observed_hosts,
            observed: ObservedPair::default(),
        }
    }

    /// Lets happen what happens next. Returns whether anything did.
    fn step(&mut self) -> bool {
        let Some((now, next)) = self.next() else {
            return false;
        };
        match next {
            Next::Switch(switch) => self.handle(now, switch, Input::Timeout),
            Next::Host(host) => self.host_sends(now, host),
            Next::Trunk(switch) => {
                if let Some((_, frame)) = self.trunks[switch].pop_front() {
                    self.handle(now, switch, Input::Frame { port: TRUNK, frame });
                }
            }
            Next::Echo(switch) => {
                let request = self.echoes[switch].take();
                self.handle(now, switch, Input::Control(request));
            }
        }
        true
    }

    fn next(&self) -> Option<(Instant, Next)> {
        let mut first = (Instant::FAR_FUTURE, Next::Switch(0));
        let mut consider = |at: Instant, next| {
            if at < first.0 {
                first = (at, next);
            }
        };
        for switch in [0, 1] {
            consider(self.switches[switch].deadline(), Next::Switch(switch));
            consider(self.echoes[switch].next, Next::Echo(switch));
            if let Some((at, _)) = self.trunks[switch].front() {
                consider(*at, Next::Trunk(switch));
            }
        }
        for (host, shaped) in self.hosts.iter().enumerate() {
            if let Some(sending) = shaped.as_ref().and_then(ShapedHost::next) {
                consider(sending.ends, Next::Host(host));
            }
        }
        (first.0 < Instant::FAR_FUTURE).then_some(first)
    }

    fn host_sends(&mut self, now: Instant, host: usize) {
        let Some(shaped) = &mut self.hosts[host] else {
            return;
        };
        let Some(sending) = shaped.next() else { return };
        let frame = shaped.take((host as u64) << FLOW_SHIFT | sending.begins.as_ns());
        if self.observed_hosts.contains(&host) {
            self.observed.sent += 1;
        }
        let port = port_of(host);
        self.handle(now, host / 2, Input::Frame { port, frame });
    }

    fn handle(&mut self, now: Instant, switch: usize, input: Input) {
        self.switches[switch].handle(now, input);
        while let Some(output) = self.switches[switch].poll() {
            match output.sent {
                Sent::Frame { port, frame } if port == TRUNK => {
                    self.trunks[1 - switch].push_back((output.ends, frame));
                }
                Sent::Frame { frame, .. } => self.arrives(output.begins, frame.tag),
                Sent::Control(_) => {}
            }
        }
    }

    fn arrives(&mut self, begins: Instant, tag: u64) {
        let host = usize::try_from(tag >> FLOW_SHIFT).expect("two bits");
        let sent = Instant::from_ns(tag & ((1 << FLOW_SHIFT) - 1));
        if self.observed_hosts.contains(&host) {
            let delay = begins.saturating_since(sent).as_ns();
            let delay = u32::try_from(delay).unwrap_or(u32::MAX);
            self.observed.delays_ns.push(delay);
        }
    }
}

/// Echo requests of a controller, evenly spaced.
#[derive(Debug)]
struct Echoes {
    next: Instant,
    interval: Duration,
    end: Instant,
}

impl Echoes {
    fn new(a_second: u64, (begin, end): (Instant, Instant), seed: u64) -> Self {
        let Some(interval_ns) = 1_000_000_000u64.checked_div(a_second) else {
            return Self {
                next: Instant::FAR_FUTURE,
                interval: Duration::ZERO,
                end,
            };
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self {
            next: begin + Duration::from_ns(below(&mut random, interval_ns)),
            interval: Duration::from_ns(interval_ns),
            end,
        }
    }

    fn take(&mut self) -> Vec<u8> {
        self.next += self.interval;
        if self.next >= self.end {
            self.next = Instant::FAR_FUTURE;
        }
        let mut bytes = Vec::new();
        Message::EchoRequest(Echo { data: &[] }).emit(TransactionId(0), &mut bytes);
        bytes
    }
}

fn filled_switch(run: &EmulatedRun, switch: usize) -> ZodiacFx {
    let datapath = DatapathId(switch as u64 + 1);
    let mut filled = ZodiacFx::new(run.profile, datapath);
    let mut now = Instant::ZERO;
    for order in orders(switch, run.table) {
        filled.handle(now, Input::Control(order));
        now += Duration::from_ms(1);
    }
    filled.handle(now, Input::Timeout);
    filled
}

/// Returns the orders that fill the table of a switch.
fn orders(switch: usize, table: TableOrder) -> Vec<Vec<u8>> {
    let used: Vec<(Match10, PortNumber)> = (0..HOSTS)
        .map(|host| {
            let to = counterpart(host);
            let port = match to / 2 == switch {
                true => port_of(to),
                false => TRUNK,
            };
            (five_tuple(endpoint(host), endpoint(to)), port)
        })
        .collect();
    let like = used[0].0;
    let dummies = (0..(ENTRIES - HOSTS) as u64).map(|place| (dummy(like, place), TRUNK));
    let listed: Vec<_> = match table.used {
        UsedEntry::First => used.iter().copied().chain(dummies).collect(),
        UsedEntry::Last => dummies.chain(used.iter().copied()).collect(),
    };
    let listed = (0..).zip(listed);
    let orders = listed.map(|(place, (matching, port))| {
        let priority = priority_of(table.priorities, place);
        order(matching, priority, &[Action::output(port)])
    });
    orders.collect()
}

const fn counterpart(host: usize) -> usize {
    (host + 2) % HOSTS
}

fn port_of(host: usize) -> PortNumber {
    match host % 2 {
        0 => PortNumber(1),
        _ => PortNumber(2),
    }
}

fn endpoint(host: usize) -> (Ipv4Addr, u16) {
    let number = u8::try_from(host + 1).expect("four hosts");
    (Ipv4Addr::new(10, 0, 0, number), 5_000 + u16::from(number))
}

fn frame_of(host: usize, size: DataSize) -> Frame {
    let bytes = datagram(endpoint(host), endpoint(counterpart(host)), size);
    Frame { bytes, tag: 0 }
}

#[cfg(test)]
mod tests;
