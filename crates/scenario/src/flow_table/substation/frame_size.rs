//! How large the frames of a control block are at most.
//!
//! GOOSE (IEC 61850-8-1): Ethernet header 14, tag 4, header 8, and the PDU in
//! BER: the references of control block and data set and the identifier as long
//! as they are, numbers as long as they may get (`timeAllowedToLive`, `stNum`,
//! `sqNum`, `confRev` 7 each, `numDatSetEntries` 5, the flags 3 each, the time
//! 10), and the data.
//!
//! Sampled Values (IEC 61850-9-2): the same headers, and `nofASDU` times: the
//! identifier, `smpCnt` 4, `confRev` 6, `smpSynch` 3, the data, and what
//! `SmvOpts` adds: the reference of the data set, `refrTm` 10, `smpRate` and
//! `smpMod` 4 each, `gmIdentity` 10.
//!
//! With 9-2LE's four currents and four voltages and an identifier of ten
//! characters that is 126 bytes, as such frames have.
//!
//! A member whose logical node is not there counts as the largest of its class.
//! Where the file says less, a frame is as large as any: 1,518 bytes.
//! No frame of either service is cut into several.

use super::data_types::{DataEncoding, DataTypes, MemberSize, tagged};
use super::publishers::{ControlBlock, Publishers, PublishingService};
use super::{attribute, child, children};
use crate::contract::{LARGEST_FRAME, SMALLEST_FRAME};
use units::DataSize;

/// Ethernet 14, tag 4, APPID, length and reserved fields 8.
const HEADERS: u64 = 26;

/// The size of a frame without its check sequence, with its tag.
pub(super) struct FrameSize {
    pub(super) frame: DataSize,
    /// Why it was not computed from the types alone, if it was not.
    pub(super) assumed: Option<String>,
}

/// Returns how large the frames of a control block are at most.
pub(super) fn of<'d>(
    block: &ControlBlock<'d>,
    publishers: &Publishers<'d>,
    types: &DataTypes<'d>,
) -> FrameSize {
    let data = members(block, publishers, types);
    let like = data.as_ref().ok().and_then(|data| data.like.clone());
    let bytes = data.and_then(|data| match block.key.service {
        PublishingService::Goose => Ok(goose(block, data.bytes)),
        PublishingService::SampledValues => sampled_values(block, data.bytes),
    });
    let fits = |bytes: &u64| DataSize::from_bytes(*bytes) <= LARGEST_FRAME;
    let (frame, assumed) = match bytes {
        Ok(bytes) if fits(&bytes) => (DataSize::from_bytes(bytes), like),
        Ok(bytes) => {
            let reason = format!("its data may take {bytes} B, and no frame does");
            (LARGEST_FRAME, Some(reason))
        }
        Err(reason) => (LARGEST_FRAME, Some(reason)),
    };
    let frame = frame.max(SMALLEST_FRAME);
    FrameSize { frame, assumed }
}

fn goose(block: &ControlBlock<'_>, data: u64) -> u64 {
    let reference = length(&block_reference(block));
    let identifier = match attribute(block.element, "appID") {
        "" => reference,
        identifier => length(identifier),
    };
    let data_set = data_set_reference(block);
    let numbers = 4 * 7 + 5;
    let (flags, time) = (2 * 3, 10);
    let texts = tagged(reference) + tagged(length(&data_set)) + tagged(identifier);
    HEADERS + tagged(texts + numbers + flags + time + tagged(data))
}

fn sampled_values(block: &ControlBlock<'_>, data: u64) -> Result<u64, String> {
    let options = child(block.element, "SmvOpts");
    let has = |name: &str| {
        let value = options.map_or("", |options| attribute(options, name));
        matches!(value, "true" | "1")
    };
    let optional = [
        (has("dataSet"), tagged(length(&data_set_reference(block)))),
        (has("refreshTime"), 10),
        (has("sampleRate"), 4 + 4),
        (has("synchSourceId"), 10),
        (has("timestamp"), 10),
    ];
    let optional: u64 = optional
        .iter()
        .filter(|(there, _)| *there)
        .map(|(_, size)| size)
        .sum();
    let identifier = tagged(length(attribute(block.element, "smvID")));
    let unit = tagged(identifier + 4 + 6 + 3 + optional + tagged(data));
    let units = asdus(block)
        .checked_mul(unit)
        .ok_or("it has too many ASDUs")?;
    Ok(HEADERS + tagged(3 + tagged(units)))
}

/// Returns how many samples a frame has.
pub(super) fn asdus(block: &ControlBlock<'_>) -> u64 {
    let count = attribute(block.element, "nofASDU").parse();
    count.unwrap_or(1).clamp(1, u64::from(u16::MAX))
}

/// Returns the size of all members of the data set.
fn members<'d>(
    block: &ControlBlock<'d>,
    publishers: &Publishers<'d>,
    types: &DataTypes<'d>,
) -> Result<MemberSize, String> {
    let form = match block.key.service {
        PublishingService::Goose => DataEncoding::Ber,
        PublishingService::SampledValues => DataEncoding::Plain,
    };
    let mut total = MemberSize {
        bytes: 0,
        like: None,
    };
    for member in block
        .data_set
        .into_iter()
        .flat_map(|set| children(set, "FCDA"))
    {
        let one = types.size_of(block.key.ied, member, publishers, form)?;
        total.bytes += one.bytes;
        total.like = total.like.or(one.like);
        if DataSize::from_bytes(total.bytes) > LARGEST_FRAME {
            break;
        }
    }
    Ok(total)
}

fn block_reference(block: &ControlBlock<'_>) -> String {
    let (device, name) = (&block.device_name, block.key.block);
    format!("{device}/LLN0${}${name}", block.key.service.constraint())
}

fn data_set_reference(block: &ControlBlock<'_>) -> String {
    format!(
        "{}/LLN0${}",
        block.device_name,
        attribute(block.element, "datSet")
    )
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX >> 8)
}
