//! What a switch says of how long frames stayed and what sources sent: any counters, in any
//! order. What is believed is no more than links carry, and no contract is offered that what
//! was counted surely exceeds.

#![no_main]

use api::{FlowId, HopCount};
use controller::hop_audit::{HopAudit, Records};
use controller::sent_series::{SentReading, SentSeries};
use libfuzzer_sys::fuzz_target;
use units::{BitRate, Duration, Instant};
use wire::openflow::PortNumber;

/// How many frames a link carries in a time.
const MOST: u64 = 10_000;
const PLACE: (FlowId, PortNumber) = (FlowId(1), PortNumber(1));

fuzz_target!(|data: &[u8]| {
    let (mut audit, mut series) = (HopAudit::default(), SentSeries::default());
    let mut now = Instant::ZERO;
    let mut answers = 0;
    for words in data.chunks_exact(40) {
        let mut words = words.chunks_exact(8);
        let mut word = || {
            let bytes = words.next().expect("there are five");
            u64::from_be_bytes(bytes.try_into().expect("of eight bytes"))
        };
        now = Instant::from_ns(now.as_ns().saturating_add(word() >> 20));
        let (frames, longest, above, untimed) = (word(), word(), word(), word());
        let count = HopCount {
            frames,
            longest: Duration::from_ns(longest),
            budget: None,
            above,
            untimed,
        };
        let (risen, _) = audit.take(now, &Records::from([(PLACE, count)]), |_, _| MOST);
        answers += 1;
        assert!(risen.iter().all(|stay| stay.longest > Duration::ZERO));
        assert!(audit.frames() <= MOST * answers);
        series.take(SentReading {
            asked: now,
            answered: now,
            frames,
            bytes: longest,
            exceeded: above,
        });
        let rate = BitRate::from_mbps(1);
        assert!(series.least_burst(rate) <= series.sure_burst(rate, None));
    }
});
