//! Turns of relays whose delay is known, and turns that are interrupted.

use std::io::{ErrorKind, Write};

use linux::namespace::Namespace;
use measure::comparison::{self, Verdict};
use measure::method;

use super::*;

const SLOW: Duration = Duration::from_ms(20);
const QUICK: Duration = Duration::from_ms(2);

/// The delays are so long that the rest of the way hardly shows, and a tenth of one
/// another.
#[test]
fn of_two_relays_the_slower_one_is_named_and_how_much_slower_it_is() {
    if !has_namespaces("of_two_relays_the_slower_one_is_named") {
        return;
    }
    let options = [("interval", "2ms"), ("window", "none")];
    let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let plan = Plan {
        methods: vec![(method::named("latency").unwrap(), options.into())],
        rounds: 3,
        effort: Effort::Quick,
        seed: 1,
        duration: Some(Duration::from_ms(300)),
    };
    let targets = [SLOW, QUICK].map(|delay| {
        let text = format!("relay:delay={}ms", delay.as_ns() / 1_000_000);
        text.parse::<Target>().unwrap()
    });
    let stop = Arc::new(AtomicBool::new(false));
    let mut silent = method::Silent;

    let [slow, quick] = &targets;
    let mut turns = Turns::default();
    in_turns([slow, quick], &plan, &stop, &mut silent, &mut turns).unwrap();
    let [slow, quick] = turns.found;
    let found = comparison::compare(&slow, &quick);

    let mut rows = found.rows.iter();
    let row = rows.find(|row| row.quantity == "one-way latency, median");
    let row = row.unwrap();
    assert_eq!(row.verdict, Verdict::Second, "{row:?}");
    let (low, high) = row.effect.unwrap().bounds.unwrap();
    // What relays and machine add is more of 2 ms than of 20.
    assert!(low <= 0.12 && high >= 0.09, "from {low} to {high}");
    assert!(high < 0.9, "from {low} to {high}");
}

/// Tells whether there may be namespaces, or says loudly that there may not.
fn has_namespaces(test: &str) -> bool {
    match Namespace::new() {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let is_required = std::env::var_os("TAKTOS_REQUIRE_NAMESPACES").is_some();
            assert!(!is_required, "{test}: {error}");
            // Not `eprintln!`: the test harness would swallow it.
            let _ = writeln!(std::io::stderr(), "\nSKIPPED {test}: {error}\n");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Virtual time needs no privilege: a comparison of two profiles that ends in the middle
/// goes on with the turn that was due, and comes to the figures of one that did not.
#[test]
fn a_comparison_that_was_interrupted_goes_on_where_it_ended() {
    let plan = Plan {
        methods: vec![(method::named("loss").unwrap(), BTreeMap::new())],
        rounds: 2,
        effort: Effort::Quick,
        seed: 1,
        duration: Some(Duration::from_ms(50)),
    };
    let targets = ["emulated:zodiac-fx", "emulated:line-rate"];
    let targets = targets.map(|text| text.parse::<Target>().unwrap());
    let targets = [&targets[0], &targets[1]];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("turns");
    let go = Arc::new(AtomicBool::new(false));

    let mut begun = Turns {
        journal: Some(TurnJournal::open(&path, "these two").unwrap()),
        ..Turns::default()
    };
    let mut until = Until {
        turns: 3,
        stop: Arc::default(),
    };
    let stop = Arc::clone(&until.stop);
    let ended = in_turns(targets, &plan, &stop, &mut until, &mut begun);
    let interrupted = matches!(ended, Err(TurnError::Method(MethodError::Trial(_))));
    let kept = begun.found.each_ref().map(Vec::len);
    drop(begun);
    // The program was killed while it wrote the next line.
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap();
    file.write_all(b"{\"method\": \"lo").unwrap();
    let mut resumed = Turns {
        journal: Some(TurnJournal::open(&path, "these two").unwrap()),
        ..Turns::default()
    };
    let left = resumed.journal.as_ref().unwrap().left();
    in_turns(targets, &plan, &go, &mut method::Silent, &mut resumed).unwrap();
    let mut whole = Turns::default();
    in_turns(targets, &plan, &go, &mut method::Silent, &mut whole).unwrap();

    assert!(interrupted, "{kept:?}");
    // The second round begins with the other one.
    assert_eq!((kept, left), ([1, 2], 3));
    let figures = |turns: &Turns| {
        let all = turns.found.iter().flatten();
        all.map(|it| it.to_csv()).collect::<Vec<_>>()
    };
    assert_eq!(figures(&resumed), figures(&whole));
    let others = TurnJournal::open(&path, "two others").unwrap_err();
    assert!(
        others.to_string().contains("another comparison"),
        "{others}"
    );
}

/// Has somebody stop the turns once so many are done.
struct Until {
    turns: u64,
    stop: Arc<AtomicBool>,
}

impl Progress for Until {
    fn step(&mut self, done: u64, _of: u64, _now: &str) {
        if done == self.turns {
            self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
}
