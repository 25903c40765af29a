//! A computed delay in whole nanoseconds, rounded **up**, for keys that end in `_ns`:
//! `#[serde(with = "units::whole_ns")]`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Delay, Duration};

/// Writes a delay, if there is one.
///
/// # Errors
///
/// If it cannot be written.
pub fn serialize<S: Serializer>(delay: &Option<Delay>, serializer: S) -> Result<S::Ok, S::Error> {
    delay.map(Delay::round_up).serialize(serializer)
}

/// Reads a delay, if there is one.
///
/// # Errors
///
/// If it is no number, or longer than a delay can be.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Delay>, D::Error> {
    let read = Option::<Duration>::deserialize(from)?;
    read.map(Delay::checked_from)
        .transpose()
        .map_err(serde::de::Error::custom)
}
