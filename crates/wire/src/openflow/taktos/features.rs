//! What a switch does that not every Taktos switch does.

use crate::openflow::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

const ORDERS_STREAMS: u64 = 1;

/// What a switch does as quickly as its profile says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchFeatures {
    /// It holds frames of a stream back so that all leave in order
    /// ([`Eliminate::hold`](super::Eliminate::hold)).
    pub orders_streams: bool,
}

impl SwitchFeatures {
    /// Takes an answer apart; bits of others say nothing.
    pub(super) fn parse(data: &[u8]) -> Result<Self, DecodeError> {
        let bits = Reader::new(data).u64()?;
        Ok(Self {
            orders_streams: bits & ORDERS_STREAMS != 0,
        })
    }

    pub(super) fn emit(self, out: &mut Vec<u8>) {
        let bits = if self.orders_streams {
            ORDERS_STREAMS
        } else {
            0
        };
        Writer::new(out).u64(bits);
    }
}
