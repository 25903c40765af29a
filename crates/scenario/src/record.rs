//! Typed access to a table that was checked.
//!
//! The check has reported every value that has not the shape of its key, so
//! access reports nothing again: it returns `None` for what is absent and for
//! what is wrong alike, and the reader goes on with a default.

use std::net::Ipv4Addr;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};
use units::{BitRate, DataSize, Delay, Duration};

use crate::length::Length;
use crate::mistake::Mistake;
use crate::problem::TextSpan;
use crate::shape::{TableShape, ValueShape};

/// A table of the file, which may lie over another: what it does not have is
/// looked up there.
#[derive(Clone)]
pub(crate) struct LayeredTable<'a> {
    table: &'static TableShape,
    entries: Option<&'a DeTable<'a>>,
    /// Where the table is named.
    pub(crate) place: TextSpan,
    under: Option<&'a DeTable<'a>>,
}

/// A value of the file and where it stands.
pub(crate) type TomlValue<'a> = &'a Spanned<DeValue<'a>>;

impl<'a> LayeredTable<'a> {
    /// Returns the record of `entries`, which are named at `place`.
    pub(crate) fn new(
        table: &'static TableShape,
        entries: &'a DeTable<'a>,
        place: TextSpan,
    ) -> Self {
        Self {
            table,
            entries: Some(entries),
            place,
            under: None,
        }
    }

    /// Returns this record, laid over another table of the same keys.
    pub(crate) fn over(mut self, under: Option<&'a DeTable<'a>>) -> Self {
        self.under = under;
        self
    }

    /// Returns whether the table of the format has the key.
    pub(crate) fn knows(&self, key: &str) -> bool {
        self.table.key(key).is_some()
    }

    /// Returns whether the key is there, with whatever value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.item(key).is_some()
    }

    /// Returns where the value of the key stands; the table itself if it is not
    /// there.
    pub(crate) fn place_of(&self, key: &str) -> TextSpan {
        self.item(key)
            .map_or_else(|| self.place.clone(), |item| item.span())
    }

    /// Returns the keys of the record itself, with their places.
    pub(crate) fn own_keys(&self) -> impl Iterator<Item = (&'a str, TextSpan)> {
        let keys = self.entries.into_iter().flat_map(DeTable::keys);
        keys.map(|key| (&**key.get_ref(), key.span()))
    }

    /// Returns the mistake that `key` is missing.
    pub(crate) fn missing(&self, key: &str) -> Mistake {
        let key = self.table.key(key).expect("the reader asks for known keys");
        self.table.missing(key)
    }

    pub(crate) fn item(&self, key: &str) -> Option<TomlValue<'a>> {
        let under = || self.under.and_then(|under| under.get(key));
        self.entries.and_then(|own| own.get(key)).or_else(under)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.item(key)?.get_ref().as_str()
    }

    pub(crate) fn time(&self, key: &str) -> Option<Duration> {
        self.scalar(key, ValueShape::time)
    }

    /// Returns the time at a key whose time may be never: then there is one inside or not.
    pub(crate) fn time_or_never(&self, key: &str) -> Option<Option<Duration>> {
        self.scalar(key, ValueShape::time_or_never)
    }

    pub(crate) fn delay(&self, key: &str) -> Option<Delay> {
        self.scalar(key, ValueShape::delay)
    }

    pub(crate) fn rate(&self, key: &str) -> Option<BitRate> {
        self.scalar(key, ValueShape::rate)
    }

    pub(crate) fn size(&self, key: &str) -> Option<DataSize> {
        self.scalar(key, ValueShape::size)
    }

    pub(crate) fn length(&self, key: &str) -> Option<Length> {
        self.scalar(key, ValueShape::length)
    }

    pub(crate) fn integer(&self, key: &str) -> Option<u32> {
        self.scalar(key, ValueShape::integer)
    }

    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.scalar(key, ValueShape::number)
    }

    pub(crate) fn factor(&self, key: &str) -> Option<u32> {
        self.scalar(key, ValueShape::factor)
    }

    pub(crate) fn percent(&self, key: &str) -> Option<u32> {
        self.scalar(key, ValueShape::percent)
    }

    pub(crate) fn choice(&self, key: &str) -> Option<&'static str> {
        self.scalar(key, ValueShape::choice)
    }

    pub(crate) fn mac(&self, key: &str) -> Option<[u8; 6]> {
        self.scalar(key, ValueShape::mac)
    }

    pub(crate) fn address(&self, key: &str) -> Option<Ipv4Addr> {
        self.scalar(key, ValueShape::address)
    }

    /// Returns the items of a list, or the value itself as the only item.
    pub(crate) fn items(&self, key: &str) -> Vec<TomlValue<'a>> {
        match self.item(key) {
            None => Vec::new(),
            Some(item) => match item.get_ref() {
                DeValue::Array(items) => items.iter().collect(),
                _ => vec![item],
            },
        }
    }

    /// Returns the texts of a list, or the text itself, with their places.
    pub(crate) fn texts(&self, key: &str) -> Vec<(&'a str, TextSpan)> {
        let items = self.items(key).into_iter();
        items
            .filter_map(|item| Some((item.get_ref().as_str()?, item.span())))
            .collect()
    }

    /// Returns the entries of a table, with the place of its key.
    pub(crate) fn entries(&self, key: &str) -> Option<(&'a DeTable<'a>, TextSpan)> {
        let (key, value) = self.entries?.get_key_value(key)?;
        Some((value.get_ref().as_table()?, key.span()))
    }

    /// Returns the record at a key whose shape is `table`; an empty one if it
    /// is not there.
    pub(crate) fn record(&self, key: &str, table: &'static TableShape) -> LayeredTable<'a> {
        let (entries, place) = self.entries(key).unzip();
        LayeredTable {
            table,
            entries,
            place: place.unwrap_or_else(|| self.place.clone()),
            under: None,
        }
    }

    /// Returns the named entries of the table at a key, in the order of the
    /// file.
    pub(crate) fn named(&self, key: &str) -> Vec<Named<'a>> {
        let Some((entries, _)) = self.entries(key) else {
            return Vec::new();
        };
        let mut named: Vec<_> = entries
            .iter()
            .map(|(name, item)| Named {
                name: name.get_ref(),
                place: name.span(),
                item,
            })
            .collect();
        named.sort_by_key(|named| named.place.start);
        named
    }

    fn scalar<T>(
        &self,
        key: &str,
        read: fn(&ValueShape, &DeValue<'_>) -> Result<T, Mistake>,
    ) -> Option<T> {
        let shape = &self
            .table
            .key(key)
            .expect("the reader asks for known keys")
            .shape;
        let value = self.item(key)?.get_ref();
        read(shape.of(value), value).ok()
    }
}

/// An entry of a table whose keys the user chose.
#[derive(Clone)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) place: TextSpan,
    pub(crate) item: TomlValue<'a>,
}

impl<'a> Named<'a> {
    /// Returns the entry as a record, if it is a table.
    pub(crate) fn record(&self, table: &'static TableShape) -> Option<LayeredTable<'a>> {
        let entries = self.item.get_ref().as_table()?;
        Some(LayeredTable::new(table, entries, self.place.clone()))
    }
}

/// Returns the tables of a list of tables.
pub(crate) fn records<'a>(
    items: &'a DeArray<'a>,
    table: &'static TableShape,
) -> impl Iterator<Item = LayeredTable<'a>> {
    items.iter().filter_map(move |item| {
        let entries = item.get_ref().as_table()?;
        Some(LayeredTable::new(table, entries, item.span()))
    })
}
