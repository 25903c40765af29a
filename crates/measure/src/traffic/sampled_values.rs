//! A merging unit: four currents and four voltages, 80 samples a cycle, a frame
//! for each (9-2LE clause 7), or several samples in a frame, as IEC 61869-9 prefers
//! ([`SampleLayout`]).
//!
//! `smpCnt` is the number of the sample in its second, so a sample that was left
//! out leaves a gap in the numbers, as in a real merging unit.

use std::f64::consts::TAU;

use units::{Duration, Instant};
use wire::ethernet::{self, EtherType, MacAddress, VlanTag, wire_size};
use wire::sampled_values::{
    ApplicationHeader, Asdu, Channel, PHASE_MEASUREMENT_LENGTH, PhaseMeasurement, Quality, Template,
};

use super::pacing::{FrameGroup, Pacing, Release, Schedule};
use super::{Emitted, FrameTooShort, beginnings};
use crate::Contract;

/// The samples of a cycle, 9-2LE clause 7.1.
const SAMPLES_PER_CYCLE: u32 = 80;
/// 100 A root mean square, in milliamperes.
const CURRENT_PEAK: f64 = 141_421.0;
/// 63.5 kV root mean square to earth, in hundredths of a volt.
const VOLTAGE_PEAK: f64 = 8_981_000.0;
/// The publisher is synchronised to a local clock.
const LOCAL_CLOCK: u8 = 1;

/// What a merging unit sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledValuesConfig {
    pub source: MacAddress,
    /// The group of its subscribers.
    pub destination: MacAddress,
    /// The tag, if frames carry one.
    pub vlan: Option<VlanTag>,
    /// Its APPID, 0x4000 to 0x7fff.
    pub application: u16,
    /// The name of the stream.
    pub sv_id: String,
    /// Samples a second, at least one: 4000 at 50 Hz, 4800 at 60 Hz.
    pub rate: u32,
    /// What the sender agreed to.
    pub contract: Option<Contract>,
    /// When sample 0 is due.
    pub start: Instant,
    /// From when on none is due.
    pub until: Option<Instant>,
}

/// How samples are put into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleLayout {
    /// How many a frame holds, at least one.
    pub samples_per_frame: u32,
    /// How many a cycle of the grid has, at least one.
    pub samples_per_cycle: u32,
}

impl SampleLayout {
    /// A frame for each of 80 samples a cycle (9-2LE clause 7.1).
    pub const LIGHT: Self = Self {
        samples_per_frame: 1,
        samples_per_cycle: SAMPLES_PER_CYCLE,
    };
    /// Protection by IEC 61869-9: 4800 samples a second, two a frame,
    /// here of a grid of 50 Hz.
    pub const PROTECTION: Self = Self {
        samples_per_frame: 2,
        samples_per_cycle: 96,
    };
    /// Quality metering by IEC 61869-9: 14400 samples a second, six a
    /// frame, here of a grid of 50 Hz.
    pub const METERING: Self = Self {
        samples_per_frame: 6,
        samples_per_cycle: 288,
    };
}

/// The rate of [`SampleLayout::PROTECTION`], in samples a second.
pub const PROTECTION_RATE: u32 = 4_800;
/// The rate of [`SampleLayout::METERING`], in samples a second.
pub const METERING_RATE: u32 = 14_400;

#[derive(Debug)]
pub struct SampledValues {
    template: Template,
    waveform: Vec<[u8; PHASE_MEASUREMENT_LENGTH]>,
    rate: u64,
    samples_per_frame: u64,
    pacing: Pacing,
}

impl SampledValues {
    /// Prepares the source.
    ///
    /// # Panics
    ///
    /// If the rate is zero or more than 16 bits can count, or a frame exceeds
    /// the contract's burst.
    #[must_use]
    pub fn new(config: &SampledValuesConfig) -> Self {
        Self::in_form(config, SampleLayout::LIGHT)
    }

    /// Prepares a source that puts several samples into a frame. A frame is due when
    /// its first sample is, and counts by it.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new) does, and if the rate is no multiple of the samples of a
    /// frame.
    #[must_use]
    pub fn in_form(config: &SampledValuesConfig, form: SampleLayout) -> Self {
        let count = usize::try_from(form.samples_per_frame).expect("a frame has few samples");
        let template = template(config, &config.sv_id, PHASE_MEASUREMENT_LENGTH, count);
        Self::of(config, template, form)
    }

