//! Many cases on all processors, with the same outcome as one after the other.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::Progress;

/// Does `work` for each of `cases` and returns what came out, in their order.
pub fn side_by_side<Case: Sync, Result: Send>(
    cases: &[Case],
    progress: &mut Progress,
    work: impl Fn(&Case) -> Result + Sync,
) -> Vec<Result> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let total = u64::try_from(cases.len()).unwrap_or(u64::MAX);
    let next = AtomicUsize::new(0);
    let (results, arriving) = mpsc::channel();
    let mut done: Vec<Option<Result>> = cases.iter().map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (results, next, work) = (results.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((at, case)) = take(cases, next) {
                    // Nobody listens if the other side has panicked.
                    let _ = results.send((at, work(case)));
                }
            });
        }
        drop(results);
        for (count, (at, result)) in (1..).zip(arriving) {
            done[at] = Some(result);
            progress(count, total);
        }
    });
    let all = done.into_iter();
    all.map(|result| result.expect("every case has been done"))
        .collect()
}

fn take<'a, Case>(cases: &'a [Case], next: &AtomicUsize) -> Option<(usize, &'a Case)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    cases.get(at).map(|case| (at, case))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_cases() {
        let cases: Vec<u64> = (0..100).collect();
        let mut heard = Vec::new();

        let results = side_by_side(&cases, &mut |done, of| heard.push((done, of)), |case| {
            case * 2
        });

        assert_eq!(
            results,
            cases.iter().map(|case| case * 2).collect::<Vec<_>>()
        );
        assert_eq!(heard.len(), 100);
        assert_eq!(heard.last(), Some(&(100, 100)));
    }
}
