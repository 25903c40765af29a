//! What counts as a frame of ours where frames leave, and what is believed of it.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

use linux::bpf::map::MappedArray;
use linux::clock;
use linux::hop_watch::HopSpace;
use linux::port::KernelPort;
use linux::sender::{ClassId, Sender};
use switch::compiled::layout::{Region, hop};
use units::{Duration, Instant};

use crate::world::{Action, Cable, Probe, await_some, frame};

const RECORDS: u32 = 64;
const SLOT: u64 = 5;
const TURN: u64 = 3;

/// A switch whose records are looked at, with one port on a cable.
struct Bench {
    records: MappedArray,
    space: HopSpace,
    cable: Cable,
    _port: KernelPort,
}

impl Bench {
    fn or_skip(test: &str) -> Option<Self> {
        Probe::load_or_skip(test)?;
        let cable = Cable::lay();
        let records = HopSpace::records(RECORDS).unwrap();
        let space = HopSpace::join(&records).unwrap();
        let port = cable.namespace.run(|| KernelPort::open(cable.far)).unwrap();
        space.know_port(&port).unwrap();
        space.want(true).unwrap();
        let bench = Self {
            records,
            space,
            cable,
            _port: port,
        };
        bench.set(hop::DEVICE, u64::from(bench.cable.far) | (TURN + 1) << 32);
        Some(bench)
    }

    fn place(word: usize) -> usize {
        usize::try_from(SLOT).unwrap() * Region::Hops.record_words() + word
    }

    fn set(&self, word: usize, value: u64) {
        self.records.words()[Self::place(word)].store(value, Ordering::SeqCst);
    }

    fn get(&self, word: usize) -> u64 {
        self.records.words()[Self::place(word)].load(Ordering::SeqCst)
    }

    /// Frames that were counted with a stay, and without.
    fn counted(&self) -> (u64, u64) {
        let buckets = (0..hop::BUCKETS_COUNT).map(|bucket| self.get(hop::BUCKETS + bucket));
        (buckets.sum(), self.get(hop::UNTIMED))
    }

    /// Returns what all of this switch's records have.
    fn sum(&self) -> u64 {
        let words = self.records.words().iter().enumerate();
        let counted = words.filter(|(at, _)| {
            let word = at % Region::Hops.record_words();
            word >= hop::BUCKETS || word == hop::UNTIMED
        });
        counted.map(|(_, word)| word.load(Ordering::SeqCst)).sum()
    }

    fn mark(&self) -> Mark {
        Mark {
            sign: hop::MARK_SIGN,
            turn: TURN,
            space: self.space.number().into(),
            slot: SLOT,
        }
    }

    /// Sends a frame by the port.
    fn send(&self, mark: Mark, came: Option<Instant>) {
        send(&self.cable, self.cable.far, mark, came).unwrap();
    }
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    sign: u64,
    turn: u64,
    space: u64,
    slot: u64,
}

impl Mark {
    fn word(self) -> u32 {
        let word = self.sign << hop::MARK_SIGN_AT
            | self.turn << hop::MARK_TURN_AT
            | self.space << hop::MARK_SPACE_AT
            | self.slot;
        u32::try_from(word).unwrap()
    }
}