    /// Prepares a source whose frames have `length` bytes, or the most below it
    /// that the encoding allows: other data sets than that of 9-2LE are larger
    /// or smaller. A name that is too long for that is cut.
    ///
    /// # Errors
    ///
    /// If no frame is as short as that.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new) does.
    pub fn sized(config: &SampledValuesConfig, length: usize) -> Result<Self, FrameTooShort> {
        let build = |sv_id: &str, data: usize| template(config, sv_id, data, 1);
        let fits = |template: &Template| template.frame().len() <= length;
        let whole = PHASE_MEASUREMENT_LENGTH;
        let named = beginnings(&config.sv_id).map(|sv_id| (sv_id, build(sv_id, whole)));
        let fitted = match named.into_iter().find(|(_, template)| fits(template)) {
            Some((sv_id, template)) => {
                let room = length - template.frame().len();
                let larger = (0..=room).rev().map(|more| build(sv_id, whole + more));
                larger.into_iter().find(fits)
            }
            None => {
                let smaller = (0..whole).rev().map(|data| build("", data));
                smaller.into_iter().find(fits)
            }
        };
        let template = fitted.ok_or_else(|| FrameTooShort {
            length,
            least: build("", 0).frame().len(),
        })?;
        Ok(Self::of(config, template, SampleLayout::LIGHT))
    }

    fn of(config: &SampledValuesConfig, template: Template, form: SampleLayout) -> Self {
        assert!(
            (1..=1 << 16).contains(&config.rate),
            "smpCnt counts the samples of a second in 16 bits"
        );
        assert!(
            form.samples_per_frame > 0 && config.rate.is_multiple_of(form.samples_per_frame),
            "a second has whole frames"
        );
        let (second, frames) = (Duration::from_secs(1), config.rate / form.samples_per_frame);
        let schedule = Schedule::new(config.start, config.until, second, frames);
        let group = FrameGroup::single(wire_size(template.frame().len()));
        Self {
            template,
            waveform: waveform(form.samples_per_cycle),
            rate: u64::from(config.rate),
            samples_per_frame: u64::from(form.samples_per_frame),
            pacing: Pacing::new(Release::Scheduled(schedule), group, config.contract),
        }
    }

    /// Returns the length of each frame, without check sequence.
    #[must_use]
    pub fn frame_length(&self) -> usize {
        self.template.frame().len()
    }

    /// Returns when the next sample is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.pacing.next_due()
    }

    /// Puts the next sample into `frame`, if one is due.
    pub fn emit(&mut self, now: Instant, frame: &mut Vec<u8>) -> Option<Emitted> {
        let turn = self.pacing.take(now)?;
        let first = turn.slot * self.samples_per_frame;
        for (place, sample) in (first..first + self.samples_per_frame).enumerate() {
            self.set(place, sample);
        }
        frame.clear();
        frame.extend_from_slice(self.template.frame());
        Some(Emitted {
            length: frame.len(),
            sequence: first,
            due: turn.due,
        })
    }

    /// Puts a sample into its place in the frame.
    fn set(&mut self, place: usize, sample: u64) {
        let count = u16::try_from(sample % self.rate).expect("the rate has at most 16 bits");
        let cycle = u64::try_from(self.waveform.len()).expect("a cycle has few samples");
        let phase = usize::try_from(sample % cycle).expect("below the samples of a cycle");
        self.template.set_smp_cnt(place, count);
        let data = self.template.sample_mut(place);
        let common = data.len().min(PHASE_MEASUREMENT_LENGTH);
        data[..common].copy_from_slice(&self.waveform[phase][..common]);
    }

    /// Returns how many frames were left out.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.pacing.skipped()
    }
}

/// Returns a frame of `count` samples with so many bytes of data each.
fn template(config: &SampledValuesConfig, sv_id: &str, data: usize, count: usize) -> Template {
    let asdu = Asdu {
        sv_id,
        dat_set: None,
        smp_cnt: 0,
        conf_rev: 1,
        refr_tm: None,
        smp_synch: LOCAL_CLOCK,
        smp_rate: None,
        sample: &vec![0; data],
        smp_mod: None,
    };
    let ethernet = ethernet::Header {
        destination: config.destination,
        source: config.source,
        vlan: config.vlan,
        ether_type: EtherType::SAMPLED_VALUES,
    };
    let application = ApplicationHeader {
        app_id: config.application,
        simulated: false,
    };
    Template::new(&ethernet, application, &vec![asdu; count])
}

/// Returns the samples of a cycle of a balanced three-phase system.
fn waveform(samples: u32) -> Vec<[u8; PHASE_MEASUREMENT_LENGTH]> {
    assert!(samples > 0, "a cycle has samples");
    let each = 0..samples;
    each.map(|number| sample(f64::from(number) / f64::from(samples)))
        .collect()
}

/// Returns the sample at this part of a cycle.
fn sample(part: f64) -> [u8; PHASE_MEASUREMENT_LENGTH] {
    let angle = TAU * part;
    let phases = |peak: f64| {
        let shifted = [0.0, -1.0, 1.0].map(|third| peak * (angle + third * TAU / 3.0).sin());
        let [a, b, c] = shifted.map(rounded);
        // The neutral is the sum of the phases: nothing, but for rounding.
        [a, b, c, a + b + c].map(|value| Channel {
            value,
            quality: Quality::GOOD,
        })
    };
    PhaseMeasurement {
        currents: phases(CURRENT_PEAK),
        voltages: phases(VOLTAGE_PEAK),
    }
    .to_bytes()
}

#[expect(clippy::cast_possible_truncation, reason = "peaks are below 2^31")]
fn rounded(value: f64) -> i32 {
    value.round() as i32
}
