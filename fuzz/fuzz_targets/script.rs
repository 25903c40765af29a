//! Reads a fuzzer's bytes as a script of what happens.

use wire::openflow::{Hello, TransactionId};

/// What is left of a script.
pub struct Script<'a>(pub &'a [u8]);

impl<'a> Script<'a> {
    /// Takes a byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// Takes as many bytes as the next one says.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(self.byte()?).min(self.0.len());
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(bytes)
    }

    /// Takes a message: its type and its body. The header around them is good.
    pub fn message(&mut self) -> Option<Vec<u8>> {
        let kind = self.byte()?;
        let body = self.bytes()?;
        let length = u16::try_from(8 + body.len()).expect("a body has at most 255 bytes");
        let mut message = vec![4, kind];
        message.extend(length.to_be_bytes());
        message.extend([0, 0, 0, 1]);
        message.extend(body);
        Some(message)
    }
}

/// Returns the greeting that every connection begins with.
pub fn hello() -> Vec<u8> {
    let mut bytes = Vec::new();
    Hello::OURS.emit(TransactionId(0), &mut bytes);
    bytes
}
