//! The emulated switches with one processor for all, as devices under test.

use std::sync::Arc;

use measure::trial::PortIndex;
use units::{BitRate, Duration, Instant};
use wire::openflow::DatapathId;
use wire::openflow10::PortNumber;

use super::device::{Departure, Device, Happening, SentFrame};
use crate::zodiac_fx::{self, Frame, Input, OPENFLOW_PORTS, Profile, ZodiacFx};

/// Longer than adding an entry takes.
const SPACING: Duration = Duration::from_us(500);

/// A Zodiac FX, or with other numbers a Banana Pi R1.
#[derive(Debug)]
pub struct SmallSwitch {
    name: String,
    profile: Profile,
    switch: ZodiacFx,
}

impl SmallSwitch {
    /// Returns one with an empty table.
    #[must_use]
    pub fn new(name: impl Into<String>, profile: Profile) -> Self {
        Self {
            name: name.into(),
            profile,
            switch: ZodiacFx::new(profile, DatapathId(1)),
        }
    }

    /// Returns the Zodiac FX as the paper sets it up.
    #[must_use]
    pub fn zodiac_fx() -> Self {
        Self::new("Zodiac FX, emulated", Profile::ZODIAC_FX)
    }

    /// Returns the Banana Pi R1.
    #[must_use]
    pub fn banana_pi_r1() -> Self {
        Self::new("Banana Pi R1, emulated", Profile::BANANA_PI_R1)
    }
}

impl Device for SmallSwitch {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn ports(&self) -> Vec<BitRate> {
        vec![self.profile.port_rate; OPENFLOW_PORTS.len()]
    }

    fn control_rate(&self) -> BitRate {
        self.profile.port_rate
    }

    /// There is no TCP that would send again what the buffers do not hold.
    fn control_spacing(&self) -> Duration {
        SPACING
    }

    fn handle(&mut self, now: Instant, happening: &Happening) {
        let input = match happening {
            Happening::Frame(port, bytes) => Input::Frame {
                port: OPENFLOW_PORTS.get(port.0).copied().unwrap_or(PortNumber(0)),
                frame: Frame {
                    bytes: Arc::clone(bytes),
                    tag: 0,
                },
            },
            Happening::Control(bytes) => Input::Control(bytes.to_vec()),
            // The firmware looks at its ports only in the checks that the paper
            // turns off.
            Happening::Carrier(..) | Happening::Timeout => Input::Timeout,
        };
        self.switch.handle(now, input);
    }

    fn poll(&mut self) -> Option<Departure> {
        let output = self.switch.poll()?;
        let sent = match output.sent {
            zodiac_fx::Sent::Frame { port, frame } => {
                let place = OPENFLOW_PORTS.iter().position(|it| *it == port);
                SentFrame::Frame(PortIndex(place.unwrap_or(usize::MAX)), frame.bytes)
            }
            zodiac_fx::Sent::Control(bytes) => SentFrame::Control(bytes.into()),
        };
        Some(Departure {
            begins: output.begins,
            sent,
        })
    }

    fn deadline(&self) -> Instant {
        self.switch.deadline()
    }
}
