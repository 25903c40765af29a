//! A relay whose frames somebody keeps and loses.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::delay_line::Keeper;
use lab::subject::{Keeping, Subject};
use lab::tester::{Arrangement, LinkTester};
use measure::measurement::Value;
use measure::method::{self, Effort, Settings, Silent};
use units::{Duration, Instant};

use crate::namespace_or_skip;

const HELD: Duration = Duration::from_ms(2);

/// Holds every frame there for 2 ms and loses each fourth.
struct Fourth(u64);

impl Keeper for Fourth {
    fn keep(&mut self, arrived: Instant, way: usize, _frame: &[u8]) -> Option<Instant> {
        if way == 1 {
            return Some(arrived);
        }
        self.0 += 1;
        (!self.0.is_multiple_of(4)).then_some(arrived + HELD)
    }
}

#[test]
fn a_keeper_decides_what_becomes_of_frames() {
    let Some(_room) = namespace_or_skip("a_keeper_decides_what_becomes_of_frames") else {
        return;
    };
    let subject = Subject::Kept(Keeping {
        name: "relay with a keeper".to_owned(),
        keeper: Arc::new(|| -> Box<dyn Keeper> { Box::new(Fourth(0)) }),
    });
    let stop = Arc::new(AtomicBool::new(false));
    let mut tester = LinkTester::with(&subject, 2, Arrangement::Stations, stop).unwrap();
    let settings = Settings {
        effort: Effort::Quick,
        seed: 1,
        duration: Some(Duration::from_ms(400)),
        options: [("interval".to_owned(), "1ms".to_owned())].into(),
    };

    let loss = method::named("loss").unwrap();
    let found = (loss.run)(&mut tester, &settings, &mut Silent).unwrap();

    let count = |quantity: &str| {
        let mut figures = found.figures.iter();
        match figures
            .find(|it| it.quantity == quantity)
            .map(|it| &it.value)
        {
            Some(Value::Count(count)) => *count,
            other => panic!("{quantity}: {other:?}"),
        }
    };
    let (sent, lost) = (count("sent"), count("lost"));
    assert!(sent > 100, "{sent}");
    // A frame that a busy machine loses, or one that nobody sent for the test, shifts it.
    assert!((lost * 4).abs_diff(sent) <= 20, "{lost} of {sent}");
}
