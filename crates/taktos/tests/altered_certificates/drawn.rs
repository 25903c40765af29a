//! Drawn alterations: any number of a certificate, in the direction that promises more
//! than can be kept.

use certificate::{Certificate, check};
use serde_json::Value;
use units::Seeded;

use super::real::Real;

/// How many positions are drawn of each certificate.
const POSITIONS: usize = 400;

/// What is stated cannot be proven; it is compared, whichever way it was changed.
#[test]
fn any_number_that_is_stated_otherwise_is_a_difference() {
    let mut random = Seeded::new(1);
    for real in Real::all() {
        let document = serde_json::to_value(&real.certificate).unwrap();
        let all = numbers(&document);
        let stated = all.iter().filter(|path| is_stated(path));
        let stated: Vec<_> = stated.collect();
        for _ in 0..POSITIONS {
            let path = stated[random.index(stated.len())];
            let number = document.pointer(path).unwrap().as_u64().unwrap();
            let other = match random.below(4) {
                0 => number.saturating_add(1),
                1 => number.saturating_sub(1),
                2 => number / 2,
                _ => number.saturating_mul(2),
            };
            let Some(altered) = with(&document, path, other) else {
                continue;
            };
            if altered != real.certificate {
                let differences = real.differences(&altered);
                assert!(
                    !differences.is_empty(),
                    "{}: {path} {number} {other}",
                    real.name
                );
            }
        }
    }
}

/// What was chosen and promised is proven, so in the unsafe direction it is refused: a
/// promise less than its budgets, a budget less than the frame that is in the way, a
/// way over another link.
#[test]
fn any_number_that_was_chosen_is_refused_in_the_unsafe_direction() {
    let mut random = Seeded::new(2);
    for real in Real::all() {
        let document = serde_json::to_value(&real.certificate).unwrap();
        let all = numbers(&document);
        let chosen: Vec<_> = all.iter().filter(|path| !is_stated(path)).collect();
        let mut tried = 0;
        for _ in 0..POSITIONS {
            let path = chosen[random.index(chosen.len())];
            let number = document.pointer(path).unwrap().as_u64().unwrap();
            let Some(other) = worse(&real, path, number, &mut random) else {
                continue;
            };
            let Some(altered) = with(&document, path, other) else {
                continue;
            };
            let proven = check(&altered);
            assert!(proven.is_err(), "{}: {path} {number} {other}", real.name);
            tried += 1;
        }
        assert!(tried > POSITIONS / 2, "{}: {tried}", real.name);
    }
}

/// Every number counts: a network or a demand that is much worse at any place that is in
/// use proves nothing.
#[test]
fn any_number_that_is_much_worse_is_refused() {
    for real in Real::all() {
        let document = serde_json::to_value(&real.certificate).unwrap();
        for path in numbers(&document).iter().filter(|path| is_stated(path)) {
            let Some(other) = much_worse(&real.certificate, path) else {
                continue;
            };
            let mut altered = with(&document, path, other).unwrap();
            for profile in &mut altered.network.profiles {
                profile.sha256 = profile.figures.digest();
            }
            let proven = check(&altered.seal());
            assert!(proven.is_err(), "{}: {path} {other}", real.name);
        }
    }
}

fn is_stated(path: &str) -> bool {
    path.starts_with("/network") || path.contains("/demand/")
}

/// Returns a worse value of a number that was chosen or promised.
fn worse(real: &Real, path: &str, number: u64, random: &mut Seeded) -> Option<u64> {
    let field = path.rsplit('/').next().unwrap_or_default();
    if path.contains("/guarantees_ps/") {
        let level_is_fitted = real.name == "emergency-braking";
        // A level with budgets of its own promises the deadline, which may be more than
        // these add up to.
        let most = if level_is_fitted { number / 50 } else { number };
        return Some(random.below(most.max(1)));
    }
    match field {
        // The smallest links have 100 Mbit/s, where a frame takes 123 us, the largest
        // 1 Gbit/s; the quickest processor takes some microseconds to begin.
        "budget_ps" if path.contains("/ports/") => Some(random.below(12_336_000)),
        "budget_ps" => {
            let profiles = real.certificate.network.profiles.iter();
            let latency = profiles.map(|it| it.figures.latency_ps).min().unwrap();
            (latency > 0).then(|| random.below(latency))
        }
        // The place of a class or a port: another one has no budget then.
        "class" | "port" => Some(number + 1 + random.below(5)),
        _ => {
            // Places of links, in ways and as what is broken.
            let links = real.certificate.network.links.len();
            let other = random.below(links as u64);
            let is_link = path.contains("/path/") || field == "without";
            (is_link && other != number && is_protected(real, path)).then_some(other)
        }
    }
}

/// Without protection another way may be as good; then nothing untrue is said.
fn is_protected(real: &Real, path: &str) -> bool {
    let flow = path
        .split('/')
        .nth(2)
        .and_then(|it| it.parse::<usize>().ok());
    let demand = &real.certificate.flows[flow.unwrap()].demand;
    demand.protection != certificate::document::Protection::None || demand.receivers.len() == 1
}

/// Returns a value with which what was promised cannot be kept, of a number that is
/// stated; nothing where the number does not bear on any promise.
fn much_worse(certificate: &Certificate, path: &str) -> Option<u64> {
    const SECOND_PS: u64 = 1_000_000_000_000;
    let mut parts = path.rsplit('/');
    let field = parts.next().unwrap_or_default();
    if let Some(link) = path.strip_prefix("/network/links/") {
        let link: usize = link.split('/').next().unwrap().parse().unwrap();
        let used = certificate
            .flows
            .iter()
            .any(|flow| flow.path.contains(&link));
        return match field {
            "rate_bps" => used.then_some(1_000),
            "propagation_ps" => used.then_some(SECOND_PS),
            _ => None,
        };
    }
    if path.contains("/unpromised/") {
        // A flood of tiny frames drowns the switch where it arrives.
        return None;
    }
    match field {
        "latency_ps" | "per_frame_ps" => Some(SECOND_PS),
        "pool_frames" | "queue_frames" => Some(0),
        "probe_interval_ps" => Some(1_000),
        "rate_bps" | "burst_bit" => Some(900_000_000_000),
        "largest_frame_bit" => Some(900_000_000),
        "smallest_frame_bit" => Some(1),
        "deadline_ps" | "tag_bit" | "hold_ps" | "bfd_interval_ps" => Some(1),
        "class" => Some(1),
        // Numbers by which things are called; and how many frames there are, which are
        // no more than the link of the source lets through.
        _ => None,
    }
}

/// Returns the certificate with another number at a place, sealed anew; nothing if that
/// has no form.
fn with(document: &Value, path: &str, number: u64) -> Option<Certificate> {
    let mut altered = document.clone();
    *altered.pointer_mut(path).unwrap() = Value::from(number);
    let altered = serde_json::from_value::<Certificate>(altered).ok()?;
    Some(altered.seal())
}

fn numbers(document: &Value) -> Vec<String> {
    fn find(path: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Number(_) => found.push(path.to_owned()),
            Value::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    find(&format!("{path}/{at}"), value, found);
                }
            }
            Value::Object(values) => {
                for (key, value) in values {
                    find(&format!("{path}/{key}"), value, found);
                }
            }
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
    let mut found = Vec::new();
    find("", document, &mut found);
    found
}
