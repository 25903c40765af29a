//! What a device can do, and how we know.

use units::Delay;

use crate::Emulation;

/// The profiles that the program carries with it.
pub(crate) const BUILT_IN: [(&str, &str); 14] = [
    (
        "taktos-kernel",
        include_str!("../../../profiles/taktos-kernel.toml"),
    ),
    (
        "taktos-packet",
        include_str!("../../../profiles/taktos-packet.toml"),
    ),
    (
        "taktos-af-packet",
        include_str!("../../../profiles/taktos-af-packet.toml"),
    ),
    (
        "taktos-af-xdp",
        include_str!("../../../profiles/taktos-af-xdp.toml"),
    ),
    (
        "line-rate",
        include_str!("../../../profiles/line-rate.toml"),
    ),
    (
        "zodiac-fx",
        include_str!("../../../profiles/zodiac-fx.toml"),
    ),
    (
        "banana-pi-r1",
        include_str!("../../../profiles/banana-pi-r1.toml"),
    ),
    (
        "open-vswitch",
        include_str!("../../../profiles/open-vswitch.toml"),
    ),
    (
        "open-vswitch-sdn4ci",
        include_str!("../../../profiles/open-vswitch-sdn4ci.toml"),
    ),
    (
        "open-vswitch-mininet",
        include_str!("../../../profiles/open-vswitch-mininet.toml"),
    ),
    (
        "hp-aruba-3810m",
        include_str!("../../../profiles/hp-aruba-3810m.toml"),
    ),
    (
        "pica8-p3297",
        include_str!("../../../profiles/pica8-p3297.toml"),
    ),
    (
        "odroid-xu4",
        include_str!("../../../profiles/odroid-xu4.toml"),
    ),
    (
        "unknown-switch",
        include_str!("../../../profiles/unknown-switch.toml"),
    ),
];

/// The parameters of a device: a processing stage shared by all its ports and a
/// buffer pool (LOKO section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name, by which switches refer to it.
    pub name: String,
    /// Which device in which set-up it describes, in a sentence.
    pub about: String,
    /// The longest time from the arrival of a frame to its queue in an idle
    /// switch.
    pub latency: Stated<Delay>,
    /// The longest time for which one frame occupies the processing stage; zero
    /// for hardware that forwards at line rate.
    pub per_frame: Stated<Delay>,
    /// What tables add to both, where their size matters.
    pub lookup: Option<Lookup>,
    /// How many frames the switch can hold in all.
    pub pool_frames: Stated<u64>,
    /// How many frames one queue of one port can hold.
    pub queue_frames: Stated<u64>,
    /// How long it works on each message of the controller.
    pub control: ControlTimes,
    /// How an emulated device of this kind behaves; without it, every time is the
    /// longest.
    pub emulation: Option<Emulation>,
    /// What the machine adds that all switches share, where the figures are those of a
    /// machine; no file says that.
    pub machine: Option<MachineShare>,
}

/// What a machine that carries all switches adds to the delay of a frame, once on its way,
/// and how sure that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineShare {
    pub cover: Delay,
    /// Of so many frames one is later at most.
    pub one_in: u64,
    /// With so much confidence, in percent.
    pub confidence_percent: u32,
    /// Under which load that was found, and how, in a sentence.
    pub about: String,
}

/// What the flow tables of a switch add to the time of every frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// For each mask that a frame is compared under.
    pub per_mask: Stated<Delay>,
    /// How many that are at most.
    pub masks: Stated<u64>,
    /// For each action that is done to a frame.
    pub per_action: Stated<Delay>,
    /// How many that are at most.
    pub actions: Stated<u64>,
}

impl Lookup {
    /// Returns what the tables add at most.
    #[must_use]
    pub fn longest(&self) -> Delay {
        self.per_mask.value * self.masks.value + self.per_action.value * self.actions.value
    }
}

impl Profile {
    /// Returns the names of the profiles that the program carries with it.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> + Clone {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Returns the profile of this name that the program carries with it.
    ///
    /// # Panics
    ///
    /// If it is malformed, which the tests rule out.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(Self::parse(name, text).expect("built-in profiles are tested"))
    }

    /// Returns the longest time from the arrival of a frame to its queue in an idle
    /// switch, with its tables.
    #[must_use]
    pub fn longest_latency(&self) -> Delay {
        self.latency.value + self.longest_lookup()
    }

    /// Returns the longest time for which one frame occupies the processing stage,
    /// with its tables.
    #[must_use]
    pub fn longest_per_frame(&self) -> Delay {
        self.per_frame.value + self.longest_lookup()
    }

    fn longest_lookup(&self) -> Delay {
        self.lookup.as_ref().map_or(Delay::ZERO, Lookup::longest)
    }
}

/// The time that a switch works on one control message, by kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlTimes {
    /// Adding, changing or deleting an entry.
    pub flow_mod: Stated<Delay>,
    /// Handing a frame to the controller.
    pub packet_in: Stated<Delay>,
    /// Sending a frame for the controller.
    pub packet_out: Stated<Delay>,
    pub barrier: Stated<Delay>,
    pub echo: Stated<Delay>,
}

/// A value with how it was obtained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated<T> {
    pub value: T,
    pub origin: Origin,
    /// By which method, on which machine, or in which publication.
    pub note: String,
}

/// How a value of a profile was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Measured,
    Paper,
    /// Stated by the maker or chosen by us.
    Stated,
}
