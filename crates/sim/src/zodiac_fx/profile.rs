//! How fast an emulated switch is, and how much it holds.
//!
//! The two devices of the paper share one build: ports on an integrated switch,
//! one link from there to one processor. What differs are numbers, and this is
//! where they stand, each with its origin.

use units::{BitRate, DataSize, Delay, Duration};

/// The numbers of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    pub port_rate: BitRate,
    /// The rate of the link between the integrated switch and the processor.
    pub inner_rate: BitRate,
    /// One way through the integrated switch for a frame of an OpenFlow port.
    pub pass: Delay,
    /// The same for a frame of the native port, which is switched by addresses.
    pub native_pass: Delay,
    /// How long the processor works on a frame.
    pub work: ProcessorWork,
    /// What the main loop does after each frame before it takes the next.
    pub rest_of_loop: Delay,
    /// The buffers in memory, for frames that wait for the processor.
    pub buffers: usize,
    /// The size of one of them.
    pub buffer: DataSize,
    /// After how many pause frames the integrated switch loses a frame that
    /// comes back from the processor; none if the processor sends none. It sends
    /// one for every frame that found no room.
    pub pauses_a_loss: Option<u32>,
    /// How long fetching the counters of the ports keeps the processor busy
    /// every 1.5 s, if it does.
    pub port_checks: Option<Duration>,
}

/// How long a processor works on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessorWork {
    /// As the firmware of the Zodiac FX does, entry by entry:
    /// [`calculus::loko::processing_time`].
    EntryByEntry,
    /// A fixed time and a time a byte, whatever stands in the table.
    Flat {
        fixed: Delay,
        per_byte: Delay,
        /// What delays every frame before that and keeps nobody busy.
        latency: Delay,
    },
}

impl Profile {
    /// The Zodiac FX, as the paper sets it up.
    ///
    /// | number | origin |
    /// |---|---|
    /// | 100 Mbit/s, 24 buffers of 128 bytes | LOKO sections 2.1 and 3.5 |
    /// | native pass 2.07 us | LOKO section 3.4.1 |
    /// | pass 1 us | ours; the paper says that it is less than 2.07 us |
    /// | rest of the loop 4 us | ours; with it throughput is below LOKO Eq. (6) by 1 % at 17 entries and 306 bytes, so that the full rate loses frames and 95 % of it does not (LOKO Fig. 18a), and nowhere by more than the 6 % of LOKO section 3.4.2 |
    /// | 16 pause frames a loss | ours: the paper says that the output falls linearly and not how steeply |
    /// | no port checks | LOKO section 3.1 turns them off |
    pub const ZODIAC_FX: Self = Self {
        port_rate: BitRate::from_mbps(100),
        inner_rate: BitRate::from_mbps(100),
        pass: Delay::from_us(1),
        native_pass: Delay::from_ns(2_070),
        work: ProcessorWork::EntryByEntry,
        rest_of_loop: Delay::from_us(4),
        buffers: 24,
        buffer: DataSize::from_bytes(128),
        pauses_a_loss: Some(16),
        port_checks: None,
    };

    /// The Banana Pi R1, of which the paper says little.
    ///
    /// | number | origin |
    /// |---|---|
    /// | 1 Gbit/s | LOKO section 2.3 |
    /// | work 7.596 us and 7.234 ns a byte | fitted: 645 Mbit/s at 1470 bytes (LOKO section 2.3), and QJump's loss of 36.3 % at 306 (LOKO Fig. 3d) |
    /// | latency 30 us | ours: an interrupt and the scheduler of Linux; the paper does not say |
    /// | 256 buffers of 2048 bytes | ours: the ring of a Linux driver; the paper does not say |
    pub const BANANA_PI_R1: Self = Self {
        port_rate: BitRate::from_mbps(1_000),
        inner_rate: BitRate::from_mbps(1_000),
        pass: Delay::from_us(1),
        native_pass: Delay::from_us(1),
        work: ProcessorWork::Flat {
            fixed: Delay::from_ns(7_596),
            per_byte: Delay::from_ps(7_234),
            latency: Delay::from_us(30),
        },
        rest_of_loop: Delay::ZERO,
        buffers: 256,
        buffer: DataSize::from_bytes(2_048),
        pauses_a_loss: None,
        port_checks: None,
    };

    /// Returns the time of `data` on the inner link.
    pub(super) fn inner_time(&self, data: DataSize) -> Delay {
        self.inner_rate.time_to_send(data)
    }
}
