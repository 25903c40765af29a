//! Who made the switch (OF13 clause 7.3.5.1).

use crate::openflow::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

const TEXT_LENGTH: usize = 256;
const SERIAL_LENGTH: usize = 32;

/// Who made the switch. A text that is too long is cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchDescription<'a> {
    /// Who made it.
    pub manufacturer: &'a str,
    /// What it is made of.
    pub hardware: &'a str,
    /// What runs on it.
    pub software: &'a str,
    /// Its serial number.
    pub serial: &'a str,
    /// What people call it.
    pub datapath: &'a str,
}

impl<'a> SwitchDescription<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            manufacturer: text(reader.take(TEXT_LENGTH)?),
            hardware: text(reader.take(TEXT_LENGTH)?),
            software: text(reader.take(TEXT_LENGTH)?),
            serial: text(reader.take(SERIAL_LENGTH)?),
            datapath: text(reader.take(TEXT_LENGTH)?),
        })
    }

    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        emit_text::<TEXT_LENGTH>(&mut writer, self.manufacturer);
        emit_text::<TEXT_LENGTH>(&mut writer, self.hardware);
        emit_text::<TEXT_LENGTH>(&mut writer, self.software);
        emit_text::<SERIAL_LENGTH>(&mut writer, self.serial);
        emit_text::<TEXT_LENGTH>(&mut writer, self.datapath);
    }
}

/// Returns what stands before the first zero, as far as it is text. The last
/// byte is a zero, whatever stands there.
pub(crate) fn text(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|&byte| byte == 0);
    let bytes = &bytes[..end.unwrap_or(bytes.len() - 1)];
    match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&bytes[..error.valid_up_to()])
            .expect("the bytes before the first bad one are text"),
    }
}

/// Appends a text of at most `N - 1` bytes and zeros up to `N`.
pub(crate) fn emit_text<const N: usize>(writer: &mut Writer<'_>, text: &str) {
    let mut end = text.len().min(N - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut bytes = [0; N];
    bytes[..end].copy_from_slice(&text.as_bytes()[..end]);
    writer.bytes(&bytes);
}
