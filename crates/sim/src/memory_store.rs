//! A store that lasts as long as the simulation.

use std::collections::BTreeMap;
use std::convert::Infallible;

use controller::store::{Key, Store, StoreWrite};

/// Records in memory; it never fails.
#[derive(Clone, Debug, Default)]
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
        let records = self.records.iter();
        Ok(records
            .map(|(key, value)| StoreWrite {
                key: *key,
                value: Some(value.clone()),
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_and_not_removed_is_there() {
        let mut store = MemoryStore::default();
        let [one, two] = [1, 2].map(Key::Admission);

        let write = |key, value: Option<&[u8]>| StoreWrite {
            key,
            value: value.map(<[u8]>::to_vec),
        };
        store
            .write(&[write(one, Some(b"a")), write(two, Some(b"b"))])
            .unwrap();
        store.write(&[write(one, None)]).unwrap();

        assert_eq!(store.records(), Ok(vec![write(two, Some(b"b"))]));
    }
}
