//! Four currents and four voltages: the sample of 9-2LE (clause 7.2.2,
//! `PhsMeas1`).

/// The length of such a sample.
pub const PHASE_MEASUREMENT_LENGTH: usize = 64;

const CHANNELS: usize = 8;

/// How good a value is (IEC 61850-7-3 clause 6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quality(pub u32);

impl Quality {
    /// As good as it should be.
    pub const GOOD: Self = Self(0);
    /// Not to be used.
    pub const INVALID: Self = Self(1);
    /// Computed from others and not measured (9-2LE clause 7.2.2).
    pub const DERIVED: Self = Self(1 << 13);
}

/// One value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// In milliamperes for a current, in hundredths of a volt for a voltage.
    pub value: i32,
    /// How good it is.
    pub quality: Quality,
}

/// Currents and voltages at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseMeasurement {
    /// Currents of the phases A, B, C and of the neutral.
    pub currents: [Channel; 4],
    /// Voltages of the phases A, B, C and of the neutral.
    pub voltages: [Channel; 4],
}

impl PhaseMeasurement {
    /// Returns the values that a sample holds, if it has their length.
    #[must_use]
    pub fn parse(sample: &[u8]) -> Option<Self> {
        let sample: &[u8; PHASE_MEASUREMENT_LENGTH] = sample.try_into().ok()?;
        let (channels, _) = sample.as_chunks::<8>();
        let channels: [Channel; CHANNELS] = std::array::from_fn(|index| {
            let [a, b, c, d, e, f, g, h] = channels[index];
            Channel {
                value: i32::from_be_bytes([a, b, c, d]),
                quality: Quality(u32::from_be_bytes([e, f, g, h])),
            }
        });
        let [ia, ib, ic, neutral_current, va, vb, vc, neutral_voltage] = channels;
        Some(Self {
            currents: [ia, ib, ic, neutral_current],
            voltages: [va, vb, vc, neutral_voltage],
        })
    }

    /// Returns the sample that holds the values.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PHASE_MEASUREMENT_LENGTH] {
        let mut sample = [0; PHASE_MEASUREMENT_LENGTH];
        let (places, _) = sample.as_chunks_mut::<8>();
        let channels = self.currents.iter().chain(&self.voltages);
        for (place, channel) in places.iter_mut().zip(channels) {
            let [a, b, c, d] = channel.value.to_be_bytes();
            let [e, f, g, h] = channel.quality.0.to_be_bytes();
            *place = [a, b, c, d, e, f, g, h];
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_sample_gives_its_bytes_back(
            bytes in prop::collection::vec(any::<u8>(), PHASE_MEASUREMENT_LENGTH),
        ) {
            let measurement = PhaseMeasurement::parse(&bytes).unwrap();

            prop_assert_eq!(&measurement.to_bytes()[..], &bytes[..]);
        }

        #[test]
        fn a_sample_of_another_length_is_none(length in 0usize..64) {
            prop_assert_eq!(PhaseMeasurement::parse(&[0; 64][..length]), None);
        }
    }
}
