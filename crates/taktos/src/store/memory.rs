//! A store that forgets everything when the program ends.

use std::collections::BTreeMap;
use std::convert::Infallible;

use controller::store::{Key, Store, StoreWrite};

/// Records in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: BTreeMap<Key, Vec<u8>>,
}

impl Store for MemoryStore {
    type Error = Infallible;

    fn write(&mut self, writes: &[StoreWrite]) -> Result<(), Infallible> {
        for StoreWrite { key, value } in writes {
            match value {
                Some(value) => self.records.insert(*key, value.clone()),
                None => self.records.remove(key),
            };
        }
        Ok(())
    }

    fn records(&self) -> Result<Vec<StoreWrite>, Infallible> {
        let records = self.records.iter().map(|(key, value)| StoreWrite {
            key: *key,
            value: Some(value.clone()),
        });
        Ok(records.collect())
    }
}