/// Sends a frame with a mark, and with a time that it keeps until it leaves.
fn send(cable: &Cable, interface: u32, mark: Mark, came: Option<Instant>) -> io::Result<()> {
    #[repr(C)]
    struct TransmitTime {
        clock: libc::clockid_t,
        flags: u32,
    }
    /// A `cmsghdr` and its 64 bits.
    #[repr(C)]
    struct Control {
        length: usize,
        level: i32,
        kind: i32,
        time: u64,
    }
    let open = || Sender::open(interface, ClassId { major: 0, minor: 0 });
    let sender = cable.namespace.run(open)?;
    let kept = TransmitTime {
        clock: libc::CLOCK_MONOTONIC,
        flags: 0,
    };
    let number = mark.word();
    set(&sender, libc::SO_MARK, &number)?;
    set(&sender, libc::SO_TXTIME, &kept)?;
    let mut bytes = frame(Action::Pass, 1);
    let mut piece = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let mut control = Control {
        length: size_of::<Control>(),
        level: libc::SOL_SOCKET,
        kind: libc::SO_TXTIME,
        time: came.map_or(0, Instant::as_ns),
    };
    // SAFETY: all bytes zero are a message of nothing.
    #[expect(unsafe_code, reason = "sendmsg")]
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    if came.is_some() {
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<Control>();
    }
    // SAFETY: the message leads to one piece and one control message, which live on.
    #[expect(unsafe_code, reason = "sendmsg")]
    let sent = unsafe { libc::sendmsg(sender.as_fd_number(), &raw const message, 0) };
    match sent {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Sets an option of a socket to plain data.
fn set<T>(sender: &Sender, option: i32, value: &T) -> io::Result<()> {
    let length = u32::try_from(size_of::<T>()).unwrap();
    let value = std::ptr::from_ref(value).cast();
    // SAFETY: the kernel reads `length` bytes of `value`, which has no padding.
    #[expect(unsafe_code, reason = "setsockopt")]
    let result = unsafe {
        let socket = sender.as_fd_number();
        libc::setsockopt(socket, libc::SOL_SOCKET, option, value, length)
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

trait Descriptor {
    fn as_fd_number(&self) -> i32;
}

impl Descriptor for Sender {
    fn as_fd_number(&self) -> i32 {
        use std::os::fd::AsFd;
        self.as_fd().as_raw_fd()
    }
}

#[test]
fn a_stay_is_from_the_time_that_the_frame_keeps_to_its_departure() {
    let test = "a_stay_is_from_the_time_that_the_frame_keeps_to_its_departure";
    let Some(bench) = Bench::or_skip(test) else {
        return;
    };
    let ago = Duration::from_ms(700);
    bench.set(hop::BUDGET, Duration::from_ms(600).as_ns());

    bench.send(bench.mark(), Some(clock::now() - ago));
    let long_after = clock::now();
    bench.send(bench.mark(), Some(clock::now()));

    await_some("two frames", || (bench.counted() == (2, 0)).then_some(()));
    let longest = Duration::from_ns(bench.get(hop::LONGEST));
    assert!(longest >= ago && longest <= ago + (clock::now() - long_after + ago));
    assert_eq!(
        (bench.get(hop::ABOVE), bench.get(hop::PEAK)),
        (1, longest.as_ns())
    );
    let all = bench.records.words()[hop::ABOVE].load(Ordering::SeqCst);
    assert_eq!(all, 1);
}

#[test]
fn a_time_that_makes_no_sense_is_not_believed_and_counted_apart() {
    let test = "a_time_that_makes_no_sense_is_not_believed_and_counted_apart";
    let Some(bench) = Bench::or_skip(test) else {
        return;
    };

    for came in [
        None,
        Some(clock::now() + Duration::from_secs(3_600)),
        Some(Instant::from_ns(i64::MAX.unsigned_abs())),
    ] {
        bench.send(bench.mark(), came);
    }

    await_some("three frames", || (bench.counted() == (0, 3)).then_some(()));
    assert_eq!(bench.get(hop::LONGEST), 0);
}

#[test]
fn marks_of_others_are_not_counted() {
    let test = "marks_of_others_are_not_counted";
    let Some(bench) = Bench::or_skip(test) else {
        return;
    };
    let own = bench.mark();
    let came = Some(clock::now());
    let others = [
        Mark { sign: 0, ..own },
        Mark {
            sign: own.sign ^ 1,
            ..own
        },
        Mark {
            turn: TURN + 1,
            ..own
        },
        Mark {
            space: own.space ^ 0x3ff,
            ..own
        },
        Mark {
            slot: SLOT + 1,
            ..own
        },
        Mark { slot: 1_000, ..own },
    ];

    for mark in others {
        bench.send(mark, came);
    }
    // The other end of the cable is another interface, and in another namespace there is
    // another cable whose ends have the same numbers.
    send(&bench.cable, bench.cable.near, own, came).unwrap();
    let elsewhere = Cable::lay();
    assert_eq!(elsewhere.far, bench.cable.far);
    send(&elsewhere, elsewhere.far, own, came).unwrap();
    bench.send(own, came);

    await_some("the one frame", || {
        (bench.counted() == (1, 0)).then_some(())
    });
    assert_eq!(bench.sum(), 1);
}

#[test]
fn who_does_not_want_to_know_is_told_nothing() {
    let test = "who_does_not_want_to_know_is_told_nothing";
    let Some(bench) = Bench::or_skip(test) else {
        return;
    };
    let came = Some(clock::now());
    bench.send(bench.mark(), came);
    await_some("a frame", || (bench.counted() == (1, 0)).then_some(()));

    let mark = bench.mark();
    let Bench {
        records,
        space,
        cable,
        _port,
    } = bench;
    drop(space);
    send(&cable, cable.far, mark, came).unwrap();

    let buckets = &records.words()[Bench::place(hop::BUCKETS)..][..hop::BUCKETS_COUNT];
    let counted = buckets.iter().map(|word| word.load(Ordering::SeqCst));
    assert_eq!(counted.sum::<u64>(), 1);
}
