//! A switch, as far as modes go: what it holds, and whom it believes.

use std::collections::BTreeMap;

use switch::modes::{Agreement, Heard, Step};
use units::{Duration, Instant};
use wire::ethernet::{Header, MacAddress};
use wire::mode_signal::{Kind, Level, Mode, ModeSignal};
use wire::openflow::{DatapathId, PortNumber};

pub const KEY: [u8; 16] = *b"the network's \x01\x02";

/// What is wrong with stations, so that the check can be seen to notice it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing: signals count on trunk ports, under the key, from the end of the cable,
    /// and neighbours repeat what they hold.
    #[default]
    None,
    /// Tags are not looked at.
    IgnoresTags,
    /// What is held is not repeated.
    Silent,
}

/// A signal that a station sends.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// The port by which it goes.
    pub port: PortNumber,
    pub signal: ModeSignal,
}

/// What a station has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames on ports that are no trunks, with a wrong tag, or that are no signal.
    pub forged: u64,
    /// True ones that were sent by another port than the one at the other end.
    pub replayed: u64,
    /// Demands for the way back that were refused.
    pub refused: u64,
}

/// A switch, as far as modes go.
#[derive(Debug)]
pub struct Station {
    agreement: Agreement,
    own: DatapathId,
    /// By trunk port, who is at the other end.
    neighbours: BTreeMap<PortNumber, (DatapathId, PortNumber)>,
    heartbeat: Duration,
    next_beat: Instant,
    flaw: Flaw,
    counts: Counts,
    outgoing: Vec<Outgoing>,
}

impl Station {
    /// Starts anew, knowing nothing but its neighbours.
    #[must_use]
    pub fn new(
        now: Instant,
        own: DatapathId,
        neighbours: BTreeMap<PortNumber, (DatapathId, PortNumber)>,
        (hold, heartbeat): (Duration, Duration),
        flaw: Flaw,
    ) -> Self {
        Self {
            agreement: Agreement::new(own, hold),
            own,
            neighbours,
            heartbeat,
            next_beat: now + heartbeat,
            flaw,
            counts: Counts::default(),
            outgoing: Vec::new(),
        }
    }

    #[must_use]
    pub const fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Says whether all entries of a level are there.
    pub const fn set_complete(&mut self, level: Level, complete: bool) {
        self.agreement.set_complete(level, complete);
    }

    /// Takes that a flow demands a level.
    pub fn demand(&mut self, now: Instant, level: Level) {
        let step = self.agreement.demand(now, level);
        self.follow(step, None);
    }

    /// Takes that the level is to fall.
    pub fn lower(&mut self, now: Instant, level: Level) {
        match self.agreement.lower(now, level) {
            Ok(step) => self.follow(step, None),
            Err(_) => self.counts.refused += 1,
        }
    }

    /// Takes that an operator sets the level.
    pub fn force(&mut self, level: Level) {
        match self.agreement.force(level) {
            Ok(step) => self.follow(step, None),
            Err(_) => self.counts.refused += 1,
        }
    }

    /// Takes a frame that looks like a signal.
    pub fn receive(&mut self, now: Instant, port: PortNumber, frame: &[u8]) {
        let Some(neighbour) = self.neighbours.get(&port).copied() else {
            self.counts.forged += 1;
            return;
        };
        let Some(signal) = self.read(frame) else {
            self.counts.forged += 1;
            return;
        };
        if (signal.sender, signal.port) != neighbour {
            self.counts.replayed += 1;
            return;
        }
        let ModeSignal { mode, origin, .. } = signal;
        let step = self.agreement.hear(now, Heard { mode, origin });
        self.follow(step, Some(port));
    }

    /// Returns when it has something to say of itself.
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.next_beat
    }

    /// Says what it holds to all neighbours, if it is time.
    pub fn wake(&mut self, now: Instant) {
        if now >= self.next_beat {
            self.next_beat += self.heartbeat;
            match self.flaw {
                Flaw::None | Flaw::IgnoresTags => self.tell_all(Kind::HeartBeat),
                Flaw::Silent => {}
            }
        }
    }

    /// Returns the signals that it sends.
    pub fn take_outgoing(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.outgoing)
    }

    fn read(&self, frame: &[u8]) -> Option<ModeSignal> {
        let (_, payload) = Header::parse(frame).ok()?;
        match self.flaw {
            Flaw::None | Flaw::Silent => ModeSignal::parse(payload, KEY).ok(),
            Flaw::IgnoresTags => {
                let bare = payload.get(..payload.len().checked_sub(8)?)?;
                let mut tagged = Vec::new();
                // The same bytes under the key: what a switch without a tag would take.
                tagged.extend_from_slice(bare);
                tagged.extend(wire::siphash::siphash_2_4(KEY, bare).to_be_bytes());
                ModeSignal::parse(&tagged, KEY).ok()
            }
        }
    }

    fn follow(&mut self, step: Step, heard_by: Option<PortNumber>) {
        match step {
            Step::Stay => {}
            Step::Enter(_) => self.tell_all(Kind::Signal),
            Step::Answer => {
                if let Some(port) = heard_by {
                    self.tell(port, Kind::Signal);
                }
            }
        }
    }

    fn tell_all(&mut self, kind: Kind) {
        let ports: Vec<_> = self.neighbours.keys().copied().collect();
        for port in ports {
            self.tell(port, kind);
        }
    }

    fn tell(&mut self, port: PortNumber, kind: Kind) {
        let signal = ModeSignal {
            kind,
            mode: self.agreement.mode(),
            origin: self.agreement.origin(),
            sender: self.own,
            port,
        };
        self.outgoing.push(Outgoing { port, signal });
    }
}

#[must_use]
pub fn frame_of(signal: &ModeSignal, key: [u8; 16]) -> Vec<u8> {
    let mut frame = Vec::new();
    signal.emit_frame(MacAddress([2, 0, 0, 0, 0, 1]), key, &mut frame);
    frame
}

/// Returns a mode that no network gets to.
#[must_use]
pub const fn far_ahead() -> Mode {
    Mode {
        era: 1_000_000,
        level: Level::HIGHEST,
    }
}
