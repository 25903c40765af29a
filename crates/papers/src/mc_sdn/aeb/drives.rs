//! The network of the car and its flows, MC-SDN Table IV and Fig. 10(a).

use sim::modes::deployment::{LevelTreatment, Strategy};
use sim::modes::stage::{ModeSetup, ObservedChange, Quickening, READY, StagedFlow};
use sim::modes::topology::ModeTopology;
use sim::servers::random::Random;
use units::{BitRate, Duration, Instant};

use super::car::{Car, Image};
use crate::mc_sdn::lab;
use crate::mc_sdn::switches::{RATE_MBPS, SwitchKind};

const LIDAR_PERIOD: Duration = Duration::from_ms(25);
const LIDAR_BYTES: u32 = 8_000;
const STREAM_PERIOD: Duration = Duration::from_ms(40);
const STREAM_BYTES: u32 = 432_000;
const SLOW: Duration = Duration::from_ms(200);
const QUICK: Duration = Duration::from_ms(22);
const IMAGE_BYTES: u32 = 154_000;
const HIGH: LevelTreatment = LevelTreatment::Queue(6);
const MIDDLE: LevelTreatment = LevelTreatment::Queue(5);
const LOW: LevelTreatment = LevelTreatment::Queue(4);
/// The place of the camera among the flows.
const CAMERA: usize = 2;
/// How long images have to arrive after the wall came into sight: longer than the car
/// takes to the wall.
const PATIENCE: Duration = Duration::from_ms(1_200);

/// How the network of a car copes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// The camera is slow, and the film is shown.
    LoOnly,
    /// The camera is quick, and there is never a film.
    HiOnly,
    /// The camera quickens, and the switches give up the film.
    Modes,
    /// The camera quickens, and a controller has the film given up.
    StdSdn,
    /// The camera quickens, and the film goes on.
    McAgnostic,
}

impl System {
    pub const ALL: [Self; 5] = [
        Self::LoOnly,
        Self::HiOnly,
        Self::Modes,
        Self::StdSdn,
        Self::McAgnostic,
    ];

    /// Returns its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LoOnly => "LO only",
            Self::HiOnly => "HI only",
            Self::Modes => "modes (Taktos)",
            Self::StdSdn => "Std-SDN",
            Self::McAgnostic => "MC-Agnostic",
        }
    }

    const fn strategy(self) -> Strategy {
        match self {
            Self::LoOnly | Self::HiOnly | Self::McAgnostic => Strategy::McAgnostic,
            Self::Modes => Strategy::Taktos,
            Self::StdSdn => Strategy::StdSdn,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Drive {
    pub kind: SwitchKind,
    pub system: System,
    pub trial: u64,
}

/// What came of a drive.
#[derive(Clone, Debug)]
pub struct ObservedDrive {
    /// The images that the camera took, and when they arrived.
    pub images: Vec<Image>,
    /// Whether somebody took the camera for quick before it was.
    pub noticed_early: bool,
    /// How long the mode took to change, if it did.
    pub change: Option<Duration>,
}

impl Drive {
    /// Lets the car drive, and returns what its camera sent.
    pub fn watch(&self, car: &Car, random: &mut Random) -> ObservedDrive {
        let stage = self.stage(car, random);
        let seen = stage.play();
        watched(&stage, &seen)
    }

    /// The same with real frames.
    ///
    /// # Errors
    ///
    /// A sentence that says why it could not be.
    pub fn watch_in_lab(&self, car: &Car, random: &mut Random) -> Result<ObservedDrive, String> {
        let stage = self.stage(car, random);
        let played = lab::play(&stage, 1)?;
        let played = played.into_iter().next().unwrap_or_default();
        let seen = played.seen;
        // What still leaves queues of the kernel stands behind the images.
        Ok(ObservedDrive {
            change: lab::until_changed(&seen),
            ..watched(&stage, &seen)
        })
    }

    /// Returns what becomes of images at the higher level: where frames in queues are not
    /// judged again, they have a queue that the film never enters.
    const fn camera(&self) -> LevelTreatment {
        match self.kind {
            SwitchKind::Paper | SwitchKind::Taktos => LOW,
            SwitchKind::Real => HIGH,
        }
    }

    fn stage(&self, car: &Car, random: &mut Random) -> ModeSetup {
        let mut phase = |period: Duration| Duration::from_ns(random.below(period.as_ns()));
        let (lidar, stream) = (phase(LIDAR_PERIOD), phase(STREAM_PERIOD));
        let (slow, quick) = (phase(SLOW), phase(QUICK));
        let sees = car.sees_wall_at();
        let (period, camera_phase, quickens) = match self.system {
            System::LoOnly => (SLOW, slow, None),
            System::HiOnly => (QUICK, quick, None),
            System::Modes | System::StdSdn | System::McAgnostic => {
                // The first image that shows the wall is sent at once.
                let quickening = Quickening {
                    from: sees + quick,
                    period: QUICK,
                };
                (SLOW, slow, Some(quickening))
            }
        };
        let film = match self.system {
            System::HiOnly => [LevelTreatment::Drop; 2],
            System::LoOnly | System::Modes | System::StdSdn | System::McAgnostic => {
                [MIDDLE, LevelTreatment::Drop]
            }
        };
        let flow = |ends: [usize; 2], (period, phase, size_bytes), treatments| StagedFlow {
            from: ends[0],
            to: ends[1],
            route: vec![0, 1],
            period,
            size_bytes,
            phase,
            treatments,
            breach: None,
            quickens: None,
        };
        let (sensors, screen) = ([0, 2], [1, 3]);
        let camera = StagedFlow {
            quickens,
            ..flow(
                sensors,
                (period, camera_phase, IMAGE_BYTES),
                [LOW, self.camera()],
            )
        };
        let flows = vec![
            flow(sensors, (LIDAR_PERIOD, lidar, LIDAR_BYTES), [HIGH; 2]),
            flow(screen, (STREAM_PERIOD, stream, STREAM_BYTES), film),
            camera,
        ];
        ModeSetup {
            seed: self.trial,
            topology: ModeTopology::line(2),
            hosts: vec![0, 0, 1, 1],
            rules: flows.len(),
            flows,
            strategy: self.system.strategy(),
            device: self.kind.device(),
            controller: self.kind.controller(random),
            rate: BitRate::from_mbps(RATE_MBPS),
            duration: sees + PATIENCE,
        }
    }
}

/// Returns what came of a drive.
fn watched(stage: &ModeSetup, seen: &ObservedChange) -> ObservedDrive {
    let camera = &stage.flows[CAMERA];
    let quick = camera
        .quickens
        .map(|quick| Instant::ZERO + READY + quick.from);
    let noticed = seen.detected.zip(quick);
    let images = seen.arrivals[CAMERA].iter();
    let images = images.map(|(number, arrived)| Image {
        taken: camera.due(*number),
        arrived: *arrived,
    });
    ObservedDrive {
        images: images.collect(),
        noticed_early: noticed.is_some_and(|(detected, quick)| detected < quick),
        change: seen.mode_change(),
    }
}
