//! The clock of a network card, `/dev/ptpN`, and how its time becomes that of the machine.
//!
//! The driver reads the card's clock between two readings of the system's, as close around
//! the access to the card as it can (`PTP_SYS_OFFSET_EXTENDED`); of some such readings the
//! tightest counts. Where the driver cannot, the clock is read by an ordinary system call
//! between two readings of the monotonic clock. What a reading cannot know is where within
//! its width the card was read, which is what a [`Relation`] may be off.
//!
//! Ports of one card have one clock, and then one relation: it adds nothing to the
//! difference of two stamps but the error of its rate.
//!
//! Source: `linux/ptp_clock.h`; Documentation/driver-api/ptp.rst of Linux.
//!
//! # Left out
//!
//! Readings that the bus takes of both clocks at once (`PTP_SYS_OFFSET_PRECISE`), which few
//! cards know. No card was at hand to try this on: the relation is held to its bound by
//! calculated clocks, the reading of `/dev/ptpN` by nothing.

pub mod relation;

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

use libc::{clockid_t, ptp_clock_time};
use units::{Duration, Instant};

use crate::clock::{self, READINGS, STEP_AT_LEAST};
use crate::socket::done;
use crate::stamps::CardTime;
use relation::{Followed, LEAST_BASE, Reading, Relation, SLEWING};

const NS_PER_SECOND: u64 = 1_000_000_000;
/// The time of day may be set while it is compared with the card's, and a reading may be
/// interrupted: how often it is made at most.
const TRIES: usize = 3;

/// How a card's clock is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadBy {
    /// The driver, with the system's clock around it.
    Driver,
    /// This process, which reads the monotonic clock around it.
    Process,
}

/// A card's clock, and its relation to the monotonic one.
#[derive(Debug)]
pub struct CardClock {
    file: File,
    number: u32,
    read_by: ReadBy,
    relation: Relation,
}

impl CardClock {
    /// Opens the clock of this number, and learns how it runs: that takes a quarter of a
    /// second.
    ///
    /// # Errors
    ///
    /// Without such a clock or the right to read it, or if it cannot be read.
    pub fn open(number: u32) -> io::Result<Self> {
        let path = format!("/dev/ptp{number}");
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
        let file = File::open(&path).map_err(named)?;
        let (read_by, first) = match read_by_driver(&file) {
            Ok(reading) => (ReadBy::Driver, reading),
            Err(_) => (
                ReadBy::Process,
                read_by_process(clock_of(&file)).map_err(named)?,
            ),
        };
        let first = best(first, || read(&file, read_by))?;
        let mut clock = Self {
            file,
            number,
            read_by,
            relation: Relation::begin(first),
        };
        // A little more, should the card be the slower one.
        clock::sleep_until(clock::now() + LEAST_BASE + SLEWING);
        clock.resume()?;
        Ok(clock)
    }

    /// Returns its number, as in `/dev/ptp0`.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns its relation to the monotonic clock.
    #[must_use]
    pub fn relation(&self) -> &Relation {
        &self.relation
    }

    /// Reads it after a time in which nobody asked, see [`Relation::resume`].
    ///
    /// # Errors
    ///
    /// If it cannot be read any more.
    pub fn resume(&mut self) -> io::Result<()> {
        let reading = best(self.read()?, || self.read())?;
        self.relation.resume(reading);
        Ok(())
    }

    /// Reads it in the middle of use, to be called every
    /// [`SLEWING`].
    ///
    /// # Errors
    ///
    /// If it cannot be read any more.
    pub fn follow(&mut self) -> io::Result<Followed> {
        let reading = self.read()?;
        Ok(self.relation.follow(reading))
    }

    fn read(&self) -> io::Result<Reading> {
        read(&self.file, self.read_by)
    }
}

fn read(file: &File, by: ReadBy) -> io::Result<Reading> {
    match by {
        ReadBy::Driver => read_by_driver(file),
        ReadBy::Process => read_by_process(clock_of(file)),
    }
}

/// Reads some more times where there is no time before that would show that a reading was
/// interrupted, and returns the best.
fn best(first: Reading, mut read: impl FnMut() -> io::Result<Reading>) -> io::Result<Reading> {
    (1..TRIES).try_fold(first, |best, _| {
        let next = read()?;
        Ok(match next.within < best.within {
            true => next,
            false => best,
        })
    })
}

/// The system's clock, the card's, and the system's again.
type Sample = [ptp_clock_time; 3];

fn read_by_driver(file: &File) -> io::Result<Reading> {
    for _ in 0..TRIES {
        let (offset_ns, offset_within) = clock::sample_offset();
        let [before, card, after] = samples(file)?;
        let (again_ns, _) = clock::sample_offset();
        if again_ns.abs_diff(offset_ns) < STEP_AT_LEAST.as_ns() {
            let middle = before + (after - before) / 2;
            return Ok(Reading {
                card: CardTime::from_ns(card),
                at: Instant::from_ns(middle.saturating_sub(offset_ns)),
                within: Duration::from_ns((after - before).div_ceil(2)) + offset_within,
            });
        }
    }
    Err(io::Error::other(
        "somebody sets the time of day all the time",
    ))
}

