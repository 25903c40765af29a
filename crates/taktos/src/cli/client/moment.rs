//! Moments as people write them. Universal time: a controller and who asks it may
//! be far apart.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 86_400;
/// Days from 1 March of the year 0 to 1 January 1970, in the calendar of today.
const DAYS_TO_1970: u64 = 719_468;
/// Days of 400 years: the calendar repeats after them.
const DAYS_OF_400_YEARS: u64 = 146_097;

/// Returns the moment so many nanoseconds after the beginning of 1970, to the
/// millisecond.
pub fn written(ns: u64) -> String {
    let (seconds, ms) = (ns / 1_000_000_000, ns / 1_000_000 % 1_000);
    let (day, second) = (seconds / SECONDS_A_DAY, seconds % SECONDS_A_DAY);
    let (year, month, day) = date(day);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Returns the time of the day at such a moment, to the second.
pub fn of_day(ns: u64) -> String {
    let second = ns / 1_000_000_000 % SECONDS_A_DAY;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns now as nanoseconds after the beginning of 1970.
pub fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns how long ago something was, as closely as it matters.
pub fn age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns the date so many days after 1 January 1970. Years begin in March here,
/// so that the day that may be missing is the last one of a year.
fn date(day: u64) -> (u64, u64, u64) {
    let day = day + DAYS_TO_1970;
    let (era, day) = (day / DAYS_OF_400_YEARS, day % DAYS_OF_400_YEARS);
    let leap_days = day / 1460 - day / 36_524 + day / 146_096;
    let year = (day - leap_days) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
        const NS: u64 = 1_000_000_000;

        assert_eq!(written(0), "1970-01-01 00:00:00.000Z");
        assert_eq!(
            written(951_782_399 * NS + 999_999_999),
            "2000-02-28 23:59:59.999Z"
        );
        assert_eq!(written(951_782_400 * NS), "2000-02-29 00:00:00.000Z");
        assert_eq!(written(1_709_251_200 * NS), "2024-03-01 00:00:00.000Z");
        assert_eq!(written(4_107_542_400 * NS), "2100-03-01 00:00:00.000Z");
        assert_eq!(&written(u64::MAX)[..10], "2554-07-21");
    }

    #[test]
    fn days_follow_each_other() {
        for day in 0..100_000 {
            let (today, tomorrow) = (date(day), date(day + 1));
            assert!(today < tomorrow, "{today:?} {tomorrow:?}");
            assert!(tomorrow.2 == today.2 + 1 || tomorrow.2 == 1, "{tomorrow:?}");
        }
    }

    #[test]
    fn ages_are_told_as_closely_as_it_matters() {
        assert_eq!(age(Duration::from_millis(1900)), "1 s");
        assert_eq!(age(Duration::from_secs(61)), "1 min 1 s");
        assert_eq!(age(Duration::from_secs(7300)), "2 h 1 min");
    }
}
