//! What the flow of a row sends.

use units::{BitRate, DataSize, Delay, Duration};

use super::Options;
use super::columns::Meaning;
use super::rows::{Cells, Flaw};
use crate::contract::{LARGEST_FRAME, LARGEST_UNTAGGED_FRAME, SMALLEST_FRAME};
use crate::flow::{
    DEFAULT_CHANGES, DEFAULT_JITTER, DEFAULT_MAX_TIME, DEFAULT_MIN_TIME, LONGEST_JITTER,
    SAMPLE_PERIODS, UDP_HEADERS,
};
use crate::{
    BestEffort, Goose, Message, SampledValues, StateChanges, TokenBucket, Traffic, wire_size,
};

const TAG: DataSize = DataSize::from_bytes(4);
const CHECK_SEQUENCE: DataSize = DataSize::from_bytes(4);
/// An end system may send a frame of a virtual link this much later than its
/// gap allows (ARINC 664 part 7).
const VIRTUAL_LINK_JITTER: Duration = Duration::from_us(500);

/// The kinds of traffic that a table may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowTrafficKind {
    SampledValues,
    Goose,
    Udp,
    Message,
    BestEffort,
}

impl RowTrafficKind {
    pub(super) fn of_word(word: &str) -> Option<Self> {
        Some(match word.to_lowercase().as_str() {
            "sv" | "smv" | "sampled-values" | "sampled_values" => Self::SampledValues,
            "goose" => Self::Goose,
            "udp" | "periodic" | "vl" => Self::Udp,
            "message" | "msg" => Self::Message,
            "be" | "best-effort" | "best_effort" => Self::BestEffort,
            _ => return None,
        })
    }

    /// Returns the class of flows that state none.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::SampledValues => "sampled-values",
            Self::Goose => "protection",
            Self::Udp | Self::Message => "control",
            Self::BestEffort => "best-effort",
        }
    }

    pub(super) fn has_one_receiver(self) -> bool {
        match self {
            Self::Message | Self::BestEffort => true,
            Self::SampledValues | Self::Goose | Self::Udp => false,
        }
    }
}

/// A row whose kind is known.
pub(super) struct RowTraffic<'c, 'r, 'a> {
    pub(super) cells: &'c Cells<'r, 'a>,
    pub(super) options: &'c Options,
    pub(super) kind: RowTrafficKind,
    /// Whether its frames carry a tag, which the size of a payload leaves out.
    pub(super) tagged: bool,
}

