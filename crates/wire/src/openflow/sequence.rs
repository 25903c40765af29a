//! Lists inside messages, read without a copy and written without an
//! allocation.

use std::fmt;

use super::DecodeError;

/// One item of a list inside a message.
pub trait Element<'a>: Copy + fmt::Debug + PartialEq {
    /// Returns the item that `bytes` begin with and what follows it.
    ///
    /// # Errors
    ///
    /// If no item can be read.
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError>;

    /// Appends the item to `out`.
    fn emit(&self, out: &mut Vec<u8>);
}

/// A list inside a message: the bytes that arrived, or a slice to be sent.
///
/// The bytes are not checked beforehand: [`iter`](Self::iter) ends with the
/// first item that cannot be read. Two lists are equal if they hold the same
/// items, whichever way they are kept.
#[derive(Clone, Copy)]
pub struct Sequence<'a, T>(Kept<'a, T>);

#[derive(Clone, Copy)]
enum Kept<'a, T> {
    Encoded(&'a [u8]),
    Listed(&'a [T]),
}

impl<'a, T: Element<'a>> Sequence<'a, T> {
    /// The list without items.
    pub const EMPTY: Self = Self(Kept::Listed(&[]));

    /// Returns the list of these items.
    #[must_use]
    pub const fn of(items: &'a [T]) -> Self {
        Self(Kept::Listed(items))
    }

    /// Returns the list that `bytes` hold.
    #[must_use]
    pub const fn from_bytes(bytes: &'a [u8]) -> Self {
        Self(Kept::Encoded(bytes))
    }

    /// Returns the items in their order. The first one that cannot be read is
    /// the last.
    #[must_use]
    pub const fn iter(&self) -> Elements<'a, T> {
        Elements(self.0)
    }

    /// Appends every item to `out`. Bytes that arrived are copied as they are.
    #[inline]
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self.0 {
            Kept::Encoded(bytes) => out.extend_from_slice(bytes),
            Kept::Listed(items) => items.iter().for_each(|item| item.emit(out)),
        }
    }
}

impl<'a, T: Element<'a>> Default for Sequence<'a, T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<'a, T: Element<'a>> PartialEq for Sequence<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Element<'a> + Eq> Eq for Sequence<'a, T> {}

impl<'a, T: Element<'a>> fmt::Debug for Sequence<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: Element<'a>> IntoIterator for Sequence<'a, T> {
    type Item = Result<T, DecodeError>;
    type IntoIter = Elements<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The items of a [`Sequence`], one after the other.
#[derive(Clone, Copy)]
pub struct Elements<'a, T>(Kept<'a, T>);

impl<'a, T: Element<'a>> Iterator for Elements<'a, T> {
    type Item = Result<T, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.0 {
            Kept::Encoded([]) | Kept::Listed([]) => None,
            Kept::Encoded(bytes) => match T::parse(bytes) {
                Ok((item, rest)) => {
                    self.0 = Kept::Encoded(rest);
                    Some(Ok(item))
                }
                Err(error) => {
                    self.0 = Kept::Encoded(&[]);
                    Some(Err(error))
                }
            },
            Kept::Listed([item, rest @ ..]) => {
                self.0 = Kept::Listed(rest);
                Some(Ok(*item))
            }
        }
    }
}