/// Has the driver read the card's clock, and returns the tightest reading.
fn samples(file: &File) -> io::Result<[u64; 3]> {
    let none = ptp_clock_time {
        sec: 0,
        nsec: 0,
        reserved: 0,
    };
    let mut request = libc::ptp_sys_offset_extended {
        n_samples: u32::try_from(READINGS).expect("a few"),
        // The wall clock is the only one that kernels before 6.12 know here.
        clockid: libc::CLOCK_REALTIME,
        rsv: [0; 2],
        ts: [[none; 3]; libc::PTP_MAX_SAMPLES as usize],
    };
    let number = libc::PTP_SYS_OFFSET_EXTENDED;
    // SAFETY: the request reads and writes a whole `ptp_sys_offset_extended`, which lives
    // until the call returns.
    #[expect(unsafe_code, reason = "ioctl")]
    let result = unsafe { libc::ioctl(file.as_raw_fd(), number, &raw mut request) };
    done(result)?;
    let found = tightest(&request.ts[..READINGS]);
    found.ok_or_else(|| io::Error::other("the card's clock tells no time"))
}

/// Returns the sample that took the least, in nanoseconds, of those that make sense.
fn tightest(samples: &[Sample]) -> Option<[u64; 3]> {
    let sound = samples.iter().filter_map(|sample| {
        let [before, card, after] = sample.map(|it| nanoseconds(it.sec, it.nsec.into()));
        Some([before?, card?, after?]).filter(|[before, _, after]| before <= after)
    });
    sound.min_by_key(|[before, _, after]| after - before)
}

fn nanoseconds(seconds: i64, ns: u64) -> Option<u64> {
    let seconds = u64::try_from(seconds).ok()?;
    seconds.checked_mul(NS_PER_SECOND)?.checked_add(ns)
}

fn read_by_process(id: clockid_t) -> io::Result<Reading> {
    let mut failed = None;
    let bracketed = clock::bracket(|| match nanoseconds_of(id) {
        Ok(ns) => ns,
        Err(error) => {
            failed = Some(error);
            0
        }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(Reading {
            card: CardTime::from_ns(bracketed.other_ns),
            at: bracketed.middle(),
            within: Duration::from_ns(bracketed.width().as_ns().div_ceil(2)),
        }),
    }
}

/// Returns the clock that a descriptor stands for, `FD_TO_CLOCKID` of the kernel.
fn clock_of(file: &File) -> clockid_t {
    const OF_DESCRIPTOR: clockid_t = 3;
    (!file.as_raw_fd() << 3) | OF_DESCRIPTOR
}

fn nanoseconds_of(id: clockid_t) -> io::Result<u64> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call writes a whole `timespec`, which lives until it returns.
    #[expect(unsafe_code, reason = "clock_gettime")]
    let result = unsafe { libc::clock_gettime(id, time.as_mut_ptr()) };
    done(result)?;
    // SAFETY: the call has succeeded and so has written it.
    #[expect(unsafe_code, reason = "what was written")]
    let time = unsafe { time.assume_init() };
    let ns = u64::try_from(time.tv_nsec).ok();
    let ns = ns.and_then(|ns| nanoseconds(time.tv_sec, ns));
    ns.ok_or_else(|| io::Error::other("the card's clock counts from before 1970"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample([before, card, after]: [(i64, u32); 3]) -> Sample {
        [before, card, after].map(|(sec, nsec)| ptp_clock_time {
            sec,
            nsec,
            reserved: 0,
        })
    }

    #[test]
    fn the_sample_that_took_the_least_counts() {
        let samples = [
            sample([(7, 999_999_000), (90, 5), (8, 1_000)]),
            sample([(8, 2_000), (90, 3_005), (8, 2_800)]),
            sample([(8, 5_000), (90, 6_005), (8, 9_000)]),
        ];

        assert_eq!(
            tightest(&samples),
            Some([8_000_002_000, 90_000_003_005, 8_000_002_800])
        );
    }

    #[test]
    fn a_sample_that_cannot_be_does_not_count() {
        let backwards = sample([(8, 2_000), (90, 0), (8, 1_000)]);
        let before_the_origin = sample([(8, 1_000), (-1, 0), (8, 2_000)]);

        assert_eq!(tightest(&[backwards, before_the_origin]), None);
        assert_eq!(tightest(&[]), None);
    }

    #[test]
    fn a_clock_that_is_not_there_is_named() {
        let missing = CardClock::open(4_000_000).unwrap_err();

        assert!(
            missing.to_string().starts_with("/dev/ptp4000000: "),
            "{missing}"
        );
    }

    #[test]
    fn a_descriptor_that_is_no_clock_tells_no_time() {
        let file = File::open("/dev/null").unwrap();

        assert!(read_by_driver(&file).is_err());
        assert!(read_by_process(clock_of(&file)).is_err());
    }

    #[test]
    fn a_clock_that_is_the_monotonic_one_reads_the_same_but_for_the_width() {
        let reading = read_by_process(libc::CLOCK_MONOTONIC).unwrap();

        let apart = reading.card.as_ns().abs_diff(reading.at.as_ns());
        assert!(apart <= reading.within.as_ns(), "{reading:?}");
    }

    proptest! {
        #[test]
        fn whatever_a_driver_says_a_sample_is_one_of_those_it_gave(
            given in proptest::collection::vec(any::<[(i64, u32); 3]>(), 0..25),
        ) {
            let samples: Vec<_> = given.iter().map(|it| sample(*it)).collect();

            if let Some([before, _, after]) = tightest(&samples) {
                prop_assert!(before <= after);
                let is_it = |[(sec, nsec), ..]: &[(i64, u32); 3]| {
                    nanoseconds(*sec, (*nsec).into()) == Some(before)
                };
                prop_assert!(given.iter().any(is_it));
            }
        }
    }
}
