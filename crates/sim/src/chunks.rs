//! Holds the bytes that are on the way between switches and the controller.

/// Bytes that are on the way; valid until they are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkId(u32);

/// Bytes of control connections, each a piece of one direction of one of them.
#[derive(Debug, Default)]
pub struct Chunks {
    slots: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl Chunks {
    /// Keeps a copy of `bytes`.
    pub fn keep(&mut self, bytes: &[u8]) -> ChunkId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Vec::new());
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 messages on the way")
        });
        let slot = &mut self.slots[index as usize];
        slot.clear();
        slot.extend_from_slice(bytes);
        ChunkId(index)
    }

    /// Hands the bytes to `read` and forgets them.
    pub fn take<R>(&mut self, chunk: ChunkId, read: impl FnOnce(&[u8]) -> R) -> R {
        self.free.push(chunk.0);
        read(&self.slots[chunk.0 as usize])
    }
}
