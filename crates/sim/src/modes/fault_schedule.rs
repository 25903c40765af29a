//! What a network has to go through before it is asked whether it agrees.
//!
//! Everything follows from the seed: the network, the times that its switches keep,
//! what becomes of signals on each cable, and what happens when. A cable outside of a
//! tree may carry no signal at all, so that one way alone is left between any two
//! switches. Elsewhere signals are lost, but never more than a number of them in a
//! row, for otherwise there is no bound; they come twice, and late, behind others.
//!
//! Half of all incidents follow so closely on the one before that the signals of the
//! former are still under way.

use units::{Duration, Instant};
use wire::mode_signal::{LEVELS, Level};

use super::topology::ModeTopology;
use crate::servers::random::Random;

/// In how much time all incidents begin.
const FOR_INCIDENTS: Duration = Duration::from_ms(300);
/// How closely one incident follows another, if it is to meet the signals of it.
const CLOSELY: Duration = Duration::from_ms(3);
const INCIDENTS_MAX: u64 = 16;

#[derive(Clone, Debug)]
pub struct FaultSchedule {
    pub seed: u64,
    pub topology: ModeTopology,
    /// How many levels are in use, from the lowest.
    pub levels: u8,
    /// How long flows have to be quiet before the level may fall.
    pub hold: Duration,
    /// How often neighbours repeat what they hold.
    pub heartbeat: Duration,
    /// What a signal takes over a cable and through a switch.
    pub travel: Duration,
    pub noise: Noise,
    /// The levels whose entries are not complete, and where: a controller died while
    /// it deployed them.
    pub incomplete: Vec<(usize, Level)>,
    pub incidents: Vec<(Instant, Incident)>,
}

/// What becomes of signals on cables.
#[derive(Clone, Debug)]
pub struct Noise {
    /// The cables on which every signal is lost.
    pub deaf: Vec<bool>,
    /// How many of a hundred signals are lost elsewhere.
    pub loss_percent: u64,
    /// No more than so many are lost one after the other.
    pub losses_in_a_row: u64,
    /// How many of a hundred come twice.
    pub twice_percent: u64,
    /// How many of a hundred are late, so that others overtake them.
    pub late_percent: u64,
    pub late_by: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// A flow asks for more than it may have: at this switch, this level.
    Violation {
        switch: usize,
        /// The level that the flow demands.
        level: Level,
    },
    /// The controller asks a switch to begin the way back.
    Lower {
        switch: usize,
        level: Level,
    },
    /// An operator sets the level.
    Force {
        /// The switch that is told.
        switch: usize,
        level: Level,
    },
    /// A switch loses all that it holds and is gone.
    Crash {
        switch: usize,
    },
    Restart {
        switch: usize,
    },
    Cut {
        cable: usize,
    },
    Heal {
        cable: usize,
    },
    /// A host sends what looks like a signal.
    Forge {
        switch: usize,
        /// How it goes about it.
        forgery: Forgery,
    },
}

/// How somebody who is no switch makes a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// Of a mode far ahead, under a key of its own.
    OtherKey,
    /// Of a mode far ahead, without a tag.
    NoTag,
    Truncated,
    /// A true one, recorded on any cable, from its own port.
    Recorded,
    /// A true one, recorded on one cable and sent over another towards the switch.
    Elsewhere,
}

pub(super) const FORGERIES: [Forgery; 5] = [
    Forgery::OtherKey,
    Forgery::NoTag,
    Forgery::Truncated,
    Forgery::Recorded,
    Forgery::Elsewhere,
];

