//! Takes big-endian values off the front of bytes that nobody has checked.

/// The bytes end before the value does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truncated;

/// A position in bytes from outside. Reading past the end is an error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns everything that has not been read.
    pub(crate) const fn rest(self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        let (first, rest) = self.bytes.split_first_chunk().ok_or(Truncated)?;
        self.bytes = rest;
        Ok(*first)
    }

    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Truncated> {
        let (first, rest) = self.bytes.split_at_checked(length).ok_or(Truncated)?;
        self.bytes = rest;
        Ok(first)
    }

    #[inline]
    pub(crate) fn skip(&mut self, length: usize) -> Result<(), Truncated> {
        self.take(length).map(|_| ())
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, Truncated> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, Truncated> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, Truncated> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, Truncated> {
        self.array().map(u64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_off_the_front_in_network_order() {
        let mut reader = Reader::new(&[1, 0, 2, 0, 0, 0, 3, 9]);

        assert_eq!(reader.u8(), Ok(1));
        assert_eq!(reader.u16(), Ok(2));
        assert_eq!(reader.u32(), Ok(3));
        assert_eq!(reader.rest(), [9]);
    }

    #[test]
    fn a_value_past_the_end_is_an_error_and_reads_nothing() {
        let mut reader = Reader::new(&[1, 2, 3]);

        assert_eq!(reader.u32(), Err(Truncated));
        assert_eq!(reader.rest(), [1, 2, 3]);
    }
}
