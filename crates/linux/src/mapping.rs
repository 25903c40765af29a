//! Memory that is shared with the kernel.

use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// A mapping that this value owns. What is in it, others may change.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to this value alone and stays where it is, whichever
// thread owns the value.
#[expect(unsafe_code, reason = "owned mapping")]
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes of what a descriptor shares, from `offset` on.
    pub(crate) fn shared(descriptor: impl AsFd, length: usize, offset: u64) -> io::Result<Self> {
        Self::of_descriptor(descriptor, length, offset, protection())
    }

    /// Maps `length` bytes of what a descriptor shares only to be read, from
    /// `offset` on.
    pub(crate) fn shared_to_read(
        descriptor: impl AsFd,
        length: usize,
        offset: u64,
    ) -> io::Result<Self> {
        Self::of_descriptor(descriptor, length, offset, ProtFlags::READ)
    }

    fn of_descriptor(
        descriptor: impl AsFd,
        length: usize,
        offset: u64,
        protection: ProtFlags,
    ) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        #[expect(unsafe_code, reason = "mmap")]
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                protection,
                flags,
                descriptor,
                offset,
            )?
        };
        Ok(Self::of(base.cast(), length))
    }

    /// Maps `length` fresh bytes.
    pub(crate) fn fresh(length: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        #[expect(unsafe_code, reason = "mmap")]
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), length, protection(), flags)? };
        Ok(Self::of(base.cast(), length))
    }

    fn of(base: *mut u8, length: usize) -> Self {
        let base = NonNull::new(base).expect("the kernel maps nothing at address zero");
        Self { base, length }
    }

    /// Returns its address, for the kernel.
    pub(crate) fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Returns the place of a `T` at `offset`.
    ///
    /// # Panics
    ///
    /// If it does not lie within the mapping, or is not aligned.
    #[inline]
    pub(crate) fn at<T>(&self, offset: usize) -> NonNull<T> {
        assert!(offset + size_of::<T>() <= self.length, "within the mapping");
        // SAFETY: just checked.
        #[expect(unsafe_code, reason = "pointer within the mapping")]
        let place = unsafe { self.base.add(offset) }.cast::<T>();
        assert!(place.is_aligned(), "aligned within the mapping");
        place
    }
}

impl Mapping {
    /// Returns the place of `length` bytes at `offset`.
    ///
    /// # Panics
    ///
    /// If they do not lie within the mapping.
    #[inline]
    pub(crate) fn range(&self, offset: usize, length: usize) -> NonNull<[u8]> {
        assert!(offset + length <= self.length, "within the mapping");
        // SAFETY: just checked.
        #[expect(unsafe_code, reason = "pointer within the mapping")]
        let begin = unsafe { self.base.add(offset) };
        NonNull::slice_from_raw_parts(begin, length)
    }

    /// Has the processor fetch `length` bytes at `offset`, while it does something
    /// else.
    #[inline]
    pub(crate) fn prefetch(&self, offset: usize, length: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            const CACHE_LINE: usize = 64;
            for line in (offset..offset + length).step_by(CACHE_LINE) {
                let place = self.at::<u8>(line);
                // SAFETY: within the mapping; a hint neither reads nor writes.
                #[expect(unsafe_code, reason = "prefetch")]
                unsafe {
                    _mm_prefetch::<_MM_HINT_T0>(place.as_ptr().cast());
                }
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (offset, length);
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, whole, and nobody uses it any more.
        #[expect(unsafe_code, reason = "munmap")]
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.length) };
        debug_assert!(
            unmapped.is_ok(),
            "the mapping was made by mmap with this length"
        );
    }
}

fn protection() -> ProtFlags {
    ProtFlags::READ | ProtFlags::WRITE
}