impl FaultSchedule {
    /// Draws the ordeal of a seed.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let topology = ModeTopology::draw(&mut random);
        let levels = random.between(2, u64::from(LEVELS));
        let levels = u8::try_from(levels).expect("at most eight");
        let noise = Noise::draw(&topology, &mut random);
        let mut ordeal = Self {
            seed,
            levels,
            hold: Duration::from_ms(random.between(10, 150)),
            heartbeat: Duration::from_ms(random.between(1, 20)),
            travel: Duration::from_us(random.between(6, 900)),
            noise,
            incomplete: Vec::new(),
            incidents: Vec::new(),
            topology,
        };
        if random.in_percent(25) {
            let count = 1 + random.index(ordeal.topology.switches);
            ordeal.incomplete = (0..count)
                .map(|_| {
                    (
                        ordeal.any_switch(&mut random),
                        ordeal.any_level(&mut random),
                    )
                })
                .collect();
        }
        ordeal.draw_incidents(&mut random);
        ordeal
    }

    /// Returns in how much time after the last incident all switches that are still
    /// connected hold the same mode.
    ///
    /// A mode needs at most so many heart-beats for a hop as are lost in a row and
    /// one more, and crosses at most the diameter; the greatest mode that anybody
    /// holds may begin a new era in which a switch has to raise the level again, and
    /// that crosses the network as well.
    #[must_use]
    pub fn agreed_within(&self) -> Duration {
        let beats = self.heartbeat * (self.noise.losses_in_a_row + 1);
        let hop = beats + self.travel + self.noise.late_by;
        hop * (2 * self.topology.diameter(&self.heard_at_the_end())).max(1)
    }

    /// Returns the cables over which signals get at the end.
    #[must_use]
    pub fn heard_at_the_end(&self) -> Vec<bool> {
        let mut heard: Vec<_> = self.noise.deaf.iter().map(|deaf| !deaf).collect();
        for (_, incident) in &self.incidents {
            match incident {
                Incident::Cut { cable } => heard[*cable] = false,
                Incident::Heal { cable } => heard[*cable] = !self.noise.deaf[*cable],
                Incident::Violation { .. }
                | Incident::Lower { .. }
                | Incident::Force { .. }
                | Incident::Crash { .. }
                | Incident::Restart { .. }
                | Incident::Forge { .. } => {}
            }
        }
        heard
    }

    /// Returns when the last incident is.
    #[must_use]
    pub fn ends(&self) -> Instant {
        self.incidents.last().map_or(Instant::ZERO, |(at, _)| *at)
    }

    fn draw_incidents(&mut self, random: &mut Random) {
        let mut at = Instant::ZERO + random.time_below(FOR_INCIDENTS);
        for _ in 0..random.between(1, INCIDENTS_MAX) {
            at = match random.in_percent(50) {
                true => at + random.time_below(CLOSELY),
                false => Instant::ZERO + random.time_below(FOR_INCIDENTS),
            };
            self.draw_incident(at, random);
        }
        self.incidents.sort_by_key(|(at, _)| *at);
    }

    fn draw_incident(&mut self, at: Instant, random: &mut Random) {
        let switch = self.any_switch(random);
        let level = self.any_level(random);
        match random.below(100) {
            0..35 => {
                for _ in 0..random.between(1, 4) {
                    let (switch, level) = (self.any_switch(random), self.any_level(random));
                    self.add(at, Incident::Violation { switch, level });
                }
            }
            35..55 => {
                let level = Level::new(level.number() - 1).expect("one below a level");
                self.add(at, Incident::Lower { switch, level });
            }
            55..60 => self.add(at, Incident::Force { switch, level }),
            60..70 => {
                self.add(at, Incident::Crash { switch });
                let back = at + random.time_below(self.heartbeat * 4u64);
                self.add(back, Incident::Restart { switch });
            }
            70..82 => self.draw_cuts(at, random),
            _ => {
                let forgery = random.pick(&FORGERIES);
                self.add(at, Incident::Forge { switch, forgery });
            }
        }
    }

    /// Cuts a few cables at once, of which most heal together.
    fn draw_cuts(&mut self, at: Instant, random: &mut Random) {
        let back = at + random.time_below(FOR_INCIDENTS);
        let heals = random.in_percent(80);
        for _ in 0..random.between(1, 4) {
            let cable = random.index(self.topology.cables.len());
            self.add(at, Incident::Cut { cable });
            if heals {
                self.add(back, Incident::Heal { cable });
            }
        }
    }

    fn add(&mut self, at: Instant, incident: Incident) {
        self.incidents.push((at, incident));
    }

    fn any_switch(&self, random: &mut Random) -> usize {
        random.index(self.topology.switches)
    }

    /// Any level but the lowest.
    fn any_level(&self, random: &mut Random) -> Level {
        let level = random.between(1, u64::from(self.levels) - 1);
        let level = u8::try_from(level).ok().and_then(Level::new);
        level.expect("below the number of levels")
    }
}

impl Noise {
    /// Draws what becomes of signals: one way at least is left between any two switches.
    pub(super) fn draw(topology: &ModeTopology, random: &mut Random) -> Self {
        let tree = topology.draw_tree(random);
        let deaf_percent = random.pick(&[0, 0, 50, 100]);
        let deaf = tree.into_iter();
        let late = random.pick(&[0, 0, 20, 60]);
        Self {
            deaf: deaf
                .map(|in_tree| !in_tree && random.in_percent(deaf_percent))
                .collect(),
            loss_percent: random.pick(&[0, 5, 30, 90]),
            losses_in_a_row: random.between(1, 3),
            twice_percent: random.pick(&[0, 10, 50]),
            late_percent: late,
            late_by: match late {
                0 => Duration::ZERO,
                _ => Duration::from_us(random.between(1, 3_000)),
            },
        }
    }
}
