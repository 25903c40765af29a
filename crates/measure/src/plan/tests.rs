//! Plans that are interrupted, resumed, cut and mistaken for others.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;
use crate::measurement::Value;
use crate::method::{Setting, Silent, at_each};

/// Makes another plan of a plan.
type Change = fn(&mut Identity);

/// A file in memory that both runs write to.
#[derive(Clone, Debug, Default)]
struct Page(Rc<RefCell<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Page {
    fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).unwrap()
    }
}

/// Five points, interrupted at the fourth, resumed: each is measured once, and the
/// findings are those of a run without interruption.
#[test]
fn an_interrupted_plan_is_resumed_where_it_was() {
    let page = Page::default();
    let mut silent = Silent;
    let mut journal = Journal::begin(&identity(), Box::new(page.clone()), &mut silent).unwrap();
    let (first, made) = go(&mut journal, Some(3));
    assert_eq!(
        first.unwrap_err(),
        MethodError::Trial(crate::trial::TrialError::Interrupted)
    );
    assert_eq!(made, [0, 1, 2, 3]);

    let mut silent = Silent;
    let out = Box::new(page.clone());
    let mut journal = Journal::resume(&identity(), &page.text(), out, &mut silent).unwrap();
    let (second, made) = go(&mut journal, None);

    assert_eq!(made, [3, 4]);
    assert_eq!(journal.recalled(), 3);
    let whole = go(&mut Silent, None).0.unwrap();
    assert_eq!(format!("{:?}", second.unwrap()), format!("{whole:?}"));
    assert_eq!(read(&identity(), &page.text()).unwrap().len(), 5);
}

#[test]
fn a_journal_of_another_plan_is_refused_by_what_differs() {
    let text = journal_of_three();
    let changed: [(Change, &str); 4] = [
        (
            |plan| plan.device = "another switch".to_owned(),
            "the device was a switch",
        ),
        (|plan| plan.seed = 2, "the seed was 1 and is 2"),
        (
            |plan| plan.method = "loss".to_owned(),
            "the method was latency",
        ),
        (
            |plan| {
                plan.options.insert("window".to_owned(), "1500".to_owned());
            },
            "the option `window` was not chosen and is 1500",
        ),
    ];
    for (change, expected) in changed {
        let mut plan = identity();
        change(&mut plan);

        let error = read(&plan, &text).unwrap_err();

        assert!(matches!(error, JournalError::OtherPlan { .. }));
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_journal_that_is_cut_says_what_can_be_kept() {
    let text = journal_of_three();

    let error = read(&identity(), &text[..text.len() - 9]).unwrap_err();

    assert!(
        matches!(error, JournalError::Cut { line: 4, kept: 2 }),
        "{error}"
    );
    assert!(matches!(read(&identity(), ""), Err(JournalError::Empty)));
}

#[test]
fn a_journal_that_was_changed_is_refused_with_the_line() {
    let text = journal_of_three();
    let twice = format!("{text}{}\n", text.lines().last().unwrap());
    let damaged = text.replacen("\"count\":1", "\"count\":-1", 1);

    assert!(matches!(
        read(&identity(), &twice).unwrap_err(),
        JournalError::Repeated { line: 5, .. }
    ));
    assert!(matches!(
        read(&identity(), &damaged).unwrap_err(),
        JournalError::Damaged { line: 2.., .. }
    ));
}

#[test]
fn the_time_left_counts_from_what_this_run_did() {
    let mut left = TimeLeft::default();
    let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);

    assert_eq!(left.step((40, 100), at(7)), None);
    assert_eq!(left.step((50, 100), at(27)), Some(Duration::from_secs(100)));
    assert_eq!(left.step((100, 100), at(127)), Some(Duration::ZERO));
}

proptest! {
    #[test]
    fn no_journal_makes_it_panic(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = journal_of_three().into_bytes();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(text) = String::from_utf8(bytes) {
            let _ = read(&identity(), &text);
        }
    }
}

fn identity() -> Identity {
    Identity {
        method: "latency".to_owned(),
        device: "a switch".to_owned(),
        seed: 1,
        options: BTreeMap::from([("quick".to_owned(), "true".to_owned())]),
        version: "0.1.0".to_owned(),
    }
}

fn journal_of_three() -> String {
    let page = Page::default();
    let mut silent = Silent;
    let mut journal = Journal::begin(&identity(), Box::new(page.clone()), &mut silent).unwrap();
    let _ = go(&mut journal, Some(3));
    drop(journal);
    page.text()
}

/// Measures five points, or until one is interrupted, and tells which were measured.
fn go(
    progress: &mut dyn Progress,
    interrupted_at: Option<u64>,
) -> (Result<Findings, MethodError>, Vec<u64>) {
    let points: Vec<(Setting, u64)> = (0..5)
        .map(|point| (vec![("point".to_owned(), point.to_string())], point))
        .collect();
    let mut made = Vec::new();
    let found = at_each(&points, progress, |setting, point, found| {
        made.push(*point);
        if Some(*point) == interrupted_at {
            return Err(crate::trial::TrialError::Interrupted.into());
        }
        found.add(("number", "none"), setting, Value::Count(*point));
        found.remark(format!("at {point}"));
        Ok(())
    });
    (found, made)
}
