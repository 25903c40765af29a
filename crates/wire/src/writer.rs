//! Appends big-endian values to a buffer and fills in lengths afterwards.

/// A structure under construction at the end of a buffer.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Writer<'a> {
    /// Begins a structure where the buffer ends now.
    pub(crate) const fn new(out: &'a mut Vec<u8>) -> Self {
        let start = out.len();
        Self { out, start }
    }

    /// Returns to a structure that began at `start`.
    pub(crate) const fn at(out: &'a mut Vec<u8>, start: usize) -> Self {
        Self { out, start }
    }

    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(bytes);
        self
    }

    #[inline]
    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.out.push(value);
        self
    }

    #[inline]
    pub(crate) fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    #[inline]
    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    #[inline]
    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    #[inline]
    pub(crate) fn zeros<const N: usize>(&mut self) -> &mut Self {
        self.bytes(&[0; N])
    }

    /// Appends zeros until the structure's length is a multiple of 8.
    #[inline]
    pub(crate) fn pad_to_8(&mut self) -> &mut Self {
        let padded = self.length().next_multiple_of(8);
        self.out.resize(self.start + padded, 0);
        self
    }

    /// Lets `write` append whatever belongs to the structure.
    #[inline]
    pub(crate) fn with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        write(self.out);
        self
    }

    /// Returns how many bytes the structure has so far.
    pub(crate) const fn length(&self) -> usize {
        self.out.len() - self.start
    }

    /// Writes the structure's present length over the two bytes at `offset`.
    ///
    /// # Panics
    ///
    /// If the structure is longer than a 16-bit length can say.
    #[inline]
    pub(crate) fn length_at(&mut self, offset: usize) -> &mut Self {
        let length = u16::try_from(self.length()).expect("we build nothing above 64 KiB");
        self.patch_u16(offset, length)
    }

    /// Writes `value` over the byte at `offset`.
    pub(crate) fn patch_u8(&mut self, offset: usize, value: u8) -> &mut Self {
        self.out[self.start + offset] = value;
        self
    }

    /// Writes `value` over the two bytes at `offset`.
    #[inline]
    pub(crate) fn patch_u16(&mut self, offset: usize, value: u16) -> &mut Self {
        let at = self.start + offset;
        self.out[at..at + 2].copy_from_slice(&value.to_be_bytes());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_counts_from_the_start_of_its_structure() {
        let mut out = vec![9, 9, 9];

        Writer::new(&mut out).u16(0).u8(7).pad_to_8().length_at(0);

        assert_eq!(out, [9, 9, 9, 0, 8, 7, 0, 0, 0, 0, 0]);
    }
}
