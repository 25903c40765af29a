//! What a switch is told when it is made: its ports and its limits.

use units::{BitRate, Duration};
use wire::ethernet::MacAddress;
use wire::openflow::taktos::PortSession;
use wire::openflow::{DatapathId, PortNumber};

/// How many frames a queue holds where nothing else is said, in every engine: what the
/// profiles of our switches say, by which flows are promised.
pub const QUEUE_FRAMES: u32 = 512;

/// Everything that is fixed for the life of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The name of the switch towards controllers.
    pub datapath_id: DatapathId,
    /// Its ports. They are up until the world says otherwise.
    pub ports: Vec<PortConfig>,
    /// How many flow tables there are.
    pub tables: u8,
    /// How many entries a table holds.
    pub table_capacity: usize,
    /// How many distinct masks the entries of a table may have: the bound of
    /// what a lookup costs.
    pub mask_capacity: usize,
    /// How many groups there can be.
    pub groups: usize,
    /// How many buckets a group can have.
    pub group_buckets: usize,
    /// How many meters there can be.
    pub meters: usize,
    /// How many bands a meter can have.
    pub meter_bands: usize,
    /// How many frames the switch can hold, all ports together. More than
    /// [`Config::buffers_that_suffice`] is of no use.
    pub buffers: usize,
    /// How many frames a queue holds.
    pub queue_capacity: usize,
    /// Up to which delay of its driver a port keeps its schedule: a frame that
    /// is begun later than it could have been counts as begun in time.
    pub catch_up: Duration,
    /// How many frames may go to the controllers, but for LLDP.
    pub packet_ins: PacketInBudget,
    /// How many LLDP frames that an entry sends to the controllers may do so.
    pub discovery: PacketInBudget,
    /// What becomes of frames while no controller is there.
    pub fail_mode: FailMode,
    /// When a connection that says nothing is asked, and when it is given up; if
    /// none, it never is.
    pub keep_alive: Option<KeepAlive>,
    /// How many frames the switch keeps while controllers decide about them.
    pub packet_buffers: PacketBuffersConfig,
    /// What the switch remembers about stations when it treats frames like a
    /// bridge.
    pub mac_table: MacTableConfig,
    /// Over which ports it asks its neighbours whether they are there, whatever controllers
    /// want.
    pub sessions: Vec<PortSession>,
    /// What the switch runs on, in the words that controllers get, of which they see
    /// up to 255 bytes.
    pub hardware: String,
    /// Seed of the hash tables. With a seed that nobody outside knows, nobody
    /// can choose frames that are slow to look up.
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortConfig {
    /// Its number: that of an ordinary port, or [`PortNumber::LOCAL`] for the
    /// switch's own host, OF13 clause 4.5.
    pub number: PortNumber,
    /// Its name, of which controllers see up to 15 bytes.
    pub name: String,
    pub mac: MacAddress,
    /// How fast it sends. Without a rate it sends at once and has no queues.
    pub rate: Option<BitRate>,
    pub pacing: Pacing,
}

/// Who lets the frames of a port wait for each other, and so holds its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    Core,
    /// The world, behind the switch: it is handed every frame at once, together
    /// with the queue that the frame goes through, and tells what became of them
    /// ([`Input::Queues`](crate::Input::Queues)). The rate is what controllers are
    /// told.
    World,
}

impl PortConfig {
    /// Returns the rate that the switch itself keeps here.
    pub(crate) fn own_pace(&self) -> Option<BitRate> {
        match self.pacing {
            Pacing::Core => self.rate,
            Pacing::World => None,
        }
    }
}

/// How often something may happen: `burst` times at once, and once more after
/// every `interval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketInBudget {
    /// The time after which one more is allowed.
    pub interval: Duration,
    /// How many may come at once.
    pub burst: u32,
}

/// What becomes of frames while no controller is there, OF13 clause 6.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailMode {
    /// The entries stay in force; what they send to controllers is dropped.
    Secure,
    /// Every frame is treated as by an ordinary bridge. The entries stay, go on
    /// expiring, and are in force again when a controller is back.
    Standalone,
}

/// How a connection whose other end is gone is found out, OF13 clause 6.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// After how much silence the other end is asked for a sign of life.
    pub idle: Duration,
    /// After how much more silence the connection is closed.
    pub give_up: Duration,
}

/// How frames are kept for controllers, OF13 clause 7.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketBuffersConfig {
    /// How many at a time, at most 65,536.
    pub frames: usize,
    /// For how long at least before one is given up for another.
    pub hold: Duration,
}

/// What a switch remembers about stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacTableConfig {
    pub capacity: usize,
    /// For how long after it was heard.
    pub age_max: Duration,
}

impl Config {
    /// Returns a switch with these ports and limits that suit a small network:
    /// 16 tables of 10,000 entries and 64 masks, 1,024 groups, 1,024 meters,
    /// queues of [`QUEUE_FRAMES`] frames, 4,000 packet-ins a second.
    #[must_use]
    pub fn new(datapath_id: DatapathId, ports: Vec<PortConfig>) -> Self {
        let mut config = Self {
            datapath_id,
            ports,
            tables: 16,
            table_capacity: 10_000,
            mask_capacity: 64,
            groups: 1024,
            group_buckets: 256,
            meters: 1024,
            meter_bands: 8,
            buffers: 0,
            queue_capacity: QUEUE_FRAMES as usize,
            catch_up: Duration::from_us(50),
            packet_ins: PacketInBudget {
                interval: Duration::from_us(250),
                burst: 64,
            },
            discovery: PacketInBudget {
                interval: Duration::from_us(500),
                burst: 64,
            },
            fail_mode: FailMode::Secure,
            keep_alive: Some(KeepAlive {
                idle: Duration::from_secs(5),
                give_up: Duration::from_secs(10),
            }),
            packet_buffers: PacketBuffersConfig {
                frames: 256,
                hold: Duration::from_secs(1),
            },
            mac_table: MacTableConfig {
                capacity: 4_096,
                age_max: Duration::from_secs(300),
            },
            sessions: Vec::new(),
            hardware: "software switch".to_owned(),
            seed: 0,
        };
        config.buffers = config.buffers_that_suffice();
        config
    }

    /// Returns how many buffers the switch needs so that a frame is dropped only
    /// since its own queue is full, never since others are: every queue of every
    /// port that it paces full, and a few frames in the switch's hands.
    #[must_use]
    pub fn buffers_that_suffice(&self) -> usize {
        let paced = self.ports.iter().filter_map(PortConfig::own_pace).count();
        paced * crate::QUEUES * self.queue_capacity + crate::egress::IN_HAND_MAX
    }
}
