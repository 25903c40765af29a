//! The blocks of a capture file, in the format of Wireshark.
//!
//! A file is one section: its header, the descriptions of the interfaces at which
//! frames were seen, and then a block for each frame. Every block has its type
//! and its length in front and its length once more at the end, and is filled up
//! to a multiple of four bytes. Numbers are little-endian, which the header of
//! the section says.
//!
//! Source: draft-ietf-opsawg-pcapng, sections 3 and 4.

use units::BitRate;

/// The most bytes of a frame that are kept.
pub const SNAP_LENGTH: u32 = 2048;
/// The most bytes of a text that are kept.
pub const LONGEST_TEXT: usize = 1024;

pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
pub(super) const ENHANCED_PACKET: u32 = 6;
pub(super) const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const VERSION: [u16; 2] = [1, 0];
/// The length of a section that ends with the file.
const UNSTATED_LENGTH: u64 = u64::MAX;
/// LINKTYPE_ETHERNET: frames from the destination address on.
const ETHERNET: u16 = 1;
/// Stamps count units of ten to the power of minus nine seconds.
const NANOSECONDS: u8 = 9;

pub(super) const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const SECTION_APPLICATION: u16 = 4;
pub(super) const INTERFACE_NAME: u16 = 2;
const INTERFACE_ABOUT: u16 = 3;
const INTERFACE_SPEED: u16 = 8;
pub(super) const INTERFACE_STAMP_UNIT: u16 = 9;
pub(super) const FRAME_FLAGS: u16 = 2;

/// What a file says of the run that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    pub comment: String,
    /// The program that wrote it.
    pub program: String,
}

/// A place where frames were seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    /// What else there is to say of it.
    pub about: String,
    /// How fast it sends and receives.
    pub rate: BitRate,
}

/// A frame as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen<'a> {
    /// The place of the interface among those of the file.
    pub interface: u32,
    /// When, in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Which way it went there.
    pub direction: Direction,
    /// Its bytes from the destination address on, without check sequence; the
    /// end may be missing.
    pub bytes: &'a [u8],
    /// How many bytes it has in truth.
    pub length: usize,
}

/// Which way a frame went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It arrived at the interface.
    In,
    /// It left through the interface.
    Out,
}

/// Appends the header of a section.
pub(super) fn put_section(out: &mut Vec<u8>, heading: &Heading) {
    put_block(out, SECTION_HEADER, |out| {
        out.extend(BYTE_ORDER.to_le_bytes());
        out.extend(VERSION.map(u16::to_le_bytes).as_flattened());
        out.extend(UNSTATED_LENGTH.to_le_bytes());
        put_option(out, COMMENT, shortened(&heading.comment));
        put_option(out, SECTION_APPLICATION, shortened(&heading.program));
        put_option(out, END_OF_OPTIONS, &[]);
    });
}

/// Appends the description of an interface.
pub(super) fn put_interface(out: &mut Vec<u8>, interface: &Interface) {
    put_block(out, INTERFACE_DESCRIPTION, |out| {
        out.extend(u32::from(ETHERNET).to_le_bytes());
        out.extend(SNAP_LENGTH.to_le_bytes());
        put_option(out, INTERFACE_NAME, shortened(&interface.name));
        put_option(out, INTERFACE_ABOUT, shortened(&interface.about));
        let speed = interface.rate.as_bps().to_le_bytes();
        put_option(out, INTERFACE_SPEED, &speed);
        put_option(out, INTERFACE_STAMP_UNIT, &[NANOSECONDS]);
        put_option(out, END_OF_OPTIONS, &[]);
    });
}

pub(super) fn put_frame(out: &mut Vec<u8>, seen: &Seen<'_>) {
    let kept = &seen.bytes[..seen.bytes.len().min(SNAP_LENGTH as usize)];
    let length = seen.length.max(seen.bytes.len());
    let flags: u32 = match seen.direction {
        Direction::In => 1,
        Direction::Out => 2,
    };
    put_block(out, ENHANCED_PACKET, |out| {
        out.extend(seen.interface.to_le_bytes());
        let [low, high] = halves(seen.unix_ns);
        out.extend(high.to_le_bytes());
        out.extend(low.to_le_bytes());
        out.extend(as_u32(kept.len()).to_le_bytes());
        out.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        out.extend(kept);
        fill_up(out, kept.len());
        put_option(out, FRAME_FLAGS, &flags.to_le_bytes());
        put_option(out, END_OF_OPTIONS, &[]);
    });
}

/// Appends a block with what `put_body` appends in it.
fn put_block(out: &mut Vec<u8>, kind: u32, put_body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend(kind.to_le_bytes());
    let length_at = out.len();
    out.extend([0; 4]);
    put_body(out);
    let length = as_u32(out.len() + 4 - begin).to_le_bytes();
    out[length_at..length_at + 4].copy_from_slice(&length);
    out.extend(length);
}

fn put_option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).expect("texts are shortened, all else is short");
    out.extend(code.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(value);
    fill_up(out, value.len());
}

/// Appends what `length` bytes lack to a multiple of four.
fn fill_up(out: &mut Vec<u8>, length: usize) {
    out.resize(out.len() + length.next_multiple_of(4) - length, 0);
}

/// Cuts a text that is too long, between two characters.
fn shortened(text: &str) -> &[u8] {
    &text.as_bytes()[..text.floor_char_boundary(LONGEST_TEXT)]
}

/// Returns the lower and the higher half.
fn halves(number: u64) -> [u32; 2] {
    [number, number >> u32::BITS]
        .map(|half| u32::try_from(half & u64::from(u32::MAX)).expect("32 bits"))
}

fn as_u32(length: usize) -> u32 {
    u32::try_from(length).expect("a block is short: frames and texts are cut")
}