impl RowTraffic<'_, '_, '_> {
    pub(super) fn read(&self) -> Result<Traffic, Flaw> {
        match self.kind {
            RowTrafficKind::SampledValues => self.sampled_values(),
            RowTrafficKind::Goose => self.goose(),
            RowTrafficKind::Udp => self.udp(),
            RowTrafficKind::Message => self.message(),
            RowTrafficKind::BestEffort => self.best_effort(),
        }
    }

    fn sampled_values(&self) -> Result<Traffic, Flaw> {
        let (period, (least, most)) = (self.period()?, SAMPLE_PERIODS);
        if !(least..=most).contains(&period) {
            let reason = format!("Sampled Values every {period}");
            return Err(Flaw::new(reason, format!("there are {least} to {most}")));
        }
        Ok(Traffic::SampledValues(SampledValues {
            frame: self.frame()?,
            period,
            jitter: self.jitter()?.unwrap_or(period),
        }))
    }

    fn goose(&self) -> Result<Traffic, Flaw> {
        let min_time = self
            .cells
            .time(Meaning::MinTime)?
            .unwrap_or(DEFAULT_MIN_TIME);
        let max_time = self.cells.time(Meaning::MaxTime)?;
        let max_time = max_time.unwrap_or(DEFAULT_MAX_TIME.max(min_time));
        if max_time < min_time {
            let reason = format!("its longest time {max_time} is below its shortest {min_time}");
            return Err(Flaw::new(reason, ""));
        }
        Ok(Traffic::Goose(Goose {
            frame: self.frame()?,
            min_time,
            max_time,
            min_spacing: min_time,
            changes: StateChanges::Every(DEFAULT_CHANGES.max(min_time)),
            jitter: self.jitter()?.unwrap_or(DEFAULT_JITTER),
        }))
    }

    fn udp(&self) -> Result<Traffic, Flaw> {
        let frame = self.frame()?;
        let one = wire_size(frame);
        let burst = self.cells.size(Meaning::Burst)?;
        if let Some(burst) = burst.filter(|burst| *burst < one) {
            let reason = format!("the burst of {burst} never lets a frame pass");
            return Err(Flaw::new(
                reason,
                format!("a frame occupies {one} on the wire"),
            ));
        }
        let usual = match self.cells.has_gap() {
            true => VIRTUAL_LINK_JITTER,
            false => DEFAULT_JITTER,
        };
        Ok(Traffic::Udp(TokenBucket {
            frame,
            rate: match self.cells.rate(Meaning::Rate)? {
                Some(rate) => rate,
                None => per(one, self.period()?),
            },
            burst: burst.unwrap_or(one),
            jitter: self.jitter()?.unwrap_or(usual),
        }))
    }

    fn message(&self) -> Result<Traffic, Flaw> {
        let size = self.cells.size(Meaning::Message)?;
        let size = match size {
            Some(size) => size,
            None => self.cells.size(Meaning::Payload)?.ok_or_else(no_size)?,
        };
        Ok(Traffic::Message(Message {
            size,
            period: self.period()?,
            jitter: self.jitter()?.unwrap_or(DEFAULT_JITTER),
        }))
    }

    fn best_effort(&self) -> Result<Traffic, Flaw> {
        let frame = self.frame()?;
        let rate = match self.cells.rate(Meaning::Rate)? {
            Some(rate) => Some(rate),
            None => match self.period() {
                Ok(period) => Some(per(wire_size(frame), period)),
                Err(_) => None,
            },
        };
        Ok(Traffic::BestEffort(BestEffort { frame, rate }))
    }

    fn period(&self) -> Result<Duration, Flaw> {
        let gap = self.cells.time(Meaning::Gap)?;
        let period = match gap {
            Some(gap) => Some(gap),
            None => self.cells.time(Meaning::Period)?,
        };
        period.ok_or_else(|| Flaw::new("it has no period", "say how often it sends"))
    }

    fn jitter(&self) -> Result<Option<Duration>, Flaw> {
        let own = self.cells.lateness(Meaning::Jitter)?;
        let jitter = own.or(self.options.jitter);
        match jitter.filter(|jitter| *jitter > LONGEST_JITTER) {
            Some(jitter) => {
                let reason = format!("a jitter of {jitter}");
                Err(Flaw::new(reason, format!("at most {LONGEST_JITTER}")))
            }
            None => Ok(jitter),
        }
    }

    /// Returns the size of a frame without its check sequence, padded, with its
    /// tag.
    fn frame(&self) -> Result<DataSize, Flaw> {
        let tag = if self.tagged {
            TAG
        } else {
            DataSize::from_bytes(0)
        };
        let with_check = self.cells.size(Meaning::FrameWithCheck)?;
        let payload = self.cells.size(Meaning::Payload)?;
        let frame = match (self.cells.size(Meaning::Frame)?, with_check, payload) {
            (Some(frame), _, _) => frame,
            (None, Some(frame), _) => frame.saturating_sub(CHECK_SEQUENCE),
            (None, None, Some(payload)) => payload + UDP_HEADERS + tag,
            (None, None, None) => return Err(no_size()),
        };
        let most = match self.kind {
            RowTrafficKind::SampledValues | RowTrafficKind::Goose => LARGEST_FRAME,
            RowTrafficKind::Udp | RowTrafficKind::Message | RowTrafficKind::BestEffort => {
                LARGEST_UNTAGGED_FRAME + tag
            }
        };
        if frame > most {
            let reason = format!("a frame of {frame} is larger than any of Ethernet");
            let help = format!("at most {most} without the check sequence; longer: kind `message`");
            return Err(Flaw::new(reason, help));
        }
        Ok(frame.max(SMALLEST_FRAME))
    }
}

fn no_size() -> Flaw {
    Flaw::new("nothing says how large its frames are", "give a size")
}

/// Returns the rate of `data` once in `period`, rounded up.
fn per(data: DataSize, period: Duration) -> BitRate {
    BitRate::of(data, Delay::from(period)).expect("no frame is empty and no period zero")
}
